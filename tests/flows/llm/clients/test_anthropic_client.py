"""What goes over the wire to Anthropic's interface, and what is read from it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.responses import Response

from compaction import Message
from compaction.model import ModelRequest, NativeRequest
from flows.llm.batch.clients import batch_client
from flows.llm.batch.protocol import BatchGone
from flows.llm.clients.factory import make_transport
from flows.llm.clients.transport import TokenUse
from flows.llm.settings import make_settings
from flows.support.errors import UsageError
from tests.flows.llm.asking import SCHEMA, answer, answers, fault, make_request, settings_for
from tests.flows.llm.batch_server import BatchProvider
from tests.flows.llm.server import HttpError, MockProvider

MODEL = "anthropic:wren-2"
ROOT = Path(__file__).parents[4]
SAID = [{"role": "user", "content": "Which file was changed?"}]


def messages(**given: Any) -> Any:
    usage = {"input_tokens": 10, "output_tokens": 5}
    whole = {"type": "message", "model": "wren-2", "stop_reason": "end_turn", "content": [], "usage": usage, **given}
    return lambda _: Response(orjson.dumps(whole), media_type="application/json")


def text(*said: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": part} for part in said]


# Requests


def test_a_request_holds_nothing_that_was_not_asked_for(provider: MockProvider) -> None:
    answer(settings_for(provider, MODEL, temperature=False))
    sent = provider.requests[0]
    assert sent.path == "/v1/messages"
    assert sent.body == {"model": "wren-2", "max_tokens": 50, "system": "Answer in few words.", "messages": SAID}
    assert sent.headers["user-agent"].startswith("AsyncAnthropic/Python")
    assert "anthropic-beta" not in sent.headers
    whole = sent.raw.decode() + repr(sent.headers)
    assert not any(ours in whole for ours in ("compaction", "eval", "judge"))


def test_every_setting_that_is_set_is_sent(provider: MockProvider) -> None:
    given = {"temperature": 0.5, "top_p": 0.9, "reasoning_effort": "low", "reasoning_tokens": 1000}
    answer(settings_for(provider, MODEL, **given))
    assert provider.requests[0].body == {
        "model": "wren-2",
        "max_tokens": 1050,
        "system": "Answer in few words.",
        "messages": SAID,
        "temperature": 0.5,
        "top_p": 0.9,
        "output_config": {"effort": "low"},
    }


def test_only_the_leading_system_messages_are_the_system_prompt(provider: MockProvider) -> None:
    said = (
        Message("system", "One."),
        Message("system", "Two."),
        Message("user", "Three."),
        Message("assistant", " "),
        Message("system", "Four."),
        Message("user", "Five."),
    )
    answer(settings_for(provider, MODEL), ModelRequest(said, 50))
    body = provider.requests[0].body
    assert body["system"] == "One.\n\nTwo."
    assert [message["content"] for message in body["messages"]] == ["Three.", "<system>\nFour.\n</system>", "Five."]
    assert {message["role"] for message in body["messages"]} == {"user"}


def test_a_base_url_may_end_with_the_version(provider: MockProvider) -> None:
    answer(settings_for(provider, MODEL, base_url=provider.openai_url))
    assert provider.requests[0].path == "/v1/messages"


def test_json_is_asked_for_by_schema_then_by_a_tool_then_in_words(provider: MockProvider) -> None:
    given = '{"score":1,"why":"x"}'
    provider.handler = lambda _: given
    settings = settings_for(provider, MODEL, reasoning_effort="low")
    assert [reply.text for reply in answers(settings, [make_request(schema=SCHEMA)])] == [given]  # type: ignore[union-attr]
    config = provider.requests[0].body["output_config"]
    assert config["format"]["type"] == "json_schema"
    assert config["effort"] == "low"
    assert config["format"]["schema"]["properties"]["score"] == {
        "type": "integer",
        "description": "{minimum: 0, maximum: 5}",
    }, "the API refuses bounds: they are told in words"

    provider.requests.clear()
    provider.refuses = ["output_config.format"]
    found = answers(settings, [make_request(schema=SCHEMA)] * 2)
    assert [reply.text for reply in found] == [given] * 2  # type: ignore[union-attr]
    forms = [("format" in request.body["output_config"], "tools" in request.body) for request in provider.requests]
    assert forms == [(True, False), (False, True), (False, True)]
    tool = provider.requests[1].body
    assert tool["tools"][0]["input_schema"] == SCHEMA
    assert tool["tool_choice"] == {"type": "tool", "name": tool["tools"][0]["name"]}

    provider.requests.clear()
    provider.refuses = ["output_config.format", "tools"]
    provider.handler = lambda _: f"```json\n{given}\n```"
    assert answers(settings, [make_request(schema=SCHEMA)])[0].text == given  # type: ignore[union-attr]
    assert len(provider.requests) == 3
    assert orjson.dumps(SCHEMA).decode() in provider.requests[2].body["system"]


def test_a_model_that_cannot_be_made_to_call_a_tool_is_asked_in_words(provider: MockProvider) -> None:
    given = '{"score":1,"why":"x"}'
    provider.handler = lambda _: given
    provider.refuses = ["output_config.format"]
    settings = settings_for(provider, "anthropic:claude-opus-5-5")
    assert answers(settings, [make_request(schema=SCHEMA)])[0].text == given  # type: ignore[union-attr]
    answer(settings_for(provider, "anthropic:claude-opus-5-5", structured="json_object"), make_request(schema=SCHEMA))
    assert ["output_config" in request.body for request in provider.requests] == [True, False, False]
    assert not any("tools" in request.body for request in provider.requests)


def test_the_version_that_takes_a_temperature_is_asked_and_the_key_goes_under_its_older_name_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The SDK's own default, 2026-10-21, refuses a temperature for all models."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1234567890")
    with BatchProvider() as provider:
        settings = settings_for(provider, "anthropic:claude-haiku-4-5")
        answer(settings)
        with pytest.raises(BatchGone):
            batch_client(settings).status("msgbatch_1")
    live, batch = provider.requests
    assert live.body["temperature"] == 0
    for sent in (live, batch):
        assert sent.headers["anthropic-version"] == "2023-06-01"
        assert sent.headers["x-api-key"] == "sk-ant-1234567890"


@pytest.mark.parametrize(
    ("spec", "given", "why"),
    [
        ("anthropic:claude-haiku-4-5", {"seed": 1}, "seed: anthropic takes no seed"),
        ("anthropic:claude-haiku-4-5", {"temperature": 1.5}, "temperature: expected at most 1, found 1.5"),
        ("openai:gpt-4.1", {"seed": 1, "api": "responses"}, "seed: OpenAI's responses interface takes no seed"),
        ("openai:gpt-4.1", {"temperature": 2.5}, "temperature: expected at most 2, found 2.5"),
    ],
)
def test_what_the_provider_itself_refuses_is_told_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, spec: str, given: dict[str, Any], why: str
) -> None:
    """Another server may take it."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=why):
        make_settings(spec, given, "study")
    make_settings(spec, {**given, "base_url": "http://localhost:1"}, "study")


