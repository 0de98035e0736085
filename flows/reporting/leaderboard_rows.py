"""The rows of the leaderboard, and which of them are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

import duckdb

from flows.reporting.method_names import find_methods
from flows.reporting.text_tables import Rows, fetch_rows, rows_of_judge
from flows.support.choices import Versions
from flows.support.errors import UsageError
from judge import CONSTRAINTS

DIMENSIONS = {
    "accuracy": "acc",
    "context_awareness": "ctx",
    "artifact_trail": "art",
    "completeness": "cmp",
    "continuity": "cnt",
    "instruction_following": "ins",
    CONSTRAINTS: "con",
}
"""The six dimensions of the study's rubric and constraints, which stand beside them, with the heads that fit."""

AGAINST_BASELINE = {
    "baseline_difference": "difference",
    "baseline_ci_low": "ci_low",
    "baseline_ci_high": "ci_high",
    "baseline_p_adjusted": "p_adjusted",
    "baseline_p_fdr": "p_fdr",
    "baseline_p_equivalent": "p_equivalent_adjusted",
    "baseline_p_not_worse": "p_not_worse_adjusted",
    "baseline_says": "says",
}
"""Columns of the leaderboard against a baseline, and of ``against_baseline`` which each of them is."""

_JOINED = """
LEFT JOIN against_baseline AS against
    ON against.judge_id = leaderboard.judge_id AND against.method_id = leaderboard.method_id
    AND against.baseline_id = $baseline_id AND against.dimension = 'overall'
"""

HEADS = {
    **{head: name for name, head in DIMENSIONS.items()},
    "kept": "retention",
    "cut": "tokens_removed",
    "n": "n_answers",
    "group": "tie_group",
    "ranks": "rank_low",
    "against base": "baseline_difference",
    "says": "baseline_says",
    "p": "baseline_p_adjusted",
}
"""Heads of the table, and the column of ``ranked_rows`` that each shows."""

_LEAST_FIRST = ("place", "line", "cost", "rank_low", "rank_high", "baseline_p_adjusted")
"""Numbers that are sorted from the least on."""

_FOR_RANK = {"overall": "overall_for_rank", "retention": "retention_for_rank"}
"""Columns that are sorted by what every method has over the same questions."""

FRONT = "◆"
"""Marks a method that no other beats at what it keeps and costs: ``on_front`` of the view ``fronts``."""

MARGIN = 0.2
"""Methods that are shown to be less than this apart are as good as each other: the macro ``margin``."""


