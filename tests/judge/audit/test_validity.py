"""Altered answers: what is made of a truth, and which judges pass."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from judge import Judge, JudgeCase, Probe, load_rubric
from judge.audit.validity import ALTERATIONS, TrueAnswer, measure_validity
from judge.scoring import CriterionScore, JudgeError, JudgeVersion

TRUTHS = {
    "artifact": "Created: harbour/ledger2.py; harbour/tide.py\nModified: docs/pilot.md (Fathoms); src/lamp.py",
    "continuation": "Open: write the tide table\nFailing: test_lamp fails with 3 of 7",
    "decision": "Keep the ledger in fathoms instead of metres, because pilots read fathoms.",
}


def answers(n: int = 3) -> list[TrueAnswer]:
    rubric = load_rubric()
    return [
        TrueAnswer(
            JudgeCase(Probe(kind, f"What of {kind}?", text, (), (), 100), text, (), rubric.asked[kind]),  # type: ignore[arg-type]
            f"s{number}",
            (f"Modified: other{number}.py; more{number}.py\nOpen: something else",) * 6,
            (f"The lamp is lit at {number}. " * 40,),
        )
        for number in range(n)
        for kind, text in TRUTHS.items()
    ]


class Scripted:
    """Scores an answer by a function of it."""

    def __init__(self, score: object) -> None:
        self._score = score
        self.rubric = load_rubric()
        self.version = JudgeVersion("scripted", "none", self.rubric.name, "", "study", {})

    def score(self, case: JudgeCase) -> Sequence[CriterionScore]:
        value = self._score(case)  # type: ignore[operator]
        if value is None:
            raise JudgeError("refused")
        return [CriterionScore(one, 0.0 if one.startswith("instruction") else value, "") for one in case.criteria]


def altered(id: str, kind: str) -> str | None:
    [alteration] = [one for one in ALTERATIONS if one.id == id]
    [answer] = [one for one in answers(1) if one.case.probe.probe_type == kind]
    return alteration.alter(answer, Random(1))


def passed(judge: Judge) -> dict[str, bool | None]:
    return {row.alteration: row.passes for row in measure_validity(judge, answers())}


def test_a_judge_that_gives_everything_full_marks_passes_the_truth_alone() -> None:
    found = passed(Scripted(lambda case: 5.0))
    assert {id for id, passes in found.items() if passes} == {"truth", "other_form", "long"}


def test_a_judge_that_knows_only_the_letter_fails_other_forms() -> None:
    found = passed(Scripted(lambda case: 5.0 * (case.answer == case.probe.ground_truth)))
    assert found["truth"]
    assert not found["other_form"]
    assert found["denied"]
    assert found["invented_10"] is False, "no higher than with 3 invented items"


def test_each_invented_item_has_to_cost_something() -> None:
    found = passed(Scripted(lambda case: max(0.0, 5.0 - 0.3 * (len(case.answer) > len(case.probe.ground_truth)))))
    assert found["invented_1"]
    assert found["invented_3"] is False


def test_instruction_following_does_not_count_and_failures_are_counted() -> None:
    rows = {row.alteration: row for row in measure_validity(Scripted(lambda case: 5.0), answers())}
    assert rows["truth"].mean == 5.0
    rows = {row.alteration: row for row in measure_validity(Scripted(lambda case: None), answers())}
    assert (rows["truth"].n, rows["truth"].n_unscored, rows["truth"].passes) == (0, 9, None)


@pytest.mark.parametrize(
    ("id", "kind", "made"),
    [
        ("roles", "decision", "metres, because pilots read fathoms instead of Keep the ledger in fathoms"),
        (
            "verbs",
            "artifact",
            TRUTHS["artifact"].replace("Created", "X").replace("Modified", "Created").replace("X", "Modified"),
        ),
        ("done", "continuation", "Done: write the tide table\nDone: test_lamp fails with 3 of 7"),
        ("numbers", "continuation", "Open: write the tide table\nFailing: test_lamp fails with 10 of 14"),
        ("numbers", "decision", None),
        ("file_names", "decision", None),
        ("stale", "artifact", None),
    ],
)
def test_what_is_made_of_a_truth(id: str, kind: str, made: str | None) -> None:
    assert altered(id, kind) == made


def test_half_of_the_items_are_whole_items() -> None:
    made = altered("half", "artifact")
    assert made is not None
    assert len(made.splitlines()) == 2
    assert set(made.splitlines()) < {
        "Created: harbour/ledger2.py",
        "Created: harbour/tide.py",
        "Modified: docs/pilot.md (Fathoms)",
        "Modified: src/lamp.py",
    }
