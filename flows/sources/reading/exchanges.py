"""Records of requests to a chat-completions API and of the answers, whatever envelope a logger put round them."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from compaction.transcript import Usage
from flows.sources.reading.base import BAD_CONTENT, MalformedError, Record, kind_of
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.chat import is_message
from flows.sources.reading.decode import dumps
from flows.sources.reading.requests import native_id, request_and_response
from flows.sources.reading.usage import from_openai, make_usage
from flows.sources.reading.values import as_dict, as_list, first_text, text_or_none

_REQUESTS = ("request_params", "kwargs", "request", "body", "input", "payload")
_TEXTS = ("response", "completion")
_TIMES = ("timestamp", "created_at", "time", "start_time", "startTime", "datetime")
_PAIRS = ("request_id", "call_id", "trace_id", "id")


@dataclass
class LoggedExchange:
    """A request, an answer, or both."""

    prompt: list[Any] | None = None
    answers: list[Any] = field(default_factory=list)
    """The assistant messages that came back: one for each choice."""
    behind: list[Any] = field(default_factory=list)
    """Results of tools that the provider ran itself for the first of them."""
    key: str | None = None
    """The provider's id of the response."""
    pair: str | None = None
    """What the logger names a request and its response by."""
    native_id: str | None = None
    model: str | None = None
    time: str | None = None
    tools: Any = None
    usage: Usage | None = None


def exchange_of(record: Record) -> LoggedExchange | None:
    """The exchange that a record tells of; None when it tells of none.

    Raises:
        MalformedError: It is a request without messages, or a response without an answer.
    """
    request, response = request_and_response(record, "messages", "choices")
    if "messages" not in request:
        request = next((one for key in _REQUESTS if "messages" in (one := as_dict(record.get(key)))), request)
    answer = as_dict(response if response is not None else record.get("response"))
    found = LoggedExchange(
        prompt=_prompt(request),
        answers=_answers(record, answer),
        key=text_or_none(answer.get("id")),
        pair=next((f"{key} {record[key]}" for key in _PAIRS if isinstance(record.get(key), (str, int))), None),
        native_id=native_id(record, request, as_dict(record.get("metadata"))),
        model=first_text(answer.get("model"), request.get("model"), record.get("model")),
        time=next(filter(None, (iso_time(record.get(key)) for key in _TIMES)), None) or iso_time(answer.get("created")),
        tools=request.get("tools") or as_dict(record.get("kwargs")).get("tools") or record.get("tools"),
        usage=_usage(record, answer),
    )
    if found.prompt is not None or found.answers:
        return found
    kind = record.get("type")
    if kind == "request" or "request_params" in record or "messages" in record:
        raise MalformedError("a request without a list of messages")
    if kind == "response" and not (answer.get("error") or record.get("error")):
        raise MalformedError("a response without an answer")
    return None


def is_exchange(record: Any) -> bool:
    """Whether a record is a request in an envelope, a response, or both; a bare list of messages is neither."""
    if not isinstance(record, dict) or "role" in record:
        return False
    try:
        found = exchange_of(record)
    except MalformedError:
        return False
    if found is None:
        return False
    wrapped = "messages" not in record or record.get("type") == "request"
    return bool(found.answers) or (wrapped and found.prompt is not None and any(map(_is_message, found.prompt[:5])))


def _prompt(request: Record) -> list[Any] | None:
    messages = request.get("messages")
    if isinstance(messages, list) and (not messages or any(map(_is_message, messages))):
        return messages
    return None


def _is_message(value: Any) -> bool:
    return isinstance(role_of(value), str) and is_message(value)


def _answers(record: Record, response: Record) -> list[Any]:
    found = [as_dict(choice).get("message") for choice in as_list(response.get("choices"))]
    if found:
        return [message for message in found if message is not None]
    messages = record.get("messages")
    is_open = isinstance(messages, list) and bool(messages) and role_of(messages[-1]) != "assistant"
    if is_open or record.get("type") == "response":
        text = next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), None)
        if text is not None:
            return [{"role": "assistant", "content": text}]
    if response.get("role") == "assistant" and isinstance(response.get("content"), str):
        return [response]
    return []


def _usage(record: Record, response: Record) -> Usage | None:
    given = as_dict(response.get("usage")) or as_dict(record.get("usage"))
    found = from_openai(given)
    cost = record.get("cost", record.get("response_cost"))
    if found is None:
        return make_usage(cost=cost)
    cached = given.get("cache_read_input_tokens") if not found.cached_tokens else found.cached_tokens
    return make_usage(
        found.input_tokens, found.output_tokens, cached, cost if found.cost_usd is None else found.cost_usd
    )


def digest(message: Any) -> bytes:
    """A hash of a message's content, the same for text and blocks and for arguments with and without spaces."""
    if not isinstance(message, dict):
        return _hash((dumps(message),))
    try:
        calls = message.get("tool_calls") or ()
        functions = [as_dict(call.get("function")) for call in calls]
        asked = [(str(one.get("name")), _canonical(one.get("arguments"))) for one in functions]
        return _hash((message.get("role"), text_of(message.get("content")), asked, message.get("tool_call_id")))
    except BAD_CONTENT:
        return _hash((dumps(message),))


def _hash(parts: Any) -> bytes:
    return blake2b(dumps(parts).encode("utf-8", "replace"), digest_size=12).digest()


def _canonical(arguments: Any) -> str:
    try:
        value = orjson.loads(arguments) if isinstance(arguments, str) else arguments
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, TypeError):
        return str(arguments)


def role_of(message: Any) -> Any:
    """The role of a message, or what a log has in its place."""
    return message.get("role") if isinstance(message, dict) else kind_of(message)


def message_text(message: Any) -> str:
    """The text of a message; nothing when it has none that can be read."""
    try:
        return text_of(message.get("content")) if isinstance(message, dict) else ""
    except BAD_CONTENT:
        return ""
