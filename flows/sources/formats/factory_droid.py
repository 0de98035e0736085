"""Factory's Droid: a session in JSON lines, messages of Anthropic's API with an envelope.

What a session used stands beside it in ``<session>.settings.json``. A session that was compacted may go on in a file of
its own, which begins with the compaction.
"""

from __future__ import annotations

from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.account import Kind
from flows.sources.reading.anthropic_blocks import Turns
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.kinds import kind_of_unknown
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, INHERITED, UNKNOWN, MessageDraft, SessionDraft
from flows.sources.reading.siblings import load_sibling, sibling_path
from flows.sources.reading.usage import from_parts
from flows.sources.reading.values import as_dict, first_text, int_or_none, need_object, nested, objects_in, text_or_none

NAME = "factory_droid"
_BESIDE = {"todo_state", "session_end", "session_settings", "agent_turn_outcome", "system", "completion"}
_ROLES: dict[Any, Kind] = {"user": "user", "assistant": "assistant"}
_REMINDER = "<system-reminder>"
_USAGE = ("inputTokens", "cacheReadTokens", "cacheCreationTokens", "outputTokens")


def detect(head: Head) -> bool:
    """Whether a record is Droid's header, or one of its compactions."""
    return any(map(_is_own, head.records))


def _is_own(record: Record) -> bool:
    if record.get("type") == "session_start":
        return "id" in record or isinstance(nested(record, "session", "id"), str)
    return record.get("type") == "compaction_state" and ("removedCount" in record or "summaryText" in record)


def read(source: Source) -> list[Transcript]:
    """The session of the file."""
    lines = list(source.records())
    reading = _Reading(source, {str(line.get("id")) for _, line in lines})
    for where, line in lines:
        source.guard(reading.take, where, line)
    return reading.build()


class _Reading:
    def __init__(self, source: Source, ids: set[str]) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.turns = Turns(self.session)
        self.ids = ids
        self.header: Record = {}
        self.given_to: str | None = None
        """The last message of the session that this one was forked from, where that stands beside it."""
        self.ends: dict[str, tuple[int, int]] = {}
        """For each message its number in the file, and how many messages of the session there were with it."""
        self.count = 0

    def take(self, where: int, line: Record) -> None:
        """Takes the next line."""
        kind = line.get("type")
        if kind == "session_start":
            self._begin(line)
        elif kind == "message":
            self._message(need_object(line.get("message"), "message"), line, self.source.ref(where))
        elif kind == "compaction_state":
            self._compact(line)
        elif not isinstance(kind, str):
            raise MalformedError("a line without a type")
        elif kind in _BESIDE:
            self.session.leave_out(BOOKKEEPING)
        else:
            self.session.leave_out(UNKNOWN, kind_of_unknown(line))

    def _begin(self, line: Record) -> None:
        if not self.header:
            self.header = as_dict(line.get("session")) | line
            forked = text_or_none(line.get("forkedAtMessageId"))
            beside = sibling_path(self.source, f"{line.get('parent')}.jsonl") if forked in self.ids else None
            self.given_to = forked if beside is not None else None
        self.session.leave_out(BOOKKEEPING)

    def _message(self, message: Record, line: Record, ref: str) -> None:
        session, own, role = self.session, text_or_none(line.get("id")), message.get("role")
        if role not in ("user", "assistant"):
            raise MalformedError(f"role is {role!r}, expected user or assistant")
        if own in self.ends:
            self._leave_out(DUPLICATE, message)
            return
        self.count += 1
        if self.given_to is not None:
            self._leave_out(INHERITED, message)
            self.given_to = None if own == self.given_to else self.given_to
        elif message.get("visibility") == "user_only":
            self._leave_out("shown to the person only", message)
        elif message.get("hookEventName") is not None and not message.get("content"):
            session.leave_out(BOOKKEEPING)
        else:
            before = len(session.drafts)
            self.turns.take(message, ref, time=iso_time(line.get("timestamp")))
            session.model = session.model or text_or_none(message.get("modelId"))
            self._name_author(message, session.drafts[before:])
        if own is not None:
            self.ends[own] = self.count, len(session.drafts)

    def _name_author(self, message: Record, drafts: list[MessageDraft]) -> None:
        """Notes which prompts a machine wrote in the person's name."""
        by_machine = message.get("visibility") == "llm_only" or message.get("userMessageSource") == "automation"
        for draft in drafts:
            reminds = bool(draft.texts) and draft.texts[0].startswith(_REMINDER) and not draft.typed
            if draft.role == "user" and (by_machine or reminds or message.get("hookEventName") is not None):
                draft.author, draft.typed = "harness", False

    def _leave_out(self, reason: str, message: Record) -> None:
        blocks = objects_in(message.get("content"))
        results = sum(block.get("type") == "tool_result" for block in blocks)
        self.session.leave_out(reason, "tool", results)
        if len(blocks) != results or not results:
            self.session.leave_out(reason, _ROLES.get(message.get("role")))
        self.session.leave_out(reason, "tool_call", sum(block.get("type") == "tool_use" for block in blocks))

    def _compact(self, line: Record) -> None:
        """Notes a compaction: the messages up to the anchor are dropped."""
        session, anchor = self.session, line.get("anchorMessage")
        own = anchor if isinstance(anchor, str) else nested(anchor, "id")
        removed = int_or_none(line.get("removedCount"))
        dropped: list[MessageDraft] | None = None
        if not session.drafts:
            dropped = []
        elif isinstance(own, str) and own in self.ends:
            number, end = self.ends[own]
            # The anchor left too where the count says so.
            stays = removed is not None and removed < number
            dropped = session.drafts[: self._end_before(number) if stays else end]
        session.compacted(
            summary=first_text(line.get("summaryText"), nested(line, "summary", "body")),
            dropped=dropped,
            trigger=line.get("summaryKind"),
            summary_at=0,
        )

    def _end_before(self, number: int) -> int:
        return max((end for own, end in self.ends.values() if own < number), default=0)

    def build(self) -> list[Transcript]:
        """The one session."""
        session, header = self.session, self.header
        session.cwd = text_or_none(header.get("cwd"))
        session.title = first_text(header.get("sessionTitle"), header.get("title"))
        name = self.source.name.partition(".jsonl")[0]
        path = sibling_path(self.source, f"{name}.settings.json")
        settings = as_dict(load_sibling(path)) if path is not None else {}
        session.model = session.model or text_or_none(settings.get("model"))
        usage = as_dict(settings.get("tokenUsage"))
        session.use(None, from_parts(*(usage.get(figure) for figure in _USAGE)))
        caller = text_or_none(header.get("callingSessionId"))
        parent = caller or text_or_none(header.get("parent"))
        parent = f"{NAME}-{parent}" if parent else None
        return session.build(NAME, text_or_none(header.get("id")), parent_session_id=parent, is_fork=caller is None)


FORMAT = SourceFormat(
    NAME,
    "Factory Droid session (one JSON object a line)",
    "a `session_start` header with an id, or a `compaction_state`",
    detect,
    read,
    order=48,
    version=2,
)
