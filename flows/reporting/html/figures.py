"""The figures of the page for one judge, each from a query in ``sql``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from flows.database.query_variables import with_variables
from flows.database.ready_queries import ready_query
from flows.database.sql_model import sql_text
from flows.reporting.leaderboard_rows import comparable, scored_dimensions
from flows.reporting.recommendation import Recommendation, Wanted, find_candidates, recommendations
from flows.reporting.text_tables import Rows, fetch_rows, two_decimals
from flows.support.errors import UsageError

Row = dict[str, Any]

QUERIES = tuple(
    """methods dimensions pairs splits coverage agreement sessions session_scores questions losses criteria costs
    recovery next_action""".split()
)
"""Files of ``sql/queries/report`` of which the page takes all rows."""
BY_SESSION = ("sessions", "session_scores", "questions")
"""Those of them that grow with the store; a page that asks for its sessions one by one does without."""
READY = ("forgetting", "what_is_missing", "weakest_dimension", "sweep")
"""Ready queries of ``sql/queries/ready`` that it takes too."""


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
    recommendation: Recommendation | None
    """What `recommend` says without options; None where no two methods can be compared."""

    def of(self, query: str) -> list[Row]:
        """The rows of a query; methods with figures that compare with each other."""
        found = self.rows[query].dicts()
        return [comparable(row) for row in found] if query == "methods" else found

    @property
    def contenders(self) -> list[Row]:
        """The methods that are no controls, in the order of the leaderboard."""
        return [row for row in self.of("methods") if not row["is_control"]]

    @property
    def alike(self) -> dict[str, str]:
        """Dimensions in which all methods but the controls have one mean to two decimals → that mean."""
        contenders = self.contenders
        means = {
            name: {two_decimals(row[name]) for row in contenders if row[name] is not None}
            for name in scored_dimensions(contenders)
        }
        return {name: found.pop() for name, found in means.items() if len(contenders) > 1 and len(found) == 1}


def load_figures(connection: duckdb.DuckDBPyConnection, judge: str | None = None, *, sessions: bool = True) -> Figures:
    """Ask all queries.

    Args:
        connection: To a store's ``scores.duckdb`` (``flows.database.scores_db.connect``).
        judge: A judge's name or the beginning of its id; without it the one with the most scored answers.
        sessions: Whether those of ``BY_SESSION`` are asked too; without, they have no rows.

    Raises:
        UsageError: no answer has been scored, or none by such a judge.
    """
    judges = fetch_rows(connection, sql_text("queries/report", "judges")).dicts()
    if not judges:
        raise UsageError("no answer of this store has been scored yet; `compaction-eval run` does that")
    chosen = _choose_judge(judges, judge)
    with with_variables(connection, {"judge_id": chosen["judge_id"], "judge": chosen["judge_id"]}):
        wanted = [name for name in QUERIES if sessions or name not in BY_SESSION]
        rows = dict.fromkeys(QUERIES, Rows([], []))
        rows |= {name: fetch_rows(connection, sql_text("queries/report", name)) for name in wanted}
        rows |= {name: fetch_rows(connection, ready_query(name).sql) for name in READY}
        [about] = fetch_rows(connection, sql_text("queries/report", "about")).dicts()
    candidates = find_candidates(connection, Wanted())
    recommended = {one.judge_id: one for one in recommendations(connection, candidates, Wanted())}
    others = [row for row in judges if row is not chosen]
    return Figures(chosen, others, about, rows, recommended.get(chosen["judge_id"]))


def _choose_judge(judges: list[Row], wanted: str | None) -> Row:
    if wanted is None:
        return judges[0]
    for row in judges:
        if row["judge"] == wanted or row["judge_id"].startswith(wanted):
            return row
    known = ", ".join(f"{row['judge']} ({row['judge_id']})" for row in judges)
    raise UsageError(f"no scores of a judge {wanted!r} in this store; judges with scores: {known}")
