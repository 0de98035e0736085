"""Figures of the views, worked out by hand on the tiny store or anew in Python."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from flows.database.scores_db import connect
from flows.database.sql_model import relations, schemas
from tests.sql.figures import close, rows
from tests.sql.loaded import make_loaded
from tests.sql.tiny import answer, call, judge, make, probe, scores, tiny

T_975 = {1: 12.706205}
"""Textbook quantiles of Student's t at 97.5 %, by degrees of freedom."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tiny(), tmp_path_factory.mktemp("tiny"))


def test_the_leaderboard_is_the_one_worked_out_by_hand(store: Path) -> None:
    """For keep q1 (2.5 + 4) / 2, q2 (5 + 1 + 3) / 3, q3 (3 + 5) / 2; for cut q1 (3 + 4) / 2, q2 (4 + 2 + 3) / 3."""
    found = rows(store, "FROM leaderboard")
    assert close(
        found,
        [
            (
                "j1",
                "embedded",
                "keep",
                10.25 / 3,
                8.5 / 3,
                3.5,
                None,
                1,
                4,
                None,
                None,
                3,
                2,
                0,
                0.7,
                1,
                "a",
                3.125,
                2,
                1,
                10.25 / 3,
                False,
                0,
                "A",
                True,
                3,
                None,
                0,
                1,
            ),
            (
                "j1",
                "embedded",
                "cut",
                3.25,
                9 / 3,
                3.5,
                None,
                2,
                3.5,
                None,
                None,
                2,
                1,
                1,
                0.0,
                2,
                "a",
                3.25,
                2,
                3,
                3.25,
                False,
                0,
                "B",
                True,
                2,
                None,
                0,
                2,
            ),
            (
                "j2",
                "openai:grader",
                "keep",
                4,
                4,
                3,
                None,
                None,
                5,
                None,
                None,
                1,
                1,
                0,
                0.7,
                None,
                None,
                4,
                1,
                1,
                4,
                False,
                0,
                "A",
                True,
                1,
                None,
                0,
                1,
            ),
        ],
    ), found


def test_the_long_leaderboard_has_intervals_clustered_by_session(store: Path) -> None:
    """The sessions of keep have sums 6.25 of 2 and 4 of 1: residuals ∓7/12, over 1 - 2/3 and 1 - 1/3.

    So the error is sqrt(49/144 · (3 + 3/2)) / 3 with a single degree of freedom; accuracy has residuals ±1/2,
    completeness ∓1.
    """
    found = rows(
        store, "SELECT * EXCLUDE (method_id, df, is_current, n_clusters) FROM leaderboard_long WHERE judge_id = 'j1'"
    )
    error, accuracy, complete = (residual * math.sqrt(4.5) / 3 for residual in (7 / 12, 1 / 2, 1))
    assert close(
        found,
        [
            ("j1", "embedded", "cut", "accuracy", 3.5, None, None, None, 2, 1),
            ("j1", "embedded", "cut", "artifact_trail", 2, None, None, None, 1, 1),
            ("j1", "embedded", "cut", "completeness", 3.5, None, None, None, 2, 1),
            ("j1", "embedded", "cut", "overall", 3.25, None, None, None, 2, 1),
            (
                "j1",
                "embedded",
                "keep",
                "accuracy",
                3.5,
                accuracy,
                3.5 - T_975[1] * accuracy,
                3.5 + T_975[1] * accuracy,
                3,
                2,
            ),
            ("j1", "embedded", "keep", "artifact_trail", 1, None, None, None, 1, 1),
            (
                "j1",
                "embedded",
                "keep",
                "completeness",
                4,
                complete,
                4 - T_975[1] * complete,
                4 + T_975[1] * complete,
                3,
                2,
            ),
            (
                "j1",
                "embedded",
                "keep",
                "overall",
                10.25 / 3,
                error,
                10.25 / 3 - T_975[1] * error,
                10.25 / 3 + T_975[1] * error,
                3,
                2,
            ),
        ],
    ), found


