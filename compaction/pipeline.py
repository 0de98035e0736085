"""Strategies one after another, each on the context that the last one left: pipelines and token budgets.

A pipeline is a method like any other and is written as one::

    pipeline(steps="af_py_tool_result -> head_tail(tail=20) when tokens>16000", budget=16000)

In a study file it is a table with a name. With ``budget`` (or ``target``) it stops after the step that
reaches it, and with ``budget`` the oldest groups go when no step does: the semantics of agent-framework-core 1.23.0's
``TokenBudgetComposedStrategy``. Without either every step runs, as in Agent Framework .NET's pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from compaction.closest import did_you_mean
from compaction.groups import Group, flatten
from compaction.model import SummaryError
from compaction.parameters import Positive
from compaction.registry import check_parameter
from compaction.strategy import History, Method, Strategy, StrategyError, join_versions
from compaction.tokens import counted
from compaction.transcript import Message
from compaction.triggers import ALWAYS, Trigger

PIPELINE = "pipeline"
"""Its id. Not registered: a pipeline is made of strategies."""
VERSION = 1
"""Raise it when the same steps leave something else."""

LastResort = Literal["off", "groups", "strict"]

DEFAULTS: Mapping[str, Any] = {
    "steps": "",
    "trigger": ALWAYS,
    "target": None,
    "budget": None,
    "early_stop": True,
    "last_resort": "strict",
    "minimum_preserved_groups": 0,
    "skip_failed": False,
}
TYPES: Mapping[str, Any] = {
    "steps": str,
    "trigger": Trigger,
    "target": Trigger | None,
    "budget": Positive | None,
    "early_stop": bool,
    "last_resort": LastResort,
    "minimum_preserved_groups": int,
    "skip_failed": bool,
}


@dataclass(frozen=True, slots=True)
class Step:
    """A method of a pipeline, and when it is its turn."""

    method: Method
    when: Trigger = ALWAYS

    def __str__(self) -> str:
        return self.method.spec if self.when == ALWAYS else f"{self.method.spec} when {self.when}"


@dataclass(frozen=True)
class Pipeline(Strategy):
    """A strategy that is made of methods. It is no part of the registry."""

    steps: tuple[Step, ...] = field(default=())

    @cached_property
    def version(self) -> str:
        """The pipeline's version and its steps'."""
        return join_versions(str(VERSION), (step.method for step in self.steps))


def check_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a pipeline, with the defaults of those that are not given, and the steps as one text.

    Raises StrategyError for a parameter that it does not have, and for a value that one does not take.
    """
    given = dict(params)
    if not isinstance(given.get("steps", ""), str):
        given["steps"] = " -> ".join(map(str, given["steps"]))
    for name, value in given.items():
        if name not in TYPES:
            meant = did_you_mean(name, TYPES)
            raise StrategyError(f"a pipeline has no parameter {name!r}; it has: {', '.join(TYPES)}{meant}")
        given[name] = check_parameter(PIPELINE, name, value, TYPES[name])
    return {**DEFAULTS, **given}


def make_pipeline(steps: Sequence[Step], params: Mapping[str, Any]) -> Method:
    """The method of a pipeline, from its steps and its other parameters (``check_parameters``).

    ``trigger``: nothing is done where it does not hold. ``budget`` (tokens) or ``target``: the pipeline does nothing
    where it is reached already, and with ``early_stop`` ends after the step that reaches it. ``last_resort`` says what
    goes when all steps are done and the budget is still exceeded: the oldest ``groups`` but system messages, or
    (``strict``) also these, always but the newest group; ``off`` for nothing. ``minimum_preserved_groups`` is a floor:
    the last so many groups, not counting system messages, are no part of what the steps and the last resort see,
    though all triggers count them. A summary that fails fails the compaction, unless ``skip_failed`` lets the next
    step go on, as most originals do. Raises StrategyError for parameters that do not go together.
    """
    if params["budget"] is not None and params["target"] is not None:
        raise StrategyError("pipeline: budget takes the place of a target; leave one of them out")
    needs = {step.method.needs for step in steps}
    strategy = Pipeline(
        PIPELINE,
        _runs(steps),
        "model" in needs,
        "own",
        "",
        DEFAULTS,
        TYPES,
        "Strategies one after another, each on what the one before it left.",
        tuple(steps),
        needs_key=next((step.method.provider for step in steps if step.method.provider), ""),
        is_opaque=any(step.method.is_opaque for step in steps),
        parts=tuple(step.method for step in steps),
        limit=lambda history, *, budget, **_: budget,
        recall=_recalls(steps) if any(step.method.recalls for step in steps) else None,
    )
    return Method(strategy, {**params, "steps": " -> ".join(map(str, steps))})


