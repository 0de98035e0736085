"""Several answers judged in one call: what is sent, what is read, and what has to be asked alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from compaction.model import ModelError, ModelRequest, ReplyError
from compaction.testing import ScriptedModel
from judge import JudgeCase, JudgeError, load_rubric
from judge.llm import ModelJudge, PackedJudge, Verdict
from judge.llm.packed import MOST_TOKENS
from judge.scoring import PackTooLargeError
from tests.judge.llm.cases import ARTIFACT, HOSTILE, case, shown_object, verdict_json

RUBRIC = load_rubric()
CASES = [case("one"), case("two", probe=ARTIFACT), case("three")]


def packed(say: Any, protocol: Any = "study") -> PackedJudge:
    return PackedJudge(ScriptedModel(say), RUBRIC, protocol)


def verdicts(request: ModelRequest, *scores: float) -> list[dict[str, Any]]:
    asked = shown_object(request)["answers"]
    return [
        {"number": one["number"], **verdict_json(one["rubric_criteria"], score)}
        for one, score in zip(asked, scores, strict=True)
    ]


def test_a_pack_shows_the_context_once_and_each_answer_as_it_is_shown_alone() -> None:
    judge, alone = packed(""), ModelJudge(ScriptedModel(), RUBRIC, "study")
    request = judge.request_for_all(CASES)
    shown = shown_object(request)
    assert list(shown) == ["compacted_context", "answers"]
    fields = [shown_object(alone.request(one)) for one in CASES]
    context = fields[0]["compacted_context"]
    assert shown["compacted_context"] == context
    assert [one | {"compacted_context": context} for one in shown["answers"]] == [
        {"number": number, **one} for number, one in enumerate(fields, 1)
    ]
    assert request.max_tokens == sum(alone.request(one).max_tokens for one in CASES)
    assert request.shared == alone.request(CASES[0]).shared
    closed = packed("", "closed").request_for_all(CASES)
    assert list(shown_object(closed)) == ["answers"]
    assert "compacted_context" not in closed.messages[0].text
    for prompt in (request, closed):
        assert "@" not in prompt.messages[0].text.replace("blinding@", "")


def test_hostile_answers_stay_in_their_place() -> None:
    shown = shown_object(packed("").request_for_all([case(text) for text in HOSTILE]))
    assert [one["number"] for one in shown["answers"]] == list(range(1, len(HOSTILE) + 1))


def test_every_verdict_goes_to_its_answer_whatever_their_order() -> None:
    judge = packed(lambda request: json.dumps({"verdicts": verdicts(request, 1, 2, 3)[::-1]}))
    assert [one.overall for one in judge.score_together(CASES) if isinstance(one, Verdict)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda found: found.pop(1), "there are 0 verdicts on answer 2"),
        (lambda found: found.append(found[1]), "there are 2 verdicts on answer 2"),
        (lambda found: found[1].update(number="2"), "there are 0 verdicts on answer 2"),
        (lambda found: found[1]["criterionResults"][0].update(score=6), "is not a number from 0 to 5"),
        (lambda found: found[1]["criterionResults"].pop(), "not scored: "),
        (lambda found: found.insert(0, "hello"), ""),
        (lambda found: found[0].update(number=True), "there are 0 verdicts on answer 1"),
    ],
)
def test_a_verdict_of_no_use_leaves_the_others(spoil: Any, said: str) -> None:
    def say(request: ModelRequest) -> str:
        found = verdicts(request, 1, 2, 3)
        spoil(found)
        return json.dumps({"verdicts": found})

    found = packed(say).score_together(CASES)
    wrong = [str(one) for one in found if isinstance(one, ReplyError)]
    assert len(wrong) == bool(said)
    assert all(said in one for one in wrong)


@pytest.mark.parametrize("reply", ["no JSON", "[]", '{"verdicts": 3}', '{"verdicts": []}', '{"criterionResults": []}'])
def test_a_reply_of_no_use_leaves_all_to_be_asked_alone(reply: str) -> None:
    judge = packed(lambda request: reply)
    assert all(isinstance(one, ReplyError) for one in judge.score_together(CASES))


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("overflow", PackTooLargeError),
        ("truncated", PackTooLargeError),
        ("unavailable", JudgeError),
        ("unusable", JudgeError),
        ("refused", None),
        ("blank", None),
        ("rejected", None),
    ],
)
def test_what_a_fault_means_for_a_pack(kind: Any, error: type[Exception] | None) -> None:
    def fail(request: ModelRequest) -> str:
        raise ModelError("no", kind)

    if error is None:
        assert all(isinstance(one, ReplyError) for one in packed(fail).score_together(CASES))
    else:
        with pytest.raises(error):
            packed(fail).score_together(CASES)


def test_packs_are_as_long_as_their_verdicts_may_be() -> None:
    judge, one = packed(""), case()
    fits = MOST_TOKENS // judge.request(one).max_tokens
    assert judge.split([one] * (2 * fits + 1)) == [fits, fits, 1]
    assert judge.split([]) == [0]
    whole = [JudgeCase(replace(ARTIFACT, probe_type=kind), "a", (), ids) for kind, ids in RUBRIC.asked.items()]  # type: ignore[arg-type]
    assert judge.split(whole) == [len(whole)]


def test_a_packed_judge_is_another_judge_and_asks_one_answer_as_that_one_does() -> None:
    model = ScriptedModel(lambda request: json.dumps(verdict_json(shown_object(request)["rubric_criteria"])))
    one, other = PackedJudge(model, RUBRIC, "study"), ModelJudge(model, RUBRIC, "study")
    assert one.version != other.version
    assert one.version.judge == f"{other.version.judge} (packed)"
    assert one.request(CASES[0]) == other.request(CASES[0])
    assert list(one.score(CASES[0])) == list(other.score(CASES[0]))
