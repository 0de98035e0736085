"""opencode sessions: exports, lists of messages, events of ``opencode run --format json``, the files before 1.2.

A call and its result are one part. opencode takes things out of its context in two ways, and both are recorded: pruning
marks old results (``state.time.compacted``), a compaction asks for a summary (a part of type ``compaction`` in a user
message, then an assistant message with ``summary: true``). What the model then gets is opencode's ``toModelMessages``
and ``filterCompacted`` (packages/opencode/src/session/message-v2.ts).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.opencode._parts import known_id, usage_of
from flows.sources.formats.opencode._reading import NAME, Placed, Reading
from flows.sources.formats.opencode._storage import MEMBER, is_stored, read_folder
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, MessageDraft
from flows.sources.reading.values import as_dict, nested

_EVENTS = {"step_start", "step_finish", "text", "reasoning", "tool_use", "user", "error"}


def detect(head: Head) -> bool:
    """Whether there are messages made of ``info`` and ``parts``, or events with a part."""
    if isinstance(head.document, list):
        return any(map(_is_message, head.values(5)))
    if any(map(is_stored, head.records)):
        return True
    return any(_is_export(record) or _is_message(record) or _is_event(record) for record in head.records)


def _is_message(value: Any) -> bool:
    return isinstance(nested(value, "parts"), list) and nested(value, "info", "role") in ("user", "assistant")


def _is_export(value: Record) -> bool:
    info, messages = value.get("info"), value.get("messages")
    if not isinstance(info, dict) or not isinstance(messages, list):
        return False
    return any(map(_is_message, messages[:5])) or (not messages and str(info.get("id")).startswith("ses_"))


def _is_event(value: Record) -> bool:
    return value.get("type") in _EVENTS and "sessionID" in value and ("part" in value or value["type"] == "error")


def read(source: Source) -> Iterator[Transcript]:
    """The sessions: one for each export, and one for messages or events on lines or in files of their own."""
    if source.members:
        yield from read_folder(source)
        return
    if isinstance(source.document, list):
        yield from Reading(source, {}).read(_number_messages(source.document, source.name, 1))
        return
    events, lines = _Events(source), list[Placed]()
    for where, record in source.records():
        if isinstance(record.get("messages"), list):
            ref = source.name if source.document is not None else source.ref(where)
            placed = _number_messages(record["messages"], ref, where)
            yield from Reading(source, dict(as_dict(record.get("info")))).read(placed)
        elif "info" in record:
            lines.append((where, record, source.ref(where)))
        else:
            source.guard(events.event, where, record)
    if lines:
        yield from Reading(source, {}).read(lines)
    events.end()
    yield from events.built()


def _number_messages(messages: list[Any], ref: str, line: int) -> list[Placed]:
    return [(line, message, f"{ref}#{index}") for index, message in enumerate(messages)]


class _Events(Reading):
    """The events of a run: the parts one by one as they are finished, without the messages that hold them."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, {})
        self.draft: MessageDraft | None = None
        self.pending: list[tuple[Record, str, str]] = []

    def event(self, where: int, event: Record) -> None:
        kind, held = event.get("type"), event.get("part")
        part = as_dict(held)
        self.info.setdefault("sessionID", event.get("sessionID"))
        ref, time = self.source.ref(where), iso_time(event.get("timestamp"))
        own = known_id(part.get("id"))
        if own is not None and own in self.seen:
            self.session.leave_out(DUPLICATE)
            return
        if kind in ("text", "reasoning", "tool_use", "user") and not part:
            raise MalformedError(f"part is {kind_of(held)}, expected an object")
        if own is not None:
            self.seen.add(own)
        if kind == "user":
            self.end()
            self.session.say("user", text_of(part.get("text")), ref, time, typed=True)
        elif kind in ("text", "reasoning", "tool_use"):
            self._part(kind, part, ref, time)
        elif kind == "step_finish":
            usage, self.context = usage_of(part.get("tokens"), part.get("cost"), self.context)
            self.session.use(None, usage)
            self.session.leave_out(BOOKKEEPING)
            self.end()
        elif not isinstance(kind, str):
            raise MalformedError("an event without a type")
        else:
            if kind == "step_start":
                self.end()
            self.session.leave_out(BOOKKEEPING)

    def _part(self, kind: str, part: Record, ref: str, time: str | None) -> None:
        if self.draft is None:
            self.draft = self.session.respond(None, ref, time)
        if kind == "text":
            self.draft.add_text(text_of(part.get("text")))
        elif kind == "reasoning":
            self.draft.add_reasoning(part.get("text"))
        else:
            self.pending.append((part, self.call(self.draft, part), ref))

    def end(self) -> None:
        """Ends the response and adds its results after it."""
        pending, self.pending, self.draft = self.pending, [], None
        for part, call_id, ref in pending:
            self.result(part, call_id, ref)


FORMAT = SourceFormat(
    NAME,
    "opencode session: `opencode export`, a list of its messages, the events of `opencode run --format json`, or the "
    "folders `storage` before version 1.2",
    "messages made of `info` and `parts`; events with a `sessionID` and a `part`; folders `ses_…` of `msg_….json`",
    detect,
    read,
    order=130,
    folder_member=MEMBER,
    of_list=lambda messages: {"info": {}, "messages": messages},
)
