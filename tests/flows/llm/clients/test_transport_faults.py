"""What a provider does wrong, over a real socket, and what the clients make of it."""

from __future__ import annotations

import socket
from typing import Any

import orjson
import pytest
from starlette.responses import Response

from flows.llm.clients.transport import CallFault, FaultKind, TokenUse
from tests.flows.llm.asking import SCHEMA, answer, answers, fault, make_request, settings_for
from tests.flows.llm.server import FAULTS, HttpError, MockProvider

KINDS: dict[str, FaultKind | None] = {
    "429": "rate_limited",
    "429_retry_after": "rate_limited",
    "500": "server",
    "503": "overloaded",
    "hang": "timeout",
    "cut_body": "malformed",
    "invalid_json": "malformed",
    "schema_violation": None,
    "empty": "blank",
    "refusal": "refused",
    "wrong_model": "wrong_model",
    "slow_drip": "timeout",
    "reset": "connection",
}
"""A violated schema is a reply: only who asked can check it."""

APIS = {
    "chat": ("openai:wren-2", {}),
    "responses": ("openai:wren-2", {"api": "responses"}),
    "messages": ("anthropic:wren-2", {}),
}
KEY = "sk-live-0123456789abcdefghij"


def model(provider: MockProvider, api: str, **more: Any) -> Any:
    spec, given = APIS[api]
    return settings_for(provider, spec, **given, **more)


def refuse(status: int, **said: Any) -> Any:
    def handler(body: Any) -> str:
        raise HttpError(status, **said)

    return handler


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_has_its_kind(provider: MockProvider, api: str, kind: str) -> None:
    provider.script.append(kind)
    timeout = 1.0 if KINDS[kind] == "timeout" else 30.0  # so that a busy machine is no fault
    found = answers(
        model(provider, api, timeout=timeout),
        [make_request(schema=None if kind == "empty" else SCHEMA), make_request()],
    )
    first = found[0]
    assert (first.kind if isinstance(first, CallFault) else None) == KINDS[kind]
    assert not isinstance(found[1], CallFault), "the client goes on after a fault"
    assert provider.counts == {kind: 1, "none": 1}, "one try is one request"


def test_a_refused_connection_is_a_connection_fault(provider: MockProvider) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        assert fault(settings_for(provider, base_url=url)).kind == "connection"


def test_a_redirect_is_not_followed(provider: MockProvider) -> None:
    """It would take the prompt to an address that nobody named."""
    provider.handler = lambda body: Response(status_code=307, headers={"location": f"{provider.openai_url}/responses"})
    assert fault(settings_for(provider)).kind == "unusable"
    assert [request.path for request in provider.requests] == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (400, {"message": "Bad request."}, "rejected"),
        (401, {"message": "Incorrect API key provided."}, "unusable"),
        (402, {"message": "Payment required."}, "unusable"),
        (403, {"message": "Country not supported."}, "unusable"),
        (404, {"message": "The model `wren-2` does not exist", "code": "model_not_found"}, "unusable"),
        (408, {"message": "Too slow."}, "server"),
        (409, {"message": "Conflict."}, "server"),
        (413, {"message": "Too big."}, "overflow"),
        (422, {"message": "Unprocessable."}, "rejected"),
        (429, {"message": "Slow down."}, "rate_limited"),
        (429, {"message": "No money.", "code": "insufficient_quota"}, "unusable"),
        (429, {"message": "Request too large for wren-2 on tokens per min: Limit 30000, Requested 50000."}, "rejected"),
        (500, {"message": "Oops."}, "server"),
        (502, {"message": "Bad gateway."}, "server"),
        (503, {"message": "Loading model"}, "overloaded"),
        (504, {"message": "Timeout."}, "server"),
        (529, {"message": "Overloaded"}, "overloaded"),
        (403, {"message": "Your input was flagged by moderation"}, "refused"),
        (400, {"message": "no", "code": "content_filter"}, "refused"),
        (
            400,
            {
                "message": "Invalid 'input[1].content': string too long. Expected a string with maximum length "
                "10485760, but got a string with length 10485761 instead."
            },
            "overflow",
        ),
        (400, {"message": "Invalid 'name': string too long. Expected a string with maximum length 64."}, "rejected"),
        (400, {"message": "Your credit balance is too low to access the Anthropic API."}, "unusable"),
    ],
)
def test_each_status_has_its_kind(provider: MockProvider, status: int, said: dict[str, str], kind: str) -> None:
    provider.handler = refuse(status, **said)
    assert {api: fault(model(provider, api)).kind for api in APIS} == dict.fromkeys(APIS, kind)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            400,
            {
                "message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
                "code": "context_length_exceeded",
            },
        ),
        (
            400,
            {
                "message": "This model's maximum context length is 4096 tokens. However, your request has 4176 input "
                "tokens.",
                "code": 400,
            },
        ),
        (
            400,
            {
                "message": "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context "
                "length is 4096 tokens and your request has 2104 input tokens."
            },
        ),
        (
            400,
            {
                "message": "request (4476 tokens) exceeds the available context size (4096 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_ctx": 4096,
            },
        ),
        (500, {"message": "the request exceeds the available context size. try increasing the context size"}),
        (400, {"message": "prompt is too long: 215000 tokens > 200000 maximum"}),
        (400, {"message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}),
        (
            400,
            {"message": "Provider returned error", "metadata": {"raw": "the input length exceeds the context length"}},
        ),
        (400, {"message": "litellm.ContextWindowExceededError: prompt: input is too long for requested model"}),
        (
            400,
            {
                "message": "The input token count (1200000) exceeds the maximum number of tokens allowed",
                "code": "context_length_exceeded",
            },
        ),
    ],
)
def test_a_request_longer_than_the_window_is_an_overflow(
    provider: MockProvider, status: int, said: dict[str, Any]
) -> None:
    provider.handler = refuse(status, **said)
    assert fault(settings_for(provider)).kind == "overflow"
    assert len(provider.requests) == 1, "no other form of it is sent"


