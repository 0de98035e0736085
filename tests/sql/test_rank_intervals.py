"""Intervals of ranks, against a bootstrap of numpy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.sql.figures import rows
from tests.sql.tiny import graded, make

SHIFTS = {"a": 0.0, "b": -0.05, "c": -0.1, "d": -0.15, "e": -0.6}
SIZES = (1, 2, 3, 1, 4, 2, 1, 1, 2, 3, 2, 1)
COLUMNS = "SELECT method, rank_low, rank_high, p_best, p_best_three FROM rank_intervals"


def drawn(seed: int = 11) -> dict[str, dict[tuple[str, str], float]]:
    """Method → (session, probe) → score, with noise of each method in each session; sessions differ in size."""
    rng = np.random.default_rng(seed)
    hardness = rng.normal(3, 0.5, len(SIZES))
    return {
        name: {
            (f"s{s:02d}", f"q{q}"): float(hardness[s] + shift + of_session)
            for s, size in enumerate(SIZES)
            for of_session in [rng.normal(0, 0.2)]
            for q in range(size)
        }
        for name, shift in SHIFTS.items()
    }


def test_ranks_lie_where_a_bootstrap_of_sessions_has_them(tmp_path: Path) -> None:
    overall = drawn()
    path = make(graded(overall | {"none": dict.fromkeys(overall["a"], 5.0)}), tmp_path)
    names = list(SHIFTS)
    totals = np.zeros((len(names), len(SIZES)))
    for m, name in enumerate(names):
        for (session, _), score in overall[name].items():
            totals[m, int(session[1:])] += score
    picked = np.random.default_rng(1).integers(0, len(SIZES), (20_000, len(SIZES) - 1))
    means = totals[:, picked].sum(axis=2) / np.array(SIZES)[picked].sum(axis=1)
    ranks = stats.rankdata(-means, axis=0, method="min")
    found = {method: figures for method, *figures in rows(path, COLUMNS)}
    assert sorted(found) == names
    for name, of_draws in zip(names, ranks, strict=True):
        low, high, p_best, p_best_three = found[name]
        assert (low, high) == pytest.approx(np.quantile(of_draws, [0.025, 0.975], method="inverted_cdf"), abs=1)
        assert p_best == pytest.approx(np.mean(of_draws == 1), abs=0.05)
        assert p_best_three == pytest.approx(np.mean(of_draws <= 3), abs=0.05)
    assert sum(p_best for _, _, p_best, _ in found.values()) == pytest.approx(1)
    assert sum(p_best_three for *_, p_best_three in found.values()) == pytest.approx(3)
    assert rows(path, COLUMNS) == rows(make(graded(overall), tmp_path / "again"), COLUMNS)


def test_methods_that_are_alike_in_a_draw_share_their_ranks(tmp_path: Path) -> None:
    keys = [(f"s{i}", "q") for i in range(4)]
    scores = {"a": 2.0, "b": 2.0, "c": 1.0}
    path = make(graded({name: {k: x + i for i, k in enumerate(keys)} for name, x in scores.items()}), tmp_path)
    assert rows(path, COLUMNS) == [("a", 1, 2, 0.5, 1.0), ("b", 1, 2, 0.5, 1.0), ("c", 3, 3, 0.0, 1.0)]


def test_one_session_has_no_intervals(tmp_path: Path) -> None:
    assert rows(make(graded({"a": {("s1", "q"): 3.0}, "b": {("s1", "q"): 2.0}}), tmp_path), COLUMNS) == []
