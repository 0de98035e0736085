"""What logs of requests to a model's API share: the envelopes round request and response, and prompts that grow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from compaction.transcript import Transcript
from flows.sources.reading.account import SHORTER_COPY
from flows.sources.reading.base import Record, Source

_REQUEST = ("request", "req", "request_body", "params", "proxy_server_request")
_RESPONSE = ("response", "resp", "response_body", "result")
_INNER = ("body", "json", "message", "data")
_ID_KEYS = ("session_id", "sessionId", "conversation_id", "thread_id")


def request_and_response(record: Record, request_key: str, response_key: str) -> tuple[Record, Record | None]:
    """The request and the response of a log record, whatever envelope a proxy put round them.

    Args:
        record: The record: request and response under names of their own, or the fields of both in one object.
        request_key: A field that every request has.
        response_key: A field that every response has.
    """
    request = _inner(record, (*_REQUEST, "body"), request_key)
    response = _inner(record, _RESPONSE, response_key)
    if response is None and isinstance(record.get(response_key), list):
        response = record
    return request if request is not None else record, response


def _inner(record: Record, names: tuple[str, ...], key: str) -> Record | None:
    for name in names:
        value = _decode_body(record.get(name))
        for _ in range(3):
            if not isinstance(value, dict) or key in value:
                break
            value = next((held for inner in _INNER if isinstance(held := _decode_body(value.get(inner)), dict)), None)
        if isinstance(value, dict) and key in value:
            return value
    return None


def _decode_body(value: Any) -> Any:
    """The value of a body that a proxy logged as text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
    return value


def native_id(*holders: Record | None) -> str | None:
    """The session's id, when one of the objects names it."""
    for holder in holders:
        for key in _ID_KEYS:
            value = holder.get(key) if holder is not None else None
            if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
                return str(value)
    return None


def drop_openings(source: Source, transcripts: Iterable[Transcript]) -> Iterator[Transcript]:
    """The sessions without the prompts that the next session opens with.

    A log of requests repeats the conversation so far. Sessions with an answer in them keep their name while they grow;
    a first request has none yet.
    """
    held: Transcript | None = None
    for transcript in transcripts:
        if held is not None:
            if _opens(held, transcript):
                source.account.drop(SHORTER_COPY, held.messages)
            else:
                yield held
        held = transcript
    if held is not None:
        yield held


def _opens(short: Transcript, long: Transcript) -> bool:
    return (
        short.session_id != long.session_id
        and len(short) < len(long)
        and all(
            one.role in ("system", "user") and (one.role, one.text) == (other.role, other.text)
            for one, other in zip(short.messages, long.messages, strict=False)
        )
    )