def test_a_split_leaderboard_has_the_same_figures_of_a_part(store: Path) -> None:
    found = rows(
        store,
        """
        SELECT 'task_type', task_type, method, mean, n_answers FROM leaderboard_by_task_type
        WHERE judge_id = 'j1' AND dimension = 'overall'
        UNION ALL SELECT 'probe_type', probe_type, method, mean, n_answers FROM leaderboard_by_probe_type
        WHERE judge_id = 'j1' AND dimension = 'overall'
        UNION ALL SELECT 'length', length, method, mean, n_answers FROM leaderboard_by_length
        WHERE judge_id = 'j1' AND dimension = 'overall'
        UNION ALL SELECT 'cycle', cycle::VARCHAR, method, mean, n_answers FROM leaderboard_by_cycle
        WHERE judge_id = 'j1' AND dimension = 'overall'
        UNION ALL SELECT 'resolved', resolved, method, mean, n_answers FROM leaderboard_by_resolved
        WHERE judge_id = 'j1' AND dimension = 'overall'
        UNION ALL SELECT 'exit_status', exit_status, method, mean, n_answers FROM leaderboard_by_exit_status
        WHERE judge_id = 'j1' AND dimension = 'overall'
        ORDER BY ALL
        """,
    )
    assert close(
        found,
        [
            ("cycle", "1", "cut", 3.25, 2),
            ("cycle", "1", "keep", 10.25 / 3, 3),
            ("exit_status", "submitted", "cut", 3.25, 2),
            ("exit_status", "submitted", "keep", 3.125, 2),
            ("exit_status", "unknown", "keep", 4, 1),
            ("length", "short", "cut", 3.25, 2),
            ("length", "short", "keep", 10.25 / 3, 3),
            ("probe_type", "artifact", "cut", 3, 1),
            ("probe_type", "artifact", "keep", 3, 1),
            ("probe_type", "recall", "cut", 3.5, 1),
            ("probe_type", "recall", "keep", 3.625, 2),
            ("resolved", "no", "cut", 3.25, 2),
            ("resolved", "no", "keep", 3.125, 2),
            ("resolved", "unknown", "keep", 4, 1),
            ("task_type", "debugging", "cut", 3.25, 2),
            ("task_type", "debugging", "keep", 3.125, 2),
            ("task_type", "unknown", "keep", 4, 1),
        ],
    ), found


def test_compression_sums_tokens_over_done_compactions(store: Path) -> None:
    assert close(
        rows(store, "SELECT * EXCLUDE (n_over_budget, session_tokens, session_tokens_removed) FROM compression"),
        [
            ("broken", 3000, 300, 0.9, 0, 1.0, 0.0, 1, 1, 0, 0, 0, "C", 0.0, True),
            ("keep", 4000, 1200, 0.7, 0, 1.0, 0.0, 2, 0, 0, 0, 0, "A", 0.0, True),
            ("cut", 4000, 4000, 0.0, 1, 1.0, 0.0, 2, 0, 0, 1, 0, "B", 0.0, True),
        ],
    )


