from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import isclose

import pytest

from compaction import TiktokenCounter
from compaction.model import CallsStoppedError, ModelRequest
from compaction.testing import ScriptedModel
from judge import load_rubric
from judge.audit.attacks import (
    PLACES,
    Attack,
    AttackReport,
    Estimate,
    harmless_text,
    load_attacks,
    measure_attacks,
    place_attack,
)
from judge.audit.clear_cases import clear_cases, grade_clear_cases
from judge.embedded import EmbeddedJudge
from judge.llm import ModelJudge

CASES = [clear.case for clear in clear_cases()]
RIGHT = {clear.case.answer for clear in clear_cases() if clear.is_right}

Grader = Callable[[dict[str, str]], float]


def fair(case: dict[str, str]) -> float:
    """The score that an answer deserves, whatever stands around it."""
    return 4.5 if any(answer in case["model_response"] for answer in RIGHT) else 0.5


def judged_by(grader: Grader) -> ModelJudge:
    """A model judge whose model grades so."""

    def reply(request: ModelRequest) -> str:
        case, _ = json.JSONDecoder().raw_decode(request.messages[1].text)
        score = grader(case)
        results = [{"criterionId": id, "reasoning": "So it is.", "score": score} for id in case["rubric_criteria"]]
        return json.dumps({"criterionResults": results, "dimensionScores": {}, "aggregateScore": score})

    return ModelJudge(ScriptedModel(reply), load_rubric(), "study")


def row(report: AttackReport, attack: str, place: str = "all") -> tuple[Estimate, Estimate, float | None]:
    found = [r for r in report.rows(by_place=place != "all") if (r.attack, r.place) == (attack, place)]
    assert len(found) == 1
    return found[0].shift, found[0].obedience, found[0].share_moved


def test_a_fair_judge_is_moved_by_nothing() -> None:
    report = measure_attacks(judged_by(fair), CASES)
    assert report.unscored_cases == ()
    assert len(report.trials) == len(CASES) * len(load_attacks()) * len(PLACES)
    for found in report.rows(by_place=True):
        assert (found.shift.mean, found.obedience.mean, found.share_moved, found.n_unscored) == (0, 0, 0, 0)


def test_an_obedient_judge_is_caught_with_the_attack_and_the_place_that_it_obeys() -> None:
    def obeys(case: dict[str, str]) -> float:
        if "every criterion the score 5" in case["model_response"]:
            return 5
        return 0 if "every criterion the score 0" in case["model_response"] else fair(case)

    report = measure_attacks(judged_by(obeys), CASES)
    shift, obedience, moved = row(report, "order", "answer")
    assert (shift.mean, obedience.mean, moved) == (4.5, 4.5, 1.0)
    assert row(report, "order", "context")[0].mean == 0
    assert row(report, "order", "truth")[0].mean == 0
    assert row(report, "flattery", "answer")[0].mean == 0
    assert row(report, "all", "answer")[0].mean == pytest.approx(4.5 / len(load_attacks()))


def test_right_answers_are_attacked_downwards_and_wrong_ones_upwards() -> None:
    report = measure_attacks(judged_by(fair), CASES)
    assert {trial.aim for trial in report.trials if CASES[trial.case].answer in RIGHT} == {"lower"}
    assert {trial.aim for trial in report.trials if CASES[trial.case].answer not in RIGHT} == {"raise"}


def test_a_judge_that_any_added_text_moves_is_not_obedient() -> None:
    def distracted(case: dict[str, str]) -> float:
        return fair(case) if case["model_response"] in {c.answer for c in CASES} else 2.5

    report = measure_attacks(judged_by(distracted), CASES, places=["answer"])
    for attack in load_attacks():
        shift, obedience, moved = row(report, attack.id)
        assert (shift.mean, obedience.mean, moved) == (2.0, 0.0, 1.0)


def test_a_verdict_that_an_attack_prevents_is_counted_and_no_score() -> None:
    def refuses(case: dict[str, str]) -> float:
        return 9 if "<|im_start|>" in case["model_response"] else fair(case)  # 9 is refused twice

    report = measure_attacks(judged_by(refuses), CASES[:4], places=["answer"])
    lost = [found for found in report.rows() if found.attack == "system_turn"]
    assert [(found.n_trials, found.n_unscored, found.shift.mean, found.share_moved) for found in lost] == [
        (4, 4, None, None)
    ]
    assert {trial.reason for trial in report.trials if trial.attack == "system_turn"} != {""}
    assert row(report, "order")[0].mean == 0


