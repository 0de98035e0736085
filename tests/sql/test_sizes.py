"""The view ``compaction_sizes`` against the paired t-test of scipy over sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from flows.database.scores_db import connect
from flows.reporting.recommendation import Wanted, recommend
from flows.reporting.text_tables import Layout
from tests.sql.tiny import CRITERIA, Rows, answer, compaction, judge, make, method, point, probe, scores, session

SPEC = "sizes:1000,2000,4000"
SIZES = (1000, 2000, 4000)
N_QUESTIONS = {1000: 3, 2000: 2, 4000: 1}
Drawn = dict[tuple[str, int, str], list[float]]
"""Scores of the questions by method, size and session."""


def drawn(n_sessions: int = 8) -> Drawn:
    """Two sessions never reach 4,000, and one has no question at 1,000. What is asked gets harder with the size."""
    rng = np.random.default_rng(3)
    found: Drawn = {}
    for s in range(n_sessions):
        for size in SIZES:
            if (size == 4000 and s < 2) or (size == 1000 and s == 5):
                continue
            whole = rng.uniform(3.5, 4.5, N_QUESTIONS[size]) - size / 4000
            found["none", size, f"s{s}"] = list(whole)
            found["empty", size, f"s{s}"] = [0.5] * len(whole)
            found["flat", size, f"s{s}"] = list(whole - 1 + rng.normal(0, 0.02, len(whole)))
            lost = {1000: 0.5, 2000: 0.5, 4000: 1.5}[size]
            found["falls", size, f"s{s}"] = list(whole - lost + rng.normal(0, 0.05, len(whole)))
    return found


def store_of(given: Drawn, spec: str = SPEC) -> Rows:
    methods = sorted({m for m, _, _ in given})
    places = sorted({(size, s) for _, size, s in given})
    asked = [
        (m, f"p-{s}-{size}", f"{s}-{size}-{i}", score)
        for (m, size, s), values in given.items()
        for i, score in enumerate(values)
    ]
    return {
        "sessions": [session(s) for s in sorted({s for _, s in places})],
        "points": [
            point(f"p-{s}-{size}", s, size + 40, cycle=1 + SIZES.index(size), cut_seq=size // 100, points_spec=spec)
            for size, s in places
        ],
        "methods": [method(m, m) for m in methods],
        "compactions": [compaction(m, f"p-{s}-{size}", size + 40, 100) for m in methods for size, s in places],
        "probes": [probe(id, at) for m, at, id, _ in asked if m == methods[0]],
        "answers": [answer(m, at, id) for m, at, id, _ in asked],
        "judges": [judge("j", "embedded")],
        "criteria": CRITERIA,
        "scores": [row for m, _, id, score in asked for row in scores(f"{m}/{id}", "j", facts=score)],
    }


def sizes_of(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    with connect(path) as connection:
        found = connection.sql("FROM compaction_sizes").to_arrow_table().to_pylist()
    return {(row["method"], row["size"]): row for row in found}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], dict[str, Any]]:
    return sizes_of(make(store_of(drawn()), tmp_path_factory.mktemp("sizes")))


def gaps(given: Drawn, name: str, size: int) -> dict[str, float]:
    """Session → the mean of method - none over its questions."""
    return {
        s: float(np.mean(np.subtract(values, given["none", at, s])))
        for (m, at, s), values in given.items()
        if m == name and at == size
    }


@pytest.mark.parametrize("name", ["flat", "falls"])
@pytest.mark.parametrize("size", [2000, 4000])
def test_the_change_is_the_paired_t_test_over_sessions_with_both_sizes(
    found: dict[tuple[str, int], dict[str, Any]], name: str, size: int
) -> None:
    here, least = gaps(drawn(), name, size), gaps(drawn(), name, 1000)
    both = sorted(set(here) & set(least))
    test = stats.ttest_rel([here[s] for s in both], [least[s] for s in both])
    low, high = test.confidence_interval()
    row = found[name, size]
    assert row["n_pairs"] == len(both) == (7 if size == 2000 else 5)
    assert row["change"] == pytest.approx(np.mean([here[s] - least[s] for s in both]))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))
    assert row["p_value"] == pytest.approx(test.pvalue)
    assert row["against_none"] == pytest.approx(np.mean(list(here.values())))


def test_what_is_asked_at_a_size_is_no_change(found: dict[tuple[str, int], dict[str, Any]]) -> None:
    """Questions get harder for every method, so scores fall; only ``falls`` loses more against the whole history."""
    assert found["flat", 4000]["score"] < found["flat", 1000]["score"] - 0.4
    assert [found["flat", size]["says"] for size in SIZES] == [None, "as good", "as good"]
    assert [found["falls", size]["says"] for size in SIZES] == [None, "as good", "worse"]


def test_two_sizes_are_corrected_by_holm(found: dict[tuple[str, int], dict[str, Any]]) -> None:
    for name in ("flat", "falls"):
        small, large = sorted(found[name, size]["p_value"] for size in (2000, 4000))
        adjusted = sorted(found[name, size]["p_adjusted"] for size in (2000, 4000))
        assert adjusted == pytest.approx([min(1, 2 * small), min(1, max(2 * small, large))])


def test_retention_at_a_size_is_of_its_own_questions(found: dict[tuple[str, int], dict[str, Any]]) -> None:
    given, kept, worth = drawn(), 0.0, 0.0
    for (m, size, s), values in given.items():
        if m == "falls" and size == 4000:
            kept += float(np.mean(values)) - 0.5
            worth += float(np.mean(given["none", size, s])) - 0.5
    assert found["falls", 4000]["retention"] == pytest.approx(kept / worth)


def test_without_none_there_is_no_change(tmp_path: Path) -> None:
    given = {key: values for key, values in drawn().items() if key[0] != "none"}
    rows = sizes_of(make(store_of(given), tmp_path))
    assert {row["change"] for row in rows.values()} == {row["says"] for row in rows.values()} == {None}
    assert rows["flat", 2000]["score"] > 0


def test_points_of_another_kind_have_no_sizes(tmp_path: Path) -> None:
    assert sizes_of(make(store_of(drawn(), "tokens:1000"), tmp_path)) == {}


def test_a_session_counts_where_none_has_a_score_at_both_sizes(tmp_path: Path) -> None:
    given = {key: of for key, of in drawn().items() if key not in {("none", 4000, "s3"), ("none", 1000, "s4")}}
    row = sizes_of(make(store_of(given), tmp_path))["falls", 4000]
    here, least = (gaps(drawn(), "falls", size) for size in (4000, 1000))
    expected = [here[s] - least[s] for s in ("s2", "s6", "s7")]
    assert (row["n_pairs"], row["change"]) == (3, pytest.approx(np.mean(expected)))
    assert row["p_value"] == pytest.approx(stats.ttest_1samp(expected, 0).pvalue)


def test_contexts_left_are_those_at_the_size(tmp_path: Path) -> None:
    rows = store_of(drawn())
    for row in rows["compactions"]:
        row["tokens_after"] = 7 if row["point_id"].endswith("-4000") else 90
    found = sizes_of(make(rows, tmp_path))
    assert [found["falls", size]["tokens_after"] for size in SIZES] == [90, 90, 7]


def said(folder: Path, given: Drawn, name: str, spec: str = SPEC) -> str:
    """What ``recommend`` says after its three sentences where there is one method besides the controls."""
    kept = {key: values for key, values in given.items() if key[0] in (name, "none", "empty")}
    [found] = json.loads(recommend(make(store_of(kept, spec), folder), Wanted(), layout=Layout("json")))
    return " ".join(found["sentences"][3:])


def test_recommend_says_at_which_size_one_compaction_loses_no_more(tmp_path: Path) -> None:
    text = said(tmp_path / "falls", drawn(), "falls")
    assert text.startswith(
        "Compact with falls at 2,000 tokens rather than 1,000: one compaction there is shown to lose at most 0.2 more ("
    )
    assert "; 7 sessions); at 4,000 it loses more (-0.97, 95 %" in text
    assert text.endswith("; 5 sessions).")
    text = said(tmp_path / "flat", drawn(), "flat")
    assert text.startswith("Compact with flat at 4,000 tokens rather than 1,000: ")
    assert text.endswith("; 5 sessions).")


def test_recommend_says_of_sizes_what_cannot_be_told(tmp_path: Path) -> None:
    noisy = drawn()
    rng = np.random.default_rng(5)
    for (name, size, _), values in noisy.items():
        if name == "flat" and size > 1000:
            values[:] = [float(np.clip(value + rng.normal(0, 1), 0, 5)) for value in values]
    assert said(tmp_path / "noisy", noisy, "flat").startswith(
        "Whether one compaction with flat at 2,000 tokens loses more than one at 1,000, this data cannot tell ("
    )
    worse = {key: [score - (key[0] == "flat" and key[1] > 1000) for score in of] for key, of in drawn().items()}
    assert said(tmp_path / "worse", worse, "flat").startswith(
        "With flat one compaction at 2,000 tokens loses more than one at 1,000 (-0.99, 95 %"
    )
    without = {key: of for key, of in drawn().items() if key[0] != "none"}
    assert "without the control none" in said(tmp_path / "without", without, "flat")


def test_recommend_says_nothing_of_sizes_where_the_study_has_one(tmp_path: Path) -> None:
    one = {key: of for key, of in drawn().items() if key[1] == 1000}
    assert said(tmp_path / "one", one, "flat") == ""
    assert said(tmp_path / "tokens", drawn(), "flat", "tokens:1000") == ""
