"""Scores worked out by hand from the formulas in `compaction-eval describe rubric`."""

from __future__ import annotations

import pytest

from compaction import Message, TiktokenCounter
from judge import AnswerError, JudgeCase, Probe, Statement, StatementState, load_rubric
from judge.embedded import EmbeddedJudge, EmbeddedResponder
from judge.embedded.responder import ABSTENTION, NOT_MEASURED

JUDGE = EmbeddedJudge(load_rubric(), TiktokenCounter())
ARTIFACT = Probe(
    "artifact",
    "Which files?",
    "Created: src/retry.ts\nModified: src/pool.ts; src/session.ts",
    (
        Statement("file_created", "src/retry.ts", (9,)),
        Statement("file_modified", "src/pool.ts", (7,), details=("poolSize",)),
        Statement("file_modified", "src/session.ts", (8,)),
    ),
    (),
    900,
)
DECISION = Probe(
    "decision",
    "Which pool?",
    "pool of twenty connections, since the broker drops idle ones",
    (
        Statement("decision", "pool of twenty connections", (3,)),
        Statement("reason", "since the broker drops idle ones", (3,)),
    ),
    (),
    160,
)


def told(*supports: float | None) -> tuple[StatementState, ...]:
    return tuple(
        StatementState("unknown" if one is None else "readable" if one >= 0.5 else "lost", one, f"line {n}")
        for n, one in enumerate(supports)
    )


def scores(probe: Probe, states: tuple[StatementState, ...] | None, answer: str = "") -> dict[str, float | None]:
    asked = JUDGE.rubric.asked[probe.probe_type]
    return {one.criterion: one.score for one in JUDGE.score(JudgeCase(probe, answer, (), asked, states))}


def test_a_criterion_is_the_mean_of_the_statements_that_it_is_about() -> None:
    assert scores(ARTIFACT, told(1.0, 0.6, 0.0)) == {
        "accuracy_factual": 2.67,
        "accuracy_technical": 2.67,
        "context_artifact_state": 2.67,
        "artifact_files_created": 5.0,
        "artifact_files_modified": 1.5,
        "artifact_key_details": None,
        "completeness_coverage": 3.33,
        "completeness_depth": 2.67,
        "continuity_work_state": 2.67,
        "instruction_format": None,
        "instruction_constraints": None,
    }


def test_a_criterion_without_a_statement_is_unscored_with_its_reason() -> None:
    case = JudgeCase(ARTIFACT, "", (), ("continuity_reasoning", "instruction_format", "tone"), told(1.0, 1.0, 1.0))
    assert [(one.score, one.unscored_reason) for one in JUDGE.score(case)] == [
        (None, "no reason was given"),
        (None, "the embedded engine quotes and follows no instruction"),
        (None, "the embedded judge has no formula for tone"),
    ]


@pytest.mark.parametrize("states", [told(1.0, None, 1.0), ()])
def test_what_is_not_known_is_unscored_and_never_0(states: tuple[StatementState, ...]) -> None:
    given = JUDGE.score(JudgeCase(ARTIFACT, "", (), JUDGE.rubric.asked["artifact"], states))
    assert {(one.score, one.unscored_reason) for one in given} == {(None, NOT_MEASURED)}


def test_a_free_answer_is_scored_by_its_words() -> None:
    found = scores(DECISION, None, "They chose a pool of twenty connections.")
    assert found["context_conversation_state"] == pytest.approx(2.5, abs=0.5)
    assert found["continuity_reasoning"] == 0
    assert scores(DECISION, None, DECISION.ground_truth)["accuracy_factual"] == 5
    assert scores(DECISION, None, ABSTENTION)["accuracy_factual"] == 0


def test_the_responder_quotes_what_can_be_read_and_nothing_else() -> None:
    responder = EmbeddedResponder()
    assert responder.quote(told(0.9, 0.1, 0.3), 100).text == "line 0\nline 2"
    assert responder.quote(told(0.1, 0.0), 100).text == ABSTENTION
    assert responder.quote((StatementState("readable", 1.0, "word " * 500),), 40).text == ("word " * 500)[:100]
    with pytest.raises(AnswerError, match="not known"):
        responder.quote((), 100)


def test_the_order_of_statements_does_not_matter() -> None:
    turned = Probe("decision", "Which pool?", "", DECISION.statements[::-1], (), 160)
    assert scores(DECISION, told(1.0, 0.4)) == scores(turned, told(0.4, 1.0))


def test_messages_are_not_read_where_states_are_given() -> None:
    context = (Message("user", "pool of twenty connections"),)
    case = JudgeCase(DECISION, "", context, ("accuracy_factual",), told(0.0, 0.0))
    assert JUDGE.score(case)[0].score == 0