def test_what_a_chain_removed_of_the_whole_session_stands_beside_what_the_step_removed(tmp_path: Path) -> None:
    store = tiny()
    first = next(row for row in store["compactions"] if row["method_id"] == "A")
    first.update(tokens_before=first["tokens_before"] // 2, flags=["over_budget"])
    asked = "tokens_before, tokens_after, session_tokens, session_tokens_removed, n_over_budget"
    (found,) = rows(make(store, tmp_path), f"SELECT {asked} FROM compression WHERE method_id = 'A'")
    session_tokens = 4000
    before = session_tokens - first["tokens_before"]
    assert close([found], [(before, 1200, session_tokens, 1 - 1200 / session_tokens, 1)])


def test_coverage_says_where_items_were_lost(store: Path) -> None:
    assert rows(store, "SELECT * EXCLUDE (not_applicable, method_id) FROM coverage") == [
        ("all methods", "probe", 3, 3, 0, 0, 0),
        ("all methods", "probe_not_asked", 7, 0, 0, 7, 0),
        ("broken", "compaction", 2, 1, 1, 0, 0),
        ("broken", "answer", 1, 0, 1, 0, 0),
        ("broken", "score", 0, 0, 0, 0, 0),
        ("cut", "compaction", 2, 2, 0, 0, 0),
        ("cut", "answer", 3, 3, 0, 0, 0),
        ("cut", "score", 9, 2, 0, 1, 6),
        ("keep", "compaction", 2, 2, 0, 0, 0),
        ("keep", "answer", 3, 3, 0, 0, 0),
        ("keep", "score", 9, 5, 0, 0, 4),
    ]


def test_a_probe_that_the_prober_failed_to_make_is_a_failure_and_no_missing_truth(tmp_path: Path) -> None:
    store = tiny()
    store["probes_not_asked"][0].update(status="failed", reason="the prober timed out")
    found = rows(
        make(store, tmp_path), "SELECT * EXCLUDE (not_applicable, method_id) FROM coverage WHERE method = 'all methods'"
    )
    assert found == [("all methods", "probe", 4, 3, 1, 0, 0), ("all methods", "probe_not_asked", 6, 0, 0, 6, 0)]


def test_coverage_by_judge_keeps_judges_apart(store: Path) -> None:
    assert rows(store, "SELECT * EXCLUDE (method_id) FROM coverage_by_judge") == [
        ("j1", "embedded", "cut", 3, 2, 1, 0),
        ("j1", "embedded", "keep", 3, 3, 0, 0),
        ("j2", "openai:grader", "cut", 6, 0, 0, 6),
        ("j2", "openai:grader", "keep", 6, 2, 0, 4),
    ]


def test_costs_leave_cached_calls_out_and_count_unknown_prices(store: Path) -> None:
    figures = "* EXCLUDE (n_unread, unread_usd, cached_input_tokens, cache_write_tokens)"
    assert rows(store, f"SELECT {figures} FROM costs") == [
        ("answer", "m", 3, 1, 0, 170, 20, 0.5, 1, 2.0, 0.5),
        ("score", "grader", 1, 0, 1, 10, 10, 0.25, 0, 1.0, 0.0),
    ]


def test_costs_show_apart_what_a_killed_run_sent_and_of_the_input_what_the_provider_had(tmp_path: Path) -> None:
    store = tiny()
    store["calls"] = [
        call("c1", "answer", "m", 100, 0.5, cached_input_tokens=60, cache_write_tokens=30),
        call("c2", "answer", "m", 100, 0.0, cached=True, cached_input_tokens=60, cache_write_tokens=30),
        call("c3", "answer", "m", 800, 7.0, status="sent", cached_input_tokens=0, cache_write_tokens=0),
    ]
    figures = (
        "n_calls, n_not_done, n_unread, input_tokens, cached_input_tokens, cache_write_tokens, cost_usd, unread_usd"
    )
    assert rows(make(store, tmp_path), f"SELECT {figures} FROM costs") == [(3, 0, 1, 100, 60, 30, 0.5, 7.0)]


def test_a_plain_sum_of_costs_is_what_was_paid(store: Path) -> None:
    assert rows(store, "SELECT sum(cost_usd), sum(saved_usd) FROM calls") == [(0.75, 0.5)]
    assert rows(store, "SELECT sum(cost_usd), sum(saved_usd) FROM costs") == [(0.75, 0.5)]


def test_the_published_table_is_there_and_its_overall_is_not_the_mean_of_its_dimensions(store: Path) -> None:
    found = rows(
        store,
        """
        SELECT method, overall, tokens_removed, n_messages, round((accuracy + context_awareness + artifact_trail
            + completeness + continuity + instruction_following) / 6, 3)
        FROM published_leaderboard ORDER BY overall DESC
        """,
    )
    assert found == [
        ("Factory, anchored iterative", 3.70, 0.986, 36611, 3.955),
        ("Anthropic, regenerated summary", 3.44, 0.987, 36611, 3.770),
        ("OpenAI, opaque compact endpoint", 3.35, 0.993, 36611, 3.720),
    ]


def test_times_are_kept_in_utc(store: Path) -> None:
    assert rows(store, "SELECT started_at::VARCHAR FROM sessions WHERE session_id = 's1'") == [("2026-03-01 10:00:00",)]


def test_a_constraint_has_a_column_of_its_own_and_is_in_no_other_figure(store: Path, tmp_path: Path) -> None:
    """An answer to it that scored nothing lowers neither overall nor a rank, and is no answer of theirs."""
    more = tiny()
    more["probes"].append(probe("rule", "p1", "constraint"))
    more["probes_not_asked"] = [row for row in more["probes_not_asked"] if row["probe_type"] != "constraint"]
    more["answers"] += [answer("A", "p1", "rule") | {"answer_id": "A/rule"}]
    more["scores"] += [{**row, "dimension": "constraints"} for row in scores("A/rule", "j1", facts=0)]
    path = make(more, tmp_path)
    without = "SELECT * EXCLUDE (constraints, n_constraints) FROM leaderboard WHERE judge_id = 'j1'"
    assert rows(path, without) == rows(store, without)
    figures = "SELECT method, constraints, n_constraints FROM leaderboard WHERE judge_id = 'j1' ORDER BY method"
    assert rows(path, figures) == [("cut", None, 0), ("keep", 0, 1)]
    assert rows(path, "SELECT DISTINCT dimension FROM leaderboard_by_probe_type WHERE probe_type = 'constraint'") == [
        ("constraints",)
    ]
    for view in ("paired_differences", "reliability"):
        counted = f"SELECT * FROM {view} WHERE dimension <> 'constraints' ORDER BY ALL"
        assert rows(path, counted) == rows(store, counted)


def test_a_judge_that_scored_nothing_has_a_row_without_figures(tmp_path: Path) -> None:
    store = tiny()
    store["judges"].append(judge("j3", "openai:mute"))
    store["scores"] += scores("A/q1", "j3", facts=None)
    [found] = rows(
        make(store, tmp_path),
        "SELECT method, overall, n_answers, n_unscored, rank, tie_group, tokens_removed FROM leaderboard "
        "WHERE judge_id = 'j3'",
    )
    assert found == ("keep", None, 0, 1, None, None, pytest.approx(0.7))


@pytest.mark.parametrize("stage", ["sessions", "points", "compactions", "probes", "answers", "judges", "scores"])
def test_views_work_over_half_a_run(tmp_path: Path, stage: str) -> None:
    """Every view answers over a store that stopped after this table, and nothing missing became a 0 in a mean."""
    order = list(tiny())
    half: dict[str, Any] = {name: found for name, found in tiny().items() if order.index(name) <= order.index(stage)}
    path = make_loaded(half, tmp_path)
    with connect(path) as connection:
        names = sorted(relations() - schemas().keys())
        for name in names:
            connection.execute(f"FROM {name}").fetchall()
        means = connection.execute("SELECT overall FROM leaderboard WHERE judge_id = 'j1'").fetchall()
        missing = dict(connection.execute("SELECT stage, sum(missing)::INT FROM coverage GROUP BY stage").fetchall())
    assert len(names) > 40
    assert means == ([(pytest.approx(10.25 / 3),), (pytest.approx(3.25),)] if stage == "scores" else [])
    if stage == "answers":
        assert missing == {"compaction": 0, "probe": 0, "probe_not_asked": 0, "answer": 0, "score": 6}


def test_a_panel_shows_how_far_its_members_agree_and_which_judge_wrote_the_summaries(tmp_path: Path) -> None:
    """The summaries of keep are by the model `grader`: of the answer that it scored the panel leaves it out."""
    data = tiny()
    data["methods"][0]["summarizer"] = "openai:grader (127.0.0.1:9)@ab12"
    data["judges"] = [
        judge("j1", "embedded"),
        judge("j2", "openai:grader", model="grader"),
        judge("j3", "openai:other", model="other"),
        judge("j4", "mean", params='{"members": ["j3", "j2"], "rule": "mean", "own_summaries": false}'),
        judge("j5", "mean too", params='{"members": ["j1", "j3"], "rule": "mean", "own_summaries": false}'),
    ]
    for name, points in (("j3", 5), ("j4", 4), ("j5", 4)):
        data["scores"] += [row for probe in ("q1", "q2") for row in scores(f"A/{probe}", name, facts=points)]
    store = make(data, tmp_path)
    agreed = "SELECT panel, member_a, member_b, n_answers, exact, mean_difference FROM panel_agreement"
    assert rows(store, f"{agreed} WHERE item = 'facts' ORDER BY panel") == [
        ("mean", "openai:grader", "openai:other", 1, 0.0, 2.0),
        ("mean too", "embedded", "openai:other", 2, 0.5, 0.5),
    ]
    assert rows(
        store, "SELECT judge, item, n FROM judge_remarks WHERE item LIKE 'leaves%' OR item LIKE '%own model'"
    ) == [
        ("mean", "leaves members out", 2),
        ("openai:grader", "judges summaries of its own model", 1),
    ]


def test_pairs_count_a_question_once_and_show_what_the_position_does(tmp_path: Path) -> None:
    """Of q1 cut wins when it is first and ties when it is second; of q3 whatever is first wins; q2 lacks an order."""
    verdicts = [("q1", "s1", "a", "a"), ("q1", "s1", "b", "tie"), ("q2", "s1", "a", "b"), ("q3", "s2", "a", "a")]
    verdicts.append(("q3", "s2", "b", "b"))
    of_judge = {"judge_id": "p", "judge": "openai:m", "reasoning": "so", "is_same": False}
    given = [
        {
            "comparison_id": f"{question}{first}",
            "session_id": session_id,
            "probe_id": question,
            "answer_a": f"B/{question}",
            "answer_b": f"A/{question}",
            "first": first,
            "outcome": outcome,
            **of_judge,
        }
        for question, session_id, first, outcome in verdicts
    ]
    store = make({**tiny(), "comparisons": given}, tmp_path)
    wanted = (
        "SELECT method_a, method_b, share_a, n_questions, n_a, n_ties, n_b, n_agreeing, n_sessions FROM pair_results"
    )
    assert rows(store, wanted) == [("cut", "keep", 0.625, 2, 1, 1, 0, 0, 2)]
    assert rows(store, "SELECT share_first, n_comparisons, n_first, n_second FROM pair_position") == [(0.875, 4, 3, 0)]
    [(low, high)] = rows(store, "SELECT ci_low, ci_high FROM pair_results")
    assert close([(low, high)], [(0.625 - 0.125 * T_975[1], 0.625 + 0.125 * T_975[1])])
