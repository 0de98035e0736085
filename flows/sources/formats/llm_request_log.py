"""Logs of requests to a chat-completions API and of the responses, on lines of their own or together.

Each request repeats the conversation so far: its longest form is the session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import BAD_CONTENT, Source, SourceFormat
from flows.sources.reading.exchanges import exchange_of, is_exchange
from flows.sources.reading.inputs import Head, MalformedError
from flows.sources.reading.prompt_log import PromptLog
from flows.sources.reading.session import BOOKKEEPING

NAME = "llm_request_log"


def detect(head: Head) -> bool:
    """Whether records hold a request in an envelope, or a response."""
    records = head.document if isinstance(head.document, list) else head.records
    return any(map(is_exchange, records[:25]))


def read(source: Source) -> Iterator[Transcript]:
    """The sessions, each when it is finished."""
    log = PromptLog(source, NAME)
    if isinstance(source.document, list):
        for index, value in enumerate(source.document):
            yield from _take(log, source, 1, f"{source.name}#{index}", value)
    else:
        for where, record in source.records():
            ref = source.name if source.document is not None else source.ref(where)
            yield from _take(log, source, where, ref, record)
    yield from log.close()


def _take(log: PromptLog, source: Source, where: int, ref: str, record: Any) -> Iterator[Transcript]:
    try:
        if not isinstance(record, dict):
            raise MalformedError("expected a request or a response")
        exchange = exchange_of(record)
    except BAD_CONTENT as error:
        source.quarantine(where, str(error), record)
        return
    if exchange is None:
        source.account.leave_out(BOOKKEEPING)
    else:
        yield from log.take(exchange, ref, where)


FORMAT = SourceFormat(
    NAME,
    "log of requests to a chat-completions API and of the responses",
    "requests and responses (`type` of request or response, `request_params`, `response`) with messages in them",
    detect,
    read,
    order=220,
)
