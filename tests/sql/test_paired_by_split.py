"""Two methods within the parts of a split: the figures of a pair, and a correction of its own."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from scipy import stats

from flows.database.query_variables import with_variables
from flows.database.scores_db import connect
from flows.database.sql_model import sql_text
from tests.sql.recomputed import Figures, clustered_mean, holm, random_store
from tests.sql.test_core import differing, found_by
from tests.sql.tiny import Rows, graded, make

TYPES = ("recall", "artifact", "continuation", "decision")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Of eight sessions with a question of each type: every pair by split, and the view without a split."""
    draw = random.Random(3)
    keys = [(f"s{s}", q) for s in range(8) for q in TYPES]
    rows = graded(
        {
            name: {(s, q): draw.uniform(0, 2) + (lead if q == "recall" else lead / 3) for s, q in keys}
            for name, lead in (("a", 0.0), ("b", 1.5), ("c", 2.5))
        }
    )
    for row in rows["probes"]:
        row["probe_type"] = row["probe_id"].partition("-")[2]
    views: dict[str, list[dict[str, Any]]] = {}
    with connect(make(rows, tmp_path_factory.mktemp("split"))) as connection:
        for view in ("paired_differences", "int_answer_scores"):
            views[view] = found_by(connection, f"FROM {view}")
        views["by_split"] = by_split(connection)
    return views


def by_split(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """The rows of every pair of methods."""
    names = [name for (name,) in connection.execute("SELECT method FROM stg_methods ORDER BY method").fetchall()]
    rows = []
    for a, b in combinations(names, 2):
        with with_variables(connection, {"method_a": a, "method_b": b}):
            rows += found_by(connection, sql_text("queries/compare", "pair_by_split"))
    return rows


def test_without_a_split_the_figures_are_those_of_paired_differences(found: dict[str, list[dict[str, Any]]]) -> None:
    names = "difference std_error ci_low ci_high p_value n_pairs n_sessions detectable_difference df".split()
    key = ("dimension", "method_a", "method_b")
    whole = {tuple(row[k] for k in key): row for row in found["paired_differences"]}
    rows = [row for row in found["by_split"] if row["split"] == "all"]
    assert len(rows) == len(whole) == 6
    for row in rows:
        expected = whole[tuple(row[k] for k in key)]
        assert [row[name] for name in names] == pytest.approx([expected[name] for name in names], rel=1e-9)


def test_within_a_part_a_difference_is_that_of_a_paired_t_test(found: dict[str, list[dict[str, Any]]]) -> None:
    """One question a session in each part, so that clusters have one value each."""
    scores = {(row["method_id"], row["probe_id"]): row["score"] for row in found["int_answer_scores"]}
    rows = [row for row in found["by_split"] if row["split"] == "probe_type" and row["dimension"] == "overall"]
    assert len(rows) == 12
    for row in rows:
        a, b = ([scores[row[which], f"s{s}-{row['value']}"] for s in range(8)] for which in ("method_a", "method_b"))
        expected = stats.ttest_rel(a, b)
        assert row["mean_a"] == pytest.approx(sum(a) / 8)
        assert row["mean_b"] == pytest.approx(sum(b) / 8)
        assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-3)
        low, high = expected.confidence_interval()
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), rel=1e-4, abs=1e-6)


def test_p_values_are_corrected_over_the_parts_and_dimensions_of_one_pair(
    found: dict[str, list[dict[str, Any]]],
) -> None:
    families = defaultdict(list)
    for row in found["by_split"]:
        families[row["split"], row["method_a"], row["method_b"]].append((row["p_value"], row["p_adjusted_of_pair"]))
    assert {len(rows) for (split, _, _), rows in families.items() if split == "probe_type"} == {8}
    for rows in families.values():
        raw, adjusted = zip(*rows, strict=True)
        assert adjusted == pytest.approx(holm(raw), rel=1e-9)


LENGTHS = {4000: "short", 40_000: "medium", 400_000: "long"}
"""Tokens of a session of ``random_store`` → its length."""

NAMES = ("judge_id", "split", "method_a", "method_b", "value", "dimension")


def parts(store: Rows) -> Iterator[tuple[str, str, set[str]]]:
    """Split, value and the probes of it."""
    sessions = {row["session_id"]: row for row in store["sessions"]}
    points = {row["point_id"]: row for row in store["points"]}
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in store["probes"]:
        point = points[row["point_id"]]
        session = sessions[point["session_id"]]
        values = {
            "all": "all",
            "task_type": session["task_type"] or "unknown",
            "length": LENGTHS[session["n_tokens"]],
            "probe_type": row["probe_type"],
            "cycle": str(point["cycle"]),
            "source": session["source_format"],
            "resolved": {True: "yes", False: "no", None: "unknown"}[session["resolved"]],
            "exit_status": session["exit_status"] or "unknown",
        }
        for item in values.items():
            found[item].add(row["probe_id"])
    return ((*item, probes) for item, probes in found.items())


@pytest.mark.parametrize("seed", [0, 5])
def test_every_figure_of_a_store_with_gaps_is_that_of_an_independent_computation(tmp_path: Path, seed: int) -> None:
    """Methods that lack probes which others have, replicates, two judges, a dimension of its own."""
    store = random_store(seed)
    figures = Figures(store)
    expected = {}
    for judge_id, dimension in figures.scores:
        by_name = {name: figures.by_probe((judge_id, dimension), id) for id, name in figures.names.items()}
        for split, value, probes in parts(store):
            for a, b in combinations(sorted(by_name), 2):
                shared = sorted(probes & by_name[a].keys() & by_name[b].keys())
                if shared:
                    key = judge_id, split, a, b, value, dimension
                    pairs = [(by_name[a][q], by_name[b][q]) for q in shared]
                    difference = clustered_mean(
                        (figures.session_of_probe[q], by_name[a][q] - by_name[b][q]) for q in shared
                    )
                    expected[key] = (difference, *(sum(scores) / len(shared) for scores in zip(*pairs, strict=True)))
    with connect(make(store, tmp_path)) as connection:
        rows = by_split(connection)
    found = {tuple(row[name] for name in NAMES): row for row in rows}
    assert found.keys() == expected.keys()
    assert len(found) == len(rows) > 500
    families = defaultdict(list)
    for key, (difference, mean_a, mean_b) in expected.items():
        families[(*key[:4], key[-1] == "constraints")].append(key)
        low, high = difference.interval()
        wanted = {
            "mean_a": mean_a,
            "mean_b": mean_b,
            "difference": difference.mean,
            "std_error": difference.std_error,
            "df": difference.df,
            "ci_low": low,
            "ci_high": high,
            "p_value": difference.p_value(),
            "n_pairs": difference.n,
            "n_sessions": difference.n_clusters,
        }
        assert not differing(found[key], wanted), found[key]
    for keys in families.values():
        for key, adjusted in zip(keys, holm([expected[key][0].p_value() for key in keys]), strict=True):
            assert not differing(found[key], {"p_adjusted_of_pair": adjusted}), found[key]
