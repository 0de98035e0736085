"""Anthropic's messages, its compactions and its context edits. Needs the package ``anthropic``.

One call of ``send`` is one try: a request in another form is sent only after a 400 that names the parameter which the
server does not take, and what it takes is remembered for the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anthropic
import openai
import orjson

from compaction.dialogue import Exchange, anthropic_tools, anthropic_turns, below_system
from compaction.model import ModelRequest, NativeRequest
from flows.llm.clients.faults import Rejection, body_fault
from flows.llm.clients.http import Poster
from flows.llm.clients.json_replies import with_schema
from flows.llm.clients.keys import Key
from flows.llm.clients.openai_client import missing_endpoint, unusable_setting
from flows.llm.clients.replies import (
    answer_text,
    check_model,
    join_texts,
    object_at,
    object_list,
    refusal_fault,
    token_count,
    truncation_fault,
)
from flows.llm.clients.requests import leading_system, native_body, sent_turns, token_limit
from flows.llm.clients.transport import CallFault, Reply, TokenUse
from flows.llm.retry_after import Raw, pause_asked
from flows.llm.settings import ModelSettings

WAYS = ("json_schema", "json_object", "prompt")
"""How a JSON answer is asked for, in the order in which they are tried. The second is a tool that it has to call."""

_THINKS = re.compile(r"claude-(?:[a-z]+-)?(?:[5-9]|\d\d)(?!\d)")
"""Names of the models that think unasked. They cannot be made to call a tool ("What's new in Claude Opus 5.5")."""

TOOL = "answer"

API_VERSION = "2023-06-01"
"""What is sent as ``anthropic-version``. The one after it (2026-10-21), which the SDK sends from 2.0 on, takes no
temperature for any model; this one does for the models that have one. Source: "Versions" in Anthropic's reference."""

CACHED_FROM = {
    "claude-haiku-4-5": 4096,
    "claude-opus-4-5": 4096,
    "claude-opus-4-6": 4096,
    "claude-sonnet-4-6": 2048,
    "claude-3-5-haiku": 2048,
    "claude-3-haiku": 2048,
}
"""Beginnings of models' names → tokens from which a prompt is cached; 1024 for all others. A mark on a shorter one
does no harm. Source: "Cache limitations" in Anthropic's guide to prompt caching."""
CHARS_PER_TOKEN = 4
"""About; for the decision whether a mark is of any use."""
MARK = {"cache_control": {"type": "ephemeral"}}

_NAMES = {
    "json_schema": ("output_config.format", "output_config", "output_format", "json_schema", "schema", "format"),
    "json_object": ("tool_choice", "tools", "input_schema"),
}
_SAMPLING = ("temperature", "top_p", "seed", "output_config.effort", "output_config")


def request_headers(key: str) -> dict[str, str]:
    """The headers of every request beside the SDK's own.

    The key also goes under the name that the version documents: the SDK sends it as a bearer token from 2.0 on, which
    gateways written for the older name do not read.
    """
    return {"anthropic-version": API_VERSION, "x-api-key": key}