def test_top_p_takes_the_place_of_the_temperature() -> None:
    """From Opus 4.1 on both together are refused; who names both is told by the provider."""
    assert make_settings("anthropic:claude-haiku-4-5", {"top_p": 0.9}, "study").temperature is None
    assert make_settings("anthropic:claude-haiku-4-5", {"top_p": 0.9, "temperature": 1}, "study").temperature == 1
    assert make_settings("openai:gpt-4.1", {"top_p": 0.9}, "study").temperature == 0


@pytest.mark.parametrize("message", ["`temperature` is deprecated for this model.", "temperature is not supported"])
def test_a_model_without_temperature_says_what_to_set(provider: MockProvider, message: str) -> None:
    def handler(_: Any) -> str:
        raise HttpError(400, message)

    provider.handler = handler
    found = fault(settings_for(provider, MODEL, temperature=0.5), make_request(schema=SCHEMA))
    assert found.kind == "unusable"
    assert str(found).endswith('set temperature = false in [models."anthropic:wren-2"]')
    assert len(provider.requests) == 1


# Replies


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, "blank"),
        ({"content": text(" ")}, "blank"),
        ({"content": [{"type": "thinking", "thinking": "x"}]}, "blank"),
        ({"content": text("half"), "stop_reason": "max_tokens"}, "truncated"),
        ({"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "bio"}}, "refused"),
        ({"content": text("half"), "stop_reason": "model_context_window_exceeded"}, "overflow"),
        ({"content": [{"type": "tool_use", "name": "x", "input": {}}], "stop_reason": "tool_use"}, "rejected"),
        ({"content": text("x"), "stop_reason": "pause_turn"}, "rejected"),
        ({"content": text("x"), "model": "finch-1"}, "wrong_model"),
        ({"content": "x"}, "malformed"),
    ],
)
def test_a_reply_that_is_no_answer_has_its_kind_and_what_it_cost(
    provider: MockProvider, given: dict[str, Any], kind: str
) -> None:
    provider.handler = messages(**given)
    found = fault(settings_for(provider, MODEL))
    assert (found.kind, found.use) == (kind, TokenUse(10, 5))


def test_thinking_is_no_part_of_the_answer(provider: MockProvider) -> None:
    thought = [{"type": "thinking", "thinking": "x"}, {"type": "redacted_thinking", "data": "y"}]
    provider.handler = messages(content=[*thought, *text("an ", "answer")], model="wren-2-20260301")
    reply = answer(settings_for(provider, MODEL))
    assert (reply.text, reply.model) == ("an answer", "wren-2-20260301")


