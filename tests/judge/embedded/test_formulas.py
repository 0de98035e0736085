"""Every criterion has its formula, and its formula scores: no place is missing, and none passes by doing nothing."""

from __future__ import annotations

from typing import get_args

import pytest

from compaction import TiktokenCounter
from judge import JudgeCase, Probe, Statement, StatementState, list_rubrics, load_rubric
from judge.embedded import EmbeddedJudge
from judge.embedded.judge import FORMULAS, UNMEASURED
from judge.statement import StatementKind

RUBRICS = {name: load_rubric(name) for name in list_rubrics()}
CRITERIA = [(name, id) for name, rubric in RUBRICS.items() for id in rubric.criteria]


@pytest.mark.parametrize(("rubric", "criterion"), CRITERIA)
def test_a_criterion_is_in_every_place(rubric: str, criterion: str) -> None:
    places = {
        "a formula in FORMULAS, or a reason in UNMEASURED, of judge/embedded/judge.py": criterion
        in {**FORMULAS, **UNMEASURED},
        f"a probe type that asks it, under [asked] in judge/rubrics/{rubric}.toml": any(
            criterion in asked for asked in RUBRICS[rubric].asked.values()
        ),
    }
    missing = [place for place, there in places.items() if not there]
    assert missing == [], f"the criterion {criterion} lacks: {'; '.join(missing)}"


def test_no_formula_is_left_without_a_criterion() -> None:
    assert {*FORMULAS, *UNMEASURED} == {criterion for _, criterion in CRITERIA}


@pytest.mark.parametrize(("rubric", "criterion"), [pair for pair in CRITERIA if pair[1] not in UNMEASURED])
def test_a_criterion_is_scored_and_not_the_same_for_every_context(rubric: str, criterion: str) -> None:
    judge = EmbeddedJudge(RUBRICS[rubric], TiktokenCounter())
    found = set()
    for kind in get_args(StatementKind):
        for support in (0.0, 0.4, 1.0):
            probe = Probe("recall", "?", "!", (Statement(kind, "it"),), (), 100)
            case = JudgeCase(probe, "", (), (criterion,), (StatementState("readable", support),))
            found.add(judge.score(case)[0].score)
    assert {0.0, 5.0} <= found