class AnthropicTransport:
    """The client for all models at one base URL."""

    def __init__(self, settings: ModelSettings) -> None:
        """Only the base URL and the key count of these settings."""
        key = Key(settings)
        client = anthropic.AsyncAnthropic(
            api_key=key.sent,
            base_url=settings.base_url,
            max_retries=0,
            open_telemetry=False,
            default_headers=request_headers(key.sent),
            # The same HTTP client as for OpenAI; the SDK takes any. No redirects: they would take the key along.
            http_client=openai.DefaultAioHttpClient(follow_redirects=False),
        )
        self._poster = Poster(client, key, (anthropic.APIStatusError, anthropic.APIConnectionError))
        self._prefix = "/v1" if settings.base_url.endswith("/v1") else ""
        self._ways: dict[tuple[str, str, bytes], str] = {}

    async def send(self, settings: ModelSettings, request: ModelRequest) -> Reply:
        """Try a call once. Raises CallFault."""
        schema = b"" if request.schema is None else orjson.dumps(request.schema)
        about = (settings.model, settings.structured, schema)
        way = first = self._ways.get(about) or first_way(settings)
        while True:
            body = request_body_with(settings, request, way)
            try:
                answered = await self._poster.post(self._path("/v1/messages"), body, settings.timeout)
                break
            except Rejection as fault:
                if (mended := unusable_setting(settings, _without_schema(body), fault, _SAMPLING)) is not None:
                    raise mended from None
                names = _NAMES.get(way, ())
                if request.schema is None or fault.kind != "rejected" or not fault.said.names(*names):
                    raise
                ways = ways_of(settings)
                way = ways[ways.index(way) + 1]
        if way != first:
            self._ways[about] = way
        reply = read_reply(settings, answered.body, request, raw=answered.headers, keys=self._poster.secrets)
        return replace(reply, pause=pause_asked(answered.headers))

    async def send_native(self, settings: ModelSettings, request: NativeRequest) -> Reply:
        """One try of a compaction or of context edits; the response as ``body``. Raises CallFault."""
        betas = {"anthropic-beta": ",".join(request.betas)} if request.betas else None
        body = {"model": settings.model, **native_body(request)}
        try:
            answered = await self._poster.post(self._path(request.path), body, settings.timeout, betas)
        except Rejection as fault:
            raise missing_endpoint(settings, request, fault) or fault from None
        found = answered.body
        use = messages_use(found)
        if found.get("type") == "error":
            raise body_fault(found, answered.headers, self._poster.secrets, use)
        if not isinstance(found.get("content"), list):
            raise CallFault("malformed", "the response has no list 'content'", use=use)
        model = check_model(settings, found.get("model"), use)
        stop = found.get("stop_reason")
        if stop == "refusal":
            raise refusal_fault(_why_refused(found), use)
        if stop == "model_context_window_exceeded":
            raise CallFault("overflow", "the context is longer than the model's window", use=use)
        if stop == "max_tokens" and "compaction" in request.body:
            raise CallFault("truncated", f"the compaction was cut at {request.body.get('max_tokens')} tokens", use=use)
        return Reply("", model, use, found, pause_asked(answered.headers))

    def _path(self, path: str) -> str:
        """The path relative to the base URL, without a version that both have."""
        return path.removeprefix(self._prefix)

    async def close(self) -> None:
        """Give the connections back."""
        await self._poster.close()


def request_body(settings: ModelSettings, request: ModelRequest) -> dict[str, Any]:
    """The request that is sent first, before anything is known of the server; for batches, where nothing is told."""
    return request_body_with(settings, request, first_way(settings))


def ways_of(settings: ModelSettings) -> tuple[str, ...]:
    """The ways to ask the model for JSON, in the order of their trial."""
    return tuple(way for way in WAYS if way != "json_object" or not _THINKS.match(settings.model))


def first_way(settings: ModelSettings) -> str:
    """The first way to ask the model: that of the settings, or in words if the model cannot be asked so."""
    return settings.structured if settings.structured in ways_of(settings) else "prompt"


def request_body_with(settings: ModelSettings, request: ModelRequest, way: str) -> dict[str, Any]:
    """A request of ``/v1/messages`` that asks for JSON in this way; nothing in it that was not asked for.

    The leading system messages are the parameter ``system``, later ones a user's text, marked. Tools that the messages
    call are named, because the API wants that, and none may be called.
    """
    if any(message.is_unreadable for message in request.messages):
        raise CallFault("rejected", "a compaction item of another provider cannot be sent to anthropic")
    said = sent_turns(settings, request.messages)
    if request.schema is not None and way == "prompt":
        said = _with_schema(said, request.schema)
    lead = leading_system(said)
    tools = anthropic_tools(said)
    body: dict[str, Any] = {
        "model": settings.model,
        "max_tokens": token_limit(settings, request),
        "messages": anthropic_turns(said[lead:]) if tools else [_plain_message(one) for one in said[lead:]],
    }
    if lead:
        body["system"] = "\n\n".join(one.text for one in said[:lead])
    if request.shared is not None and not tools:
        _mark_shared(body, request)
    if tools:
        body |= {"tools": tools, "tool_choice": {"type": "none"}}
    given = {"temperature": settings.temperature, "top_p": settings.top_p, "seed": settings.seed}
    body |= {name: value for name, value in given.items() if value is not None}
    config: dict[str, Any] = {}
    if settings.reasoning_effort is not None:
        config["effort"] = settings.reasoning_effort
    if request.schema is not None and way == "json_schema":
        config["format"] = {"type": "json_schema", "schema": _taken_schema(request.schema)}
    if config:
        body["output_config"] = config
    if request.schema is not None and way == "json_object":
        tool = {"name": TOOL, "description": "Takes your whole answer.", "input_schema": request.schema}
        others = [other for other in tools if other["name"] != TOOL]
        body |= {"tools": [*others, tool], "tool_choice": {"type": "tool", "name": TOOL}}
    return body


