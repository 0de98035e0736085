"""How people name methods: one method, a list of them, a set; the text that study files and ``--strategies`` hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from compaction.closest import closest
from compaction.specs import read_items, split_outside
from compaction.strategy import NAME, PIPELINE, Method, StrategyError, load_registry, make_method

METHOD_SETS: Mapping[str, str] = {
    "@defaults": "all that runs where no strategies are named",
    "@recency-ladder": "empty, recency at several sizes, none: what the view matched_budget compares with",
}
"""Sets of methods that stand for their members in a list of strategies."""


def default_methods() -> list[Method]:
    """Every strategy that works without a key and is run unasked, by id: with its defaults, then its variants."""
    found = [s for _, s in sorted(load_registry().items()) if s.needs != "key" and s.by_default]
    return [make_method(s.id, params) for s in found for params in ({}, *s.variants)]


def parse_methods(spec: str) -> list[Method]:
    """The methods of a text in a list of strategies: a set by its name (``METHOD_SETS``), or one method.

    Raises StrategyError for a set that does not exist, and as ``parse_method``.
    """
    name = spec.strip()
    if not name.startswith("@"):
        return [parse_method(spec)]
    if name not in METHOD_SETS:
        known = "; ".join(f"{set}: {what}" for set, what in METHOD_SETS.items())
        raise StrategyError(f"unknown set of methods {name!r}{closest(name, METHOD_SETS) or f'; known: {known}'}")
    if name == "@defaults":
        return default_methods()
    ladder = load_registry()["recency"]
    shares = sorted((ladder.params, *ladder.variants), key=lambda params: params["share"])
    steps = [make_method("recency", {"share": params["share"]}) for params in shares]
    return [make_method("empty"), *steps, make_method("none")]


def parse_method(spec: str) -> Method:
    """Read ``id`` or ``id(name=value,…)``, with a name of the user's own before it: ``ours = head_tail(tail=20)``."""
    match = re.fullmatch(rf"\s*(?:({NAME})\s*=\s*)?([\w:.-]+)\s*(?:\((.*)\))?\s*", spec, re.DOTALL)
    if match is None:
        raise StrategyError(f"strategy {spec!r}: expected an id, or an id with parameters such as head_tail(tail=20)")
    try:
        params = read_items(match[3] or "")
    except ValueError as error:
        raise StrategyError(f"strategy {spec!r}: {error}") from None
    method = make_method(match[2], params)
    if not match[1]:
        return method
    if match[1] == PIPELINE or match[1] in load_registry():
        raise StrategyError(f"strategy {spec!r}: {match[1]!r} is the name of a strategy; give it another one")
    return replace(method, label=match[1])


def split_specs(text: str) -> list[str]:
    """Split ``a,b(x=1,y=2),c`` at the commas outside of parentheses and quotes; one that is not closed ends nothing."""
    try:
        return [part for part in split_outside(text, ",") if part]
    except ValueError:
        return [text]
