"""Altered answers: what is made of a truth, and which judges pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
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
    assert {id for id, passes in found.items() if passes} == {
        *("truth", "other_form", "long", "in_order"),
        *("bias_length", "bias_position", "bias_style"),
    }


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


def worded(n: int = 3) -> list[TrueAnswer]:
    return [
        replace(one, own_words=f"own: {one.case.answer}", other_words=f"other: {one.case.answer}") for one in answers(n)
    ]


@pytest.mark.parametrize(
    ("bias", "sign"),
    [("bias_length", "each of them"), ("bias_style", "# Answer"), ("bias_own_words", "own:")],
)
def test_a_judge_that_likes_a_form_is_biased_and_by_how_much(bias: str, sign: str) -> None:
    liking = Scripted(lambda case: 3.0 + (sign.lower() in case.answer.lower()))
    rows = {row.alteration: row for row in measure_validity(liking, worded())}
    assert rows[bias].effect == pytest.approx(1.0)
    assert rows[bias].passes is False
    others = {"bias_length", "bias_position", "bias_style", "bias_own_words"} - {bias}
    assert [rows[other].effect for other in others] == [0.0] * 3
    assert all(rows[other].passes for other in others)


def test_a_judge_that_believes_what_stands_first_is_biased_by_position() -> None:
    liking = Scripted(lambda case: 5.0 if case.answer.startswith(case.probe.ground_truth[:7]) else 3.0)
    rows = {row.alteration: row for row in measure_validity(liking, answers())}
    assert rows["bias_position"].effect == pytest.approx(-2.0)
    assert rows["bias_position"].passes is False


def test_a_bias_that_three_sessions_cannot_tell_passes_neither_way() -> None:
    scores = {0: 5.0, 1: 3.0, 2: 4.2}
    liking = Scripted(lambda case: scores[int(case.probe.question[-1])] if "# Answer" in case.answer else 4.0)
    numbered = [
        replace(one, case=replace(one.case, probe=replace(one.case.probe, question=f"Question {one.cluster[1:]}")))
        for one in answers()
    ]
    row = next(row for row in measure_validity(liking, numbered) if row.alteration == "bias_style")
    assert row.effect == pytest.approx(0.2 / 3)
    assert row.effect_low is not None
    assert row.effect_low < 0
    assert row.passes is None


def test_padding_and_headings_keep_every_word_of_the_truth() -> None:
    for kind, text in TRUTHS.items():
        padded = altered("bias_length", kind)
        assert padded is not None
        assert text in padded
        assert len(padded) >= 3 * len(text)
        styled = altered("bias_style", kind)
        assert styled is not None
        assert set(re.findall(r"\w+", text)) <= set(re.findall(r"\w+", styled))
    assert altered("bias_own_words", "decision") is None