def drop_to_budget(
    groups: Sequence[Group], budget: int, count: Callable[[Sequence[Message]], int], *, strict: bool
) -> Sequence[Group]:
    """The last resort: the oldest groups go until ``budget`` tokens are left; always but the newest.

    System groups stay, unless ``strict`` and nothing else is left to go. ``TokenBudgetComposedStrategy``'s fallback.
    """
    sizes = [count(g.messages) for g in groups]
    total = sum(sizes)
    others = [i for i, g in enumerate(groups) if g.kind != "system"]
    systems = [i for i, g in enumerate(groups) if g.kind == "system"]
    newest = (others or systems)[-1:]
    gone: set[int] = set()
    for number in [*others, *(systems if strict else ())]:
        if total <= budget:
            break
        if number not in newest:
            gone.add(number)
            total -= sizes[number]
    return [g for i, g in enumerate(groups) if i not in gone] if gone else groups


def _runs(steps: Sequence[Step]) -> Callable[..., Sequence[Message]]:
    def pipeline(history: History, **params: Any) -> Sequence[Message]:
        return _run(history, **{**params, "steps": steps})

    return pipeline


def _recalls(steps: Sequence[Step]) -> Callable[..., Sequence[Message]]:
    def recall(context: Sequence[Message], question: str, session: Sequence[Message], **_: Any) -> Sequence[Message]:
        for step in steps:
            context = step.method.recall(context, question, session)
        return context

    return recall


def _run(
    history: History,
    *,
    steps: Sequence[Step],
    trigger: Trigger,
    target: Trigger | None,
    budget: int | None,
    early_stop: bool,
    last_resort: LastResort,
    minimum_preserved_groups: int,
    skip_failed: bool,
) -> Sequence[Message]:
    goal = target if budget is None else Trigger(f"not(tokens>{budget})")
    if not trigger.fires(history) or (goal is not None and goal.fires(history)):
        return history.messages
    floor = _floor(history.groups, minimum_preserved_groups, len(history.messages))
    preserved = history.messages[floor:]
    if floor < len(history.messages):
        history = next_history(history, history.messages[:floor])

    def holds(condition: Trigger) -> bool:
        return condition.fires(next_history(history, (*history.messages, *preserved)) if preserved else history)

    for step in steps:
        if not holds(step.when):
            continue
        try:
            left = step.method.run(history)
        except SummaryError:
            if not skip_failed:
                raise
            history.flag("summary_failed")
            continue
        history = next_history(history, left)
        if early_stop and goal is not None and holds(goal):
            return (*history.messages, *preserved)
    whole = (*history.messages, *preserved)
    if budget is None or last_resort == "off" or history.count(whole) <= budget:
        return whole
    history.flag("last_resort")
    return _last_resort(history, preserved, budget, strict=last_resort == "strict")


def _last_resort(history: History, preserved: Sequence[Message], budget: int, *, strict: bool) -> Sequence[Message]:
    groups: Sequence[Group] = history.groups
    room = budget - history.count(preserved)
    if preserved:  # what is preserved has the newest group, so that none of these need stay
        anchor = Group("user", (), ())
        groups = [*groups, anchor]
    return (*flatten(drop_to_budget(groups, room, history.count, strict=strict)), *preserved)


def _floor(groups: Sequence[Group], preserved: int, end: int) -> int:
    """The position of the first preserved message; a group is never split."""
    start = end
    left = preserved
    for group in reversed(groups):
        if group.kind != "system" and left > 0:
            left -= 1
            start = min(start, group.positions[0])
    for group in reversed(groups):
        if group.positions[0] < start <= group.positions[-1]:
            start = group.positions[0]
    return start


def next_history(history: History, left: Sequence[Message]) -> History:
    """The history that the next step works on; calls and flags are collected in the same lists."""
    return replace(history, messages=tuple(counted(message, history.counter) for message in left))
