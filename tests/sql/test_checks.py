"""Every check holds on a good store and counts what breaks it on a bad one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from flows.database.scores_db import connect, violations
from flows.database.sql_model import checks, schemas
from tests.sql.tiny import make, tiny

CHECKS = list(checks())

UNIQUE_ROWS = {
    f"unique_{table}": (f"INSERT INTO {table} FROM {table} LIMIT 1", 1)
    for table in (
        "sessions",
        "points",
        "methods",
        "compactions",
        "probes",
        "probes_not_asked",
        "answers",
        "judges",
        "criteria",
        "scores",
        "calls",
        "human_scores",
        "runs",
        "run_stages",
        "published_leaderboard",
        "inputs",
    )
}


def replaced(view: str, columns: str) -> str:
    """A view with other columns: what a wrong change of its file would make of it."""
    return (
        f"CREATE TABLE frozen AS FROM {view}; DROP VIEW {view}; "
        f"CREATE VIEW {view} AS SELECT * REPLACE ({columns}) FROM frozen"
    )


OF_VIEWS = {
    "coverage_adds_up": (
        "INSERT INTO answers SELECT * REPLACE ('again' AS answer_id) FROM answers WHERE answer_id = 'A/q1'",
        1,
    ),
    "leaderboard_agrees_with_long": (
        replaced("leaderboard_long", "CASE dimension WHEN 'accuracy' THEN mean + 0.1 ELSE mean END AS mean"),
        3,
    ),
    "splits_add_up": (
        replaced(
            "leaderboard_long",
            "CASE WHEN judge_id = 'j2' AND dimension = 'overall' THEN 2 ELSE n_answers END AS n_answers",
        ),
        7,
    ),
    "intervals_hold_their_mean": ("UPDATE scores SET score = 9 WHERE judge_id = 'j2' AND score IS NOT NULL", 3),
    "p_values_in_order": (
        replaced("paired_differences", "0.5 AS p_value, 0.4 AS p_adjusted, 0.5 AS p_adjusted_in_dimension"),
        4,
    ),
    "one_name_a_method": (
        "INSERT INTO methods SELECT * REPLACE ('D' AS method_id, 'chain' AS history) FROM methods "
        "WHERE method_id = 'A'; UPDATE methods SET method = 'keep [chain]' WHERE method_id = 'B'",
        1,
    ),
}
"""Splits: overall of j2 in each of the seven. p-values: the four rows of tiny have none, being of one session."""

OF_JUDGES_AND_FILES = {
    "one_id_a_judge_version": (
        "INSERT INTO judges SELECT * REPLACE ('j9' AS judge_id) FROM judges WHERE judge_id = 'j1'",
        1,
    ),
    "judges_have_a_rubric": ("UPDATE judges SET rubric = 'gone@1' WHERE judge_id = 'j2'", 1),
    "same_criteria_judged": (
        "DELETE FROM scores WHERE answer_id = 'A/q1' AND judge_id = 'j1' AND criterion = 'parts'",
        1,
    ),
    "unique_verdicts": (
        "INSERT INTO verdicts BY NAME SELECT 'A/q1' AS answer_id, 'j2' AS judge_id, unnest([1, 1]) AS judge_replicate",
        1,
    ),
    "verdicts_have_scores": (
        "INSERT INTO verdicts BY NAME SELECT 'A/q1' AS answer_id, 'j2' AS judge_id, unnest([2, 3]) AS judge_replicate",
        1,
    ),
    "replicates_without_holes": (
        "UPDATE scores SET judge_replicate = 4 WHERE judge_id = 'j2' AND judge_replicate = 2; "
        "UPDATE compactions SET replicate = 3 WHERE method_id = 'B'",
        2,
    ),
    "one_points_spec": ("UPDATE points SET points_spec = 'tokens:9' WHERE point_id = 'p2'", 2),
    "tokens_by_kind_add_up": (
        "UPDATE compactions SET after_by_kind = {'system': 99, 'user': 0, 'assistant': 0, 'tool': 0, 'made': 0} "
        "WHERE method_id = 'A'",
        2,
    ),
    "inputs_add_up": (
        "UPDATE inputs SET n_sessions = 2 WHERE input_path = '/logs/s1.jsonl'; "
        "UPDATE inputs SET n_folded = 0 WHERE input_path = '/logs/s2.jsonl'",
        2,
    ),
    "files_are_inputs": ("DELETE FROM inputs WHERE input_path = '/logs/s1.jsonl'", 9),
}
"""Files: of s1 the session, 5 kinds of message met, 2 set aside, 1 kind of secret."""

NEED = (
    "INSERT INTO needs BY NAME SELECT 'p1' AS point_id, unnest([1, 2]) AS number, 'path' AS kind, 'a.py' AS value, "
    "5 AS observation_seq, 100 AS observation_tokens, 31 AS needed_at, 1 AS turns_after; "
)
MEASURE = (
    "INSERT INTO measures BY NAME SELECT 'A/p1' AS compaction_id, 'done' AS status, 2 AS n_needs, 1 AS n_lost, "
    "2 AS n_paths, 1 AS n_paths_lost, 0 AS n_identifiers, 0 AS n_identifiers_lost, 0 AS n_quotes, 0 AS n_quotes_lost, "
    "[2] AS lost, [5] AS fetched, 1 AS n_fetches, 100 AS refetch_tokens, 1 AS n_any_true, 1 AS n_any_right; "
)
STATE = (
    "INSERT INTO statement_states BY NAME SELECT 'A/p1' AS compaction_id, 's1' AS session_id, 'q1' AS probe_id, "
    "1 AS position, 'q1' AS since, 'lost' AS state, 0.1 AS support; "
)
CALL = (
    "INSERT INTO replay_calls BY NAME SELECT 's1' AS session_id, 'A' AS method_id, 1 AS seq, 9 AS input_tokens, "
    "0 AS cached_tokens, 5 AS output_tokens; "
)
ACTION = (
    "INSERT INTO next_actions BY NAME SELECT 'x' AS next_action_id, 's1' AS session_id, 'p1' AS point_id, "
    "1 AS repetition, 'done' AS status, 'm' AS responder; "
)
PRICES = "INSERT INTO price_lists BY NAME SELECT 'openai:m' AS price_list, 'by hand' AS source, 1.0 AS input; "
OF_MEASURES = {
    "unique_replay_calls": (CALL + CALL, 1),
    "unique_next_actions": (ACTION + ACTION.replace("1 AS rep", "2 AS rep"), 1),
    "unique_next_actions_of_a_point": (ACTION + ACTION.replace("'x' AS", "'y' AS"), 1),
    "unique_price_lists": (PRICES + PRICES, 1),
    "replays_answer_alike": (CALL + CALL.replace("'A'", "'B'").replace("5 AS", "6 AS"), 1),
    "unique_needs": (f"{NEED} INSERT INTO needs FROM needs LIMIT 1", 1),
    "unique_measures": (MEASURE + MEASURE, 1),
    "unique_statement_states": (STATE + STATE, 1),
    "measures_add_up": (f"{NEED} {MEASURE} UPDATE needs SET kind = 'quote' WHERE number = 1", 1),
    "refetched_tokens_add_up": (f"{NEED} {MEASURE} UPDATE measures SET refetch_tokens = 200", 1),
    "history_loses_nothing": (f"{NEED} {MEASURE} UPDATE compactions SET n_kept = 30 WHERE compaction_id = 'A/p1'", 1),
}
"""The tiny store has no measurements: each change puts some in."""

SAMPLE = (
    "INSERT INTO label_samples BY NAME SELECT 'first' AS sample_id, 'A/q1' AS answer_id, 'j1' AS judge_id, "
    "0.5 AS probability, 'recall' AS probe_type, 'low' AS score_band, '1' AS seed, now() AS drawn_at; "
)
ANCHOR = (
    "INSERT INTO anchor_scores BY NAME SELECT 'A/q1' AS answer_id, 'j1' AS judge_id, DATE '2026-11-01' AS taken_on, "
    "'accuracy' AS dimension, 'facts' AS criterion, 3.0 AS score; "
)
NIGHT = (
    "INSERT INTO night_figures BY NAME SELECT 1 AS night, TIMESTAMP '2026-11-01' AS taken_at, 'r1' AS run_id, "
    "'e' AS engine, 'j1' AS judge_id, 'embedded' AS judge, 'A' AS method_id, 'keep' AS method, "
    "'overall' AS dimension, 3.0 AS mean, 2 AS n_answers, 1 AS n_sessions; "
)
OF_A_NIGHT = (
    "INSERT INTO night_sums BY NAME SELECT 1 AS night, 'j1' AS judge_id, 'keep' AS method, 'overall' AS dimension, "
    "'s1' AS session_id, 'x' AS content_sha256, 6.0 AS score_sum, 2 AS n_answers; "
)
OF_NIGHTS = {
    "unique_night_figures": (NIGHT + NIGHT + OF_A_NIGHT, 1),
    "unique_night_sums": (NIGHT + OF_A_NIGHT + OF_A_NIGHT.replace("6.0", "0.0").replace("2 AS", "0 AS"), 1),
    "nights_add_up": (NIGHT + OF_A_NIGHT.replace("6.0", "7.0"), 1),
}
"""The tiny store has no night either."""

VALIDITY = (
    "INSERT INTO judge_validity BY NAME SELECT 'j1' AS judge_id, 'embedded' AS judge, 'truth' AS alteration, "
    "'the truth' AS about, 2 AS n, 0 AS n_unscored, 5.0 AS mean, 4.7 AS required_low, 5.0 AS required_high, "
    "true AS passes, now() AS measured_at; "
)
COMPARISON = (
    "INSERT INTO comparisons BY NAME SELECT 'c' AS comparison_id, 's1' AS session_id, 'p' AS judge_id, "
    "'openai:m' AS judge, 'q1' AS probe_id, 'B/q1' AS answer_a, 'A/q1' AS answer_b, 'a' AS first, 'tie' AS outcome, "
    "false AS is_same; "
)
OF_PEOPLE = {
    "unique_comparisons": (COMPARISON + COMPARISON, 1),
    "unique_judge_validity": (VALIDITY + VALIDITY, 1),
    "unique_label_samples": (SAMPLE + SAMPLE, 1),
    "unique_anchor_scores": (ANCHOR + ANCHOR, 1),
    "labels_were_drawn": (f"{SAMPLE} UPDATE human_scores SET sample_id = 'second'", 1),
    "labels_match_the_rubric": ("UPDATE human_scores SET criterion = 'charm'", 1),
    "embedded_judge_does_not_drift": (
        f"{ANCHOR} INSERT INTO anchor_scores SELECT * REPLACE (taken_on + 1 AS taken_on, 2.5 AS score) "
        "FROM anchor_scores",
        1,
    ),
}
"""The tiny store has no sample and no anchors: each change puts some in."""

BROKEN_BY = {
    **UNIQUE_ROWS,
    **OF_PEOPLE,
    **OF_NIGHTS,
    **OF_MEASURES,
    **OF_VIEWS,
    **OF_JUDGES_AND_FILES,
    "unique_compactions_of_a_point": (
        "INSERT INTO compactions SELECT * REPLACE ('again' AS compaction_id) FROM compactions LIMIT 1",
        1,
    ),
    "unique_answers_of_a_compaction": (
        "INSERT INTO answers SELECT * REPLACE ('again' AS answer_id) FROM answers LIMIT 1",
        1,
    ),
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
        "WHERE probe_id = 'q1'",
        1,
    ),
    "messages_met_are_stored_or_set_aside": (
        "UPDATE sessions SET n_tool = 19, n_tool_calls = 21 WHERE session_id = 's1'; "
        "DELETE FROM set_aside WHERE kind = 'system'",
        3,
    ),
    "folded_sessions_have_a_winner": ("UPDATE folded_sessions SET folded_into = 'gone'", 1),
    "session_messages_add_up": ("UPDATE sessions SET n_tool = 0", 2),
    "cuts_in_order": (
        "UPDATE points SET cut_seq = 50 WHERE point_id = 'p2'; INSERT INTO points SELECT * REPLACE ('p3' AS point_id, "
        "2 AS cycle) FROM points WHERE point_id = 'p1'",
        2,
    ),
    "prefix_tokens_before": ("UPDATE points SET tokens_before = 1 WHERE point_id = 'p1'", 3),
    "messages_accounted_for": (
        "UPDATE methods SET history = 'chain'; UPDATE compactions SET n_kept = 9 WHERE method_id = 'A'",
        2,
    ),
    "one_fate_a_message": (
        "UPDATE compactions SET kept = [1, 2], edited = [2], covered = [], dropped = [3] WHERE method_id = 'A'",
        2,
    ),
    "failures_have_errors": (
        "UPDATE compactions SET error = NULL; UPDATE answers SET error = 'why?' WHERE answer_id = 'A/q1'",
        2,
    ),
    "done_answers_have_text": ("UPDATE answers SET text = NULL", 6),
    "asked_or_not_asked": ("UPDATE probes_not_asked SET probe_type = 'recall' WHERE point_id = 'p1'", 3),
    "orphan_rows": (
        "DELETE FROM sessions WHERE session_id = 's1'; DELETE FROM points WHERE point_id = 'p2'; "
        "DELETE FROM methods WHERE method_id = 'C'; DELETE FROM judges WHERE judge_id = 'j2'; "
        "INSERT INTO human_scores SELECT * REPLACE ('gone' AS answer_id) FROM human_scores; "
        f"{NEED} UPDATE needs SET point_id = 'gone'; {MEASURE} UPDATE measures SET compaction_id = 'gone'; "
        f"{STATE} UPDATE statement_states SET compaction_id = 'gone', probe_id = 'gone'; "
        f"{CALL} UPDATE replay_calls SET method_id = 'gone'; "
        f"{SAMPLE} UPDATE label_samples SET answer_id = 'gone'; "
        f"{ANCHOR} UPDATE anchor_scores SET answer_id = 'gone', judge_id = 'gone'",
        28,
    ),
}
"""Check → what breaks it, and the violations that this makes.

