"""Strengths from comparisons: against published figures, an independent fit, and by hand where there are none."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from judge.preferences import Comparison, NotFiniteError, Outcome, fit_strengths

BASEBALL = """
Milwaukee Detroit 4 3 Milwaukee Toronto 4 2 Milwaukee NewYork 4 3 Milwaukee Boston 6 1 Milwaukee Cleveland 4 2
Milwaukee Baltimore 6 0 Detroit Milwaukee 3 3 Detroit Toronto 4 2 Detroit NewYork 4 3 Detroit Boston 6 0
Detroit Cleveland 6 1 Detroit Baltimore 4 3 Toronto Milwaukee 2 5 Toronto Detroit 4 3 Toronto NewYork 2 4
Toronto Boston 4 3 Toronto Cleveland 4 2 Toronto Baltimore 6 0 NewYork Milwaukee 3 3 NewYork Detroit 5 1
NewYork Toronto 2 5 NewYork Boston 4 3 NewYork Cleveland 4 2 NewYork Baltimore 6 1 Boston Milwaukee 5 1
Boston Detroit 2 5 Boston Toronto 3 3 Boston NewYork 4 2 Boston Cleveland 5 2 Boston Baltimore 6 0
Cleveland Milwaukee 2 5 Cleveland Detroit 3 3 Cleveland Toronto 3 4 Cleveland NewYork 4 3 Cleveland Boston 4 2
Cleveland Baltimore 2 4 Baltimore Milwaukee 2 5 Baltimore Detroit 1 5 Baltimore Toronto 1 6 Baltimore NewYork 2 4
Baltimore Boston 1 6 Baltimore Cleveland 3 4
""".split()
"""The American League of 1987: home, away, games that each won (Agresti, Categorical Data Analysis, table 10.10)."""


def baseball() -> list[Comparison]:
    games = []
    for home, away, won, lost in zip(*(BASEBALL[start::4] for start in range(4)), strict=True):
        outcomes: list[Outcome] = ["first"] * int(won) + ["second"] * int(lost)
        games += [Comparison(home, away, one, f"{home} {away} {n}") for n, one in enumerate(outcomes)]
    return games


def test_the_baseball_season_has_the_published_strengths_and_advantage_at_home() -> None:
    """The published ones are against Baltimore."""
    fit = fit_strengths(baseball())
    found = dict(zip(fit.names, fit.strengths, strict=True))
    against = {name: round(value - found["Baltimore"], 3) for name, value in found.items()}
    assert against == {
        "Baltimore": 0.0,
        "Boston": 1.144,
        "Cleveland": 0.705,
        "Detroit": 1.475,
        "Milwaukee": 1.62,
        "NewYork": 1.281,
        "Toronto": 1.327,
    }
    assert round(fit.first, 3) == 0.302
    assert fit.tie is None
    without = fit_strengths(baseball(), with_order=False)
    base = dict(zip(without.names, without.strengths, strict=True))
    assert round(base["Milwaukee"] - base["Baltimore"], 4) == 1.5814
    assert abs(sum(fit.strengths)) < 1e-9
    # Each game by itself is a cluster, so the robust errors are near the published ones of the likelihood.
    assert without.std_error("Milwaukee", "Baltimore") == pytest.approx(0.3433, rel=0.1)
    assert fit.first_error == pytest.approx(0.1309, rel=0.1)


def drawn(seed: int, n_clusters: int = 40) -> list[Comparison]:
    """Comparisons of three methods with ties, an advantage of the first, and clusters."""
    draw = random.Random(seed)
    true = {"a": 0.6, "b": 0.1, "c": -0.7}
    found = []
    for cluster in range(n_clusters):
        for _ in range(9):
            first, second = draw.sample(sorted(true), 2)
            shift = draw.gauss(0, 0.3)
            odds = [
                math.exp(true[first] + 0.4 + shift),
                math.exp(true[second]),
                math.exp(-0.5 + (true[first] + true[second]) / 2),
            ]
            outcome: Outcome = draw.choices(["first", "second", "tie"], odds)[0]  # type: ignore[assignment]
            found.append(Comparison(first, second, outcome, str(cluster)))
    return found


def test_the_fit_and_its_errors_are_those_of_an_independent_one() -> None:
    """By a general optimiser from the odds as they are written, and by the sandwich with numerical derivatives."""
    given = drawn(1)

    def losses(at: np.ndarray) -> np.ndarray:
        strength = {"a": at[0], "b": at[1], "c": 0.0}
        found = []
        for one in given:
            first, second = strength[one.first], strength[one.second]
            odds = {
                "first": np.exp(first + at[2]),
                "second": np.exp(second),
                "tie": np.exp(at[3] + (first + second) / 2),
            }
            found.append(-np.log(odds[one.outcome] / sum(odds.values())))
        return np.array(found)

    best = minimize(lambda at: losses(at).sum(), np.zeros(4), method="BFGS", options={"gtol": 1e-7}).x
    fit = fit_strengths(given)
    mean = (best[0] + best[1]) / 3
    assert fit.strengths == pytest.approx((best[0] - mean, best[1] - mean, -mean), abs=1e-5)
    assert (fit.first, fit.tie) == pytest.approx((best[2], best[3]), abs=1e-5)

    step = np.eye(4) * 1e-4
    gradients = np.array([(losses(best + h) - losses(best - h)) / 2e-4 for h in step]).T
    hessian = np.array(
        [[(losses(best + g + h) - losses(best + g - h) - losses(best - g + h) + losses(best - g - h)).sum() / 4e-8
          for g in step] for h in step]
    )  # fmt: skip
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(4))
    for one, gradient in zip(given, gradients, strict=True):
        sums[one.cluster] = sums[one.cluster] + gradient
    bread = np.linalg.inv(hessian)
    sandwich = bread @ sum(np.outer(one, one) for one in sums.values()) @ bread * 40 / 39
    assert fit.std_error("a", "c") == pytest.approx(math.sqrt(sandwich[0, 0]), rel=1e-3)
    assert fit.first_error == pytest.approx(math.sqrt(sandwich[2, 2]), rel=1e-3)


def test_who_always_won_has_no_finite_strength() -> None:
    wins = [Comparison("a", "b", "first", str(n)) for n in range(5)] + [Comparison("b", "a", "second", "9")]
    with pytest.raises(NotFiniteError, match="b never won against a, nor tied"):
        fit_strengths(wins)
    position = [Comparison(*pair, "first", str(n)) for n, pair in enumerate([("a", "b"), ("b", "a")] * 5)]
    with pytest.raises(NotFiniteError, match="strengths cannot be told from the position"):
        fit_strengths(position)
    assert fit_strengths([replace(one, cluster="s") for one in drawn(1)]).covariance is None
