"""A reply is a verdict only if every criterion is scored exactly once, with a number and a reason."""

import json
from dataclasses import replace
from typing import Any

import pytest

from compaction.model import ReplyError
from judge import CriterionScore
from judge.llm.verdict_form import Form
from tests.judge.llm.cases import CONTROL_TOKENS, HOSTILE, RUBRIC, verdict_json

ASKED = RUBRIC.asked["recall"]
FORM = Form(RUBRIC, ASKED)


def reply(**changes: Any) -> str:
    return json.dumps(verdict_json(ASKED, **changes))


def with_result(**changes: Any) -> str:
    data = verdict_json(ASKED)
    data["criterionResults"][2] |= changes
    return json.dumps(data)


def test_scores_and_reasons_are_kept_in_the_order_of_the_rubric() -> None:
    data = verdict_json(ASKED, scores={"accuracy_factual": 2.5})
    data["criterionResults"].reverse()
    verdict = FORM.read(json.dumps(data))
    assert [result.criterion for result in verdict] == list(ASKED)
    assert verdict[0] == CriterionScore("accuracy_factual", 2.5, "why accuracy_factual")
    assert len(verdict) == 8


def test_totals_are_computed_and_what_the_model_says_of_them_is_kept_beside() -> None:
    stated = {"accuracy": 5, "artifact_trail": 0, "tone": 5, "completeness": "4"}
    scores = {"accuracy_factual": 1, "artifact_key_details": 0}
    verdict = FORM.read(reply(scores=scores, aggregateScore=4.9, dimensionScores=stated))
    assert verdict.dimensions == {
        "accuracy": 2.5,
        "context_awareness": 4,
        "artifact_trail": 0,
        "completeness": 4,
        "instruction_following": 4,
    }
    assert verdict.overall == pytest.approx((2.5 + 4 + 0 + 4 + 4) / 5)
    assert (verdict.stated_overall, verdict.stated_dimensions) == (4.9, {"accuracy": 5, "artifact_trail": 0})
    assert verdict.overall_difference == pytest.approx(4.9 - 2.9)


def test_weights_count_within_a_dimension() -> None:
    heavy = replace(RUBRIC.criteria["accuracy_factual"], weight=3.0)
    rubric = replace(RUBRIC, criteria={**RUBRIC.criteria, "accuracy_factual": heavy})
    verdict = Form(rubric, ASKED).read(reply(scores={"accuracy_factual": 0}))
    assert verdict.dimensions["accuracy"] == 1.0


@pytest.mark.parametrize("totals", [{"aggregateScore": None}, {"aggregateScore": "5"}, {"dimensionScores": [5]}])
def test_a_missing_or_senseless_total_does_not_cost_the_verdict(totals: dict[str, Any]) -> None:
    verdict = FORM.read(reply(**totals))
    assert verdict.overall == 4
    assert verdict.stated_overall is None or not verdict.stated_dimensions


@pytest.mark.parametrize(
    "wrapped", ["```json\n{}\n```", "```\n{}\n```", "Here it is:\n\n```json\n{}\n```\nDone.", " \n{}\n "]
)
def test_json_in_a_code_fence_is_taken(wrapped: str) -> None:
    text = json.dumps(verdict_json(ASKED), indent=1).replace("why accuracy_factual", "the answer has ``` in it")
    assert FORM.read(wrapped.replace("{}", text))[0].reasoning == "the answer has ``` in it"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not one JSON object"),
        ("5 out of 5", "not one JSON object"),
        (reply()[:-40], "not one JSON object"),
        (reply() + reply(), "not one JSON object"),
        (f"```\n{reply()}\n```\n```\n{reply()}\n```", "not one JSON object"),
        ("[]", "not an object"),
        ("{}", "criterionResults is missing"),
        (json.dumps({"criterionResults": {}}), "criterionResults is missing or not a list"),
        (json.dumps({"criterionResults": []}), "not scored: accuracy_factual, accuracy_technical"),
        (json.dumps({"criterionResults": ["x"]}), "entry 1 of criterionResults is not an object"),
        (json.dumps(verdict_json(ASKED[1:])), "not scored: accuracy_factual$"),
        (json.dumps(verdict_json([*ASKED, "tone"])), "entry 9 .* was not asked for"),
        (json.dumps(verdict_json([*ASKED, "continuity_todo_state"])), "entry 9 .* was not asked for"),
        (json.dumps(verdict_json([*ASKED, ASKED[0]])), "accuracy_factual is scored more than once"),
        (json.dumps(verdict_json([*ASKED[1:], ASKED[1]])), "accuracy_technical is scored more than once"),
        (with_result(criterionId=["x"]), "entry 3 .* was not asked for"),
        (with_result(score=5.01), "context_conversation_state is not a number from 0 to 5"),
        (with_result(score=-1), "is not a number from 0 to 5"),
        (with_result(score="4"), "is not a number from 0 to 5"),
        (with_result(score=True), "is not a number from 0 to 5"),
        (with_result(score=None), "is not a number from 0 to 5"),
        (with_result(score=float("nan")), "not one JSON object"),
        (with_result(score=10**400), "is not a number from 0 to 5|not one JSON object"),
        (with_result(reasoning=" \n"), "the reasoning of context_conversation_state is missing or blank"),
        (with_result(reasoning=None), "is missing or blank"),
        ('{"a":' * 5_000, "not one JSON object"),
        ("\ud800", "not one JSON object"),
    ],
)
def test_a_reply_that_cannot_be_used_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(ReplyError, match=complaint):
        FORM.read(text)


@pytest.mark.parametrize("score", [0, 5, 2.5, 4.8])
def test_any_number_from_0_to_5_is_a_score(score: float) -> None:
    assert {result.score for result in FORM.read(reply(score=score))} == {float(score)}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_complaint_quotes_nothing_of_the_reply(text: str) -> None:
    for said in (
        text,
        with_result(criterionId=text),
        with_result(score=text),
        json.dumps({"criterionResults": [text]}),
    ):
        with pytest.raises(ReplyError) as caught:
            FORM.read(said)
        assert str(caught.value).isascii()
        assert not any(piece in str(caught.value) for piece in (text, *CONTROL_TOKENS, "5.", "Give"))


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every part of a schema that describes an object."""
    if isinstance(schema, list):
        return [found for part in schema for found in objects(part)]
    if not isinstance(schema, dict):
        return []
    below = [found for part in schema.values() for found in objects(part)]
    return [schema, *below] if schema.get("type") == "object" else below


def test_the_schema_is_one_that_strict_modes_take() -> None:
    schema = FORM.schema()
    assert len(objects(schema)) == 3
    for part in objects(schema):
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
    assert not {"minimum", "maximum", "minItems", "maxItems", "minLength", "pattern"} & set(
        json.dumps(schema).split('"')
    )


def test_the_schema_names_the_criteria_and_dimensions_that_are_asked_and_no_others() -> None:
    properties = FORM.schema()["properties"]
    assert properties["criterionResults"]["items"]["properties"]["criterionId"]["enum"] == list(ASKED)
    assert list(properties["dimensionScores"]["properties"]) == [
        "accuracy",
        "context_awareness",
        "artifact_trail",
        "completeness",
        "instruction_following",
    ]
