"""The registry of strategies, and the decorator that puts a function into it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compaction.markers import Declared
from compaction.parameters import convert_value
from compaction.strategy import LimitFunction, RecallFunction, Strategy, StrategyError, StrategyFunction

REGISTRY: dict[str, Strategy] = {}
"""Id → strategy; ``strategy`` fills it when a module with strategies is imported."""


def strategy(
    id: str,
    *,
    version: int | None = None,
    needs_model: bool = False,
    needs_key: str = "",
    embeds: str = "",
    is_opaque: bool = False,
    peer: str = "own",
    peer_version: str = "",
    variants: Sequence[Mapping[str, Any]] = (),
    wraps: tuple[str, str] | None = None,
    limit: LimitFunction | None = None,
    recall: RecallFunction | None = None,
    markers: Sequence[Declared] = (),
    every_turn: bool = False,
    by_default: bool = True,
    bites: Mapping[str, Any] | None = None,
) -> Callable[[StrategyFunction], StrategyFunction]:
    """Register a strategy. Its keyword-only arguments are its parameters and must have defaults and annotations.

    A whole number is 0 or more, a float is a share from 0 to 1; ``Annotated[float, Range(0, 10)]`` says otherwise
    (``compaction.parameters``). ``version`` is raised when the strategy leaves something else; where none is given it
    is 1, and of a plug-in the hash of its source. ``limit`` says how many tokens its contexts have at most, where its
    parameters promise that; one with more is flagged. ``wraps`` are name and default of a parameter that names another
    method; the function is given that ``Method``. ``markers`` are the texts by which its contexts could be told from
    those of others; a judge is not shown them. ``every_turn`` says that its original works at every call of the
    model, which the replay of its cost then does too. ``bites`` are parameters with which it changes a
    history of ten or twenty short messages, for tests; none are needed where the defaults do.
    """

    def register(function: StrategyFunction) -> StrategyFunction:
        if id in REGISTRY and REGISTRY[id].function is not function:
            raise StrategyError(f"strategy {id!r} is registered twice")
        if version is not None and (type(version) is not int or version < 1):
            raise StrategyError(f"strategy {id!r}: its version is a whole number from 1, not {version!r}")
        params, types = _parameters(id, function, wraps, bites or {})
        REGISTRY[id] = Strategy(
            id,
            function,
            needs_model,
            peer,
            peer_version,
            params,
            types,
            inspect.getdoc(function) or "",
            variants=tuple(variants),
            wraps=wraps[0] if wraps else "",
            limit=limit,
            recall=recall,
            needs_key=needs_key,
            embeds=embeds,
            is_opaque=is_opaque,
            markers=tuple(markers),
            every_turn=every_turn,
            by_default=by_default,
            bites=dict(bites or {}),
            declared_version=version,
        )
        return function

    return register


def _parameters(
    id: str, function: StrategyFunction, wraps: tuple[str, str] | None, bites: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The defaults and the types of a strategy's parameters, by name; they and ``bites`` are checked."""
    params: dict[str, Any] = dict([wraps]) if wraps else {}
    types: dict[str, Any] = dict.fromkeys(params, str)
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        if parameter.default is parameter.empty or parameter.annotation is parameter.empty:
            raise StrategyError(f"strategy {id!r}: parameter {parameter.name} needs a default and a type")
        check_parameter(id, parameter.name, parameter.default, parameter.annotation)
        params[parameter.name], types[parameter.name] = parameter.default, parameter.annotation
    for name, value in bites.items():
        if name not in params:
            raise StrategyError(f"strategy {id!r}: no parameter {name} for its bites")
        check_parameter(id, name, value, types[name])
    return params, types


def check_parameter(id: str, name: str, value: Any, expected: Any) -> Any:
    """A parameter's value in its type: a whole number for a float, the text of a type that is made of text.

    Raises StrategyError for a value that the parameter does not take.
    """
    try:
        return convert_value(name, value, expected)
    except ValueError as error:
        raise StrategyError(f"strategy {id!r}: {error}") from None
