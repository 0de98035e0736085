"""Sets of methods, which stand for their members in a list: ``@defaults``, ``@all``, and one for every name.

``@openhands`` are the strategies of which the id, the family or the original begins with these words. A strategy's
family is the file or folder that it stands in. No set holds what takes a provider's key: such a method is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from compaction.closest import did_you_mean
from compaction.strategy import Strategy, StrategyError

DEFAULTS, ALL, LADDER = "@defaults", "@all", "@recency-ladder"
SETS: Mapping[str, str] = {
    DEFAULTS: "one row for each product or idea, and the controls; runs where no strategies are named",
    ALL: "every strategy that needs no key, with its variants",
    LADDER: "empty, recency at several sizes, none: what the view matched_budget compares with",
}
"""The sets that are no family."""

Member = tuple[str, Mapping[str, Any]]
"""A strategy's id, and the parameters that differ from the defaults."""


def family_of(strategy: Strategy) -> str:
    """The file or folder that a strategy stands in: ``agent-framework``."""
    module = strategy.function.__module__.removeprefix("compaction.strategies.")
    return _slug(module.partition(".")[0])


def list_sets(registry: Mapping[str, Strategy]) -> dict[str, str]:
    """Every set and what it holds, the families after the others."""
    families: dict[str, list[str]] = {}
    for id, strategy in sorted(registry.items()):
        if strategy.needs != "key":
            families.setdefault(f"@{family_of(strategy)}", []).append(id)
    return {**SETS, **{name: ", ".join(ids) for name, ids in sorted(families.items())}}


def sets_of(strategy: Strategy) -> list[str]:
    """The sets that hold a strategy: its family, and ``@defaults`` where that has it; none where it takes a key."""
    if strategy.needs == "key":
        return []
    return [*([DEFAULTS] if strategy.by_default else []), f"@{family_of(strategy)}"]


def set_members(name: str, registry: Mapping[str, Strategy]) -> list[Member]:
    """The members of a set, by id: of ``@defaults`` with their defaults, of the others with their variants too.

    Raises StrategyError for a set that does not exist.
    """
    if name == LADDER:
        ladder = registry["recency"]
        shares = sorted(params["share"] for params in (ladder.params, *ladder.variants))
        return [("empty", {}), *(("recency", {"share": share}) for share in shares), ("none", {})]
    keyless = [strategy for _, strategy in sorted(registry.items()) if strategy.needs != "key"]
    if name == DEFAULTS:
        return [(strategy.id, {}) for strategy in keyless if strategy.by_default]
    chosen = [strategy for strategy in keyless if name == ALL or _is_named(strategy, _slug(name))]
    if not chosen:
        near = (
            did_you_mean(name, list_sets(registry)) or f"; there are {', '.join(SETS)} and families such as @openhands"
        )
        raise StrategyError(f"unknown set of methods {name!r}{near}")
    return [(strategy.id, params) for strategy in chosen for params in ({}, *strategy.variants)]


def _is_named(strategy: Strategy, words: str) -> bool:
    names = (family_of(strategy), _slug(strategy.id), _slug(strategy.peer))
    return bool(words) and any(f"{name}-".startswith(f"{words}-") for name in names)


def _slug(text: str) -> str:
    return re.sub(r"\W+", "-", text.lower().replace("_", "-")).strip("-")