def _mark_shared(body: dict[str, Any], request: ModelRequest) -> None:
    """Mark the ends of what other requests begin with too: of the system prompt, and of the last message's share."""
    least = CHARS_PER_TOKEN * next((n for name, n in CACHED_FROM.items() if body["model"].startswith(name)), 1024)
    system, last = body.get("system", ""), body["messages"][-1]
    chars = len(system) + (0 if request.schema is None else len(orjson.dumps(request.schema)))
    if system and chars >= least:
        body["system"] = [{"type": "text", "text": system, **MARK}]
    chars += sum(len(message["content"]) for message in body["messages"][:-1]) + (request.shared or 0)
    text, cut = last["content"], request.shared or 0
    if cut and chars >= least and last["role"] == "user" and len(text) > cut:
        last["content"] = [{"type": "text", "text": text[:cut], **MARK}, {"type": "text", "text": text[cut:]}]


def _taken_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without the keywords that the API refuses; they are told in its descriptions."""
    try:
        return anthropic.transform_schema(dict(schema))
    except (ValueError, AssertionError):  # the package cannot read it; the server may
        return schema


def _with_schema(said: Sequence[Exchange], schema: Mapping[str, Any]) -> tuple[Exchange, ...]:
    asked = with_schema([{"role": one.role, "content": one.text} for one in said], schema)
    before = [Exchange("system", message["content"]) for message in asked[: len(asked) - len(said)]]
    texts = [message["content"] for message in asked[len(before) :]]
    return (*before, *(replace(one, text=text) for one, text in zip(said, texts, strict=True)))


def _plain_message(one: Exchange) -> dict[str, Any]:
    if one.role == "system":
        return {"role": "user", "content": below_system(one.text)}
    return {"role": one.role, "content": one.text}


def _without_schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body without what asks for JSON: a complaint about that is no complaint about a setting."""
    config = object_at(body, "output_config")
    if "format" in config or "effort" not in config:
        return {name: value for name, value in body.items() if name != "output_config"}
    return body


def messages_use(body: Mapping[str, Any]) -> TokenUse:
    """Tokens of a response, those of a compaction included: the service leaves them out of its totals.

    ``input_tokens`` of Anthropic does not count what its prompt cache read or stored. Source: the docstrings of
    ``anthropic.types.beta.BetaUsage``.
    """
    usage = object_at(body, "usage")
    own = [step for step in object_list(usage.get("iterations")) if step.get("type") == "compaction"]
    every = (usage, *own)
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return TokenUse(
        sum(token_count(step.get(name)) for step in every for name in names),
        sum(token_count(step.get("output_tokens")) for step in every),
        sum(token_count(step.get("cache_read_input_tokens")) for step in every),
        sum(token_count(step.get("cache_creation_input_tokens")) for step in every),
    )


def _why_refused(body: Mapping[str, Any]) -> str:
    details = object_at(body, "stop_details")
    return str(details.get("explanation") or details.get("category") or "")


def error_fault(error: Any) -> CallFault:
    """The fault of a request that failed on its own in a batch: an error response without its status."""
    return body_fault(error if isinstance(error, Mapping) else {"message": "failed without a reason"}, (), ())


def read_reply(
    settings: ModelSettings,
    body: Mapping[str, Any],
    request: ModelRequest | None = None,
    *,
    raw: Raw = (),
    keys: Sequence[str] = (),
) -> Reply:
    """The answer in a response of status 200, its headers ``raw``. Raises CallFault."""
    use = messages_use(body)
    if body.get("type") == "error" or body.get("error"):
        raise body_fault(body, raw, keys, use)
    if not isinstance(body.get("content"), list):
        raise CallFault("malformed", "the response has no list 'content'", use=use)
    model = check_model(settings, body.get("model"), use)
    blocks, stop = object_list(body["content"]), body.get("stop_reason")
    if stop == "refusal":
        raise refusal_fault(_why_refused(body), use)
    if stop == "max_tokens":
        thought = token_count(object_at(object_at(body, "usage"), "output_tokens_details").get("thinking_tokens"))
        raise truncation_fault(settings, request, use, thought)
    if stop == "model_context_window_exceeded":
        raise CallFault("overflow", "the context and the answer are longer than the model's window", use=use)
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    if calls and calls[0].get("name") == TOOL:
        return Reply(orjson.dumps(calls[0].get("input")).decode(), model, use)
    if calls or stop in ("tool_use", "pause_turn", "compaction"):
        raise CallFault("rejected", f"the model did not answer (stop_reason {stop})", use=use)
    return Reply(answer_text(join_texts(blocks, "text"), request, use), model, use)
