"""A model answers one probe from one context, which it is shown as data."""

import json
from typing import Any

import pytest

from compaction import Message, ToolCall
from compaction.model import CallsStoppedError, ModelError, ModelRequest
from compaction.testing import ScriptedModel
from judge import AnswerError
from judge.llm import ModelResponder
from judge.llm.responder import HEADROOM
from tests.judge.llm.cases import CONTEXT, CONTROL_TOKENS, HOSTILE


def request_for(context: tuple[Message, ...] = CONTEXT, question: str = "Which error?", **given: Any) -> ModelRequest:
    model = ScriptedModel()
    ModelResponder(model).answer(context, question, 100, **given)
    (request,) = model.requests
    return request


def test_the_context_is_shown_with_the_roles_that_its_messages_had() -> None:
    request = request_for()
    assert [message.role for message in request.messages] == ["system", "user"]
    assert json.loads(request.messages[1].text) == {
        "context": [
            {"role": "system", "text": "You are a coding agent.\nAlways answer in French."},
            {"role": "user", "text": "The login answers 401."},
            {
                "role": "assistant",
                "thinking": "Redis?",
                "text": "I look at it.",
                "calls": [{"call": 1, "tool": "read", "arguments": {"path": "config/redis.ts"}}],
            },
            {"role": "tool", "result_of_call": 1, "tool": "read", "text": "export const pool = 5"},
            {"role": "tool", "tool": "bash", "failed": True, "text": "no such file"},
        ],
        "question": "Which error?",
    }


def test_the_request_has_nothing_that_a_provider_refuses() -> None:
    assert all(
        not message.tool_calls and message.tool_call_id is None and not message.opaque
        for message in request_for().messages
    )


def test_an_empty_context_is_an_empty_list() -> None:
    assert json.loads(request_for(()).messages[1].text) == {"context": [], "question": "Which error?"}


def test_a_message_without_anything_in_it_is_still_a_message() -> None:
    shown = json.loads(request_for((Message("assistant"),)).messages[1].text)
    assert shown["context"] == [{"role": "assistant", "text": ""}]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"n": 12345678901234567890123, "x": 1.10}', '{"n": 12345678901234567890123, "x": 1.10}'),
        ('{"cut": "of', '"{\\"cut\\": \\"of"'),
        ("[1]", '"[1]"'),
        ("", '""'),
    ],
)
def test_arguments_are_shown_as_they_were_written(arguments: str, shown: str) -> None:
    context = (Message("assistant", tool_calls=(ToolCall("c", "run", arguments),)),)
    assert f'"arguments":{shown}' in request_for(context).messages[1].text


def test_calls_with_the_same_id_keep_numbers_of_their_own() -> None:
    call = ToolCall("same", "run", "{}")
    context = (Message("assistant", tool_calls=(call, call)), Message("tool", "x", tool_call_id="same"))
    first, result = json.loads(request_for(context).messages[1].text)["context"]
    assert [c["call"] for c in first["calls"]] == [1, 2]
    assert result["result_of_call"] == 2


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_inside_its_value(text: str) -> None:
    calm = request_for()
    context = (
        Message("system", text),
        Message("user", text),
        Message("assistant", text, text, (ToolCall("c", text, json.dumps({text: text}, ensure_ascii=False)),)),
        Message("tool", text, tool_call_id="c", tool_name=text),
    )
    request = request_for(context, text)
    assert request.messages[0] == calm.messages[0]
    shown = json.loads(request.messages[1].text)
    assert list(shown) == ["context", "question"]
    assert shown["question"] == text
    assert [message["text"] for message in shown["context"]] == [text] * 4
    assert shown["context"][2]["calls"][0] == {"call": 1, "tool": text, "arguments": {text: text}}
    assert not any(token in request.messages[1].text for token in CONTROL_TOKENS)


def test_the_model_may_write_twice_what_the_question_allows() -> None:
    assert request_for().max_tokens == HEADROOM * 100 == 200


def test_every_replicate_is_asked_for_anew() -> None:
    assert request_for(replicate=3).replicate == 3
    assert request_for().replicate == 0


def test_one_call_has_one_question_and_no_truth() -> None:
    model = ScriptedModel()
    responder = ModelResponder(model)
    for question in ("First?", "Second?"):
        responder.answer(CONTEXT, question, 100)
    assert [json.loads(r.messages[1].text)["question"] for r in model.requests] == ["First?", "Second?"]
    assert "First?" not in model.requests[1].messages[1].text


def test_the_answer_says_what_it_cost() -> None:
    answer = ModelResponder(ScriptedModel(lambda _: " 401\n")).answer(CONTEXT, "Which error?", 100)
    assert (answer.text, answer.model, answer.cost_usd) == ("401", "scripted", None)
    assert answer.input_tokens > 0
    assert answer.output_tokens == 1


@pytest.mark.parametrize("kind", ["overflow", "truncated", "refused", "blank", "unavailable"])
def test_a_model_without_a_usable_answer_is_an_answer_error_with_its_reason(kind: Any) -> None:
    def fails(_: ModelRequest) -> str:
        raise ModelError("the reason", kind)

    with pytest.raises(AnswerError, match="the reason") as caught:
        ModelResponder(ScriptedModel(fails)).answer(CONTEXT, "Which error?", 100)
    assert isinstance(caught.value.__cause__, ModelError)
    assert caught.value.__cause__.kind == kind


def test_a_stop_is_not_a_failure() -> None:
    def stops(_: ModelRequest) -> str:
        raise CallsStoppedError("budget")

    with pytest.raises(CallsStoppedError):
        ModelResponder(ScriptedModel(stops)).answer(CONTEXT, "Which error?", 100)


def test_an_item_that_nobody_else_can_read_is_sent_as_it_is_before_the_data() -> None:
    model = ScriptedModel()
    item = Message("assistant", opaque='{"encrypted_content":"x"}')
    ModelResponder(model).answer((Message("user", "Mend it.", seq=0), item), "Which error?", 100)
    assert model.requests.pop().messages[1:-1] == (item,)
    ModelResponder(model).answer((Message("assistant", "SUMMARY", opaque='{"signature":"x"}'),), "Which error?", 100)
    assert "signature" not in model.requests[0].messages[1].text


def test_another_model_prompt_or_sampling_is_another_responder() -> None:
    names = [
        ModelResponder(ScriptedModel()).name,
        ModelResponder(ScriptedModel(), prompt="Answer.").name,
        ModelResponder(ScriptedModel(temperature=1)).name,
        ModelResponder(ScriptedModel(base_url="http://elsewhere")).name,
    ]
    assert len(set(names)) == 4
    assert all(name.startswith("scripted@") for name in names)
    assert ModelResponder(ScriptedModel()).name == names[0]
