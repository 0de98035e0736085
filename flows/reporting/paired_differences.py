"""The differences of two methods on the same questions, and what each says in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from flows.reporting.leaderboard import DIMENSIONS
from flows.reporting.text_tables import (
    fetch_rows,
    two_decimals,
)
from flows.support.choices import Split

LEVEL = 0.05
"""A difference is shown when its adjusted p-value is below this."""

Row = dict[str, Any]

_DIFFERENCES = """
SELECT
    part.judge_id, part.judge, part.split, part.value, part.dimension, part.method_a, part.method_b,
    part.mean_a, part.mean_b, part.difference, part.std_error, part.ci_low, part.ci_high, part.p_value,
    part.p_adjusted AS p_adjusted_of_pair, part.n_pairs, part.n_sessions, part.detectable_difference, part.df
FROM paired_differences_by_split AS part
WHERE part.method_id_a = $first AND part.method_id_b = $second AND part.split = $split
"""

_ADJUSTED = """
SELECT judge_id, dimension, p_adjusted
FROM paired_differences
WHERE method_id_a = $first AND method_id_b = $second
"""


COLUMNS = (
    "judge_id",
    "judge",
    "split",
    "value",
    "dimension",
    "method_a",
    "method_b",
    "mean_a",
    "mean_b",
    "difference",
    "std_error",
    "ci_low",
    "ci_high",
    "p_value",
    "p_adjusted",
    "p_adjusted_of_pair",
    "n_pairs",
    "n_sessions",
    "detectable_difference",
    "df",
    "says",
)


def paired_differences(
    connection: duckdb.DuckDBPyConnection, name_a: str, name_b: str, ids: Mapping[str, str], by: Split | None
) -> list[Row]:
    """The rows of the views, as A - B whatever the order of the names."""
    is_turned = name_a > name_b
    first, second = (ids["b"], ids["a"]) if is_turned else (ids["a"], ids["b"])
    rows = fetch_rows(connection, _DIFFERENCES, first=first, second=second, split=by or "all").dicts()
    # The family of all pairs is the leaderboard's; within a part of a split only the pair's own is looked at.
    adjusted = (
        {}
        if by
        else {
            (judge_id, dimension): p
            for judge_id, dimension, p in fetch_rows(connection, _ADJUSTED, first=first, second=second).values
        }
    )
    found = [_swap_methods(row) if is_turned else row for row in rows]
    for row in found:
        row["p_adjusted"] = adjusted.get((row["judge_id"], row["dimension"]))
        row["says"] = in_words(row)
    order = ["overall", *DIMENSIONS]
    parts = sorted({row["value"] for row in found}, key=_part_order)

    def place(row: Row) -> tuple[Any, ...]:
        dimension = row["dimension"]
        at = order.index(dimension) if dimension in order else len(order)
        return row["judge"] or "", row["judge_id"], parts.index(row["value"]), at, dimension

    return sorted(found, key=place)


def _part_order(value: str) -> tuple[int, int, str]:
    """Cycles by number, lengths by length, all else by name."""
    lengths = ("short", "medium", "long")
    return (0, int(value), "") if value.isdigit() else (1, lengths.index(value) if value in lengths else 0, value)


def _swap_methods(row: Row) -> Row:
    return {
        **row,
        "method_a": row["method_b"],
        "method_b": row["method_a"],
        "mean_a": row["mean_b"],
        "mean_b": row["mean_a"],
        **{
            to: None if row[of] is None else -row[of] + 0.0
            for to, of in (("difference", "difference"), ("ci_low", "ci_high"), ("ci_high", "ci_low"))
        },
    }


def in_words(row: Mapping[str, Any]) -> str:
    """What a difference says: who is better as far as this data shows, or what it could have shown."""
    if row["std_error"] is None:
        return "one session: no interval, nothing is shown"
    better = "A better" if row["difference"] > 0 else "B better"
    if row["p_adjusted"] is not None and row["p_adjusted"] < LEVEL:
        return better
    if row["p_adjusted_of_pair"] < LEVEL:
        return better if row["split"] != "all" else f"{better}, if the pair was chosen beforehand"
    if row["std_error"] == 0:
        return "no difference in any session"
    could = two_decimals(row["detectable_difference"])
    return f"no difference shown; one of {could} or more would have been seen in 80 % of such data"
