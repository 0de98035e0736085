"""OpenAI's chat completions, responses and ``responses.compact``, over any server that speaks them.

One call of ``send`` is one try: a request in another form is sent only after a 400 that names the parameter which the
server does not take, and what it takes is remembered for the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import openai
import orjson

from compaction.dialogue import chat_messages, responses_items
from compaction.model import ModelRequest, NativeRequest
from flows.llm.clients.faults import Rejection, body_fault, error_reply
from flows.llm.clients.faults import status_fault as fault_of
from flows.llm.clients.http import Poster
from flows.llm.clients.json_replies import is_strict, with_schema
from flows.llm.clients.keys import Key
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
from flows.llm.clients.requests import EMBEDDINGS, native_body, sent_turns, token_limit
from flows.llm.clients.transport import CallFault, Reply, TokenUse
from flows.llm.prompt_cache import beginnings_of
from flows.llm.retry_after import Raw, pause_asked
from flows.llm.settings import REASONING, ModelSettings

WAYS = ("json_schema", "json_object", "prompt")
"""How a JSON answer is asked for, in the order in which they are tried."""

CACHE_KEY_CHARS = 32
"""Of a hash; OpenAI takes 64."""

_SCHEMA_NAMES = tuple("response_format text.format json_schema json_object guided_json Grammar grammar schema".split())
_SAMPLING = ("temperature", "top_p", "seed", "reasoning_effort", "reasoning.effort", "reasoning")


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The form of a request that a server takes for a model."""

    way: str
    limit: str
    """Name of the token limit."""
    beside: bool
    """Whether ``response_format`` goes along with ``text.format``: llama.cpp's /v1/responses looks only at it."""

    def after(self, fault: Rejection, is_json: bool) -> RequestForm | None:
        """The next form to try; None when the server does not complain about the form."""
        said = fault.said
        if fault.kind != "rejected":
            return None
        if self.beside and is_json and said.refuses("response_format"):
            return replace(self, beside=False)
        if is_json and self.way != "prompt" and said.names(*_SCHEMA_NAMES):
            return replace(self, way=WAYS[WAYS.index(self.way) + 1])
        if self.limit == "max_completion_tokens" and said.refuses("max_completion_tokens"):
            return replace(self, limit="max_tokens")
        if self.limit == "max_tokens" and said.refuses("max_tokens"):
            return replace(self, limit="max_completion_tokens")
        return None


class OpenAITransport:
    """The client for all models at one base URL."""

    def __init__(self, settings: ModelSettings) -> None:
        """Only the base URL and the key count of these settings."""
        key = Key(settings)
        client = openai.AsyncOpenAI(
            api_key=key.sent,
            base_url=settings.base_url,
            max_retries=0,
            # A redirect would take the prompt, and with some servers the key, to an address that nobody named.
            http_client=openai.DefaultAioHttpClient(follow_redirects=False),
        )
        errors = (openai.APIStatusError, openai.APIConnectionError)
        self._poster = Poster(client, key, errors, security={"bearer_auth": True})
        self._manners: dict[tuple[str, str, str, bytes], RequestForm] = {}

    async def send(self, settings: ModelSettings, request: ModelRequest) -> Reply:
        """Try a call once. Raises CallFault."""
        schema = b"" if request.schema is None else orjson.dumps(request.schema)
        about = (settings.model, settings.api, settings.structured, schema)
        first = self._manners.get(about) or first_form(settings)
        path = "/chat/completions" if settings.api == "chat" else "/responses"
        manner, tried = first, {first}
        while True:
            body = request_body_with(settings, request, manner)
            try:
                answered = await self._poster.post(path, body, settings.timeout)
                break
            except Rejection as fault:
                after = manner.after(fault, request.schema is not None)
                if after is None or after in tried:
                    raise unusable_setting(settings, body, fault, _SAMPLING) or fault from None
                tried.add(manner := after)
        if manner is not first:
            self._manners[about] = manner
        reply = read_reply(settings, answered.body, request, raw=answered.headers, keys=self._poster.secrets)
        return replace(reply, pause=pause_asked(answered.headers))

    async def send_native(self, settings: ModelSettings, request: NativeRequest) -> Reply:
        """One try of ``responses.compact`` or of embeddings; the response as ``request_body``. Raises CallFault."""
        # An OpenAI base URL ends with the version that the request's path begins with.
        path = "/" + request.path.removeprefix("/v1").lstrip("/")
        body = {"model": settings.model, **native_body(request)}
        try:
            answered = await self._poster.post(path, body, settings.timeout)
        except Rejection as fault:
            raise missing_endpoint(settings, request, fault) or fault from None
        found = answered.body
        is_embedded = request.path == EMBEDDINGS
        use = embeddings_use(found) if is_embedded else responses_use(found)
        if found.get("error"):
            raise body_fault(found, answered.headers, self._poster.secrets, use)
        if is_embedded:
            _check_vectors(found, len(request.body["input"]), use)
        elif not isinstance(found.get("output"), list):
            raise CallFault("malformed", "the compaction's response has no list 'output'", use=use)
        model = check_model(settings, found.get("model"), use)
        return Reply("", model, use, found, pause_asked(answered.headers))

    async def close(self) -> None:
        """Give the connections back."""
        await self._poster.close()


