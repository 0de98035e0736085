"""Packs held against separate calls: what is compared, what is left out, and the figures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compaction.model import ModelError, ModelRequest
from compaction.testing import ScriptedModel
from judge import load_rubric
from judge.audit.packing import PackAgreement, measure_packing, weighted_kappa
from judge.llm import ModelJudge, PackedJudge
from tests.judge.llm.cases import ARTIFACT, case, shown_object, verdict_json

RUBRIC = load_rubric()
PACKS = [("s1", [case("a"), case("b")]), ("s2", [case("c"), case("d", probe=ARTIFACT), case("e")])]


def judged(say_of_pack: Any) -> PackAgreement:
    """A model that gives 3 alone, and in a pack what is said there."""

    def say(request: ModelRequest) -> str:
        shown = shown_object(request)
        if "answers" in shown:
            return json.dumps({"verdicts": say_of_pack(shown["answers"])})
        return json.dumps(verdict_json(shown["rubric_criteria"], 3))

    model = ScriptedModel(say)
    return measure_packing(PackedJudge(model, RUBRIC, "study"), ModelJudge(model, RUBRIC, "study"), PACKS, map)


def verdicts(answers: list[dict[str, Any]], step: float) -> list[dict[str, Any]]:
    return [
        {"number": one["number"], **verdict_json(one["rubric_criteria"], 3 + step * (one["number"] - 1))}
        for one in answers
    ]


def test_an_answer_that_is_graded_by_its_place_in_a_pack_moves_the_difference() -> None:
    found = judged(lambda answers: verdicts(answers, 1))
    assert (found.n, found.n_packs, found.n_again, found.n_unscored) == (5, 2, 0, 0)
    assert found.mean_alone.mean == 3
    assert found.difference.mean == pytest.approx((0.5 + 1) / 2)  # sessions count alike
    assert found.difference.low is not None
    assert found.exact == pytest.approx(2 * 8 / found.n_scores)
    assert found.within_one == pytest.approx((3 * 8 + 11) / found.n_scores)
    same = judged(lambda answers: verdicts(answers, 0))
    assert (same.difference.mean, same.exact, same.within_one, same.kappa) == (0, 1, 1, None)


def test_what_has_no_verdict_in_its_pack_is_left_out_and_counted() -> None:
    found = judged(lambda answers: verdicts(answers, 0)[1:])
    assert (found.n, found.n_again, found.n_unscored) == (3, 2, 0)

    def fail(answers: Any) -> Any:
        raise ModelError("no", "truncated" if len(answers) == 3 else "unavailable")

    assert (judged(fail).n, judged(fail).n_again, judged(fail).n_unscored) == (0, 0, 5)
    assert judged(fail).difference.mean is None


def test_kappa_is_cohens_by_squared_distance() -> None:
    assert weighted_kappa([]) is None
    assert weighted_kappa([(3, 3), (3, 3)]) is None
    assert weighted_kappa([(1, 1), (5, 5)]) == 1
    assert weighted_kappa([(1, 5), (5, 1)]) == -1
    assert weighted_kappa([(0, 1), (2, 2), (5, 4), (1, 1)]) == pytest.approx(1 - 0.5 / (30 / 4 + 22 / 4 - 2 * 2 * 2))
