"""Output of Gemini CLI's ``-o stream-json``: prompts, pieces of answers, calls and results, an event a line."""

from __future__ import annotations

from collections.abc import Iterator

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.kinds import kind_of_unknown
from flows.sources.reading.session import BOOKKEEPING, UNKNOWN, MessageDraft, SessionDraft
from flows.sources.reading.streams import read_stream
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, nested, text_or_none

NAME = "gemini_stream"


def detect(head: Head) -> bool:
    """Whether a record is Gemini's first event, a call or a result."""
    return any(map(_is_own, head.records))


def _is_own(record: Record) -> bool:
    kind = record.get("type")
    if kind == "init":
        return "session_id" in record and "model" in record and "subtype" not in record
    if kind == "tool_use":
        return "tool_name" in record and "tool_id" in record
    return kind == "tool_result" and "tool_id" in record and "status" in record


def read(source: Source) -> Iterator[Transcript]:
    """The sessions of the file."""
    return read_stream(source, NAME, _session_in, _Run)


def _session_in(event: Record) -> str | None:
    return text_or_none(event.get("session_id")) if event.get("type") == "init" else None


class _Run:
    """The events of a session; a response ends with the next result or prompt."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.response: MessageDraft | None = None
        self.in_text = False
        """Whether the event before was a piece of the same text."""

    def take(self, where: int, event: Record) -> None:
        """Takes the next event."""
        session, kind = self.session, event.get("type")
        ref, time = self.source.ref(where), iso_time(event.get("timestamp"))
        was_in_text, self.in_text = self.in_text, False
        if kind == "message":
            self._message(event, ref, time, was_in_text)
        elif kind == "tool_use":
            draft = self._respond(ref, time)
            session.call(draft, event.get("tool_id"), event.get("tool_name"), event.get("parameters"))
        elif kind == "tool_result":
            self.response = None
            failed = event.get("status") == "error"
            error = text_of(nested(event, "error", "message"))
            text = text_of(event.get("output")) or error
            session.result(event.get("tool_id"), text, ref, time, is_error=failed or bool(error))
        elif kind == "init":
            self.response = None
            session.model = session.model or text_or_none(event.get("model"))
            session.started_at = session.started_at or time
            session.leave_out(BOOKKEEPING)
        elif kind == "result":
            stats = as_dict(event.get("stats"))
            session.use(None, make_usage(stats.get("input_tokens"), stats.get("output_tokens"), stats.get("cached")))
            session.leave_out(BOOKKEEPING)
        elif not isinstance(kind, str):
            raise MalformedError("an event without a type")
        else:
            session.leave_out(BOOKKEEPING if kind == "error" else UNKNOWN, kind_of_unknown(event))

    def _respond(self, ref: str, time: str | None) -> MessageDraft:
        if self.response is None:
            self.response = self.session.respond(None, ref, time)
        return self.response

    def _message(self, event: Record, ref: str, time: str | None, goes_on: bool) -> None:
        role, text = event.get("role"), text_of(event.get("content"))
        if role == "user":
            self.response = None
            self.session.say("user", text, ref, time, typed=True)
            return
        if role != "assistant":
            raise MalformedError(f"role is {role!r}, expected user or assistant")
        draft = self._respond(ref, time)
        self.in_text = event.get("delta") is True
        if goes_on and self.in_text and draft.texts:
            draft.texts[-1] += text
        elif text:
            draft.texts.append(text)


FORMAT = SourceFormat(
    NAME,
    "What Gemini CLI prints with `-o stream-json` (one event a line)",
    "an event `init` with `session_id` and `model`, `tool_use` and `tool_result` with a `tool_id`",
    detect,
    read,
    order=44,
)