def scored_dimensions(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The dimensions with a figure in at least one row of the leaderboard."""
    return [name for name in DIMENSIONS if any(row[name] is not None for row in rows)]


def comparable(row: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a row that may stand below those of other methods.

    A method that is not applicable everywhere has its own figures over fewer questions than the rest. Its ``overall``
    and ``retention`` are then what its differences to the others on the same questions come to
    (``overall_for_rank``, ``retention_for_rank``); its other figures of quality and tokens are None.
    """
    if not row["is_partial"]:
        return dict(row)
    own = dict.fromkeys(("ci_low", "ci_high", "tokens_removed", *DIMENSIONS))
    return {**row, **own, "overall": row["overall_for_rank"], "retention": row["retention_for_rank"]}


@dataclass(frozen=True)
class Selection:
    """The columns, order and number of the leaderboard's rows."""

    columns: tuple[str, ...] = ()
    """Heads of the table or names of ``ranked_rows``; empty: all."""
    sort: str = ""
    """One of these: best, or most, first; empty: by line."""
    top: int | None = None
    """Rows of each judge; None: all."""

    def sorted(self, rows: Rows) -> Rows:
        """The rows in this order, each judge's together and the controls last.

        Raises:
            UsageError: there is no such column.
        """
        if not self.sort:
            return rows
        name = _column(self.sort, rows, "--sort")
        name = _FOR_RANK.get(name, name)
        place = {known: n for n, known in enumerate(rows.names)}

        def key(row: Sequence[Any]) -> tuple[Any, ...]:
            value = row[place[name]]
            ordered = value if isinstance(value, str) or name in _LEAST_FIRST or value is None else -value
            of = row[place["judge"]] or "", row[place["judge_id"]], row[place["is_control"]]
            return *of, value is None, ordered

        return Rows(rows.names, sorted(rows.values, key=key))

    def picked(self, rows: Rows) -> Rows:
        """The first rows of each judge, with these columns alone; the judge and the method stand before them.

        Raises:
            UsageError: there is no such column.
        """
        wanted = [_column(one, rows, "--columns") for one in self.columns]
        names = list(dict.fromkeys(("judge_id", "method", *wanted))) if wanted else rows.names
        at = [rows.names.index(name) for name in names]
        of_judge = groupby(rows.values, key=itemgetter(rows.names.index("judge_id")))
        values = chain.from_iterable(islice(values, self.top) for _, values in of_judge)
        return Rows(names, [tuple(row[n] for n in at) for row in values])


EVERYTHING = Selection()
"""All columns of all rows, by line."""


def _column(said: str, rows: Rows, option: str) -> str:
    name = HEADS.get(said, said)
    if name in rows.names:
        return name
    heads = [head for head, of in HEADS.items() if of in rows.names]
    raise UsageError(f"{option}: no column {said!r}; there are overall, {', '.join(heads)}, and those of the view")


def ranked_rows(
    connection: duckdb.DuckDBPyConnection,
    judge: str | None = None,
    versions: Versions = "current",
    baseline: str | None = None,
) -> Rows:
    """The rows of the view ``leaderboard`` with the interval of ``overall``, by line; arguments as in ``render``.

    With a baseline they have the columns ``AGAINST_BASELINE`` of the view ``against_baseline``, too.

    Raises:
        UsageError: no judge of that name has scored anything, or there is no such method.
    """
    against, values = "", {}
    if baseline is not None:
        [(method, baseline_id)] = find_methods(connection, baseline)
        against = (
            f", $baseline AS baseline, {', '.join(f'against.{of} AS {name}' for name, of in AGAINST_BASELINE.items())}"
        )
        values = {"baseline": method, "baseline_id": baseline_id}
    rows = fetch_rows(
        connection,
        f"""
        SELECT
            leaderboard.*, long.std_error, long.ci_low, long.ci_high, retention.retention,
            ranks.rank_low, ranks.rank_high, ranks.p_best, ranks.p_best_three, stg_methods.is_control,
            coalesce(fronts.on_front, false) AS on_front, fronts.kept AS retention_for_rank, fronts.cost,
            fronts.cost_in, fronts.line{against}
        FROM leaderboard
        JOIN stg_methods ON stg_methods.method_id = leaderboard.method_id
        LEFT JOIN leaderboard_long AS long
            ON long.judge_id = leaderboard.judge_id AND long.method_id = leaderboard.method_id
            AND long.dimension = 'overall'
        LEFT JOIN rank_intervals AS ranks
            ON ranks.judge_id = leaderboard.judge_id AND ranks.method_id = leaderboard.method_id
        LEFT JOIN retention
            ON retention.judge_id = leaderboard.judge_id AND retention.method = leaderboard.method
            AND retention.dimension = 'overall'
        LEFT JOIN fronts ON fronts.judge_id = leaderboard.judge_id AND fronts.method_id = leaderboard.method_id
        {_JOINED if against else ""}
        WHERE leaderboard.is_current OR $all
        ORDER BY
            leaderboard.judge, leaderboard.judge_id, NOT leaderboard.is_current, fronts.line NULLS LAST,
            leaderboard.method
        """,  # noqa: S608 (names of columns of our own)
        all=versions == "all",
        **values,
    )
    return rows_of_judge(rows, judge)
