"""Quality against tokens, worked out by hand, and the same p-values as in paired_differences."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from flows.database.scores_db import connect
from tests.sql.test_matched_budget import store
from tests.sql.tiny import Rows, compaction, graded, judge, make, scores

FIGURES = {
    "all": {"s1": (1000, 5.0), "s2": (1000, 4.0)},
    "good": {"s1": (300, 4.5), "s2": (300, 4.0)},
    "waste": {"s1": (600, 4.0), "s2": (800, 3.0)},
    "twin": {"s1": (300, 4.0), "s2": (300, 4.5)},
    "poor": {"s1": (300, 4.0), "s2": (310, 4.0)},
    "bare": {"s1": (10, 1.0), "s2": (10, 0.0)},
}


def pareto(rows: Rows, folder: Path, where: str = "true") -> dict[str, dict[str, Any]]:
    """The view by method."""
    with connect(make(rows, folder)) as connection:
        found = connection.execute(f"SELECT * FROM pareto WHERE {where}")
        names = [column[0] for column in found.description]
        rows_ = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return {row["method"]: row for row in rows_}


def test_the_frontier_is_what_no_other_method_beats_at_quality_and_tokens(tmp_path: Path) -> None:
    """Overall: all 4.5, good and twin 4.25 at the same tokens, poor 4.0 at more, waste 3.5, bare 0.5."""
    found = pareto(store(FIGURES), tmp_path)
    assert {name for name, row in found.items() if row["on_frontier"]} == {"all", "good", "twin", "bare"}
    assert {name: (row["dominated_by"], row["distance"]) for name, row in found.items() if row["dominated_by"]} == {
        "poor": ("good", pytest.approx(0.25)),
        "waste": ("good", pytest.approx(0.75)),
    }
    assert {row["distance"] for row in found.values() if row["on_frontier"]} == {0}


def test_shares_and_tokens_are_those_of_the_contexts_and_of_what_was_fetched(tmp_path: Path) -> None:
    found = pareto(store(FIGURES, bare=500), tmp_path)
    row = found["waste"]
    assert (row["tokens_kept"], row["tokens_after"], row["fetched_tokens"], row["tokens_read"]) == (0.7, 700, 0, 700)
    row = found["bare"]
    assert (row["tokens_kept"], row["tokens_after"], row["fetched_tokens"], row["tokens_read"]) == (0.01, 10, 500, 510)
    assert (row["on_frontier"], row["dominated_by"]) == (False, "good")


def test_a_method_that_is_as_good_and_cheaper_dominates_at_a_distance_of_0(tmp_path: Path) -> None:
    found = pareto(store({"dear": {"s1": (20, 2.0)}, "cheap": {"s1": (10, 2.0)}}), tmp_path)
    assert (found["dear"]["dominated_by"], found["dear"]["distance"]) == ("cheap", 0)
    assert (found["dear"]["is_beyond_noise"], found["cheap"]["on_frontier"]) == (None, True)


def test_pairs_are_compared_on_the_questions_that_both_have(tmp_path: Path) -> None:
    """Of s1 alone lucky has a score, 4 at 600 tokens; good has 4.5 there at 300, and 2.75 over all."""
    rows = store({"good": {"s1": (300, 4.5), "s2": (300, 1.0)}, "lucky": {"s1": (600, 4.0)}})
    rows["compactions"].append(compaction("lucky", "p-s2", 1000, None))
    found = pareto(rows, tmp_path)
    assert found["lucky"]["overall"] > found["good"]["overall"]
    assert (found["lucky"]["dominated_by"], found["lucky"]["distance"]) == ("good", pytest.approx(0.5))
    assert found["good"]["on_frontier"]


def test_a_method_that_is_not_applicable_everywhere_dominates_none(tmp_path: Path) -> None:
    rows = store({"good": {"s1": (300, 4.5), "s2": (300, 1.0)}, "partial": {"s1": (100, 5.0)}})
    rows["compactions"].append(compaction("partial", "p-s2", 1000, None, status="not_applicable", error="no recording"))
    found = pareto(rows, tmp_path)
    assert {name: row["is_partial"] for name, row in found.items()} == {"good": False, "partial": True}
    assert found["good"]["on_frontier"]


def test_judges_are_not_mixed(tmp_path: Path) -> None:
    rows = store(FIGURES)
    rows["judges"].append(judge("j2", "openai:grader"))
    rows["scores"] += scores("waste/q-s1", "j2", facts=5.0) + scores("good/q-s1", "j2", facts=4.0)
    found = pareto(rows, tmp_path, "judge_id = 'j2'")
    assert {name: (row["overall"], row["on_frontier"]) for name, row in found.items()} == {
        "good": (4, True),
        "waste": (5, True),
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_p_value_of_a_dominated_method_is_that_of_paired_differences(tmp_path: Path, seed: int) -> None:
    random.seed(seed)
    questions = [(f"s{s}", f"q{q}") for s in range(7) for q in range(random.randint(1, 4))]
    rows = graded(
        {
            f"m{m}": {
                key: min(5.0, max(0.0, random.gauss(1 + 0.6 * m, 0.5))) for key in questions if random.random() < 0.9
            }
            for m in range(6)
        }
    )
    with connect(make(rows, tmp_path)) as connection:
        found = connection.execute(
            """
            SELECT pareto.p_adjusted, pairs.p_adjusted_in_dimension, pareto.distance, abs(pairs.difference),
                pareto.is_beyond_noise
            FROM pareto
            JOIN paired_differences AS pairs
                ON pairs.dimension = 'overall' AND (pairs.method_id_a, pairs.method_id_b) IN (
                    (pareto.method_id, pareto.dominated_by_id), (pareto.dominated_by_id, pareto.method_id))
            """
        ).fetchall()
    assert len(found) == 5, "all keep the same tokens, so the best dominates the rest"
    for p, same_p, distance, same_distance, is_beyond in found:
        assert p == pytest.approx(same_p, rel=1e-9)
        assert distance == pytest.approx(same_distance)
        assert is_beyond == (p < 0.05)
    if seed == 0:
        assert {row[4] for row in found} == {True, False}, "the example has both kinds"
