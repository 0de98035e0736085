"""Each method against plain recency at the same tokens, worked out by hand."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from flows.database.scores_db import connect
from tests.sql.recomputed import holm
from tests.sql.tiny import CRITERIA, Rows, answer, compaction, judge, make, method, point, probe, scores, session

LADDER = {"empty": "empty", "r10": "recency", "r40": "recency", "none": "none"}
"""Method → strategy, from nothing to everything."""


def store(figures: dict[str, dict[str, tuple[float, float]]], **fetched: int) -> Rows:
    """Method → session → (tokens, overall) of its one question; a method of ``LADDER`` is a step of it."""
    names = sorted({name for by_session in figures.values() for name in by_session})
    return {
        "sessions": [session(name) for name in names],
        "points": [point(f"p-{name}", name, 1000) for name in names],
        "methods": [method(name, name, strategy=LADDER.get(name, name)) for name in figures],
        "compactions": [
            compaction(m, f"p-{s}", 1000, int(tokens))
            for m, found in figures.items()
            for s, (tokens, _) in found.items()
        ],
        "probes": [probe(f"q-{name}", f"p-{name}") for name in names],
        "answers": [
            answer(m, f"p-{s}", f"q-{s}", fetched_tokens=fetched.get(m, 0))
            for m, found in figures.items()
            for s in found
        ],
        "judges": [judge("j1", "embedded")],
        "criteria": CRITERIA,
        "scores": [
            row
            for m, found in figures.items()
            for s, (_, x) in found.items()
            for row in scores(f"{m}/q-{s}", "j1", facts=x)
        ],
    }


STEPS = {
    "empty": {"s1": (0, 1.0), "s2": (10, 0.0), "s3": (0, 1.0)},
    "r10": {"s1": (100, 2.0), "s2": (90, 1.0), "s3": (100, 1.0)},
    "r40": {"s1": (400, 2.0), "s2": (410, 3.0), "s3": (100, 2.0)},
    "none": {"s1": (1000, 5.0), "s2": (1000, 5.0), "s3": (1000, 4.0)},
}


def budgets(rows: Rows, folder: Path, columns: str = "*") -> dict[str, dict[str, Any]]:
    """The view by method."""
    with connect(make(rows, folder)) as connection:
        found = connection.execute(f"SELECT method, {columns} FROM matched_budget")
        names = [column[0] for column in found.description]
        return {row[0]: dict(zip(names, row, strict=True)) for row in found.fetchall()}


def test_recencys_score_lies_on_the_line_between_the_steps_next_to_the_methods_tokens(tmp_path: Path) -> None:
    """s1: half way from 100 to 400 both have 2. s2: 250 is half way from 90 to 410, 2.

    s3: 50 is half way from 0 to 100, where two steps stand with 1.5 in the mean; half way from 1 is 1.25.
    """
    rows = store({**STEPS, "ours": {"s1": (250, 4.0), "s2": (250, 2.5), "s3": (50, 1.0)}})
    found = budgets(rows, tmp_path)["ours"]
    differences = [2.0, 0.5, -0.25]
    error = statistics.stdev(differences) / math.sqrt(3)
    half = stats.t.ppf(0.975, 2) * error
    assert found["overall"] == pytest.approx(2.5)
    assert found["recency_overall"] == pytest.approx(1.75)
    assert found["difference"] == pytest.approx(0.75)
    assert found["std_error"] == pytest.approx(error)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((0.75 - half, 0.75 + half), rel=1e-4)
    assert found["p_value"] == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, rel=1e-3)
    assert found["detectable_difference"] == pytest.approx(half + stats.t.ppf(0.8, 2) * error, rel=1e-4)
    assert (found["n_pairs"], found["n_sessions"], found["n_outside"], found["df"]) == (3, 3, 0, pytest.approx(2))
    assert found["tokens_read"] == pytest.approx(550 / 3)
    assert found["undefined_because"] is None


def test_at_the_tokens_of_a_step_recencys_score_is_that_steps(tmp_path: Path) -> None:
    rows = store({**STEPS, "ours": {"s1": (400, 3.0), "s2": (90, 3.0), "s3": (1000, 4.0)}})
    found = budgets(rows, tmp_path)["ours"]
    assert found["recency_overall"] == pytest.approx((2 + 1 + 4) / 3)


def test_what_is_fetched_for_a_question_counts_as_tokens(tmp_path: Path) -> None:
    """With 300 fetched: s1 400, where recency has 2; s2 390, 1 + 2 · 300/320; s3 350, 1.5 + 2.5 · 250/900."""
    rows = store({**STEPS, "ours": {"s1": (100, 3.0), "s2": (90, 3.0), "s3": (50, 3.0)}}, ours=300)
    found = budgets(rows, tmp_path)["ours"]
    assert found["recency_overall"] == pytest.approx((2 + 2.875 + 1.5 + 2.5 * 250 / 900) / 3)


def test_outside_of_the_ladder_nothing_is_compared_and_it_is_counted(tmp_path: Path) -> None:
    """At s2 the lowest step has 10 tokens; without none there is nothing above 400 at s1."""
    steps = {name: found for name, found in STEPS.items() if name != "none"}
    rows = store({**steps, "ours": {"s1": (500, 3.0), "s2": (5, 3.0), "s3": (50, 2.0)}})
    found = budgets(rows, tmp_path)["ours"]
    assert (found["n_pairs"], found["n_outside"], found["difference"]) == (1, 2, pytest.approx(0.75))
    assert (found["ci_low"], found["p_value"], found["p_adjusted"]) == (None, None, None)
    assert found["undefined_because"] == "one session: no interval"


def test_a_context_that_grew_is_compared_with_everything(tmp_path: Path) -> None:
    rows = store({**STEPS, "ours": {"s1": (1200, 3.0), "s2": (1100, 5.0), "s3": (1000, 4.0)}})
    found = budgets(rows, tmp_path)["ours"]
    assert (found["recency_overall"], found["n_outside"]) == (pytest.approx(14 / 3), 0)


def test_a_method_that_is_outside_everywhere_says_so(tmp_path: Path) -> None:
    steps = {name: {s: (tokens + 100, x) for s, (tokens, x) in found.items()} for name, found in STEPS.items()}
    found = budgets(store({**steps, "ours": {"s1": (5, 3.0), "s2": (5, 3.0)}}), tmp_path)["ours"]
    assert (found["difference"], found["n_outside"]) == (None, 2)
    assert found["undefined_because"] == "its tokens lie outside of the ladder at every question"


def test_the_steps_themselves_and_a_store_without_a_ladder_say_why_there_is_nothing(tmp_path: Path) -> None:
    ours = {"ours": {"s1": (250, 4.0), "s2": (250, 2.5)}}
    found = budgets(store({**STEPS, **ours}), tmp_path / "with")
    assert {name: row["undefined_because"] for name, row in found.items() if name != "ours"} == dict.fromkeys(
        STEPS, "a step of the ladder itself"
    )
    bare = budgets(store({"empty": STEPS["empty"], "none": STEPS["none"], **ours}), tmp_path / "without")["ours"]
    assert (bare["difference"], bare["n_outside"]) == (None, None)
    assert bare["undefined_because"] == "no recency was run on this history; add --strategies @recency-ladder"


def test_a_ladder_of_another_history_is_no_ladder(tmp_path: Path) -> None:
    rows = store({**STEPS, "ours": {"s1": (250, 4.0), "s2": (250, 2.5)}})
    rows["methods"][-1]["history"] = "chain"
    assert budgets(rows, tmp_path)["ours"]["difference"] is None


def test_p_values_are_corrected_over_the_methods_of_the_judge_as_holm_does(tmp_path: Path) -> None:
    sets = [(4.0, 2.5, 1.1), (4.0, 2.49, 1.1), (3.0, 3.0, 2.5), (2.1, 2.0, 1.4), (0.1, 0.5, 0.0), (2.0, 2.0, 1.25)]
    ours = {
        f"m{i}": {s: (250.0 if s != "s3" else 50.0, x) for s, x in zip(("s1", "s2", "s3"), found, strict=True)}
        for i, found in enumerate(sets)
    }
    found = budgets(store({**STEPS, **ours}), tmp_path)
    raw = [found[name]["p_value"] for name in ours]
    assert raw[-1] == pytest.approx(1.0)
    expected = holm(raw)
    assert raw[0] != raw[1], "so near that the correction's running maximum makes one of them"
    assert expected[0] == expected[1]
    assert [found[name]["p_adjusted"] for name in ours] == pytest.approx(expected)


def test_judges_are_not_mixed(tmp_path: Path) -> None:
    rows = store({**STEPS, "ours": {"s1": (250, 4.0), "s2": (250, 2.5)}})
    rows["judges"].append(judge("j2", "openai:grader"))
    rows["scores"] += scores("ours/q-s1", "j2", facts=1.0)
    with connect(make(rows, tmp_path)) as connection:
        found = connection.execute(
            "SELECT judge_id, overall, undefined_because FROM matched_budget WHERE method = 'ours' ORDER BY 1"
        ).fetchall()
    assert found == [
        ("j1", 3.25, None),
        ("j2", None, "no recency was run on this history; add --strategies @recency-ladder"),
    ]
