"""Says at what size of the history to compact: the view ``compaction_sizes`` in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

from flows.reporting.leaderboard_rows import MARGIN
from flows.reporting.text_tables import fetch_rows, format_signed
from flows.support.plurals import quantity

Row = dict[str, Any]

NO_WORSE = ("better", "as good", "not worse", "a little worse")
"""What the view says of a size at which a method is shown to lose at most 0.2 more than at the smallest."""


def sizes_of(connection: duckdb.DuckDBPyConnection, judge_id: str, method_id: str) -> list[Row]:
    """The sizes of a method, ascending; none where points are not by sizes."""
    query = "FROM compaction_sizes WHERE judge_id = $judge_id AND method_id = $method_id ORDER BY size"
    return fetch_rows(connection, query, judge_id=judge_id, method_id=method_id).dicts()


def describe_sizes(rows: Sequence[Row]) -> list[str]:
    """Say at what size to compact with a method, or what is not known of it; nothing where there is one size."""
    if len(rows) < 2:
        return []
    first, *larger = rows
    name, least = first["method"], f"{first['size']:,}"
    if all(row["change"] is None for row in larger):
        return ["At what size to compact cannot be told without the control none: run it, too."]
    n_good = next((n for n, row in enumerate(larger) if row["says"] not in NO_WORSE), len(larger))
    rest = larger[n_good:]
    worse = next((row for row in rest if row["says"] == "worse"), None)
    if n_good:
        good = larger[n_good - 1]
        said = (
            f"Compact with {name} at {good['size']:,} tokens rather than {least}: one compaction there is shown to "
            f"lose at most {MARGIN} more ({_change(good)})"
        )
        if worse:
            said += f"; at {worse['size']:,} it loses more ({_change(worse)})"
        elif rest:
            said += f"; of {rest[0]['size']:,} the data cannot tell ({_change(rest[0])})"
        return [f"{said}."]
    if worse:
        return [
            f"With {name} one compaction at {worse['size']:,} tokens loses more than one at {least} ({_change(worse)})"
            "; whether more of them at a smaller size lose less in the end, a chain tells (--history chain)."
        ]
    return [
        f"Whether one compaction with {name} at {rest[0]['size']:,} tokens loses more than one at {least}, this data "
        f"cannot tell ({_change(rest[0])})."
    ]


def _change(row: Row) -> str:
    """The change, its interval and the sessions that it is over."""
    if row["change"] is None:
        return "no session has both sizes"
    said = format_signed(row["change"])
    if row["ci_low"] is not None:
        said += f", 95 % {format_signed(row['ci_low'])} to {format_signed(row['ci_high'])}"
    return f"{said}; {quantity(row['n_pairs'], 'session')}"
