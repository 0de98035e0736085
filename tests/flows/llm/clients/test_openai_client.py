"""What goes over the wire to an OpenAI-compatible server, and what is read from it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from starlette.responses import Response

from compaction import Message
from compaction.model import ModelRequest, NativeRequest
from flows.llm.clients.openai_client import request_body
from flows.llm.clients.transport import CallFault, TokenUse
from flows.llm.settings import make_settings
from tests.flows.llm import shapes
from tests.flows.llm.asking import SCHEMA, answer, answers, fault, make_request, settings_for
from tests.flows.llm.server import HttpError, MockProvider

SAID = [
    {"role": "system", "content": "Answer in few words."},
    {"role": "user", "content": "Which file was changed?"},
]
FORM = {"name": "answer", "strict": True, "schema": SCHEMA}

# Headers of the SDK, and of HTTP itself.
HEADERS = {
    "host",
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "user-agent",
    "authorization",
}


def chat(text: Any, **more: Any) -> Any:
    """A handler that answers with this message content; ``more`` goes into the choice."""
    message = text if isinstance(text, dict) else {"content": text}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 4}}
    given = {"model": "wren-2", "choices": [{"message": message, "finish_reason": "stop", **more}], "usage": usage}
    return lambda _: Response(orjson.dumps(given), media_type="application/json")


def responses(**given: Any) -> Any:
    usage = {"input_tokens": 10, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 4}}
    whole = {"model": "wren-2", "status": "completed", "output": [], "usage": usage, **given}
    return lambda _: Response(orjson.dumps(whole), media_type="application/json")


def said(text: str) -> list[dict[str, Any]]:
    return [{"type": "message", "content": [{"type": "output_text", "text": text}]}]


# Requests


def test_a_chat_request_holds_nothing_that_was_not_asked_for(provider: MockProvider) -> None:
    answer(settings_for(provider, temperature=False))
    assert provider.requests[0].path == "/v1/chat/completions"
    assert provider.requests[0].body == {"model": "wren-2", "messages": SAID, "max_tokens": 50}


def test_an_item_that_only_openai_reads_is_sent_as_openai_made_it_and_over_responses_alone(
    provider: MockProvider,
) -> None:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}
    request = ModelRequest((Message("assistant", opaque=orjson.dumps(item).decode()), Message("user", "Which?")), 50)
    (refused,) = answers(settings_for(provider, temperature=False), [request])
    assert isinstance(refused, CallFault)
    assert (refused.kind, provider.requests) == ("rejected", [])
    assert 'set api = "responses"' in str(refused)
    answers(settings_for(provider, temperature=False, api="responses"), [request])
    assert provider.requests[0].body["input"] == [item, {"role": "user", "content": "Which?"}]


def test_a_responses_request_holds_nothing_that_was_not_asked_for(provider: MockProvider) -> None:
    answer(settings_for(provider, temperature=False, api="responses"))
    assert provider.requests[0].path == "/v1/responses"
    assert provider.requests[0].body == {"model": "wren-2", "input": SAID, "max_output_tokens": 50}


def test_every_setting_that_is_set_is_sent(provider: MockProvider) -> None:
    given = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "reasoning_effort": "low", "reasoning_tokens": 1000}
    answer(settings_for(provider, **given), make_request(schema=SCHEMA))
    assert provider.requests[0].body == {
        "model": "wren-2",
        "messages": SAID,
        "max_tokens": 1050,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": FORM},
    }
    answer(settings_for(provider, **given, api="responses"), make_request(schema=SCHEMA))
    assert provider.requests[1].body == {
        "model": "wren-2",
        "input": SAID,
        "max_output_tokens": 1050,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", **FORM}},
        "response_format": {"type": "json_schema", "json_schema": FORM},
    }


def test_openai_itself_is_not_sent_what_only_llama_cpp_looks_at() -> None:
    official = make_settings("openai:gpt-5.2", {"base_url": "https://api.openai.com/v1", "api": "responses"}, "test")
    assert "response_format" not in request_body(official, make_request(schema=SCHEMA))


@pytest.mark.parametrize("name", ["gpt-5.2", "o3-mini", "openai/gpt-5.2"])
def test_reasoning_models_are_sent_the_newer_token_limit(provider: MockProvider, name: str) -> None:
    answer(settings_for(provider, f"openai:{name}", temperature=False))
    assert set(provider.requests[0].body) == {"model", "messages", "max_completion_tokens"}


def test_of_messages_only_role_and_text_are_sent(provider: MockProvider) -> None:
    """No id, no name, no reasoning, no number of the repetition goes out, in a header or in the body."""
    message = Message("user", "the text", seq=4711, reasoning="secret thought", tool_name="secret_tool", tokens=4712)
    request = ModelRequest((message,), 50, replicate=4713)
    answers(settings_for(provider, temperature=False), [request])
    sent = provider.requests[0]
    assert sent.body["messages"] == [{"role": "user", "content": "the text"}]
    whole = sent.raw.decode() + repr(sent.headers)
    for ours in ("4711", "4712", "4713", "secret", "compaction", "eval", "judge"):
        assert ours not in whole
    assert {name for name in sent.headers if not name.startswith("x-stainless")} == HEADERS
    assert sent.headers["user-agent"].startswith("AsyncOpenAI/Python")
    assert sent.headers["authorization"] == "Bearer none"


def test_half_a_surrogate_pair_does_not_stop_a_call(provider: MockProvider) -> None:
    answer(settings_for(provider), make_request("cut here: \ud83d"))
    assert provider.requests[0].body["messages"][1]["content"] == "cut here: ?"


# What a server does not take


@pytest.mark.parametrize(
    ("name", "other"), [("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")]
)
def test_a_refused_token_limit_is_sent_by_its_other_name_and_that_is_remembered(
    provider: MockProvider, name: str, other: str
) -> None:
    provider.refuses, provider.strict = [name], False  # a compatible server's model may be called as it likes
    settings = settings_for(provider, "openai:o3-mini" if name == "max_completion_tokens" else "openai:wren-2")
    found = answers(settings, [make_request(), make_request()])
    assert not any(isinstance(reply, CallFault) for reply in found)
    assert [set(request.body) & {name, other} for request in provider.requests] == [{name}, {other}, {other}]


def test_a_token_limit_that_is_too_large_is_no_refused_parameter(provider: MockProvider) -> None:
    def handler(_: Any) -> str:
        raise HttpError(
            400,
            "max_tokens is too large: 50. This model supports at most 10 completion tokens.",
            param="max_tokens",
            code="invalid_value",
        )

    provider.handler = handler
    assert fault(settings_for(provider)).kind == "rejected"
    assert len(provider.requests) == 1


def test_json_is_asked_for_in_the_next_way_where_one_is_refused(provider: MockProvider) -> None:
    settings = settings_for(provider)
    provider.handler = lambda _: '{"score": 1, "why": "x"}'
    provider.refuses = ["response_format.type.json_schema"]
    answers(settings, [make_request(schema=SCHEMA)] * 2)
    forms = [request.body.get("response_format") for request in provider.requests]
    assert forms == [{"type": "json_schema", "json_schema": FORM}, {"type": "json_object"}, {"type": "json_object"}]
    provider.requests.clear()
    provider.refuses = ["response_format"]
    answers(settings, [make_request(schema=SCHEMA)] * 2)
    forms = [request.body.get("response_format", {}).get("type") for request in provider.requests]
    assert forms == ["json_schema", "json_object", None, None]
    first, last = provider.requests[0].body["messages"], provider.requests[-1].body["messages"]
    assert first == SAID
    assert last[0]["content"].startswith("Answer in few words.\n\n")
    assert orjson.dumps(SCHEMA).decode() in last[0]["content"]
    assert last[1:] == SAID[1:]


def test_a_form_is_remembered_only_when_it_was_taken(provider: MockProvider) -> None:
    """A server that refuses every form for a while is asked in the first one again."""

    def broken(_: Any) -> str:
        raise HttpError(400, "the schema could not be read")

    provider.handler = broken
    found = answers(settings_for(provider), [make_request(schema=SCHEMA)] * 2)
    assert [reply.kind for reply in found if isinstance(reply, CallFault)] == ["rejected", "rejected"]
    forms = [request.body.get("response_format", {}).get("type") for request in provider.requests]
    assert forms == ["json_schema", "json_object", None] * 2, "each form once a try"


@pytest.mark.parametrize(("way", "form"), [("json_object", {"type": "json_object"}), ("prompt", None)])
def test_a_study_may_ask_for_another_way(provider: MockProvider, way: str, form: Any) -> None:
    provider.handler = lambda _: '```json\n{"score": 1, "why": "x"}\n```'
    assert (
        answer(settings_for(provider, structured=way), make_request(schema=SCHEMA)).text == '{"score": 1, "why": "x"}'
    )
    assert provider.requests[0].body.get("response_format") == form


def test_responses_are_asked_without_response_format_where_it_is_refused(provider: MockProvider) -> None:
    provider.refuses = ["response_format"]
    answers(settings_for(provider, api="responses"), [make_request(schema=SCHEMA)] * 2)
    forms = [("response_format" in request.body, "text" in request.body) for request in provider.requests]
    assert forms == [(True, True), (False, True), (False, True)]


@pytest.mark.parametrize("name", ["temperature", "top_p", "seed", "reasoning_effort"])
def test_a_refused_setting_is_never_dropped_silently(provider: MockProvider, name: str) -> None:
    """What a study says of sampling stands in the identity of its answers: it is sent, or nothing is."""
    provider.refuses = [name]
    given = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "reasoning_effort": "low"}
    found = fault(settings_for(provider, **given))
    assert found.kind == "unusable"
    mend = "set temperature = false" if name == "temperature" else f"leave {name} out"
    assert str(found).endswith(f'{mend} in [models."openai:wren-2"]')
    assert len(provider.requests) == 1


# Replies


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("  an answer\n", "an answer"),
        ("<think>because</think>\n\nan answer", "an answer"),
        ("\n<thinking>a\nb</thinking>an answer", "an answer"),
        ("because of this\n</think>\n\nan answer", "an answer"),
        ("an answer that names the tag </think> in passing", "an answer that names the tag </think> in passing"),
        ("an answer <think>x</think>", "an answer <think>x</think>"),
        ([{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "an answer"}], "an answer"),
        ({"content": "an answer", "reasoning_content": "x", "reasoning": "y"}, "an answer"),
    ],
)
def test_reasoning_is_no_part_of_the_answer(provider: MockProvider, content: Any, text: str) -> None:
    provider.handler = chat(content)
    assert answer(settings_for(provider)).text == text


@pytest.mark.parametrize(
    ("content", "more", "kind"),
    [
        ("", {}, "blank"),
        (None, {}, "blank"),
        (" \n", {}, "blank"),
        ("<think>only this</think>", {}, "blank"),
        ("<think>never closed", {}, "blank"),
        ({"content": None, "reasoning_content": "x"}, {}, "blank"),
        ("half an ans", {"finish_reason": "length"}, "truncated"),
        ("", {"finish_reason": "length"}, "truncated"),
        ("", {"finish_reason": "content_filter"}, "refused"),
        ({"content": None, "refusal": "No."}, {}, "refused"),
        ({"content": None, "tool_calls": [{}]}, {"finish_reason": "tool_calls"}, "rejected"),
        ("half", {"finish_reason": "error"}, "server"),
    ],
)
def test_a_chat_reply_that_is_no_answer_has_its_kind_and_what_it_cost(
    provider: MockProvider, content: Any, more: dict[str, Any], kind: str
) -> None:
    provider.handler = chat(content, **more)
    found = fault(settings_for(provider))
    assert (found.kind, found.use) == (kind, TokenUse(10, 5))


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, "blank"),
        ({"output": said(" ")}, "blank"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": said("ha")},
            "truncated",
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "refused"),
        ({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]}, "refused"),
        ({"output": [{"type": "function_call", "name": "x"}]}, "rejected"),
        ({"status": "failed", "error": {"code": "server_error", "message": "oops"}}, "server"),
        ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}, "rate_limited"),
        ({"status": "failed", "error": {"code": "invalid_prompt", "message": "no"}}, "refused"),
    ],
)
def test_a_response_that_is_no_answer_has_its_kind_and_what_it_cost(
    provider: MockProvider, given: dict[str, Any], kind: str
) -> None:
    provider.handler = responses(**given)
    found = fault(settings_for(provider, api="responses"))
    assert (found.kind, found.use) == (kind, TokenUse(10, 5))


def test_a_cut_answer_says_what_reasoning_took(provider: MockProvider) -> None:
    provider.handler = chat("", finish_reason="length")
    assert str(fault(settings_for(provider))) == (
        "the answer was cut at the limit of 50 tokens; 4 tokens went into reasoning: raise reasoning_tokens"
    )


def test_an_answer_of_several_parts_is_put_together(provider: MockProvider) -> None:
    thought = {"type": "reasoning", "summary": [{"text": "x"}]}
    provider.handler = responses(output=[thought, *said("an "), *said("answer")])
    assert answer(settings_for(provider, api="responses")).text == "an answer"


def test_a_renamed_model_is_an_error_unless_the_study_allows_it(provider: MockProvider) -> None:
    provider.model = "finch-1"
    assert fault(settings_for(provider)).kind == "wrong_model"
    assert answer(settings_for(provider, check_model=False)).model == "finch-1"
    provider.model = "wren-2-2026-03-01"
    assert answer(settings_for(provider)).model == "wren-2-2026-03-01"


# Native compaction


def native(**more: Any) -> NativeRequest:
    items = [{"role": "user", "content": "Mend the mill."}, {"role": "assistant", "content": "Done."}]
    return NativeRequest("openai", "/v1/responses/compact", {"input": items, **more})


def test_a_compaction_is_sent_as_it_is_with_the_model_and_comes_back_whole(provider: MockProvider) -> None:
    reply = answer(settings_for(provider), native(instructions="Be brief."))
    sent = provider.requests[0]
    assert sent.path == "/v1/responses/compact"
    assert sent.body == {"model": "wren-2", **native(instructions="Be brief.").body}
    assert [item["type"] for item in reply.body["output"]] == ["message", "compaction"]
    assert reply.body["object"] == "response.compaction"
    assert (reply.text, reply.model) == ("", "wren-2")
    assert reply.use == TokenUse(reply.body["usage"]["input_tokens"], 40)


EMBED = NativeRequest("openai", "/v1/embeddings", {"input": ["Mend the mill.", "Done."], "encoding_format": "float"})


def test_embeddings_are_asked_for_by_the_same_client_and_write_no_tokens(provider: MockProvider) -> None:
    reply = answer(settings_for(provider, "openai:vectors"), EMBED)
    sent = provider.requests[0]
    assert (sent.path, sent.body) == ("/v1/embeddings", {"model": "vectors", **EMBED.body})
    assert [row["index"] for row in reply.body["data"]] == [0, 1]
    assert (reply.model, reply.use) == ("vectors", TokenUse(reply.body["usage"]["prompt_tokens"], 0))
    assert reply.use.input_tokens > 0


@pytest.mark.parametrize("rows", [None, [], [{"index": 0, "embedding": [1.0]}], [{"index": 0}, {"index": 1}]])
def test_embeddings_that_are_not_one_a_text_are_malformed(
    provider: MockProvider, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = orjson.dumps({"data": rows, "model": "vectors"})
    monkeypatch.setattr(shapes, "embeddings", lambda body, model: orjson.loads(given))
    assert fault(settings_for(provider, "openai:vectors"), EMBED).kind == "malformed"


def test_a_server_without_compaction_can_still_be_asked_other_things(provider: MockProvider) -> None:
    settings = settings_for(provider, base_url=f"{provider.anthropic_url}/v2")
    found = fault(settings, native())
    assert found.kind == "rejected"
    assert str(found).startswith(f"{settings.base_url} has no /v1/responses/compact")


def test_a_compaction_of_a_model_that_is_not_there_is_unusable(provider: MockProvider) -> None:
    def handler(_: Any) -> str:
        raise HttpError(404, "The model `wren-2` does not exist", code="model_not_found")

    provider.handler = handler
    assert fault(settings_for(provider), native()).kind == "unusable"


@pytest.mark.parametrize(("given", "kind"), [({}, "malformed"), ({"output": "x"}, "malformed"), ([], "malformed")])
def test_a_compaction_of_another_shape_is_malformed(provider: MockProvider, given: Any, kind: str) -> None:
    provider.handler = lambda _: Response(orjson.dumps(given), media_type="application/json")
    assert fault(settings_for(provider), native()).kind == kind