def test_words_of_an_echoed_request_are_not_taken_for_the_servers(provider: MockProvider) -> None:
    echo = "validation failed for the request: " + "x" * 400 + " maximum context length, temperature is not supported"
    provider.handler = refuse(400, message=echo)
    assert fault(settings_for(provider)).kind == "rejected"


@pytest.mark.parametrize(
    ("content", "media_type", "words"),
    [
        (b'{"error": "model \'wren-2\' not found"}', "application/json", "model 'wren-2' not found"),
        (b'{"detail": "Not authenticated"}', "application/json", "Not authenticated"),
        (b'{"object": "error", "message": "bad input", "code": 400}', "application/json", "bad input"),
        (b'[{"error": {"code": 400, "message": "API key not valid"}}]', "application/json", "API key not valid"),
        (b"<html><head><title>x</title></head><h1>400 Bad</h1> Request</html>", "text/html", "400 Bad Request"),
        (b"", "text/plain", "no reason given"),
    ],
)
def test_the_reason_is_found_in_every_shape_of_error(
    provider: MockProvider, content: bytes, media_type: str, words: str
) -> None:
    provider.handler = lambda body: Response(content, 400, media_type=media_type)
    assert str(fault(settings_for(provider))) == f"status 400: {words}"


@pytest.mark.parametrize(
    ("headers", "message", "wait"),
    [
        ({"retry-after": "3"}, "", 3.0),
        ({"retry-after": "0"}, "", 0.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, "", 0.25),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2.5s"}, "", 62.5),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "120ms",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "6s",
            },
            "",
            6.0,
        ),
        ({"x-ratelimit-remaining-tokens": "10", "x-ratelimit-reset-tokens": "6s"}, "", None),
        ({}, "Rate limit reached. Please try again in 1.2s. Visit us.", 1.2),
        ({"retry-after": "soon"}, "", None),
        ({}, "", None),
    ],
)
def test_what_a_provider_asks_to_wait_is_told(
    provider: MockProvider, headers: dict[str, str], message: str, wait: float | None
) -> None:
    provider.handler = refuse(429, message=message, headers=headers)
    assert fault(settings_for(provider)).wait == wait


