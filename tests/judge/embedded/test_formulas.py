"""Every criterion has its formula, and its formula scores: no place is missing, and none passes by doing nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from compaction import TiktokenCounter
from judge import Fact, JudgeCase, Probe, list_rubrics, load_rubric
from judge.embedded import EmbeddedJudge
from judge.embedded.judge import formulas
from judge.probe import FactKind
from tests.judge.embedded.test_judge import ARTIFACT, CONTINUATION, RECALL

ROOT = Path(__file__).parents[3]
RUBRICS = {name: load_rubric(name) for name in list_rubrics()}
CRITERIA = [(name, id) for name, rubric in RUBRICS.items() for id in rubric.criteria]


def fact(kind: FactKind, value: str) -> Fact:
    return Fact(kind, value, tuple(value.split()), (), (3,))


CASES = [
    (RECALL, "401 Unauthorized from /api/auth/login"),
    (ARTIFACT, "Created: src/retry.ts (withRetry)\nModified: config/redis.ts (poolSize)\nExamined: src/cors.ts"),
    (ARTIFACT, "Modified: src/retry.ts, src/session.ts"),
    (CONTINUATION, "Open: mend the mock set-up\nFailing: none\nNext: work on tests/auth.test.ts"),
    (
        Probe(
            "decision",
            "Which pool was decided on, and why? Answer on one line.",
            "",
            (fact("decision", "pool of 20 connections"), fact("reason", "the broker drops idle ones")),
            (),
            30,
        ),
        "pool of 20 connections, since the broker drops idle ones",
    ),
]
"""Probes with answers that hold what they ask for."""
LOST = ("", "Nothing of that was said.\n" * 60)


@pytest.mark.parametrize(("rubric", "criterion"), CRITERIA)
def test_a_criterion_is_in_every_place(rubric: str, criterion: str) -> None:
    formula = formulas.get(criterion)
    page = (ROOT / "docs" / "rubric.md").read_text(encoding="utf-8")
    places = {
        f'a formula, @criterion("{criterion}") in judge/embedded/judge.py': formula is not None,
        "a docstring of that formula, which says what share it is": formula is not None and bool(formula.share),
        f"a probe type that asks it, under [asked] in judge/rubrics/{rubric}.toml": any(
            criterion in asked for asked in RUBRICS[rubric].asked.values()
        ),
        "its rows in docs/rubric.md: python -m tests.pin": page.count(f"\n| `{criterion}` |") >= 3,
    }
    missing = [place for place, there in places.items() if not there]
    assert missing == [], f"the criterion {criterion} lacks: {'; '.join(missing)}"


def test_no_formula_is_left_without_a_criterion() -> None:
    assert set(formulas) == {criterion for _, criterion in CRITERIA}


@pytest.mark.parametrize(("rubric", "criterion"), CRITERIA)
def test_a_criterion_is_scored_and_not_the_same_for_every_answer(rubric: str, criterion: str) -> None:
    judge = EmbeddedJudge(RUBRICS[rubric], TiktokenCounter())
    found = {
        score.score
        for probe, answer in CASES
        for text in (answer, *LOST)
        for score in judge.score(JudgeCase(probe, text, (), (criterion,)))
    }
    assert len(found - {None}) > 1