def test_input_tokens_are_all_that_was_read(provider: MockProvider) -> None:
    """The service counts what its prompt cache read and stored apart."""
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 5}
    provider.handler = messages(content=text("x"), usage=usage)
    assert answer(settings_for(provider, MODEL)).use == TokenUse(60, 5, 30, 20)


# Native compaction


def native(**more: Any) -> NativeRequest:
    said = [{"role": "user", "content": [{"type": "text", "text": "Mend the mill."}]}]
    body = {"max_tokens": 900, "messages": said, **more}
    return NativeRequest("anthropic", "/v1/messages", body, ("compact-2026-09-04",))


SUMMARIZE = {"compaction": {"type": "summarize"}}


def test_a_compaction_is_sent_as_it_is_with_the_model_and_its_beta(provider: MockProvider) -> None:
    reply = answer(settings_for(provider, MODEL), native(**SUMMARIZE))
    sent = provider.requests[0]
    assert sent.headers["anthropic-beta"] == "compact-2026-09-04"
    assert sent.body == {"model": "wren-2", **native(**SUMMARIZE).body}
    assert reply.body["content"][0]["type"] == "compaction"
    assert reply.body["stop_reason"] == "compaction"


def test_what_a_compaction_used_is_added_to_the_totals(provider: MockProvider) -> None:
    """Iterations of a compaction are not in the top-level usage; those of a message are."""
    steps = [
        {"type": "compaction", "input_tokens": 300, "output_tokens": 30, "cache_read_input_tokens": 7},
        {"type": "message", "input_tokens": 10, "output_tokens": 5},
    ]
    provider.handler = messages(
        content=[{"type": "compaction", "content": "S"}],
        stop_reason="compaction",
        usage={"input_tokens": 10, "output_tokens": 5, "iterations": steps},
    )
    assert answer(settings_for(provider, MODEL), native(**SUMMARIZE)).use == TokenUse(317, 35, 7)


def test_context_edits_may_end_at_the_token_limit(provider: MockProvider) -> None:
    """They are asked for with the smallest answer there is; a compaction that is cut is no compaction."""
    edits = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919", "keep": {"value": 0}}]}}
    cleared = replace(native(**edits), betas=("context-management-2025-06-27",))
    reply = answer(settings_for(provider, MODEL), cleared)
    assert reply.body["stop_reason"] == "max_tokens"
    assert reply.body["context_management"]["applied_edits"][0]["cleared_tool_uses"] == 0
    provider.handler = messages(stop_reason="max_tokens")
    assert fault(settings_for(provider, MODEL), native(**SUMMARIZE)).kind == "truncated"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (529, "compaction_unavailable", "overloaded"),
        (400, "compaction_nothing_to_summarize", "rejected"),
        (400, "compaction_incomplete_turn", "rejected"),
        (400, "compaction_content_mismatch", "rejected"),
        (429, "contract_spend_limit_reached", "unusable"),
        (429, "ramp_limit_exceeded", "rate_limited"),
    ],
)
def test_of_the_errors_of_compaction_only_unavailable_may_pass(
    provider: MockProvider, status: int, code: str, kind: str
) -> None:
    def handler(_: Any) -> str:
        raise HttpError(status, "no", details={"error_code": code})

    provider.handler = handler
    assert fault(settings_for(provider, MODEL), native(**SUMMARIZE)).kind == kind


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"stop_reason": "refusal"}, "refused"),
        ({"stop_reason": "model_context_window_exceeded"}, "overflow"),
        ({"content": None}, "malformed"),
        ({"model": "finch-1"}, "wrong_model"),
    ],
)
def test_a_compaction_that_failed_has_its_kind(provider: MockProvider, given: dict[str, Any], kind: str) -> None:
    provider.handler = messages(**given)
    assert fault(settings_for(provider, MODEL), native(**SUMMARIZE)).kind == kind


# The extra


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flows.llm.clients.anthropic_client", None)
    monkeypatch.delitem(sys.modules, "flows.llm.clients.anthropic_client")
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(UsageError, match=r"pip install -c constraints.txt '\.\[anthropic\]'"):
        make_transport(make_settings(MODEL, {}, "test"))


def test_openai_models_do_without_the_package() -> None:
    code = (
        "import sys; sys.modules['anthropic'] = None\n"
        "from flows.llm.settings import make_settings\n"
        "from flows.llm.clients.factory import make_transport\n"
        "print(type(make_transport(make_settings('openai:x', {}, 'test'))).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "OpenAITransport\n"


@pytest.mark.parametrize(
    ("name", "temperature"),
    [
        ("claude-opus-4-6", 0.0),
        ("claude-sonnet-4-5-20250929", 0.0),
        ("claude-opus-4-7", None),
        ("claude-sonnet-5", None),
        ("qwen3-8b", 0.0),
    ],
)
def test_claudes_that_refuse_a_temperature_are_not_sent_one(name: str, temperature: float | None) -> None:
    assert make_settings(f"anthropic:{name}", {}, "test").temperature == temperature
