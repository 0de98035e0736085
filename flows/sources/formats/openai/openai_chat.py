"""Plain OpenAI chat-completions messages: a list, an object with ``messages``, or JSON lines of either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.chat import add_all, add_message, has_messages, is_message, knows
from flows.sources.reading.kinds import says_kind
from flows.sources.reading.session import SessionDraft
from flows.sources.reading.text_calls import convert_text_calls
from flows.sources.reading.usage import from_openai
from flows.sources.reading.values import nested, objects_in, text_or_none

NAME = "openai_chat"
_ID_KEYS = ("session_id", "conversation_id", "thread_id", "id")
_TIME_KEYS = ("started_at", "created_at", "created", "timestamp")


def detect(head: Head) -> bool:
    """Whether the file holds chat messages."""
    return any(is_message(value) or has_messages(value) for value in head.values(5))


def read(source: Source) -> Iterator[Transcript]:
    """One session per list of messages; messages on lines of their own are one session together."""
    document = source.document
    if isinstance(document, list):
        if not any(has_messages(value) for value in document[:5]):
            yield from _build(source, SessionDraft(source), document, source.name, None, {})
            return
        for index, value in enumerate(document):
            yield from _object(source, value, f"{source.name}#{index}", None, f"item {index}: ")
        return
    together = SessionDraft(source)
    for where, record in source.records():
        if "messages" in record:
            yield from _object(source, record, source.ref(where) if document is None else source.name, where)
        else:
            source.guard(lambda at, message: _take(source, together, at, message), where, record)
    convert_text_calls(together)
    yield from together.build(NAME, None)


def _take(source: Source, session: SessionDraft, where: int, record: Record) -> None:
    if "role" not in record and says_kind(record):
        session.leave_unknown(record)
    else:
        add_message(session, record, source.ref(where))


def _object(source: Source, value: Any, ref: str, line: int | None, place: str = "") -> Iterator[Transcript]:
    messages = nested(value, "messages")
    if not isinstance(messages, list):
        source.quarantine(line, f"{place}expected an object with a list under `messages`", value)
        return
    session = SessionDraft(source)
    prompt = text_or_none(value.get("system"))
    if prompt and not any(message.get("role") == "system" for message in objects_in(messages)):
        session.say("system", prompt, ref)
    yield from _build(source, session, messages, ref, line, value)


def _build(
    source: Source, session: SessionDraft, messages: list[Any], ref: str, line: int | None, about: Record
) -> Iterator[Transcript]:
    add_all(source, session, messages, ref, line)
    convert_text_calls(session, about.get("tools"))
    session.model = text_or_none(about.get("model"))
    session.title = text_or_none(about.get("title"))
    session.cwd = text_or_none(about.get("cwd"))
    session.started_at = next(filter(None, (iso_time(about.get(key)) for key in _TIME_KEYS)), None)
    session.use(None, from_openai(about.get("usage")))
    native = next(
        (str(about[key]) for key in _ID_KEYS if isinstance(about.get(key), (str, int)) and about[key] != ""), None
    )
    yield from session.build(NAME, native)
    if not session.drafts and not messages:
        source.quarantine(line, "a list of no messages", about)


FORMAT = SourceFormat(
    NAME,
    "OpenAI chat-completions messages: a JSON list, an object with `messages`, or JSON lines of either",
    "messages with a role of system, developer, user, assistant or tool, and content or tool_calls",
    detect,
    read,
    order=260,
    version=3,
    knows=knows,
    of_list=lambda messages: {"messages": messages},
)
