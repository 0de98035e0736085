"""Methods by their names: the text that ``--strategies`` and study files hold, and the methods that it stands for.

A text is one method (``parse_method``), a list (``split_specs``) or a set (``parse_methods``). A method's parts are
parsed here too: the steps of a pipeline, what a strategy wraps, what a peer's parameters name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from itertools import product
from typing import Any

import compaction.strategies  # noqa: F401 (registers the project's own)
from compaction.adapters.own_file import SEPARATOR, read_prompt, strategy_in_file
from compaction.adapters.peers import PEER, make_peer
from compaction.closest import closest_or_all, did_you_mean
from compaction.instructions import NONE, PARAMETERS, Instructions
from compaction.model import SummaryError
from compaction.pipeline import PIPELINE, TYPES, Step, check_parameters, make_pipeline
from compaction.registry import REGISTRY, check_parameter
from compaction.sets import DEFAULTS, set_members
from compaction.spec_text import read_items, split_outside, write_value
from compaction.strategy import History, Method, NotApplicable, Strategy, StrategyError
from compaction.tokens import LengthCounter
from compaction.triggers import ALWAYS, Trigger, TriggerError

ENTRY_POINT_GROUP = "compaction_eval.strategies"
NAME = r"\w[\w .+-]*?"
"""What a user may call a method."""


def load_registry() -> Mapping[str, Strategy]:
    """All strategies: the project's own and those that installed packages bring (entry points)."""
    _load_entry_points()
    return dict(REGISTRY)


@cache
def _load_entry_points() -> None:
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        entry.load()


def make_method(id: str, params: Mapping[str, Any] | None = None) -> Method:
    """A method from a strategy's id and parameters that differ from the defaults."""
    if id == PIPELINE:
        full = check_parameters(params or {})
        return make_pipeline(parse_steps(full["steps"]), full)
    if id.startswith(PEER):
        return make_peer(id, params or {}, parse_method)
    found = _find_strategy(id)
    given = dict(params or {})
    instructions = _take_instructions(found, given)
    for name, value in given.items():
        if name not in found.params:
            names = [*found.params, *(PARAMETERS if found.needs_model else ())]
            known, meant = ", ".join(names) or "none", did_you_mean(name, names)
            raise StrategyError(f"strategy {id!r} has no parameter {name!r}; it has: {known}{meant}")
        given[name] = check_parameter(id, name, value, found.types[name])
    full = {**found.params, **given}
    inner = _inner(found, full[found.wraps]) if found.wraps else None
    return Method(found, full, inner=inner, instructions=instructions)


def _take_instructions(asking: Strategy, params: dict[str, Any]) -> Instructions:
    """Take ``prompt_file`` and ``focus`` out of the parameters of a strategy that asks a summariser."""
    if not asking.needs_model:
        return NONE
    given = {name: check_parameter(asking.id, name, params.pop(name), str) for name in PARAMETERS if name in params}
    try:
        return Instructions(**given, prompt=read_prompt(given["prompt_file"]) if given.get("prompt_file") else "")
    except StrategyError as error:
        raise StrategyError(f"strategy {asking.id!r}: {error}") from None


def _find_strategy(id: str) -> Strategy:
    if SEPARATOR in id:
        return strategy_in_file(id)
    registry = load_registry()
    if id not in registry:
        raise StrategyError(f"unknown strategy {id!r}{closest_or_all(id, registry)}")
    return registry[id]


def _inner(wrapping: Strategy, spec: str) -> Method:
    """The method that a strategy adds something to; refused are one that does not exist, and the strategy itself."""
    found = parse_method(spec)
    inner: Method | None = found
    while inner is not None:
        if inner.strategy is wrapping:
            raise StrategyError(f"strategy {wrapping.id!r}: {wrapping.wraps} cannot be itself")
        inner = inner.inner
    return found


def try_parameters(method: Method, budget: int) -> None:
    """Compact an empty history, to see whether a method's parameters go together, which only its strategy knows.

    Raises StrategyError where they do not.
    """
    if method.strategy.id in REGISTRY:
        with suppress(SummaryError, NotApplicable):
            method.run(History((), LengthCounter(), budget))
    for part in (*method.strategy.parts, *([method.inner] if method.inner is not None else [])):
        try_parameters(part, budget)


