"""Strategies one after another, each on what the one before it left: pipelines and token budgets of any strategies.

A pipeline is a method like any other and is written as one::

    pipeline(steps="af_py_tool_result -> head_tail(tail=20) when tokens>16000", budget=16000)

In a study file it is a table with a name (``read_table``). With ``budget`` (or ``target``) it stops after the step that
reaches it, and with ``budget`` the oldest groups go when no step does: the semantics of agent-framework-core 1.23.0's
``TokenBudgetComposedStrategy``. Without either every step runs, as in Agent Framework .NET's pipeline.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from compaction.closest import closest
from compaction.groups import Group, flatten
from compaction.method_specs import parse_method
from compaction.model import SummaryError
from compaction.parameters import Positive
from compaction.specs import split_outside, write_value
from compaction.strategy import NAME, PIPELINE, History, Method, Strategy, StrategyError, checked, load_registry
from compaction.tokens import counted
from compaction.transcript import Message
from compaction.triggers import ALWAYS, Trigger, TriggerError
from compaction.version import LENGTH, function_version

LastResort = Literal["off", "groups", "strict"]

DEFAULTS: Mapping[str, Any] = {
    "steps": "", "trigger": ALWAYS, "target": None, "budget": None, "early_stop": True,
    "last_resort": "strict", "minimum_preserved_groups": 0, "skip_failed": False,
}  # fmt: skip
TYPES: Mapping[str, Any] = {
    "steps": str, "trigger": Trigger, "target": Trigger | None, "budget": Positive | None, "early_stop": bool,
    "last_resort": LastResort, "minimum_preserved_groups": int, "skip_failed": bool,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """A method of a pipeline, and when it is its turn."""

    method: Method
    when: Trigger = ALWAYS

    @classmethod
    def parse(cls, text: str) -> Step:
        """Read ``method`` or ``method when trigger``."""
        method, *when = re.split(r"\s+when\s+(?=[^\"']*$)", text, maxsplit=1)
        try:
            return cls(parse_method(method), Trigger(*when) if when else ALWAYS)
        except TriggerError as error:
            raise StrategyError(f"step {text!r}: {error}") from None

    def __str__(self) -> str:
        return self.method.spec if self.when == ALWAYS else f"{self.method.spec} when {self.when}"


@dataclass(frozen=True)
class Pipeline(Strategy):
    """A strategy that is made of methods. It is no part of the registry."""

    steps: tuple[Step, ...] = field(default=())

    @cached_property
    def code(self) -> str:
        """Version of its own code and of its steps'."""
        own = function_version(self.function)
        parts = {step.method.code for step in self.steps} - {own}
        return hashlib.sha256("\0".join([own, *sorted(parts)]).encode()).hexdigest()[:LENGTH] if parts else own


def make_pipeline(params: Mapping[str, Any]) -> Method:
    """The method of a pipeline; ``steps`` is a text with arrows or a list of texts.

    ``trigger``: nothing is done where it does not hold. ``budget`` (tokens) or ``target``: the pipeline does nothing
    where it is reached already, and with ``early_stop`` ends after the step that reaches it. ``last_resort`` says what
    goes when all steps are done and the budget is still exceeded: the oldest ``groups`` but system messages, or
    (``strict``) also these, always but the newest group; ``off`` for nothing. ``minimum_preserved_groups`` is a floor:
    the last so many groups, not counting system messages, are no part of what the steps and the last resort see,
    though all triggers count them. A summary that fails fails the
    compaction, unless ``skip_failed`` lets the next step go on, as most originals do.
    Raises StrategyError for what it does not know.
    """
    given = dict(params)
    if not isinstance(given.get("steps", ""), str):
        given["steps"] = " -> ".join(map(str, given["steps"]))
    for name, value in given.items():
        if name not in TYPES:
            meant = closest(name, TYPES)
            raise StrategyError(f"a pipeline has no parameter {name!r}; it has: {', '.join(TYPES)}{meant}")
        given[name] = checked(PIPELINE, name, value, TYPES[name])
    full = {**DEFAULTS, **given}
    try:
        texts = split_outside(full["steps"], "->")
    except ValueError as error:
        raise StrategyError(f"pipeline: {error}") from None
    if not all(texts):
        raise StrategyError('pipeline: expected steps, as in steps="af_py_tool_result -> head_tail(tail=20)"')
    steps = tuple(map(Step.parse, texts))
    if full["budget"] is not None and full["target"] is not None:
        raise StrategyError("pipeline: budget takes the place of a target; leave one of them out")
    full["steps"] = " -> ".join(map(str, steps))
    needs = {step.method.needs for step in steps}
    strategy = Pipeline(
        PIPELINE, _runs(steps), "model" in needs, "own", "", DEFAULTS, TYPES,
        "Strategies one after another, each on what the one before it left.", steps,
        needs_key=next((step.method.provider for step in steps if step.method.provider), ""),
        is_opaque=any(step.method.is_opaque for step in steps),
        parts=tuple(step.method for step in steps),
        limit=lambda history, *, budget, **_: budget,
        recall=_recalls(steps) if any(step.method.recalls for step in steps) else None,
    )  # fmt: skip
    return Method(strategy, full)


