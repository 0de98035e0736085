"""The errors, intervals and tests of the views: against the papers' matrices, other libraries, and a known truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from flows.database.database_draft import DatabaseDraft
from flows.database.scores_db import connect, violations
from tests.sql.recomputed import holm
from tests.sql.simulated import Design, write

Floats = npt.NDArray[np.float64]

SMALL = Design(
    means=((3.0, 2.4), (3.1, 2.6), (2.8, 2.4)),
    sessions=7,
    size_sigma=1.0,
    missing=0.1,
    judge_replicates=2,
    session=0.3,
    method_session=0.2,
)


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(path) as connection:
        return connection.execute(sql).fetchall()


def columns(path: Path, sql: str) -> dict[str, npt.NDArray[Any]]:
    with connect(path) as connection:
        return {
            name: np.ma.filled(found, np.nan) if np.ma.isMaskedArray(found) else found
            for name, found in connection.execute(sql).fetchnumpy().items()
        }


def by_matrices(values: Floats, clusters: npt.NDArray[Any]) -> tuple[float, float, float]:
    """Mean, CR2 error and degrees of freedom by the definitions of Bell and McCaffrey (2002), for a column of ones.

    With the projection H of all N values, the residuals of cluster g are multiplied by the inverse square root of
    (I - H)_gg. The degrees of freedom are those of Satterthwaite for the quadratic form that this gives, where errors
    are independent: (trace Ω)² / trace Ω², Ω = P'P, with a column (I - H)_g' A_g X_g (X'X)⁻¹ of P for each cluster.
    """
    ones = np.ones((values.size, 1))
    bread = np.linalg.inv(ones.T @ ones)
    mean = bread @ ones.T @ values
    residuals = values - ones @ mean
    rest = np.eye(values.size) - ones @ bread @ ones.T
    meat, projected = np.zeros((1, 1)), []
    for cluster in np.unique(clusters):
        at = np.flatnonzero(clusters == cluster)
        roots, vectors = np.linalg.eigh(rest[np.ix_(at, at)])
        adjust = vectors @ np.diag(roots**-0.5) @ vectors.T
        half = ones[at].T @ adjust @ residuals[at]
        meat += np.outer(half, half)
        projected.append(rest[at].T @ adjust @ ones[at] @ bread)
    form = np.column_stack(projected)
    omega = form.T @ form
    variance = (bread @ meat @ bread).item()
    return mean.item(), variance**0.5, np.trace(omega) ** 2 / np.trace(omega @ omega)


def answers_of(path: Path) -> dict[tuple[str, str], tuple[Floats, npt.NDArray[Any]]]:
    """(Method, dimension) → the scores of its answers, and their sessions."""
    found = columns(path, "SELECT method_id, dimension, score, session_id FROM int_answer_scores")
    keys = {(str(m), str(d)) for m, d in zip(found["method_id"], found["dimension"], strict=True)}
    return {
        key: (found["score"][there], found["session_id"][there].astype(str))
        for key in keys
        for there in [(found["method_id"] == key[0]) & (found["dimension"] == key[1])]
    }


def differences_of(path: Path) -> dict[tuple[str, str, str], tuple[Floats, npt.NDArray[Any]]]:
    """(Dimension, method a, method b) → the differences a - b on the probes that both answered, and their sessions."""
    by_probe: dict[tuple[str, str], dict[str, tuple[float, str]]] = {}
    for method, dimension, probe, score, session in rows(
        path, "SELECT method_id, dimension, probe_id, score, session_id FROM int_answer_scores"
    ):
        by_probe.setdefault((dimension, method), {})[probe] = score, session
    return {
        (dimension, a, b): (
            np.array([by_probe[dimension, a][probe][0] - by_probe[dimension, b][probe][0] for probe in shared]),
            np.array([by_probe[dimension, a][probe][1] for probe in shared]),
        )
        for dimension, a in by_probe
        for other, b in by_probe
        if other == dimension and a < b
        for shared in [sorted(by_probe[dimension, a].keys() & by_probe[dimension, b].keys())]
    }


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write({"small": SMALL.draw(1, seed=3)}, tmp_path_factory.mktemp("small"))


def test_every_invariant_holds_on_a_simulated_store(tmp_path: Path) -> None:
    path = write({"whole": replace(SMALL, missing=0, rounded=True, spread=1.5).draw(3, seed=1)}, tmp_path)
    with connect(path) as connection:
        assert violations(connection) == []


def test_errors_and_intervals_of_means_are_those_of_the_papers_matrices(small: Path) -> None:
    found = rows(
        small, "SELECT method, dimension, mean, std_error, df, ci_low, ci_high, n_answers FROM leaderboard_long"
    )
    answers = answers_of(small)
    assert len(found) == len(answers) == 9
    for method, dimension, *figures in found:
        scores, sessions = answers[method, dimension]
        mean, error, df = by_matrices(scores, sessions)
        half = stats.t.ppf(0.975, df) * error
        assert 1 < df < 6
        assert figures == pytest.approx([mean, error, df, mean - half, mean + half, len(scores)], rel=1e-5)


def test_errors_intervals_and_p_values_of_differences_are_those_of_the_papers_matrices(small: Path) -> None:
    found = rows(
        small,
        "SELECT dimension, method_a, method_b, difference, std_error, df, ci_low, ci_high, p_value, n_pairs, "
        "detectable_difference FROM paired_differences",
    )
    differences = differences_of(small)
    assert len(found) == len(differences) == 9
    for dimension, a, b, *figures in found:
        values, sessions = differences[dimension, a, b]
        mean, error, df = by_matrices(values, sessions)
        half = stats.t.ppf(0.975, df) * error
        p = 2 * stats.t.sf(abs(mean) / error, df)
        detectable = half + stats.t.ppf(0.8, df) * error
        assert figures == pytest.approx(
            [mean, error, df, mean - half, mean + half, p, len(values), detectable], rel=1e-4
        )


def test_with_sessions_of_one_size_the_error_is_statsmodels_and_the_degrees_are_sessions_less_one(
    tmp_path: Path,
) -> None:
    import statsmodels.api as sm

    path = write({"equal": replace(SMALL, size_sigma=0, missing=0).draw(1, seed=5)}, tmp_path)
    answers = answers_of(path)
    found = rows(path, "SELECT method, dimension, std_error, df FROM leaderboard_long")
    assert len(found) == 9
    for method, dimension, *figures in found:
        scores, sessions = answers[method, dimension]
        numbers = np.unique(sessions, return_inverse=True)[1]
        fitted = sm.OLS(scores, np.ones(scores.size)).fit(cov_type="cluster", cov_kwds={"groups": numbers})
        assert figures == pytest.approx([fitted.bse.item(), 6], rel=1e-9)


def test_errors_are_those_of_a_bootstrap_that_draws_sessions(tmp_path: Path) -> None:
    """2,000 resamples of 40 sessions: their own error is 1.6 %, and resampling sees (G - 1) / G of the variance."""
    path = write({"many": replace(SMALL, sessions=40, size_sigma=0.5).draw(1, seed=7)}, tmp_path)
    rng = np.random.default_rng(7)

    def bootstrapped(values: Floats, sessions: npt.NDArray[Any]) -> float:
        numbers = np.unique(sessions, return_inverse=True)[1]
        totals, counts = np.bincount(numbers, values), np.bincount(numbers)
        drawn = rng.integers(0, totals.size, size=(2000, totals.size))
        return float(np.std(totals[drawn].sum(axis=1) / counts[drawn].sum(axis=1), ddof=1))

    answers, differences = answers_of(path), differences_of(path)
    means = rows(path, "SELECT std_error, method, dimension FROM leaderboard_long")
    pairs = rows(path, "SELECT std_error, dimension, method_a, method_b FROM paired_differences")
    ratios = [error / bootstrapped(*answers[m, d]) for error, m, d in means]
    ratios += [error / bootstrapped(*differences[d, a, b]) for error, d, a, b in pairs]
    assert len(ratios) == 18
    assert min(ratios) > 0.95
    assert max(ratios) < 1.10


def test_adjusted_p_values_are_statsmodels_holm_over_pairs_and_dimensions_of_a_judge(tmp_path: Path) -> None:
    path = write({"two": replace(SMALL, sessions=30, method_session=0.05).draw(2, seed=9)}, tmp_path)
    compared = 0
    for judge in ("two/000000", "two/000001"):
        found = columns(
            path,
            f"SELECT dimension, p_value, p_adjusted, p_adjusted_in_dimension FROM paired_differences "
            f"WHERE judge_id = '{judge}'",
        )
        assert found["p_adjusted"] == pytest.approx(holm(found["p_value"]), rel=1e-9)
        assert 0 < np.sum(found["p_adjusted"] < 0.05) < 9
        for dimension in np.unique(found["dimension"].astype(str)):
            there = found["dimension"].astype(str) == dimension
            expected = holm(found["p_value"][there])
            assert found["p_adjusted_in_dimension"][there] == pytest.approx(expected, rel=1e-9)
            compared += there.sum()
    assert compared == 18


PAIR = ((2.5,), (2.6,))
COVERED = {
    "two sessions": Design(means=PAIR, sessions=2, size_sigma=0.5),
    "five of very different sizes": Design(means=PAIR, sessions=5, size_sigma=1.5, probes=4),
    "ten that hardly differ": Design(means=PAIR, sessions=10, probes=3, session=0.01, method_session=0.01),
    "ten that differ much, with answers missing": Design(
        means=PAIR, sessions=10, size_sigma=1.0, probes=3, session=0.3, method_session=0.3, missing=0.2
    ),
    "ten with rounded scores that are cut off at 5": Design(
        means=((4.0,), (3.6,)), sessions=10, size_sigma=0.5, probes=3, spread=1.2, rounded=True, judge_replicates=2
    ),
}
SAME = Design(means=((2.5, 3.0),) * 4, sessions=8, size_sigma=1.0, probes=3)
DIFFERENT = Design(means=((2.5,), (2.5,)), sessions=12, size_sigma=0.5, probes=3)


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """The overall of 1,200 studies of each design: a share of 95 % has a Monte-Carlo error of 0.6 points."""
    designs = COVERED | {"same": SAME, "different": DIFFERENT}
    path = write(
        {name: design.draw(1200, seed=11 + at) for at, (name, design) in enumerate(designs.items())},
        tmp_path_factory.mktemp("studies"),
    )
    with duckdb.connect(path) as connection:  # as a load does, so that each is worked out once
        for view in ("int_answer_scores", "agg_session_scores", "agg_method_pairs"):
            DatabaseDraft(connection).materialize(view)
    return {
        "means": columns(
            path,
            "SELECT judge, mean, ci_low, ci_high FROM leaderboard_long WHERE dimension = 'overall' AND method = 'm01'",
        ),
        "pairs": columns(path, "FROM paired_differences"),
        "groups": columns(path, "SELECT judge, max(tie_group) AS tie_group FROM leaderboard GROUP BY judge, judge_id"),
    }


def of_judge(found: dict[str, npt.NDArray[Any]], judge: str, dimension: str = "") -> dict[str, npt.NDArray[Any]]:
    there = found["judge"].astype(str) == judge
    if dimension:
        there &= found["dimension"].astype(str) == dimension
    return {name: values[there] for name, values in found.items()}


def share_of_studies(found: dict[str, npt.NDArray[Any]], p_value: str) -> float:
    """The share of studies in which any of their p-values is below 0.05."""
    alarms = found["judge_id"][found[p_value] < 0.05].astype(str)
    return len(set(alarms)) / len(set(found["judge_id"].astype(str)))


@pytest.mark.parametrize("name", COVERED)
def test_the_95_percent_interval_holds_the_truth_in_95_percent_of_studies(
    name: str, studies: dict[str, dict[str, npt.NDArray[Any]]]
) -> None:
    mean, other = COVERED[name].truth[:, -1]
    means, pairs = of_judge(studies["means"], name), of_judge(studies["pairs"], name, "overall")
    assert len(means["mean"]) == len(pairs["difference"]) == 1200
    assert means["mean"].mean() == pytest.approx(mean, abs=0.03)
    assert pairs["difference"].mean() == pytest.approx(mean - other, abs=0.03)
    of_means = np.mean((means["ci_low"] <= mean) & (mean <= means["ci_high"]))
    of_pairs = np.mean((pairs["ci_low"] <= mean - other) & (mean - other <= pairs["ci_high"]))
    assert 0.93 < of_means < 0.97
    assert 0.93 < of_pairs < 0.97


def test_methods_that_are_the_same_are_told_apart_in_5_percent_of_studies_at_most(
    studies: dict[str, dict[str, npt.NDArray[Any]]],
) -> None:
    """Of a pair 5 % have p below 0.05; any p_adjusted, or a second tie group, is in at most 5 % of studies of four."""
    pairs, overall = of_judge(studies["pairs"], "same"), of_judge(studies["pairs"], "same", "overall")
    groups = np.mean(of_judge(studies["groups"], "same")["tie_group"] != "a")
    assert len(overall["p_value"]) == 1200 * 6
    assert 0.04 < np.mean(pairs["p_value"] < 0.05) < 0.06
    assert 0.01 < share_of_studies(pairs, "p_adjusted") < 0.06
    assert 0.01 < share_of_studies(overall, "p_adjusted_in_dimension") < 0.06
    assert 0.005 < groups <= share_of_studies(overall, "p_adjusted_in_dimension")


def test_a_true_difference_of_the_detectable_size_is_found_in_80_percent_of_studies(
    studies: dict[str, dict[str, npt.NDArray[Any]]], tmp_path: Path
) -> None:
    """The true difference is the root mean square of what 1,200 studies of the same design call detectable."""
    said = of_judge(studies["pairs"], "different", "overall")["detectable_difference"]
    better = replace(DIFFERENT, means=((2.5 + float(np.mean(said**2)) ** 0.5,), (2.5,)))
    path = write({"better": better.draw(1200, seed=19)}, tmp_path)
    found = columns(path, "SELECT p_value FROM paired_differences WHERE dimension = 'overall'")["p_value"]
    assert 0.75 < np.mean(found < 0.05) < 0.86
