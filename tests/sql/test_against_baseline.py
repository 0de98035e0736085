"""Methods against a baseline, by scipy, statsmodels and by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from flows.database.scores_db import connect
from tests.sql.figures import rows
from tests.sql.tiny import graded, make

MARGIN = 0.2
SHIFTS = {"a": 0.0, "b": -0.02, "c": -0.09, "d": -0.6, "e": 0.4, "f": 0.05}


def drawn(shifts: dict[str, float], sessions: int = 12, seed: int = 5) -> dict[str, dict[tuple[str, str], float]]:
    """Method → (session, probe) → score: hard and easy sessions, and noise of each method in each session."""
    rng = np.random.default_rng(seed)
    hardness = rng.normal(3, 0.5, sessions)
    return {
        name: {(f"s{s:02d}", "q"): float(hardness[s] + shift + rng.normal(0, 0.12)) for s in range(sessions)}
        for name, shift in shifts.items()
    }


@pytest.fixture(scope="module")
def overall() -> dict[str, dict[tuple[str, str], float]]:
    return drawn(SHIFTS | {"none": 1.0, "empty": -2.0})


@pytest.fixture(scope="module")
def found(
    overall: dict[str, dict[tuple[str, str], float]], tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    path = make(graded(overall), tmp_path_factory.mktemp("against"))
    with connect(path) as connection:
        view = connection.sql("FROM against_baseline WHERE dimension = 'overall' AND baseline = 'a'")
        return list(view.to_arrow_table().to_pylist())


def test_differences_and_p_values_are_those_of_the_paired_t_test_of_scipy(
    found: list[dict[str, Any]], overall: dict[str, dict[tuple[str, str], float]]
) -> None:
    assert len(found) == 7
    for row in found:
        mine, base = (np.array(list(overall[name].values())) for name in (row["method"], "a"))
        told = stats.ttest_rel(mine, base)
        interval = told.confidence_interval()
        assert row["difference"] == pytest.approx((mine - base).mean())
        assert row["p_value"] == pytest.approx(told.pvalue, rel=1e-4)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((interval.low, interval.high), rel=1e-4)
        assert row["p_not_worse"] == pytest.approx(
            stats.ttest_1samp(mine - base, -MARGIN, alternative="greater").pvalue, rel=1e-4, abs=1e-9
        )


def test_equivalence_is_the_two_one_sided_tests_of_statsmodels(
    found: list[dict[str, Any]], overall: dict[str, dict[tuple[str, str], float]]
) -> None:
    for row in found:
        differences = np.array(list(overall[row["method"]].values())) - np.array(list(overall["a"].values()))
        p, *_ = DescrStatsW(differences).ttost_mean(-MARGIN, MARGIN)
        assert row["p_equivalent"] == pytest.approx(p, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(
    ("column", "of", "procedure"),
    [
        ("p_adjusted", "p_value", "holm"),
        ("p_fdr", "p_value", "fdr_bh"),
        ("p_not_worse_adjusted", "p_not_worse", "holm"),
        ("p_equivalent_adjusted", "p_equivalent", "holm"),
    ],
)
def test_the_family_of_a_baseline_is_its_methods_without_the_controls(
    found: list[dict[str, Any]], column: str, of: str, procedure: str
) -> None:
    for is_control, size in ((False, 5), (True, 2)):
        family = [row for row in found if row["is_control"] == is_control]
        with mock.patch("gc.collect"):
            expected = multipletests([row[of] for row in family], method=procedure)[1]
        assert len(family) == size
        assert [row[column] for row in family] == pytest.approx(list(expected))


def test_each_comparison_says_what_it_shows(found: list[dict[str, Any]]) -> None:
    said = {row["method"]: row["says"] for row in found}
    assert said == {
        "b": "as good",
        "c": "cannot tell",
        "d": "worse",
        "e": "better",
        "f": "as good",
        "none": "better",
        "empty": "worse",
    }


def test_a_difference_that_is_shown_and_small_is_a_little_worse(tmp_path: Path) -> None:
    noise = [0.01, -0.01, 0.02, -0.02, 0.0, 0.01]
    base = {(f"s{i}", "q"): 3.0 + 0.2 * i for i in range(6)}
    less = {key: score - 0.1 + n for (key, score), n in zip(base.items(), noise, strict=True)}
    path = make(graded({"base": base, "less": less}), tmp_path)
    sql = "SELECT baseline, says FROM against_baseline WHERE dimension = 'overall' ORDER BY baseline"
    assert rows(path, sql) == [("base", "a little worse"), ("less", "better")]


def test_without_a_spread_no_method_is_shown_to_be_as_good_or_not_worse(tmp_path: Path) -> None:
    keys = [("s1", "q"), ("s2", "q")]
    scores = {"base": 3.0, "same": 3.0, "near": 2.9, "far": 2.5}
    path = make(graded({name: dict.fromkeys(keys, x) for name, x in scores.items()}), tmp_path)
    sql = """
        SELECT method, p_value, p_not_worse, p_equivalent, says FROM against_baseline
        WHERE dimension = 'overall' AND baseline = 'base' ORDER BY method
    """
    assert rows(path, sql) == [
        ("far", 0.0, None, None, "worse"),
        ("near", 0.0, None, None, "worse"),
        ("same", 1.0, None, None, "cannot tell"),
    ]


def test_one_session_says_nothing(tmp_path: Path) -> None:
    path = make(graded({"a": {("s1", "q"): 5.0}, "b": {("s1", "q"): 0.0}}), tmp_path)
    sql = "SELECT baseline, difference, p_value, p_equivalent, says FROM against_baseline WHERE dimension = 'overall'"
    assert rows(path, sql) == [("a", -5.0, None, None, None), ("b", 5.0, None, None, None)]


def test_the_default_baseline_has_the_most_sessions_then_questions_then_the_first_name_and_is_no_control(
    tmp_path: Path,
) -> None:
    sql = "SELECT DISTINCT baseline FROM against_baseline WHERE is_default"
    some = {(f"s{i}", "q"): 3.0 + i for i in range(3)}
    more = some | {("s9", "q"): 1.0}
    asked_more = more | {("s9", "r"): 1.0}
    stores = {
        "sessions": ({"none": asked_more, "a": some, "b": more}, "b"),
        "questions": ({"none": asked_more, "a": more, "b": asked_more}, "b"),
        "name": ({"empty": more, "b": more, "c": more}, "b"),
    }
    for name, (given, expected) in stores.items():
        assert rows(make(graded(given), tmp_path / name), sql) == [(expected,)], name
