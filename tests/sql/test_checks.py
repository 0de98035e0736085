"""Every check holds on a good store and counts what breaks it on a bad one."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from flows.database import connect, schemas
from tests.sql.tiny import make, tiny

CHECKS = sorted(path.stem for path in (Path(__file__).parents[2] / "sql" / "checks").glob("*.sql"))

UNIQUE_ROWS = {
    f"unique_{table}": (f"INSERT INTO {table} FROM {table} LIMIT 1", 1)
    for table in ("sessions", "points", "methods", "compactions", "probes", "probes_not_asked", "answers", "judges",
                  "criteria", "scores", "calls", "human_scores", "runs", "published_leaderboard", "inputs")
}  # fmt: skip

BROKEN_BY = {
    **UNIQUE_ROWS,
    "unique_compactions_of_a_point": (
        "INSERT INTO compactions SELECT * REPLACE ('again' AS compaction_id) FROM compactions LIMIT 1", 1),
    "unique_answers_of_a_compaction": (
        "INSERT INTO answers SELECT * REPLACE ('again' AS answer_id) FROM answers LIMIT 1", 1),
    "unique_probes_of_a_point": ("INSERT INTO probes SELECT * REPLACE ('again' AS probe_id) FROM probes LIMIT 1", 1),
    "scores_in_range": ("UPDATE scores SET score = 5.1 WHERE answer_id = 'A/q1' AND judge_id = 'j1'", 3),
    "scores_have_score_or_reason": ("UPDATE scores SET unscored_reason = NULL WHERE answer_id = 'B/q3'", 3),
    "scores_of_failed_answers": ("UPDATE answers SET status = 'failed' WHERE answer_id = 'B/q2'", 4),
    "scores_match_the_rubric": ("UPDATE criteria SET dimension = 'continuity' WHERE criterion = 'files'", 2),
    "answers_at_their_point": ("UPDATE answers SET probe_id = 'q3' WHERE answer_id = 'A/q1'", 1),
    "answers_of_failed_compactions": ("UPDATE compactions SET status = 'failed' WHERE compaction_id = 'A/p1'", 2),
    "same_questions_asked": ("DELETE FROM answers WHERE answer_id IN ('A/q2', 'C/q3')", 2),
    "same_questions_scored": ("DELETE FROM scores WHERE answer_id = 'A/q2'", 2),
    "growth_is_flagged": ("UPDATE compactions SET grew = NULL", 1),
    "evidence_before_cut": (
        """UPDATE probes SET evidence = '[{"seq": 29, "quote": "a"}, {"seq": 30, "quote": "b"}]' """
        "WHERE probe_id = 'q1'", 1),
    "messages_met_are_stored_or_set_aside": (
        "UPDATE sessions SET n_tool = 19, n_tool_calls = 21 WHERE session_id = 's1'; "
        "DELETE FROM set_aside WHERE kind = 'system'", 3),
    "folded_sessions_have_a_winner": ("UPDATE folded_sessions SET folded_into = 'gone'", 1),
    "session_messages_add_up": ("UPDATE sessions SET n_tool = 0", 2),
    "cuts_in_order": (
        "UPDATE points SET cut_seq = 50 WHERE point_id = 'p2'; INSERT INTO points SELECT * REPLACE ('p3' AS point_id, "
        "2 AS cycle) FROM points WHERE point_id = 'p1'", 2),
    "prefix_tokens_before": ("UPDATE points SET tokens_before = 1 WHERE point_id = 'p1'", 3),
    "messages_accounted_for": ("UPDATE compactions SET n_kept = 9 WHERE method_id = 'A'", 2),
    "one_fate_a_message": (
        "UPDATE compactions SET kept = [1, 2], edited = [2], covered = [], dropped = [3] WHERE method_id = 'A'", 2),
    "failures_have_errors": (
        "UPDATE compactions SET error = NULL; UPDATE answers SET error = 'why?' WHERE answer_id = 'A/q1'", 2),
    "done_answers_have_text": ("UPDATE answers SET text = NULL", 6),
    "asked_or_not_asked": ("UPDATE probes_not_asked SET probe_type = 'recall' WHERE point_id = 'p1'", 2),
    "orphan_rows": (
        "DELETE FROM sessions WHERE session_id = 's1'; DELETE FROM points WHERE point_id = 'p2'; "
        "DELETE FROM methods WHERE method_id = 'C'; DELETE FROM judges WHERE judge_id = 'j2'; "
        "INSERT INTO human_scores SELECT * REPLACE ('gone' AS answer_id) FROM human_scores", 17),
}  # fmt: skip
"""Check → what breaks it, and the violations that this makes.

Orphans: 1 point of s1; of p2 3 compactions, 1 probe and 3 that are not asked; 2 compactions of C; 6 scores of j2;
1 label.
"""

KNOWN = {"same_questions_scored": 1}
"""What the tiny store breaks on purpose: its judge has no score for B/q3."""


def violations(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    return {name: n for name, n, _ in connection.execute("FROM checks").fetchall() if n}


def test_the_checks_are_those_of_the_folder_and_hold_on_a_good_store(tmp_path: Path) -> None:
    with connect(make(tiny(), tmp_path)) as connection:
        assert violations(connection) == KNOWN
        found = connection.execute("FROM checks").fetchall()
    assert [name for name, _, _ in found] == CHECKS
    assert all(meaning for _, _, meaning in found)


def test_every_check_is_tested() -> None:
    assert sorted(BROKEN_BY) == CHECKS


@pytest.fixture(scope="module")
def unconstrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make(tiny(), tmp_path_factory.mktemp("tiny"))
    with duckdb.connect(path) as connection:
        for table in schemas():
            connection.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table}")
    return path


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_counts_what_breaks_it(unconstrained: Path, tmp_path: Path, check: str) -> None:
    """Without constraints: the check has to see by itself what the table would refuse."""
    change, expected = BROKEN_BY[check]
    with duckdb.connect(shutil.copy(unconstrained, tmp_path)) as connection:
        connection.execute(change)
        found = violations(connection)
        rows = connection.execute(f"SELECT count(*) FROM check_{check}").fetchone()
    assert found.get(check) == expected
    assert rows == (expected,)