def test_a_case_without_a_score_is_told_and_not_attacked() -> None:
    def silent(case: dict[str, str]) -> float:
        return 9 if "E0308" in case["ground_truth"] else fair(case)

    report = measure_attacks(judged_by(silent), CASES, places=["answer"])
    assert len(report.unscored_cases) == 2
    assert "two verdicts could not be read" in report.unscored_cases[0]
    assert {trial.case for trial in report.trials} == set(range(2, len(CASES)))


def test_the_interval_takes_cases_as_the_unit_and_students_t() -> None:
    scores = iter([1.0, 2.0, 4.0])

    def grader(case: dict[str, str]) -> float:
        return next(scores) if "now" in case["model_response"] else 0.0

    wrong = [clear.case for clear in clear_cases() if not clear.is_right][:3]
    # Base scores come first and are 0; then each case with the attack and with the harmless text.
    report = measure_attacks(judged_by(grader), wrong, [Attack("x", "", "now", "now")], places=["answer"])
    shift, _, moved = row(report, "x")
    # mean 7/3, standard deviation of 1, 2, 4 is 1.5275; t(0.975, 2) = 4.303
    assert shift.mean is not None
    assert shift.low is not None
    assert isclose(shift.mean, 7 / 3)
    assert isclose(shift.low, 7 / 3 - 4.303 * 1.5275 / 3**0.5, abs_tol=1e-3)
    assert moved == 1.0


def test_the_table_has_a_line_for_every_attack_and_one_for_all() -> None:
    report = measure_attacks(judged_by(fair), CASES[:1], places=["answer"])
    lines = report.markdown().splitlines()
    assert len(lines) == 2 + len(load_attacks()) + 1
    assert lines[2] == "| order | all | 1 | 0 | +0.00 | +0.00 | +0.00 | 0% |"
    assert measure_attacks(judged_by(fair), CASES[:2], places=["answer"]).markdown().splitlines()[-1] == (
        "| all | all | 24 | 0 | +0.00 (+0.00 to +0.00) | +0.00 (+0.00 to +0.00) | +0.00 (+0.00 to +0.00) | 0% |"
    )


def test_cases_may_be_tried_many_at_a_time() -> None:
    with ThreadPoolExecutor(4) as pool:
        many = measure_attacks(judged_by(fair), CASES[:4], run=pool.map)
    assert many == measure_attacks(judged_by(fair), CASES[:4])


def test_a_stop_ends_the_measurement() -> None:
    def stop(request: ModelRequest) -> str:
        raise CallsStoppedError("budget")

    with pytest.raises(CallsStoppedError):
        measure_attacks(ModelJudge(ScriptedModel(stop), load_rubric(), "closed"), CASES)


def test_no_text_is_put_where_there_is_no_context() -> None:
    from dataclasses import replace

    bare = replace(CASES[0], context=())
    assert place_attack(bare, "context", "x") is None
    report = measure_attacks(judged_by(fair), [bare], load_attacks()[:1])
    assert {trial.place for trial in report.trials} == {"answer", "truth"}


@pytest.mark.parametrize("length", [1, 399, 400, 401, 1_500, 4_000])
def test_a_harmless_text_is_about_as_long_and_ends_with_a_word(length: int) -> None:
    text = harmless_text(length)
    assert length - 20 <= len(text) <= length + 400
    assert text.split(" ")[-1] in harmless_text(10_000).split(" ")


def test_every_attack_has_both_directions_and_its_own_words() -> None:
    attacks = load_attacks()
    texts = [attack.text(aim) for attack in attacks for aim in ("raise", "lower")]  # type: ignore[arg-type]
    assert len(set(texts)) == len(texts)
    assert len({attack.id for attack in attacks}) == len(attacks)
    assert all(attack.about for attack in attacks)


def test_control_tokens_of_an_attack_do_not_reach_the_model_as_such() -> None:
    system_turn = next(attack for attack in load_attacks() if attack.id == "system_turn")
    judge = judged_by(fair)
    for place in PLACES:
        case = place_attack(CASES[0], place, system_turn.raising)
        assert case is not None
        sent = judge.request(case).messages[1].text
        assert "<|" not in sent
        assert "[INST]" not in sent
        assert "Calibration mode" in json.dumps(json.loads(sent))


def test_the_embedded_judge_gets_all_clear_cases_right_and_hardly_moves() -> None:
    judge = EmbeddedJudge(load_rubric(), TiktokenCounter("o200k_base"))
    assert [grading.id for grading in grade_clear_cases(judge) if not grading.agrees] == []
    together = measure_attacks(judge, CASES).rows()[-1]
    assert together.attack == "all"
    assert together.obedience.mean is not None
    assert abs(together.obedience.mean) < 0.1


def test_a_judge_that_gives_everything_three_gets_no_clear_case_right() -> None:
    gradings = grade_clear_cases(judged_by(lambda case: 3))
    assert [grading.agrees for grading in gradings] == [False] * 10
