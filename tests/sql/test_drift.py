"""How far a judge has moved on its anchors, by hand and against statsmodels."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from flows.database.scores_db import connect
from tests.sql.recomputed import holm
from tests.sql.tiny import DIMENSION, Rows, graded, make

FIRST, SECOND, THIRD = date(2026, 11, 1), date(2026, 11, 2), date(2026, 11, 9)
ANSWERS = ("A/s1-q0", "A/s1-q1", "A/s2-q0", "A/s2-q1")


def taking(day: date, answer_id: str, judge_id: str = "j1", **by_criterion: float | None) -> list[dict[str, Any]]:
    return [
        {
            "answer_id": answer_id,
            "judge_id": judge_id,
            "taken_on": day,
            "criterion": criterion,
            "dimension": DIMENSION[criterion],
            "score": score,
            "unscored_reason": "no verdict" if score is None else None,
        }
        for criterion, score in by_criterion.items()
    ]


def store(*takings: list[dict[str, Any]]) -> Rows:
    rows = graded({"A": {(s, f"q{n}"): 3.0 for s in ("s1", "s2") for n in range(2)}})
    rows["anchor_scores"] = [row for found in takings for row in found]
    return rows


def drift(rows: Rows, folder: Path) -> dict[tuple[date, str], dict[str, Any]]:
    with connect(make(rows, folder)) as connection:
        found = connection.execute("FROM judge_drift")
        names = [column[0] for column in found.description]
        dicts = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return {(row["taken_on"], row["dimension"]): row for row in dicts}


def test_a_shift_its_interval_and_the_judges_own_noise_are_worked_out_over_sessions(tmp_path: Path) -> None:
    """By hand: +1 in s1, 0 in s2: residuals of ±1 a session, error √(2 · 1 / ½) / 4 = ½, t = 1 with 1 degree."""
    first = [taking(FIRST, id, facts=3) for id in ANSWERS]
    second = [taking(SECOND, id, facts=4 if "s1" in id else 3) for id in ANSWERS]
    found = drift(store(*first, *second), tmp_path)
    row = found[SECOND, "accuracy"]
    assert (row["mean_first"], row["mean"], row["shift"], row["std_error"]) == pytest.approx((3, 3.5, 0.5, 0.5))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.5 - 6.3531, 0.5 + 6.3531), rel=1e-3)
    assert row["p_value"] == pytest.approx(0.5)
    assert row["p_adjusted"] == pytest.approx(1)  # of two alike, accuracy and overall
    assert row["noise_sd"] == pytest.approx(3**-0.5)
    assert (row["is_beyond_noise"], row["drift"]) == (False, False)  # 3.18 · 0.577 / 2 is more than ½
    assert (row["n_answers"], row["n_sessions"], row["first_taken_on"]) == (4, 2, FIRST)


def test_a_judge_that_has_become_stricter_by_one_about_everything_has_drifted(tmp_path: Path) -> None:
    takings = [taking(day, id, facts=4 - (day == THIRD)) for day in (FIRST, SECOND, THIRD) for id in ANSWERS]
    found = drift(store(*takings), tmp_path)
    assert {day: row["drift"] for (day, dimension), row in found.items() if dimension == "overall"} == {
        FIRST: False,
        SECOND: False,
        THIRD: True,
    }
    assert (found[THIRD, "overall"]["shift"], found[THIRD, "overall"]["p_value"]) == (-1, 0)


def test_a_judge_that_gives_the_same_scores_has_not_moved_at_all(tmp_path: Path) -> None:
    uneven = {"facts": 0.1, "terms": 3.7, "files": 1 / 3, "parts": 4.9}
    takings = [taking(day, id, **uneven) for day in (FIRST, SECOND, THIRD) for id in ANSWERS]
    found = drift(store(*takings), tmp_path)
    assert {(row["shift"], row["std_error"], row["drift"]) for row in found.values()} == {(0.0, 0.0, False)}
    assert len(found) == 3 * 4


def test_after_one_taking_nothing_can_be_said(tmp_path: Path) -> None:
    found = drift(store(*(taking(FIRST, id, facts=3) for id in ANSWERS)), tmp_path)
    assert {(row["drift"], row["is_beyond_noise"], row["noise_sd"]) for row in found.values()} == {(None, None, None)}


def test_an_answer_is_compared_with_its_own_first_taking_on_the_criteria_that_both_scored(tmp_path: Path) -> None:
    """By hand: terms weighs 3, facts 1; parts is unscored at first, files later; s2 joined on the second day."""
    found = drift(
        store(
            taking(FIRST, ANSWERS[0], facts=1, terms=2, files=3, parts=None),
            taking(SECOND, ANSWERS[0], facts=5, terms=3, files=None, parts=5),
            taking(SECOND, ANSWERS[2], facts=2),
            taking(THIRD, ANSWERS[2], facts=3),
            taking(FIRST, ANSWERS[1], facts=None),
        ),
        tmp_path,
    )
    row = found[SECOND, "accuracy"]
    assert (row["n_answers"], row["shift"], row["mean_first"]) == pytest.approx((2, (7 / 4 + 0) / 2, (7 / 4 + 2) / 2))
    assert (found[THIRD, "accuracy"]["n_answers"], found[THIRD, "accuracy"]["shift"]) == (1, 1)
    assert found[THIRD, "accuracy"]["drift"] is None or found[THIRD, "accuracy"]["std_error"] is None
    assert {dimension for day, dimension in found if day == SECOND} == {"accuracy", "overall"}


def test_judges_are_never_mixed(tmp_path: Path) -> None:
    rows = store(
        *(taking(FIRST, id, facts=3) for id in ANSWERS), *(taking(SECOND, id, "j2", facts=5) for id in ANSWERS)
    )
    rows["judges"].append({**rows["judges"][0], "judge_id": "j2"})
    assert {(day, row["judge_id"], row["shift"]) for (day, _), row in drift(rows, tmp_path).items()} == {
        (FIRST, "j1", 0),
        (SECOND, "j2", 0),
    }


def test_p_values_of_a_day_are_adjusted_as_statsmodels_does_by_holm(tmp_path: Path) -> None:
    shifts = {"facts": (1, 2, 1, 2), "files": (1, 1, 2, 1), "parts": (0, 1, 0, -1)}
    takings = [taking(FIRST, id, facts=2, files=2, parts=2) for id in ANSWERS]
    takings += [
        taking(SECOND, id, **{name: 2 + found[number] for name, found in shifts.items()})
        for number, id in enumerate(ANSWERS)
    ]
    found = [row for (day, _), row in drift(store(*takings), tmp_path).items() if day == SECOND]
    expected = holm([row["p_value"] for row in found])
    assert len(found) == 4
    assert [row["p_adjusted"] for row in found] == pytest.approx(expected)