Orphans: 1 point of s1; of p2 3 compactions, 1 probe and 3 that are not asked; 2 compactions of C; 6 scores of j2;
1 label; 2 needs, 1 measurement and both references of a statement's state; both of a replayed call; 1 drawn answer;
both of an anchor.
"""

KNOWN = {"same_questions_scored": 1}
"""What the tiny store breaks on purpose: its judge has no score for B/q3."""


def test_the_checks_hold_on_a_good_store(tmp_path: Path) -> None:
    with connect(make(tiny(), tmp_path)) as connection:
        assert dict(violations(connection)) == KNOWN


def test_every_check_is_tested() -> None:
    assert sorted(BROKEN_BY) == CHECKS


@pytest.fixture(scope="module")
def unconstrained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A good store whose tables refuse nothing; each test takes back what it changes."""
    with duckdb.connect(make(tiny(), tmp_path_factory.mktemp("tiny"))) as connection:
        for table in schemas():
            connection.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table}")
        yield connection


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_counts_what_breaks_it(unconstrained: duckdb.DuckDBPyConnection, check: str) -> None:
    """Without constraints: the check has to see by itself what the table would refuse."""
    change, expected = BROKEN_BY[check]
    unconstrained.execute("BEGIN")
    try:
        unconstrained.execute(change)
        rows = unconstrained.execute(f"SELECT count(*) FROM check_{check}").fetchone()
    finally:
        unconstrained.execute("ROLLBACK")
    assert rows == (expected,)


def test_violations_are_counted_and_the_most_come_first(unconstrained: duckdb.DuckDBPyConnection) -> None:
    unconstrained.execute("BEGIN")
    try:
        for number, check in enumerate(CHECKS):
            unconstrained.execute(f"CREATE OR REPLACE VIEW check_{check} AS FROM range({number})")
        found = violations(unconstrained)
    finally:
        unconstrained.execute("ROLLBACK")
    assert found == [(check, number) for number, check in enumerate(CHECKS) if number][::-1]
