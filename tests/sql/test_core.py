"""Intervals, paired differences and ranks: against an independent computation, and where nothing can be said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import pytest
from scipy import stats

from flows.database.scores_db import connect
from tests.sql.recomputed import Figures, clustered_mean, holm, leaderboard, random_store
from tests.sql.tiny import Rows, graded, make, scores, tiny

DF = (1, 1.0001, 1.3, 2, 2.7, 3, 4, 5.5, 8, 20, 39.9, 40, 60, 97, 500, 1e5)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make({}, tmp_path_factory.mktemp("empty"))


def one(path: Path, sql: str) -> Any:
    with connect(path) as connection:
        [(value,)] = connection.execute(sql).fetchall()
        return value


def dicts(path: Path, sql: str) -> list[dict[str, Any]]:
    with connect(path) as connection:
        return found_by(connection, sql)


def found_by(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    names = [column[0] for column in connection.execute(sql).description or ()]
    return [dict(zip(names, row, strict=True)) for row in connection.fetchall()]


@pytest.mark.parametrize("df", DF)
def test_t_quantiles_are_those_of_scipy(empty: Path, df: float) -> None:
    levels = [0.55, 0.8, 0.9, 0.95, 0.975, 0.995, 0.9995, 0.99999, 0.2, 0.025, 1e-6]
    found = one(empty, f"SELECT list_transform({levels}, lambda p: t_quantile(p, {df}))")
    assert found == pytest.approx(stats.t.ppf(levels, df), rel=1e-5)
    assert one(empty, f"SELECT t_quantile(0.5, {df})") == 0


@pytest.mark.parametrize("df", DF)
def test_p_values_are_those_of_scipy_far_into_the_tail(empty: Path, df: float) -> None:
    values = [0, 1e-3, 0.1, 0.5, 1, 1.96, 2.999, 3, 3.001, 4, 5, 7, 7.7, 9, 20, 1e3, 1e6, -2, -8]
    found = one(empty, f"SELECT list_transform({values}, lambda t: t_p_value(t, {df}))")
    expected = [2 * stats.t.sf(abs(t), df) for t in values]
    assert [f for f, e in zip(found, expected, strict=True) if e > 1e-290] == pytest.approx(
        [e for e in expected if e > 1e-290], rel=1e-5, abs=0
    )


@pytest.mark.parametrize(
    "call",
    [
        "t_quantile(0.975, 0.9)",
        "t_quantile(0.975, NULL)",
        "t_quantile(NULL, 3)",
        "t_p_value(2, 0.5)",
        "t_p_value(2, NULL)",
        "t_p_value(NULL, 3)",
        "t_test(1, NULL, 3)",
        "t_test(1, 0.5, NULL)",
    ],
)
def test_what_has_no_degrees_of_freedom_has_no_quantile_and_no_p_value(empty: Path, call: str) -> None:
    assert one(empty, f"SELECT {call}") is None


def test_without_variance_a_difference_is_certain_and_none_is_none(empty: Path) -> None:
    assert one(empty, "SELECT [t_test(0.5, 0, 1), t_test(-0.5, 0, 1), t_test(1e-10, 0, 1)]") == [0, 0, 1]
    assert one(empty, "SELECT t_test(-1.5, 0.5, 4)") == pytest.approx(2 * stats.t.sf(3, 4), rel=1e-6)


@pytest.mark.parametrize("counts", [[1, 1, 1], [2, 1], [1, 2, 3, 4], [40, 1, 1, 1], [7, 3, 9, 2, 2, 5]])
def test_clustered_figures_are_those_of_explicit_matrices(empty: Path, counts: list[int]) -> None:
    values = [(f"c{i}", math.sin(10 * i + j) + i % 3) for i, n in enumerate(counts) for j in range(n)]
    totals = [sum(x for name, x in values if name == f"c{i}") for i in range(len(counts))]
    found = one(empty, f"SELECT cluster_figures({totals}, {counts})")
    expected = clustered_mean(values)
    assert [found[name] for name in ("mean", "std_error", "df")] == pytest.approx(
        [expected.mean, expected.std_error, expected.df], rel=1e-9
    )
    assert (found["n"], found["n_clusters"]) == (sum(counts), len(counts))


def test_with_sessions_of_one_size_the_error_is_the_classic_one(empty: Path) -> None:
    """Four means 1, 2, 4, 5 of 3 values each: variance of the means 10 / 3, over 4; three degrees of freedom."""
    found = one(empty, "SELECT cluster_figures([3, 6, 12, 15], [3, 3, 3, 3])")
    assert (found["mean"], found["std_error"], found["df"]) == pytest.approx((3, math.sqrt(10 / 3 / 4), 3))


def test_a_single_session_has_a_mean_and_no_error_and_equal_sessions_an_error_of_exactly_none(empty: Path) -> None:
    assert one(empty, "SELECT cluster_figures([7], [2])") == {
        "mean": 3.5,
        "std_error": None,
        "df": None,
        "n": 2,
        "n_clusters": 1,
    }
    assert one(empty, "SELECT cluster_figures([0.1 + 0.2, 0.3, 0.6], [1, 1, 2]).std_error") == 0


def same(found: Any, expected: Any) -> bool:
    if isinstance(found, float) or isinstance(expected, float):
        return (found is None) == (expected is None) and (
            found is None or math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-9)
        )
    return bool(found == expected)


def differing(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (found[name], value) for name, value in expected.items() if not same(found[name], value)}


@pytest.mark.parametrize("seed", range(6))
def test_every_figure_of_a_random_store_is_that_of_an_independent_computation(tmp_path: Path, seed: int) -> None:
    """Replicates, failures, holes, NULLs, a partial method, a dimension of its own; judges apart."""
    store = random_store(seed)
    figures = Figures(store)
    with connect(make(store, tmp_path)) as connection:
        check_long(found_by(connection, "SELECT *, method_id AS id FROM leaderboard_long"), figures)
        check_pairs(found_by(connection, "FROM paired_differences"), figures)
        check_leaderboard(found_by(connection, "FROM leaderboard"), figures)


def check_long(rows: list[dict[str, Any]], figures: Figures) -> None:
    expected = {
        (judge_id, dimension, id): found
        for judge_id, dimension in figures.scores
        for id in figures.names
        if (found := figures.of_method((judge_id, dimension), id))
    }
    assert {(row["judge_id"], row["dimension"], row["id"]) for row in rows} == set(expected)
    for row in rows:
        e = expected[row["judge_id"], row["dimension"], row["id"]]
        low, high = e.interval()
        wanted = {
            "mean": e.mean,
            "std_error": e.std_error,
            "df": e.df,
            "ci_low": low,
            "ci_high": high,
            "n_answers": e.n,
            "n_sessions": e.n_clusters,
        }
        assert not differing(row, wanted), row


def check_pairs(of_all: list[dict[str, Any]], figures: Figures) -> None:
    for judge_id in ("j1", "j2"):
        rows = [row for row in of_all if row["judge_id"] == judge_id]
        expected = figures.pairs(judge_id)
        adjusted: dict[tuple[str, str, str], float | None] = {}
        for apart in (False, True):
            family = [key for key in expected if (key[0] == "constraints") is apart]
            adjusted |= dict(zip(family, holm([expected[key].p_value() for key in family]), strict=True))
        within: dict[tuple[str, str, str], float | None] = {}
        of_pair: dict[tuple[str, str, str], float | None] = {}
        for dimension in {key[0] for key in expected}:
            keys = [key for key in expected if key[0] == dimension]
            within |= dict(zip(keys, holm([expected[key].p_value() for key in keys]), strict=True))
        for pair in {key[1:] for key in expected}:
            for in_overall in (True, False):
                keys = [key for key in expected if key[1:] == pair and (key[0] != "constraints") == in_overall]
                of_pair |= dict(zip(keys, holm([expected[key].p_value() for key in keys]), strict=True))
        assert [(row["dimension"], row["method_a"], row["method_b"]) for row in rows] == sorted(expected)
        for row in rows:
            key = row["dimension"], row["method_a"], row["method_b"]
            e, (low, high) = expected[key], expected[key].interval()
            t_975, t_800 = e.quantile(0.975), e.quantile(0.8)
            power = None if t_975 is None or t_800 is None or not e.std_error else (t_975 + t_800) * e.std_error
            wanted = {
                "difference": e.mean,
                "std_error": e.std_error,
                "df": e.df,
                "ci_low": low,
                "ci_high": high,
                "p_value": e.p_value(),
                "p_adjusted": adjusted[key],
                "p_adjusted_in_dimension": within[key],
                "p_adjusted_of_pair": of_pair[key],
                "n_pairs": e.n,
                "n_sessions": e.n_clusters,
                "detectable_difference": power,
            }
            assert not differing(row, wanted), row
            assert (figures.names[row["method_id_a"]], figures.names[row["method_id_b"]]) == key[1:]


def check_leaderboard(of_all: list[dict[str, Any]], figures: Figures) -> None:
    for judge_id in ("j1", "j2"):
        rows = [row for row in of_all if row["judge_id"] == judge_id]
        expected = leaderboard(figures, judge_id)
        assert {row["method"] for row in rows if row["n_answers"]} == set(expected)
        seen = [row for row in figures.rows["scores"] if row["judge_id"] == judge_id]
        for row in rows:
            mine = [r for r in seen if figures.method_of.get(r["answer_id"]) == row["method_id"]]
            known = {r["answer_id"] for r in mine if r["score"] is not None}
            wanted = expected.get(row["method"], {}) | {
                "n_unscored": len({r["answer_id"] for r in mine} - known),
                "n_unscored_criteria": sum(r["score"] is None for r in mine),
            }
            cells = {c[1]: figures.of_method(c, row["method_id"]) for c in figures.scores if c[0] == judge_id}
            means = {d: found.mean for d, found in cells.items() if found and d != "overall"}
            apart = cells.get("constraints")
            wanted |= {"constraints": means.pop("constraints", None), "n_constraints": apart.n if apart else 0}
            wanted |= {
                d: means.get(d)
                for d in (
                    "accuracy",
                    "context_awareness",
                    "artifact_trail",
                    "completeness",
                    "continuity",
                    "instruction_following",
                )
            }
            wanted["overall_of_dimensions"] = sum(means.values()) / len(means) if means else None
            assert not differing(row, wanted), (row, differing(row, wanted))


def test_the_order_in_a_pair_is_that_of_the_names_whatever_the_ids(tmp_path: Path) -> None:
    """By id the pair is (A, B) = (keep, cut); by name cut comes first. One session: no error, no p-value."""
    [found] = dicts(make(tiny(), tmp_path), "FROM paired_differences WHERE judge_id = 'j1' AND dimension = 'accuracy'")
    assert found == {
        "judge_id": "j1",
        "judge": "embedded",
        "dimension": "accuracy",
        "method_a": "cut",
        "method_b": "keep",
        "difference": pytest.approx((3 - 2.5 + 4 - 5) / 2),
        "std_error": None,
        "ci_low": None,
        "ci_high": None,
        "p_value": None,
        "p_adjusted": None,
        "n_pairs": 2,
        "n_sessions": 1,
        "detectable_difference": None,
        "df": None,
        "p_adjusted_in_dimension": None,
        "p_adjusted_of_pair": None,
        "method_id_a": "B",
        "method_id_b": "A",
        "is_current": True,
        "n_clusters": 1,
    }


def two_dimensions(overall: dict[str, dict[tuple[str, str], float]]) -> Rows:
    """As ``graded``, with a second criterion of another dimension that everybody gets 3 for."""
    store = graded(overall)
    for row in list(store["scores"]):
        store["scores"] += scores(row["answer_id"], "j1", parts=3)
    return store


def test_exact_ties_and_constant_differences_are_said_as_such_and_count_in_the_correction(tmp_path: Path) -> None:
    """Of the three b is a, and c is half a point below both in each session: p is 1, 0, 0; completeness is 3 always."""
    base = {("s1", "q"): 4.0, ("s2", "q"): 3.0, ("s3", "q"): 3.5}
    path = make(two_dimensions({"a": base, "b": base, "c": {k: x - 0.5 for k, x in base.items()}}), tmp_path)
    rows = dicts(path, "FROM paired_differences WHERE dimension IN ('accuracy', 'completeness')")
    names = ("dimension", "method_a", "method_b", "difference", "std_error", "p_value", "p_adjusted")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("accuracy", "a", "b", 0, 0, 1, 1),
        ("accuracy", "a", "c", 0.5, 0, 0, 0),
        ("accuracy", "b", "c", 0.5, 0, 0, 0),
        ("completeness", "a", "b", 0, 0, 1, 1),
        ("completeness", "a", "c", 0, 0, 1, 1),
        ("completeness", "b", "c", 0, 0, 1, 1),
    ]
    assert {(row["ci_low"], row["ci_high"], row["detectable_difference"]) for row in rows} == {(None, None, None)}


def test_a_pair_that_only_one_session_has_takes_no_place_in_the_correction(tmp_path: Path) -> None:
    """Of three pairs two have a p-value, so the smaller of these is doubled and not tripled."""
    keys = [(f"s{i}", "q") for i in range(5)]
    a = dict(zip(keys, [3.0, 4.0, 3.5, 2.5, 4.5], strict=True))
    b = dict(zip(keys, [2.0, 3.5, 2.9, 1.6, 3.4], strict=True))
    path = make(graded({"a": a, "b": b, "c": {keys[0]: 1.0}}), tmp_path)
    [(ab,), (ac,), (bc,)] = [(row,) for row in dicts(path, "FROM paired_differences WHERE dimension = 'overall'")]
    expected = stats.ttest_rel(list(a.values()), list(b.values()))
    assert ab["p_value"] == pytest.approx(expected.pvalue, rel=1e-6)
    assert ab["p_adjusted_in_dimension"] == pytest.approx(expected.pvalue, rel=1e-6)
    assert ab["p_adjusted"] == pytest.approx(2 * expected.pvalue, rel=1e-6)  # overall and accuracy
    assert [ac["p_adjusted"], bc["p_adjusted"]] == [None, None]
    assert ac["difference"] == 2


def test_a_question_that_one_method_lacks_is_out_of_its_comparisons_and_in_all_others(tmp_path: Path) -> None:
    """Method c has no answer to q2 of the first session, b none to q3 of the second; all have something in both."""
    a = {("s1", "q1"): 4.0, ("s1", "q2"): 2.0, ("s2", "q3"): 3.0, ("s2", "q4"): 5.0}
    b = {("s1", "q1"): 3.0, ("s1", "q2"): 0.0, ("s2", "q4"): 1.0}
    c = {("s1", "q1"): 3.5, ("s2", "q3"): 1.0, ("s2", "q4"): 1.5}
    rows = dicts(
        make(graded({"a": a, "b": b, "c": c}), tmp_path), "FROM paired_differences WHERE dimension = 'overall'"
    )
    assert [(row["difference"], row["n_pairs"], row["n_sessions"]) for row in rows] == [
        (pytest.approx((1 + 2 + 4) / 3), 3, 2),
        (pytest.approx((0.5 + 2 + 3.5) / 3), 3, 2),
        (pytest.approx((-0.5 - 0.5) / 2), 2, 2),
    ]
    assert rows[2]["std_error"] == 0  # both sessions say -0.5


def test_the_correction_keeps_together_what_single_comparisons_would_part(tmp_path: Path) -> None:
    """The difference a - b has p = 0.03: below 0.05 alone, above it among the three pairs of three methods."""
    keys = [(f"s{i}", "q") for i in range(4)]
    base = [3.0, 3.5, 2.5, 3.2]
    near = [0.5, 0.9, 0.4, 1.3]
    overall = {
        "a": dict(zip(keys, base, strict=True)),
        "b": {k: x - d for k, x, d in zip(keys, base, near, strict=True)},
        "c": {k: x - 0.8 for k, x in zip(keys, [2.6, 3.9, 2.2, 3.3], strict=True)},
    }
    p = float(stats.ttest_1samp(near, 0).pvalue)
    assert 0.05 / 3 < p < 0.05
    path = make(graded(overall), tmp_path)
    assert one(path, "SELECT max(tie_group) FROM leaderboard") == "a"
    del overall["c"]
    (tmp_path / "two").mkdir()
    assert one(make(graded(overall), tmp_path / "two"), "SELECT max(tie_group) FROM leaderboard") == "b"


def test_the_detectable_difference_is_found_by_four_of_five_studies_of_that_size(tmp_path: Path) -> None:
    """Power by the noncentral t of 12 sessions, for the difference that the view names: 0.80, to the second digit."""
    overall = {
        "a": {(f"s{i}", "q"): 2.5 + math.sin(3 * i) for i in range(12)},
        "b": {(f"s{i}", "q"): 2.5 + math.cos(5 * i) / 2 for i in range(12)},
    }
    [row] = dicts(make(graded(overall), tmp_path), "FROM paired_differences WHERE dimension = 'overall'")
    shift, limit = row["detectable_difference"] / row["std_error"], stats.t.ppf(0.975, 11)
    power = stats.nct.sf(limit, 11, shift) + stats.nct.cdf(-limit, 11, shift)
    assert power == pytest.approx(0.8, abs=0.015)


def test_the_macros_need_plain_duckdb_and_nothing_else(empty: Path) -> None:
    """An analyst opens the file with no extension and no Python of ours."""
    with duckdb.connect(empty, read_only=True) as connection:
        assert connection.execute("SELECT cluster_figures([1, 2], [1, 1]).df, t_quantile(0.975, 1)").fetchall() == [
            (1.0, pytest.approx(12.7062047, rel=1e-6))
        ]
