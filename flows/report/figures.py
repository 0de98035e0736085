"""What the views say, for one judge: every figure of the page comes from a query in ``sql``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from flows.database import sql_text
from flows.printing import Rows, fetched
from flows.problems import UsageProblem
from flows.queries import ready_query, with_variables

Row = dict[str, Any]

QUERIES = (
    "methods", "dimensions", "pairs", "splits", "coverage", "agreement", "sessions", "session_scores", "questions",
    "losses", "criteria", "costs",
)  # fmt: skip
"""Files of ``sql/report`` of which the page takes all rows."""
READY = ("forgetting", "what_is_missing", "weakest_dimension")
"""Ready queries of ``sql/queries`` that it takes too."""


@dataclass(frozen=True)
class Figures:
    """All figures of a page."""

    judge: Row
    """The judge that they are by."""
    other_judges: list[Row]
    """Judges of the store whose scores are not in them."""
    about: Row
    """The store and its last run."""
    rows: Mapping[str, Rows]
    """Query → its rows."""

    def of(self, query: str) -> list[Row]:
        """The rows of a query."""
        return self.rows[query].dicts()

    @property
    def contenders(self) -> list[Row]:
        """The methods that are no controls, best first."""
        return [row for row in self.of("methods") if not row["is_control"]]


def figures(connection: duckdb.DuckDBPyConnection, judge: str | None = None) -> Figures:
    """Ask all queries.

    Args:
        connection: To a store's ``scores.duckdb`` (``flows.database.connect``).
        judge: A judge's name or the beginning of its id; without it the one with the most scored answers.

    Raises:
        UsageProblem: no answer has been scored, or none by such a judge.
    """
    judges = fetched(connection, sql_text("report", "judges")).dicts()
    if not judges:
        raise UsageProblem("no answer of this store has been scored yet; `compaction-eval run` does that")
    chosen = _chosen(judges, judge)
    with with_variables(connection, {"judge_id": chosen["judge_id"], "judge": chosen["judge_id"]}):
        rows = {name: fetched(connection, sql_text("report", name)) for name in QUERIES}
        rows |= {name: fetched(connection, ready_query(name).sql) for name in READY}
        [about] = fetched(connection, sql_text("report", "about")).dicts()
    return Figures(chosen, [row for row in judges if row is not chosen], about, rows)


def _chosen(judges: list[Row], wanted: str | None) -> Row:
    if wanted is None:
        return judges[0]
    for row in judges:
        if row["judge"] == wanted or row["judge_id"].startswith(wanted):
            return row
    known = ", ".join(f"{row['judge']} ({row['judge_id']})" for row in judges)
    raise UsageProblem(f"no scores of a judge {wanted!r} in this store; judges with scores: {known}")
