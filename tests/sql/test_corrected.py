"""The leaderboard that people's labels correct, by hand, against ppi_py, and on stores whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.database.scores_db import connect
from tests.sql.labelled import COVERAGE, World, simulate_store
from tests.sql.tiny import Rows, graded, judge, make, scores, tiny

Key = tuple[str, str]


def label(answer_id: str, score: float, rater: str = "ada", criterion: str = "facts", **more: Any) -> dict[str, Any]:
    return {"answer_id": answer_id, "rater": rater, "criterion": criterion, "score": score, **more}


def drawn(answer_id: str, probability: float, sample_id: str = "first") -> dict[str, Any]:
    return {
        "sample_id": sample_id,
        "answer_id": answer_id,
        "judge_id": "j1",
        "probability": probability,
        "probe_type": "recall",
        "score_band": "low",
        "seed": "1",
        "drawn_at": "2026-01-01T00:00:00Z",
    }


def labelled(judged: Mapping[str, Mapping[Key, float]], people: Mapping[str, Mapping[Key, float]]) -> Rows:
    """Method → (session, probe) → score, by the judge and by a person."""
    rows = graded(judged)
    rows["human_scores"] = [label(f"{m}/{s}-{q}", x) for m, found in people.items() for (s, q), x in found.items()]
    return rows


def corrected(rows: Rows, folder: Path, dimension: str = "overall", judge_id: str = "j1") -> dict[str, dict[str, Any]]:
    """Method → its row."""
    with connect(make(rows, folder)) as connection:
        found = connection.execute(
            "FROM leaderboard_corrected WHERE dimension = $d AND judge_id = $j", {"d": dimension, "j": judge_id}
        )
        names = [column[0] for column in found.description]
        return {row["method"]: row for row in (dict(zip(names, row, strict=True)) for row in found.fetchall())}


def six(session: str, score: float) -> dict[Key, float]:
    return {(session, f"q{number}"): score for number in range(6)}


def test_a_method_without_labels_is_corrected_by_those_of_all_and_the_errors_of_a_session_are_added_up(
    tmp_path: Path,
) -> None:
    """By hand: the judge is 1 too lenient in s1 and 2 in s2, 1.5 on average; each term deviates by ±0.25 / √½ there."""
    judged = {"A": six("s1", 3) | six("s2", 4), "B": six("s1", 2) | six("s2", 1)}
    found = corrected(labelled(judged, {"A": six("s1", 2) | six("s2", 2)}), tmp_path)
    b = found["B"]
    assert (b["rectifier_of"], b["judge_weight"], b["n_labelled"], b["n_labelled_pooled"]) == ("all methods", 1, 0, 12)
    assert (b["raw_mean"], b["corrected"], b["rectifier"]) == pytest.approx((1.5, 0.0, -1.5))
    assert b["std_error"] == pytest.approx(1.0)
    assert b["ci_high"] == pytest.approx(12.7062, rel=1e-4)  # t of 1 degree of freedom: two sessions
    assert (b["pooled"], b["pooled_ci_high"]) == (b["corrected"], b["ci_high"])
    a = found["A"]
    assert (a["rectifier_of"], a["n_labelled"], a["n_sessions_labelled"]) == ("method", 12, 2)
    # People give 2 throughout, whatever the judge gives: its scores say nothing, and the labels alone count.
    assert (a["judge_weight"], a["corrected"], a["std_error"]) == pytest.approx((0, 2, 0))
    assert (a["ci_low"], a["ci_high"]) == (None, None)  # no session differs from another
    assert a["weights"] == "all alike"


def test_where_people_agree_with_the_judge_nothing_is_corrected_and_the_interval_is_the_raw_one(tmp_path: Path) -> None:
    judged = {"A": {(f"s{s}", f"q{q}"): (s + 2 * q) % 5 + 0.25 for s in range(5) for q in range(2 + 2 * s)}}
    people = {"A": {key: x for number, (key, x) in enumerate(judged["A"].items()) if number % 2}}
    a = corrected(labelled(judged, people), tmp_path)["A"]
    assert a["judge_weight"] == pytest.approx(1)
    raw = (a["raw_mean"], a["raw_ci_low"], a["raw_ci_high"])
    assert (a["corrected"], a["ci_low"], a["ci_high"]) == pytest.approx(raw, abs=1e-9)
    assert a["raw_ci_low"] < a["raw_ci_high"]


def test_with_one_answer_a_session_it_is_prediction_powered_inference_as_ppi_py_has_it(tmp_path: Path) -> None:
    ppi_py = pytest.importorskip("ppi_py", reason='pip install ".[oracles]"')
    rng = np.random.default_rng(5)
    n, n_labelled = 1500, 300
    people = np.clip(rng.normal(2.6, 0.8, n), 0, 5)
    judged = np.clip(0.9 + 0.7 * people + rng.normal(0, 0.4, n), 0, 5)
    keys = [(f"s{number:04d}", "q") for number in range(n)]
    a = corrected(
        labelled(
            {"A": {key: float(x) for key, x in zip(keys, judged, strict=True)}},
            {"A": {key: float(x) for key, x in zip(keys[:n_labelled], people, strict=False)}},
        ),
        tmp_path,
    )["A"]
    # Its two sets are disjoint; ours is all answers and the labelled ones among them.
    lam = a["judge_weight"] * (1 - n_labelled / n)
    sets = people[:n_labelled], judged[:n_labelled], judged[n_labelled:]
    assert a["judge_weight"] == pytest.approx(np.polyfit(judged[:n_labelled], people[:n_labelled], 1)[0])
    assert a["corrected"] == pytest.approx(float(ppi_py.ppi_mean_pointestimate(*sets, lam=lam)[0]), abs=1e-9)
    low, high = (float(end[0]) for end in ppi_py.ppi_mean_ci(*sets, alpha=0.05, lam=lam))
    assert (a["ci_low"], a["ci_high"]) == pytest.approx((low, high), abs=0.01 * (high - low))
    assert (a["raw_ci_high"] - a["raw_ci_low"]) < (high - low) < 0.5


def test_labels_count_by_the_inverse_of_their_chance_of_being_drawn(tmp_path: Path) -> None:
    """By hand: 6 labels of weight 2 with a rest of 1 and 6 of weight 10 with a rest of 0 have a mean of 12 / 72."""
    judged = {"A": six("s1", 2) | six("s2", 2)}
    rows = labelled(judged, {"A": six("s1", 3) | six("s2", 2)})
    for row in rows["human_scores"]:
        row["sample_id"] = "first"
    rows["label_samples"] = [
        drawn(row["answer_id"], 0.5 if "s1" in row["answer_id"] else 0.1) for row in rows["human_scores"]
    ]
    a = corrected(rows, tmp_path)["A"]
    assert a["corrected"] == pytest.approx(2 + 1 / 6)
    assert a["weights"] == "inverse chance of being drawn"


def test_a_label_that_was_not_drawn_has_no_weight_where_others_were(tmp_path: Path) -> None:
    rows = labelled({"A": six("s1", 2) | six("s2", 2)}, {"A": six("s1", 3) | six("s2", 2)})
    for row in rows["human_scores"][:-1]:
        row["sample_id"] = "first"
    rows["label_samples"] = [drawn(row["answer_id"], 0.5) for row in rows["human_scores"]]
    rows["label_samples"].append(drawn(rows["human_scores"][0]["answer_id"], 0.25, "second"))
    rows["human_scores"].append(label(rows["human_scores"][0]["answer_id"], 3, "bo", sample_id="second"))
    a = corrected(rows, tmp_path)["A"]
    assert a["n_labelled"] == 11
    # By hand: weight 2 each, 2 + 4 for the one that two samples drew: 6 + 5 × 2 of rest 1 against 5 × 2 of rest 0.
    assert a["corrected"] == pytest.approx(2 + 16 / 26)


@pytest.mark.parametrize(
    ("people", "because"),
    [
        ({}, "no labels"),
        (six("s1", 2) | {("s1", f"q{n}"): 2.0 for n in range(6, 12)}, "labels of one session only"),
        ({("s1", "q0"): 2.0, ("s2", "q0"): 2.0}, "fewer than 10 labelled answers"),
    ],
)
def test_where_there_are_too_few_labels_there_is_no_figure_and_it_is_said_why(
    tmp_path: Path, people: dict[Key, float], because: str
) -> None:
    judged = {"A": {(s, f"q{n}"): 3.0 + n / 20 for s in ("s1", "s2") for n in range(12)}}
    a = corrected(labelled(judged, {"A": people}), tmp_path)["A"]
    assert a["undefined_because"] == because
    assert [a[name] for name in ("corrected", "std_error", "ci_low", "pooled", "rectifier", "rectifier_of")] == [
        None
    ] * 6
    assert a["raw_mean"] == pytest.approx(3.275)


def test_people_are_set_against_the_judge_on_the_criteria_that_it_scored(tmp_path: Path) -> None:
    """Of accuracy, facts weighs 1 and terms 3; bo leaves terms open and says nothing of accuracy, nor of overall."""
    rows = graded({"A": six("s1", 3) | six("s2", 3)})
    rows["scores"] = [
        row for a in rows["answers"] for row in scores(a["answer_id"], "j1", facts=4, terms=4, files=None, parts=2)
    ]
    rows["judges"].append(judge("j2", "other"))
    rows["scores"] += [row for a in rows["answers"] for row in scores(a["answer_id"], "j2", facts=1)]
    for a in rows["answers"]:
        ada = {"facts": 4.0, "terms": 0.0, "files": 5.0, "parts": 3.0}
        rows.setdefault("human_scores", []).extend(label(a["answer_id"], x, "ada", c) for c, x in ada.items())
        rows["human_scores"] += [label(a["answer_id"], 5, "bo", c) for c in ("facts", "parts")]
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    expected = {"accuracy": 1.0, "completeness": 4.0, "overall": (1.0 + 3.0) / 2}
    for dimension, value in expected.items():
        a = corrected(rows, tmp_path / "1", dimension)["A"]
        assert a["corrected"] == pytest.approx(value), dimension
        assert a["n_labelled"] == 12
    assert corrected(rows, tmp_path / "1", "artifact_trail") == {}  # the judge scored none
    assert corrected(rows, tmp_path / "2", "accuracy", "j2")["A"]["corrected"] == pytest.approx(4.5)  # facts alone


def test_labels_of_answers_that_are_gone_and_half_a_run_change_nothing(tmp_path: Path) -> None:
    rows = tiny()
    rows["human_scores"] = [label("gone", 3)]
    with connect(make(rows, tmp_path)) as connection:
        assert connection.execute("SELECT DISTINCT undefined_because FROM leaderboard_corrected").fetchall() == [
            ("no labels",)
        ]


def test_the_corrected_interval_holds_the_truth_about_as_often_as_it_says_and_the_raw_one_does_not(
    tmp_path: Path,
) -> None:
    """A judge that is lenient by half a point to more than one: 40 worlds of 3 methods; the benchmark has more."""
    with connect(make(simulate_store(World(40, sessions=8, labels=45), 3), tmp_path)) as connection:
        raw, right, _, width, bias, *_, n = connection.execute(COVERAGE).fetchone() or ()
    assert n == 120
    assert raw < 0.3
    assert 0.88 <= right <= 1
    assert width < 2
    assert abs(bias) < 0.05
