"""Logs of requests to a chat-completions API and of the responses, on lines of their own or together.

Each request repeats the conversation so far: its longest form is the session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, MalformedError, Source, SourceFormat
from flows.sources.reading.exchanges import LoggedExchange, exchange_of, is_exchange
from flows.sources.reading.prompt_log import conversations

NAME = "llm_request_log"


def detect(head: Head) -> bool:
    """Whether records hold a request in an envelope, or a response."""
    return any(map(is_exchange, head.values()[:25]))


def read(source: Source) -> Iterator[Transcript]:
    """The sessions, each when it is finished."""
    yield from conversations(source, NAME, _exchange)


def _exchange(record: Any) -> LoggedExchange | None:
    if not isinstance(record, dict):
        raise MalformedError("expected a request or a response")
    return exchange_of(record)


FORMAT = SourceFormat(
    NAME,
    "log of requests to a chat-completions API and of the responses",
    "requests and responses (`type` of request or response, `request_params`, `response`) with messages in them",
    detect,
    read,
    order=220,
    version=2,
)