def first_form(settings: ModelSettings) -> RequestForm:
    """The form of the first request, before the server has rejected any form."""
    name = settings.model.rsplit("/", 1)[-1]
    if settings.api == "responses":
        return RequestForm(settings.structured, "max_output_tokens", not settings.is_official)
    # Compatible servers that do not know the newer name may pass it by, and write without a limit.
    newer = settings.is_official or name.startswith(REASONING)
    return RequestForm(settings.structured, "max_completion_tokens" if newer else "max_tokens", False)


def request_body(settings: ModelSettings, request: ModelRequest) -> dict[str, Any]:
    """The request that is sent first, before anything is known of the server; for batches, where nothing is told."""
    return request_body_with(settings, request, first_form(settings))


def request_body_with(settings: ModelSettings, request: ModelRequest, manner: RequestForm) -> dict[str, Any]:
    """The request in a form; nothing in it that was not asked for."""
    body = (_chat_body if settings.api == "chat" else _responses_body)(settings, request, manner)
    # OpenAI sends requests with one key to one machine, which has their beginning; other servers may not know the name.
    if settings.is_official and (shared := beginnings_of(settings, request)):
        body["prompt_cache_key"] = shared[-1].name[:CACHE_KEY_CHARS]
    return body


def _chat_body(settings: ModelSettings, request: ModelRequest, manner: RequestForm) -> dict[str, Any]:
    body: dict[str, Any] = {"model": settings.model, "messages": _messages(settings, request, manner)}
    body |= {manner.limit: token_limit(settings, request), **_sampling(settings)}
    if settings.reasoning_effort is not None:
        body["reasoning_effort"] = settings.reasoning_effort
    if request.schema is not None and manner.way != "prompt":
        body["response_format"] = _format(request.schema, manner)
    return body


