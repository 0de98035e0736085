"""What the next replicate brings, on scores drawn from the model that the components of variance assume."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from flows.database.scores_db import connect
from tests.sql.drawn import Model, read, studies
from tests.sql.tiny import Rows, call, make


def test_one_more_compaction_brings_nothing_to_methods_whose_contexts_are_equal(tmp_path: Path) -> None:
    model = Model(methods=2, fixed=("A", "B"))
    found = next_of(studies(model, 1, seed=37), tmp_path)
    assert found["compaction"]["gain"] == 0
    assert found["answer"]["gain"] > 0


def test_the_expected_error_is_the_one_that_repeated_studies_show(tmp_path: Path) -> None:
    """Over 150 studies: mean expected variance of A - B, and of A's mean, against the variance between the studies."""
    model = replace(Model(sessions=5, answers=1), judge=0.06, compaction=0.08, compaction_shared=0.06)
    rows = studies(model, 150, seed=17)
    path = make(rows, tmp_path)
    with connect(path) as connection:
        expected = connection.execute(
            "SELECT avg(std_error_difference_now ** 2), avg(std_error_mean_now ** 2) FROM next_replicate "
            "WHERE dimension = 'overall' AND one_more = 'session'"
        ).fetchone()
        shown = connection.execute(
            """
            SELECT var_samp(a.mean - b.mean), var_samp(a.mean) FROM leaderboard_long a JOIN leaderboard_long b
            USING (judge_id, dimension) WHERE dimension = 'overall' AND a.method = 'A' AND b.method = 'B'
            """
        ).fetchone()
    assert expected is not None
    assert shown is not None
    # The variance of 150 normal values has a relative standard error of sqrt(2 / 149) = 0.12.
    assert expected == pytest.approx(shown, rel=0.36)


def next_of(rows: Rows, folder: Path) -> dict[str, dict[str, Any]]:
    return {row["one_more"]: row for row in read(rows, folder, "next_replicate")}


def test_the_expected_errors_follow_from_the_components(tmp_path: Path) -> None:
    """By the formula of the view's comment, with 6 sessions, 12 points, 36 questions and 2 of each repetition."""
    rows = studies(Model(), 1, seed=23)
    path = make(rows, tmp_path)
    with connect(path) as connection:
        (c,) = connection.sql("FROM variance_components WHERE dimension = 'overall'").to_arrow_table().to_pylist()
        found = connection.sql("FROM next_replicate WHERE dimension = 'overall'").to_arrow_table().to_pylist()
    shared = max(0, c["raw_compaction_shared"])

    def difference(g: float = 6, q: float = 36, p: float = 12, k: float = 2, a: float = 2, j: float = 2) -> float:
        rest = c["var_compaction"] - shared
        return sqrt(
            2
            * (
                c["var_method_session"] / g
                + c["var_method_question"] / q
                + shared / (p * k)
                + rest / (q * k)
                + c["var_answer"] / (q * k * a)
                + c["var_judge"] / (q * k * a * j)
            )
        )

    then = {
        "session": difference(g=7, q=42, p=14),
        "compaction": difference(k=3),
        "answer": difference(a=3),
        "judge": difference(j=3),
    }
    assert [row["one_more"] for row in found] == list(then)
    for row in found:
        assert row["std_error_difference_now"] == pytest.approx(difference())
        assert row["std_error_difference_then"] == pytest.approx(then[row["one_more"]])
        assert row["gain"] == row["gain_at_most"] == pytest.approx(difference() - then[row["one_more"]])


def test_what_it_takes_is_counted(tmp_path: Path) -> None:
    """By hand: 3 methods × 12 points × 2 compactions, × 3 questions × 2 answers × 2 verdicts."""
    found = next_of(studies(Model(), 1, seed=23), tmp_path)
    taken = {more: (row["n_compactions"], row["n_answers"], row["n_verdicts"]) for more, row in found.items()}
    assert taken == {
        "session": (12, 72, 144),
        "compaction": (36, 216, 432),
        "answer": (0, 216, 432),
        "judge": (0, 0, 432),
    }


def priced(cost: float | None) -> Rows:
    """A study whose verdicts were two model calls each on average, answers cost 0.01, compactions 0.5 US dollars."""
    rows = studies(Model(), 1, seed=23)
    for table, usd in (("compactions", 0.5), ("answers", 0.01)):
        rows[table] = [{**row, "cost_usd": usd} for row in rows[table]]
    rows["judges"] = [{**row, "judge": "openai:grader (here)", "model": "grader"} for row in rows["judges"]]
    verdicts = {(row["answer_id"], row["judge_replicate"]) for row in rows["scores"]}
    rows["calls"] = [
        *(call(f"c{i}", "score", "openai:grader", 10, cost) for i in range(2 * len(verdicts))),
        call("other", "score", "openai:grad", 10, 9.0),
        call("hit", "score", "openai:grader", 10, 9.0, cached=True),
        call("fault", "score", "openai:grader", 10, 9.0, status="failed"),
    ]
    return rows


def test_the_best_is_what_brings_most_for_a_dollar(tmp_path: Path) -> None:
    found = next_of(priced(0.002), tmp_path)
    cost = {more: row["cost_usd"] for more, row in found.items()}
    verdict = 2 * 0.002
    assert cost == pytest.approx(
        {
            "session": 12 * 0.5 + 72 * 0.01 + 144 * verdict,
            "compaction": 36 * 0.5 + 216 * 0.01 + 432 * verdict,
            "answer": 216 * 0.01 + 432 * verdict,
            "judge": 432 * verdict,
        }
    )
    assert {row["ranked_by"] for row in found.values()} == {"dollars"}
    rate = {more: row["gain"] / row["cost_usd"] for more, row in found.items()}
    assert {more: row["gain_per_usd"] for more, row in found.items()} == pytest.approx(rate)
    assert [more for more, row in found.items() if row["is_best"]] == [max(rate, key=lambda more: rate[more])]


def test_without_a_price_calls_decide(tmp_path: Path) -> None:
    found = next_of(priced(None), tmp_path)
    assert {row["ranked_by"] for row in found.values()} == {"model calls"}
    assert {row["cost_usd"] for row in found.values()} == {None}
    assert {more: row["n_calls"] for more, row in found.items()} == {
        "session": 288,
        "compaction": 864,
        "answer": 864,
        "judge": 864,
    }
    assert sum(row["is_best"] for row in found.values()) == 1


def test_what_was_never_repeated_has_no_expectation_but_a_bound(tmp_path: Path) -> None:
    """One verdict each: a second halves at most all that differs between questions, method by method."""
    found = next_of(studies(Model(compactions=1, answers=1, verdicts=1), 1, seed=4), tmp_path)
    row = found["judge"]
    assert (row["gain"], row["std_error_difference_then"], row["is_best"]) == (None, None, False)
    assert 0 < row["gain_at_most"] <= (1 - sqrt(0.5)) * row["std_error_difference_now"] + 1e-12
    assert found["session"]["is_best"]
