"""Two methods within the parts of a split: the figures of a pair, and a correction of its own."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest
from scipy import stats

from flows.database import connect
from tests.sql.tiny import graded, make

TYPES = ("recall", "artifact", "continuation", "decision")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Of eight sessions with a question of each type: the view, and the view without a split."""
    draw = random.Random(3)
    keys = [(f"s{s}", q) for s in range(8) for q in TYPES]
    rows = graded({
        name: {(s, q): draw.uniform(0, 2) + (lead if q == "recall" else lead / 3) for s, q in keys}
        for name, lead in (("a", 0.0), ("b", 1.5), ("c", 2.5))
    })  # fmt: skip
    for row in rows["probes"]:
        row["probe_type"] = row["probe_id"].partition("-")[2]
    views: dict[str, list[dict[str, Any]]] = {}
    with connect(make(rows, tmp_path_factory.mktemp("split"))) as connection:
        for view in ("paired_differences_by_split", "paired_differences", "int_answer_scores"):
            cursor = connection.execute(f"FROM {view}")
            names = [column[0] for column in cursor.description]
            views[view] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return views


def test_without_a_split_the_figures_are_those_of_paired_differences(found: dict[str, list[dict[str, Any]]]) -> None:
    names = "difference std_error ci_low ci_high p_value n_pairs n_sessions detectable_difference df".split()
    key = ("dimension", "method_a", "method_b")
    whole = {tuple(row[k] for k in key): row for row in found["paired_differences"]}
    rows = [row for row in found["paired_differences_by_split"] if row["split"] == "all"]
    assert len(rows) == len(whole) == 6
    for row in rows:
        expected = whole[tuple(row[k] for k in key)]
        assert [row[name] for name in names] == pytest.approx([expected[name] for name in names], rel=1e-9)


def test_within_a_part_a_difference_is_that_of_a_paired_t_test(found: dict[str, list[dict[str, Any]]]) -> None:
    """One question a session in each part, so that clusters have one value each."""
    scores = {(row["method_id"], row["probe_id"]): row["score"] for row in found["int_answer_scores"]}
    rows = [
        row for row in found["paired_differences_by_split"]
        if row["split"] == "probe_type" and row["dimension"] == "overall"
    ]  # fmt: skip
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
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    families = defaultdict(list)
    for row in found["paired_differences_by_split"]:
        families[row["split"], row["method_a"], row["method_b"]].append((row["p_value"], row["p_adjusted"]))
    assert {len(rows) for (split, _, _), rows in families.items() if split == "probe_type"} == {8}
    for rows in families.values():
        raw, adjusted = zip(*rows, strict=True)
        assert adjusted == pytest.approx(multipletests(raw, method="holm")[1].tolist(), rel=1e-9)