def _responses_body(settings: ModelSettings, request: ModelRequest, manner: RequestForm) -> dict[str, Any]:
    body: dict[str, Any] = {"model": settings.model, "input": _messages(settings, request, manner)}
    body |= {manner.limit: token_limit(settings, request), **_sampling(settings)}
    if settings.reasoning_effort is not None:
        body["reasoning"] = {"effort": settings.reasoning_effort}
    if request.schema is not None and manner.way != "prompt":
        form = _format(request.schema, manner)
        body["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
        if manner.beside:
            body["response_format"] = form
    return body


def _messages(settings: ModelSettings, request: ModelRequest, manner: RequestForm) -> list[dict[str, Any]]:
    """The messages in the interface's form; one that only OpenAI can read goes as the item that OpenAI made."""
    if settings.api == "chat" and any(message.is_unreadable for message in request.messages):
        raise CallFault(
            "rejected",
            f'a compaction item can be sent to responses only: set api = "responses" in [models."{settings.spec}"]',
        )
    said = sent_turns(settings, request.messages)
    messages = chat_messages(said) if settings.api == "chat" else responses_items(said)
    if request.schema is not None and manner.way != "json_schema":
        return with_schema(messages, request.schema)
    return messages


def _sampling(settings: ModelSettings) -> dict[str, Any]:
    given = {"temperature": settings.temperature, "top_p": settings.top_p, "seed": settings.seed}
    return {name: value for name, value in given.items() if value is not None}


def _format(schema: Mapping[str, Any], manner: RequestForm) -> dict[str, Any]:
    if manner.way == "json_object":
        return {"type": "json_object"}
    named: dict[str, Any] = {"name": "answer", "schema": schema}
    if is_strict(schema):
        named["strict"] = True
    return {"type": "json_schema", "json_schema": named}


def unusable_setting(
    settings: ModelSettings, body: Mapping[str, Any], fault: Rejection, names: tuple[str, ...]
) -> CallFault | None:
    """The fault of a setting that the model does not take: no call with these settings can succeed."""
    sent = [name for name in names if name.partition(".")[0] in body]
    if fault.kind != "rejected" or (name := fault.said.refuses(*sent)) is None:
        return None
    setting = "reasoning_effort" if name.startswith(("reasoning", "effort", "output_config")) else name
    mend = "set temperature = false" if setting == "temperature" else f"leave {setting} out"
    return CallFault("unusable", f'{fault}; {mend} in [models."{settings.spec}"]')


def missing_endpoint(settings: ModelSettings, request: NativeRequest, fault: Rejection) -> CallFault | None:
    """The fault of a server without compaction: other calls to the model may still succeed."""
    no_model = settings.model in fault.said.message or "model" in fault.said.code
    if fault.said.status not in (404, 405, 501) or no_model:
        return None
    return CallFault("rejected", f"{settings.base_url} has no {request.path} ({fault})")


def read_reply(
    settings: ModelSettings,
    body: Mapping[str, Any],
    request: ModelRequest | None = None,
    *,
    raw: Raw = (),
    keys: Sequence[str] = (),
) -> Reply:
    """The answer in a response of status 200, its headers ``raw``. Raises CallFault."""
    return (_read_chat if settings.api == "chat" else _read_responses)(settings, body, request, raw, keys)


def status_fault(status: int, body: Any) -> CallFault:
    """The fault of a request that failed on its own in a batch."""
    return fault_of(error_reply(status, body), ())


def _read_chat(
    settings: ModelSettings, body: Mapping[str, Any], request: ModelRequest | None, raw: Raw, keys: Sequence[str]
) -> Reply:
    usage = object_at(body, "usage")
    use = TokenUse(
        token_count(usage.get("prompt_tokens")),
        token_count(usage.get("completion_tokens")),
        token_count(object_at(usage, "prompt_tokens_details").get("cached_tokens")),
        token_count(object_at(usage, "prompt_tokens_details").get("cache_write_tokens")),
    )
    choices = object_list(body.get("choices"))
    if error := body.get("error") or (choices[0].get("error") if choices else None):
        raise body_fault({"error": error}, raw, keys, use)
    if not choices or not isinstance(choices[0].get("message"), Mapping):
        raise CallFault("malformed", "the response has no choices[0].message", use=use)
    model = check_model(settings, body.get("model"), use)
    message, reason = choices[0]["message"], choices[0].get("finish_reason")
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        raise CallFault("malformed", "choices[0].message.content is neither a text nor a list", use=use)
    if message.get("refusal") or reason in ("content_filter", "refusal", "safety"):
        raise refusal_fault(str(message.get("refusal") or f"finish_reason {reason}"), use)
    if reason in ("length", "max_tokens", "model_length"):
        reasoning = token_count(object_at(usage, "completion_tokens_details").get("reasoning_tokens"))
        raise truncation_fault(settings, request, use, reasoning)
    if reason in ("tool_calls", "function_call"):
        raise CallFault("rejected", "the model called a tool, although it was given none", use=use)
    if reason in ("error", "insufficient_system_resource"):
        raise CallFault("server", f"the server stopped in the middle (finish_reason {reason})", use=use)
    text = content if isinstance(content, str) else join_texts(object_list(content), "text")
    return Reply(answer_text(text, request, use), model, use)


def _check_vectors(body: Mapping[str, Any], n_texts: int, use: TokenUse) -> None:
    """Raises CallFault for an answer without a vector for each text."""
    rows = object_list(body.get("data"))
    numbers = sorted(row["index"] for row in rows if isinstance(row.get("index"), int))
    if numbers != list(range(n_texts)) or not all(isinstance(row.get("embedding"), list) for row in rows):
        raise CallFault("malformed", f"the response has no list 'data' of {n_texts} embeddings", use=use)


def embeddings_use(body: Mapping[str, Any]) -> TokenUse:
    """Tokens of a response of ``/embeddings``, which writes none."""
    return TokenUse(token_count(object_at(body, "usage").get("prompt_tokens")), 0)


def responses_use(body: Mapping[str, Any]) -> TokenUse:
    """Tokens of a response of ``/responses`` or ``/responses/compact``."""
    usage = object_at(body, "usage")
    return TokenUse(
        token_count(usage.get("input_tokens")),
        token_count(usage.get("output_tokens")),
        token_count(object_at(usage, "input_tokens_details").get("cached_tokens")),
        token_count(object_at(usage, "input_tokens_details").get("cache_write_tokens")),
    )


def _read_responses(
    settings: ModelSettings, body: Mapping[str, Any], request: ModelRequest | None, raw: Raw, keys: Sequence[str]
) -> Reply:
    use = responses_use(body)
    if body.get("error") or body.get("status") == "failed":
        raise body_fault(body if body.get("error") else {"message": "status failed"}, raw, keys, use)
    if not isinstance(body.get("output"), list):
        raise CallFault("malformed", "the response has no list 'output'", use=use)
    model = check_model(settings, body.get("model"), use)
    items = object_list(body["output"])
    parts = [p for item in items if item.get("type") == "message" for p in object_list(item.get("content"))]
    refusals = [p for p in parts if p.get("type") == "refusal"]
    why = object_at(body, "incomplete_details").get("reason")
    if refusals or why == "content_filter":
        raise refusal_fault(str(refusals[0].get("refusal") if refusals else why), use)
    if body.get("status") == "incomplete" or why:
        if why and why not in ("max_output_tokens", "max_tokens", "length"):
            raise CallFault("server", f"the response is incomplete: {str(why)[:100]}", use=use)
        reasoning = token_count(object_at(object_at(body, "usage"), "output_tokens_details").get("reasoning_tokens"))
        raise truncation_fault(settings, request, use, reasoning)
    # llama.cpp calls an answer complete that it cut; only the count of its tokens tells.
    limit = None if request is None else token_limit(settings, request)
    if limit is not None and not settings.is_official and use.output_tokens >= limit:
        raise truncation_fault(settings, request, use, 0)
    if any(str(item.get("type")).endswith("_call") for item in items) and not parts:
        raise CallFault("rejected", "the model called a tool, although it was given none", use=use)
    return Reply(answer_text(join_texts(parts, "output_text"), request, use), model, use)
