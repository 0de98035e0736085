"""A run with retrieval: what a method fetches for a question is in the context of its answer, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.database.scores_db import connect
from tests.flows.conftest import Command, write_session

OPTIONS = ("--points", "messages:20", "--strategies", "retrieval_bm25(target=50),retrieval_bm25(target=50,retrieve=40)")


def query(store: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(store / "scores.duckdb") as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.slow
def test_the_same_contexts_are_answered_from_with_and_without_what_the_question_fetches(
    tmp_path: Path, working_command: Command
) -> None:
    write_session(tmp_path / "logs" / "plain.jsonl", "plain", 25, "harbour")
    store = tmp_path / "store"
    result = working_command("run", tmp_path / "logs", "--store", store, *OPTIONS)
    assert result.exit_code == 0, result.output
    rows = query(
        store,
        """SELECT method LIKE '%retrieve=40%', count(*), sum(fetched_tokens),
            sum(tokens_after), count(DISTINCT method_id)
        FROM answers JOIN compactions USING (compaction_id) JOIN methods USING (method_id) GROUP BY ALL ORDER BY ALL""",
    )
    (_, n_without, fetched_without, left_without, _), (_, n_with, fetched_with, left_with, _) = rows
    assert n_without == n_with > 0
    assert left_without == left_with
    assert fetched_without == 0
    assert fetched_with > 0