def read_table(table: Mapping[str, Any]) -> str:
    """The text of a method that a study file has as a table ``[[methods]]``; ``parse_method`` reads it.

    ``name``, and either ``steps`` with a pipeline's parameters or ``strategy`` with its own, beside it or in
    ``params``. Beside a strategy too, a parameter of pipelines that the strategy does not have (``trigger``,
    ``budget``) makes a pipeline of one step. Raises StrategyError saying what is missing or not known.
    """
    rest = dict(table)
    name, strategy, params = rest.pop("name", None), rest.pop("strategy", None), rest.pop("params", {})
    if not isinstance(name, str) or not name.strip():
        raise StrategyError("a method in a study file needs a name")
    if (strategy is None) == ("steps" not in rest):
        raise StrategyError(f"method {name!r} needs either strategy or steps")
    if strategy is not None:
        if not isinstance(strategy, str) or not isinstance(params, Mapping):
            raise StrategyError(f"method {name!r}: strategy is a text and params a table")
        beside = {key: rest.pop(key) for key in sorted(rest) if key not in TYPES or key in _parameters_of(strategy)}
        if twice := beside.keys() & params.keys():
            raise StrategyError(
                f"method {name!r}: {', '.join(sorted(twice))} stands both beside strategy and in params"
            )
        params = {**params, **beside}
        inside = ",".join(f"{key}={write_value(value)}" for key, value in params.items())
        spec = f"{strategy}({inside})" if inside else strategy
        if not rest:
            return _named(name, spec)
        rest["steps"] = [spec]
    elif params:
        raise StrategyError(f"method {name!r}: the parameters of a pipeline stand beside its steps, not in params")
    if isinstance(rest["steps"], list | tuple):
        rest["steps"] = " -> ".join(map(str, rest["steps"]))
    inside = ",".join(f"{key}={write_value(value)}" for key, value in rest.items())
    return _named(name, f"{PIPELINE}({inside})")


def _parameters_of(strategy: str) -> Collection[str]:
    """The parameters of a strategy that is named without any; what it lacks is told when it is made."""
    known = load_registry().get(strategy.strip())
    return known.params if known else ()


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


def _named(name: str, spec: str) -> str:
    parse_method(spec)  # says what is wrong with the composition before anything about its name
    if not re.fullmatch(NAME, name.strip()):
        raise StrategyError(f"method {name!r}: a name has letters, digits, spaces and . + - _ in it")
    text = f"{name.strip()} = {spec}"
    parse_method(text)
    return text


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
        history = followed(history, history.messages[:floor])

    def holds(condition: Trigger) -> bool:
        return condition.fires(followed(history, (*history.messages, *preserved)) if preserved else history)

    for step in steps:
        if not holds(step.when):
            continue
        try:
            left = step.method.strategy.function(history, **step.method.params)
        except SummaryError:
            if not skip_failed:
                raise
            history.flag("summary_failed")
            continue
        history = followed(history, left)
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
    """The position from which on messages are preserved; a group is never parted."""
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


def followed(history: History, left: Sequence[Message]) -> History:
    """The history that the next step works on; calls and flags are collected in the same lists."""
    return replace(history, messages=tuple(counted(message, history.counter) for message in left))