def test_nothing_left_of_a_limit_is_a_pause(provider: MockProvider) -> None:
    provider.headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2s"}
    assert answer(settings_for(provider)).pause == 2.0
    provider.headers = {"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "2s"}
    assert answer(settings_for(provider)).pause == 0.0


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_key_that_a_server_echoes_is_not_in_the_reason(
    provider: MockProvider, monkeypatch: pytest.MonkeyPatch, api: str, status: int
) -> None:
    for key in (KEY, "AAAA-plain-looking-9999"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        provider.handler = refuse(status, message=f"wrong key {key} in 'Authorization: Bearer {key}'")
        found = fault(model(provider, api))
        assert key not in str(found)
        assert key not in repr(found)
        sent = provider.requests[-1].headers
        assert key in (sent.get("authorization", "") + sent.get("x-api-key", "")), "the key was sent"


@pytest.mark.parametrize("key", ["sk-ключ", "sk-a\nInjected: 1"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(
    provider: MockProvider, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    found = fault(settings_for(provider))
    assert found.kind == "unusable"
    assert str(found) == "OPENAI_API_KEY holds characters that no header can carry"
    assert not provider.requests


def test_the_provider_itself_is_not_asked_without_a_key(provider: MockProvider) -> None:
    found = fault(settings_for(provider, base_url="https://api.openai.com/v1"))
    assert (found.kind, str(found)) == (
        "unusable",
        "OPENAI_API_KEY is not set: https://api.openai.com/v1 needs a key",
    )


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"[]", "malformed"),
        (b"null", "malformed"),
        (b"{}", "malformed"),
        (b'{"choices": []}', "malformed"),
        (b'{"choices": [{"message": null}]}', "malformed"),
        (b'{"choices": [{"message": {"content": 7}}]}', "malformed"),
        (b'{"choices": "x", "usage": 3}', "malformed"),
        (b"\xff\xfe", "malformed"),
        (b"<html>a proxy's page</html>", "malformed"),
        (b'{"error": {"message": "upstream is busy", "code": 429}}', "rate_limited"),
        (b'{"choices": [{"error": {"message": "upstream broke", "code": 502}, "message": {"content": ""}}]}', "server"),
    ],
)
def test_a_response_of_another_shape_is_malformed_or_says_its_own_error(
    provider: MockProvider, body: bytes, kind: str
) -> None:
    provider.handler = lambda _: Response(body, media_type="application/json")
    assert fault(settings_for(provider)).kind == kind


@pytest.mark.parametrize("body", [b"{}", b'{"output": 1}', b'{"content": {}}', b"[1]"])
@pytest.mark.parametrize("api", ["responses", "messages"])
def test_the_other_interfaces_are_checked_as_well(provider: MockProvider, api: str, body: bytes) -> None:
    provider.handler = lambda _: Response(body, media_type="application/json")
    assert fault(model(provider, api)).kind == "malformed"


def test_what_was_charged_for_an_unusable_answer_is_told(provider: MockProvider) -> None:
    provider.script.append("refusal")
    use = fault(settings_for(provider)).use
    assert use is not None
    assert use.input_tokens > 0
    provider.script.append("500")
    assert fault(settings_for(provider)).use is None


def test_a_third_of_all_calls_may_fail_without_one_being_mixed_up(provider: MockProvider) -> None:
    """Every fault over one client: each answer belongs to its question, each failure to a fault that was made."""
    kinds = [kind for kind in FAULTS if kind not in ("slow_drip", "schema_violation")]
    provider.faults = dict.fromkeys(kinds, 0.3 / len(kinds))
    provider.seed = 1
    provider.handler = lambda body: "about " + body["messages"][-1]["content"]
    found = answers(
        settings_for(provider, timeout=3.0), [make_request(f"question {n}") for n in range(200)], together=True
    )
    good = {n: reply.text for n, reply in enumerate(found) if not isinstance(reply, CallFault)}
    assert good == {n: f"about question {n}" for n in good}
    assert len(found) - len(good) == sum(provider.faults_made.values())
    assert set(provider.faults_made) == set(kinds), "every kind was met"


def test_which_requests_meet_a_fault_depends_on_the_seed_alone(provider: MockProvider) -> None:
    provider.faults = {"500": 0.3}
    requests = [make_request(f"question {n}") for n in range(40)]

    def failed(order: list[int]) -> set[int]:
        provider.forget()
        found = answers(settings_for(provider), [requests[n] for n in order], together=True)
        return {n for n, reply in zip(order, found, strict=True) if isinstance(reply, CallFault)}

    first = failed(list(range(40)))
    assert first == failed(list(reversed(range(40))))
    provider.seed = 1
    assert first != failed(list(range(40)))


def test_tokens_of_a_reply_are_the_providers(provider: MockProvider) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
    body = {"model": "wren-2", "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    provider.handler = lambda _: Response(orjson.dumps(body), media_type="application/json")
    assert answer(settings_for(provider)).use == TokenUse(100, 7, 60)