def default_methods() -> list[Method]:
    """The methods that run where none are named: the set ``@defaults``."""
    return parse_methods(DEFAULTS)


def parse_methods(spec: str) -> list[Method]:
    """The methods of a text in a list of strategies: a set by its name (``compaction.sets``), one method, or a sweep.

    A sweep has lists in the place of values: ``head_tail(tail=[5,10,20])`` is three methods. Raises StrategyError for a
    set that does not exist, and as ``parse_method``.
    """
    name = spec.strip()
    if not name.startswith("@"):
        return _sweep(spec)
    return [make_method(id, params) for id, params in set_members(name, load_registry())]


def _sweep(spec: str) -> list[Method]:
    """The methods with each combination of the values in a text's lists; one method without lists."""
    label, id, params = _read_spec(spec)
    lists = {name: value for name, value in params.items() if isinstance(value, list) and not id.startswith(PEER)}
    if not lists:
        return [parse_method(spec)]
    if label or not all(lists.values()):
        expected = "no name of its own before a sweep" if label else "values in every list"
        raise StrategyError(f"strategy {spec!r}: expected {expected}, as in head_tail(tail=[5,10,20])")
    return [make_method(id, {**params, **dict(zip(lists, one, strict=True))}) for one in product(*lists.values())]


def parse_method(spec: str) -> Method:
    """Read ``id`` or ``id(name=value,…)``, with a name of the user's own before it: ``ours = head_tail(tail=20)``.

    ``FILE.py:ID`` names a strategy in a file of the user's own.
    """
    label, id, params = _read_spec(spec)
    method = make_method(id, params)
    if not label:
        return method
    if label == PIPELINE or label in load_registry():
        raise StrategyError(f"strategy {spec!r}: {label!r} is the name of a strategy; give it another one")
    return replace(method, label=label)


def _read_spec(spec: str) -> tuple[str, str, dict[str, Any]]:
    """The name of the user's own (or an empty text), the strategy's id and the parameters of a method's text."""
    match = re.fullmatch(rf"\s*(?:({NAME})\s*=\s*)?([\w:./~-]+)\s*(?:\((.*)\))?\s*", spec, re.DOTALL)
    if match is None:
        raise StrategyError(f"strategy {spec!r}: expected an id, or an id with parameters such as head_tail(tail=20)")
    try:
        return match[1] or "", match[2], read_items(match[3] or "")
    except ValueError as error:
        raise StrategyError(f"strategy {spec!r}: {error}") from None


def parse_steps(text: str) -> tuple[Step, ...]:
    """Read the steps of a pipeline: ``method -> method when trigger``."""
    try:
        texts = split_outside(text, "->")
    except ValueError as error:
        raise StrategyError(f"pipeline: {error}") from None
    if not all(texts):
        raise StrategyError('pipeline: expected steps, as in steps="af_py_tool_result -> head_tail(tail=20)"')
    return tuple(map(_parse_step, texts))


def _parse_step(text: str) -> Step:
    method, *when = re.split(r"\s+when\s+(?=[^\"']*$)", text, maxsplit=1)
    try:
        return Step(parse_method(method), Trigger(*when) if when else ALWAYS)
    except TriggerError as error:
        raise StrategyError(f"step {text!r}: {error}") from None


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
    """The parameters of a strategy that is named without any; an unknown one is refused when the method is made."""
    known = load_registry().get(strategy.strip())
    return known.params if known else ()


def _named(name: str, spec: str) -> str:
    parse_method(spec)  # says what is wrong with the composition before anything about its name
    if not re.fullmatch(NAME, name.strip()):
        raise StrategyError(f"method {name!r}: a name has letters, digits, spaces and . + - _ in it")
    text = f"{name.strip()} = {spec}"
    parse_method(text)
    return text


def split_specs(text: str) -> list[str]:
    """Split ``a,b(x=1,y=2),c`` at the commas outside of parentheses and quotes; one that is not closed ends nothing."""
    try:
        return [part for part in split_outside(text, ",") if part]
    except ValueError:
        return [text]
