"""The differences of two methods on the same questions, and what each says in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from flows.database.query_variables import with_variables
from flows.database.sql_model import sql_text
from flows.reporting.leaderboard_rows import DIMENSIONS, MARGIN
from flows.reporting.text_tables import fetch_rows, two_decimals
from flows.support.choices import Split

LEVEL = 0.05
"""A difference is shown when its adjusted p-value is below this."""

Row = dict[str, Any]

_ADJUSTED = """
SELECT judge_id, dimension, p_adjusted
FROM paired_differences
WHERE method_a = least($a, $b) AND method_b = greatest($a, $b)
"""


COLUMNS = tuple(
    """judge_id judge split value dimension method_a method_b mean_a mean_b difference std_error ci_low ci_high
    p_value p_adjusted p_adjusted_of_pair n_pairs n_sessions n_clusters detectable_difference df says
    p_equivalent_of_pair""".split()
)


def paired_differences(connection: duckdb.DuckDBPyConnection, name_a: str, name_b: str, by: Split | None) -> list[Row]:
    """The differences A - B of two methods, which are given by name; within the parts of a split with ``by``."""
    query = sql_text("queries/compare", "pair_by_split")
    with with_variables(connection, {"method_a": name_a, "method_b": name_b}):
        found = [row for row in fetch_rows(connection, query).dicts() if row["split"] == (by or "all")]
    # The family of all pairs is the leaderboard's; within a part of a split only the pair's own is looked at.
    all_pairs = [] if by else fetch_rows(connection, _ADJUSTED, a=name_a, b=name_b).values
    adjusted = {(judge, dimension): p for judge, dimension, p in all_pairs}
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


def in_words(row: Mapping[str, Any]) -> str:
    """Describe a difference: the better method as far as this data shows, or the difference it could have shown."""
    if row["std_error"] is None:
        return f"one {'session' if row['n_sessions'] == 1 else 'project'}: no interval, nothing is shown"
    better = "A better" if row["difference"] > 0 else "B better"
    if row["p_adjusted"] is not None and row["p_adjusted"] < LEVEL:
        return better
    if row["p_adjusted_of_pair"] < LEVEL:
        return better if row["split"] != "all" else f"{better}, if the pair was chosen beforehand"
    if row["std_error"] == 0:
        return "no difference in any session"
    if row["p_equivalent_of_pair"] < LEVEL:
        return f"as good: shown to be less than {MARGIN} apart"
    could = two_decimals(row["detectable_difference"])
    return f"no difference shown; one of {could} or more would have been seen in 80 % of such data"
