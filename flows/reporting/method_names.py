"""Finds the method that a name means."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import duckdb

from compaction.closest import did_you_mean
from flows.reporting.text_tables import fetch_rows
from flows.support.errors import UsageError

NAMES = 8
"""Names of methods that an unknown one is answered with."""


def find_methods(connection: duckdb.DuckDBPyConnection, *names: str) -> list[tuple[str, str]]:
    """Name and id of the method of the store that each name stands for, as in ``find_method``; current ones first."""
    methods = fetch_rows(connection, "SELECT method, method_id, is_current FROM stg_methods ORDER BY method").values
    known = {method: method_id for method, method_id, _ in methods}
    current = [method for method, _, is_current in methods if is_current]
    found = [find_method(name, list(known), current) for name in names]
    return [(name, known[name]) for name in found]


def find_method(name: str, known: Sequence[str], first: Sequence[str] = ()) -> str:
    """The one method that a name stands for: the same name, the same in another case, or the beginning of one method.

    Where that means several of ``known``, the one among them that is in ``first``.

    Raises:
        UsageError: no method has the name, or several begin with it; says which there are, the closest first.
    """
    if name in known:
        return name
    for is_it in (str.__eq__, str.startswith):
        found = [method for method in known if is_it(method.lower(), name.lower())]
        among_first = [method for method in found if method in first]
        if len(found) == 1 or len(among_first) == 1:
            return (among_first or found)[0]
        if found:
            raise UsageError(f"{name!r} is the beginning of several methods: {'; '.join(found)}")
    if not known:
        raise UsageError(f"no method {name!r}: the store has no results yet")

    def likeness(method: str) -> tuple[float, str]:
        whole, stem = method.lower(), method.lower().partition("(")[0]
        return -max(difflib.SequenceMatcher(None, name.lower(), text).ratio() for text in (whole, stem)), method

    ordered = sorted(known, key=likeness)
    more = f" and {len(known) - NAMES} more (compaction-eval leaderboard)" if len(known) > NAMES else ""
    raise UsageError(
        f"no method {name!r} in this store{did_you_mean(name, known)}; there are, closest first: "
        f"{'; '.join(ordered[:NAMES])}{more}"
    )
