"""What becomes of methods when the judge changes: by hand, and by the t interval over session means."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from scipy import stats

from flows.database.scores_db import connect
from tests.sql.tiny import Rows, graded, judge, make, scores

Scored = Mapping[str, Mapping[tuple[str, str], float]]
"""Method → (session, probe) → score."""


def judged_twice(first: Scored, second: Scored) -> Rows:
    """The answers of the first, scored by j1; j2, which was used later, has given the scores of the second."""
    rows = graded(first)
    later = judge("a later one", "openai:grader", created_at="2026-02-01T00:00:00Z")
    return {
        **rows,
        "judges": [*rows["judges"], later],
        "scores": [
            *rows["scores"],
            *(
                row
                for name, found in second.items()
                for (s, q), x in found.items()
                for row in scores(f"{name}/{s}-{q}", "a later one", facts=x)
            ),
        ],
    }


def bridge(rows: Rows, folder: Path, dimension: str = "overall") -> dict[str, dict[str, Any]]:
    with connect(make(rows, folder)) as connection:
        found = connection.sql(f"FROM judge_bridge WHERE dimension = '{dimension}'").to_arrow_table().to_pylist()
    return {row["method"]: row for row in found}


def drawn(seed: int, means: Mapping[str, float], noise: float, sessions: int = 6, questions: int = 4) -> Scored:
    rng = random.Random(seed)
    return {
        name: {
            (f"s{s}", f"q{q}"): min(5.0, max(0.0, mean + rng.gauss(0, noise)))
            for s in range(sessions)
            for q in range(questions)
        }
        for name, mean in means.items()
    }


def test_the_shift_has_the_interval_of_the_session_means(tmp_path: Path) -> None:
    """As many answers in every session: the clustered interval is the t interval over session means (scipy)."""
    first, second = drawn(1, {"keep": 3}, 0.5), drawn(2, {"keep": 2.5}, 0.5)
    found = bridge(judged_twice(first, second), tmp_path)["keep"]
    means = [
        fmean(second["keep"][f"s{s}", f"q{q}"] - first["keep"][f"s{s}", f"q{q}"] for q in range(4)) for s in range(6)
    ]
    assert (found["judge_from"], found["judge_to"]) == ("embedded", "openai:grader")
    assert (found["judge_id_from"], found["judge_id_to"]) == ("j1", "a later one")
    assert found["shift"] == pytest.approx(found["mean_to"] - found["mean_from"], abs=1e-8)
    assert (found["shift"], found["std_error"]) == pytest.approx((fmean(means), stats.sem(means)))
    interval = stats.t.interval(0.95, 5, fmean(means), stats.sem(means))
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(interval, rel=1e-5)
    assert (found["n_answers"], found["n_sessions"]) == (24, 6)


def test_only_answers_that_both_judges_scored_count(tmp_path: Path) -> None:
    """By hand: j2 scored keep's first answer alone, on which j1 gave 1."""
    first = {"keep": {("s1", "q1"): 1.0, ("s1", "q2"): 5.0}, "cut": {("s1", "q1"): 2.0}}
    found = bridge(judged_twice(first, {"keep": {("s1", "q1"): 4.0}}), tmp_path)
    assert set(found) == {"keep"}
    row = found["keep"]
    assert (row["mean_from"], row["mean_to"], row["shift"], row["n_answers"]) == (1, 4, 3, 1)
    assert (row["std_error"], row["ci_low"], row["n_flips"], row["flipped_with"]) == (None, None, 0, [])


def test_orders_that_flip_are_named_by_hand(tmp_path: Path) -> None:
    """Under j1 a > b > c = d, under j2 c > a > b > d: c flips with a and b, not with d, with which it was level."""

    def flat(**means: float) -> Scored:
        return {name: {(f"s{s}", "q"): x for s in range(3)} for name, x in means.items()}

    found = bridge(judged_twice(flat(a=4, b=3, c=2, d=2), flat(a=3, b=2, c=5, d=1)), tmp_path)
    assert {name: row["flipped_with"] for name, row in found.items()} == {
        "a": ["c"],
        "b": ["c"],
        "c": ["a", "b"],
        "d": [],
    }
    assert {name: row["n_flips"] for name, row in found.items()} == {"a": 1, "b": 1, "c": 2, "d": 0}
    assert {name: (row["rank_from"], row["rank_to"]) for name, row in found.items()} == {
        "a": (1, 2),
        "b": (2, 3),
        "c": (3, 1),
        "d": (3, 4),
    }
    # No scatter at all: neither judge shows how far other sessions would differ.
    assert {row["n_flips_beyond_noise"] for row in found.values()} == {0}


def test_a_flip_is_beyond_noise_only_if_both_judges_are_sure(tmp_path: Path) -> None:
    """A (4) and b (2) change places around c and d, which stay near 3, 0.02 apart with a scatter of 0.5."""
    first = drawn(3, {"a": 4, "b": 2}, 0.3) | drawn(8, {"c": 3.01, "d": 2.99}, 0.5)
    second = drawn(4, {"a": 2, "b": 4}, 0.3) | drawn(6, {"c": 2.99, "d": 3.01}, 0.5)
    found = bridge(judged_twice(first, second), tmp_path)
    assert found["a"]["flipped_beyond_noise_with"] == ["b", "c", "d"]
    assert found["c"]["flipped_beyond_noise_with"] == ["a", "b"]
    assert found["c"]["flipped_with"] == ["a", "b", "d"]
    for name, row in found.items():
        sure = set()
        for other in found:
            directions = []
            for scored in (first, second):
                means = [
                    fmean(scored[name][f"s{s}", f"q{q}"] - scored[other][f"s{s}", f"q{q}"] for q in range(4))
                    for s in range(6)
                ]
                low, high = stats.t.interval(0.95, 5, fmean(means), stats.sem(means)) if other != name else (0, 0)
                directions.append(int(low > 0) - int(high < 0))
            if sorted(directions) == [-1, 1]:
                sure.add(other)
        assert set(row["flipped_beyond_noise_with"]) == sure
        assert sure <= set(row["flipped_with"])


def test_a_single_judge_has_no_bridge(tmp_path: Path) -> None:
    assert bridge(graded({"keep": {("s1", "q1"): 1.0}}), tmp_path) == {}


def test_every_dimension_has_its_own_bridge(tmp_path: Path) -> None:
    """By hand: facts and terms 1, 5 become 3, 5: accuracy from (1 + 3 · 5) / 4 = 4 to (3 + 15) / 4 = 4.5."""
    rows = graded({"keep": {("s1", "q1"): 0.0}})
    rows["judges"].append(judge("j2", "other", created_at="2025-12-01T00:00:00Z"))
    rows["scores"] = [
        *scores("keep/s1-q1", "j2", facts=1, terms=5, parts=4),
        *scores("keep/s1-q1", "j1", facts=3, terms=5, parts=None),
    ]
    path = make(rows, tmp_path)
    with connect(path) as connection:
        found = connection.execute(
            "SELECT dimension, judge_id_from, mean_from, mean_to FROM judge_bridge ORDER BY ALL"
        ).fetchall()
    assert found == [("accuracy", "j2", 4.0, 4.5), ("overall", "j2", 4.0, 4.5)]
