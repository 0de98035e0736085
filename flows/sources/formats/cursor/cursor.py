"""Chats of Cursor: in its database (`state.vscdb`), and the transcripts of its agents as JSON lines.

The database has a row for each chat (``composerData:<id>``) and one for each bubble of it (``bubbleId:<id>:<bubble>``).
No other row and no other table is read: some have credentials in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from compaction.transcript import Transcript
from flows.sources.formats.cursor._reading import EMPTY_MESSAGE, Bubble, Reading, order_of, updated_at
from flows.sources.reading.base import BAD_CONTENT, Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import block_text, text_of
from flows.sources.reading.database import Database
from flows.sources.reading.session import BOOKKEEPING, SessionDraft
from flows.sources.reading.stored import StoredSession, decode_value, read_each, shown
from flows.sources.reading.values import as_list, need_object, nested, objects_in, text_or_none

NAME = "cursor"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CHAT, _BUBBLE = "composerData:", "bubbleId:"
_LIST = "select key, cast(value as blob) from cursorDiskKV where key >= ? and key < ? order by key"
_CHAT_VALUE = "select cast(value as blob) from cursorDiskKV where key = ?"
_LAST = "\U0010ffff"


def detect(head: Head) -> bool:
    """Whether the file has Cursor's table, or a line of an agent's transcript."""
    return "cursorDiskKV" in head.tables or any(map(_is_line, head.records))


def _is_line(record: Record) -> bool:
    message = record.get("message")
    return (
        record.get("role") in ("user", "assistant")
        and isinstance(message, dict)
        and "content" in message
        and not {"role", "type"} & message.keys()
        and "type" not in record
    )


def read(source: Source) -> Iterator[Transcript]:
    """The chats of the database one by one, or the one of the file."""
    if source.database is None:
        return iter(_read_lines(source))
    chats = _Chats()
    return read_each(source, NAME, chats.find, chats.read)


class _Chats:
    """The chats of a database."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        """Chat of a sub-agent → the chat that started it."""

    def find(self, database: Database) -> Iterator[StoredSession]:
        """Yield each chat, and note the parents of sub-agents."""
        found: list[StoredSession] = []
        with database.snapshot() as select:
            for key, value in select(_LIST, _CHAT, _CHAT + _LAST):
                own = str(key).removeprefix(_CHAT)
                try:
                    composer = decode_value(value)
                except BAD_CONTENT:  # it is set aside when it is read
                    composer = None
                parent = text_or_none(nested(composer, "subagentInfo", "parentComposerId"))
                if parent is not None:
                    self.parents[own] = parent
                for child in (
                    *as_list(nested(composer, "subagentComposerIds")),
                    *as_list(nested(composer, "subComposerIds")),
                ):
                    if isinstance(child, str) and child != own:
                        self.parents.setdefault(child, own)
                found.append(StoredSession(own, True, updated_at(composer)))
        for chat in found:
            yield StoredSession(chat.id, chat.id not in self.parents, chat.updated)

    def read(self, source: Source, database: Database, listed: StoredSession) -> list[Transcript]:
        """One chat along the order that it has now; bubbles beside it were taken back."""
        ref = f"{source.name}#{listed.id}"
        composer: Record = {}
        rows: dict[str, Record] = {}
        with database.snapshot() as select:
            for (value,) in select(_CHAT_VALUE, _CHAT + listed.id):
                with source.setting_aside(None, ref, shown(value)):
                    composer = need_object(decode_value(value), "a chat")
            prefix = f"{_BUBBLE}{listed.id}:"
            for key, value in select(_LIST, prefix, prefix + _LAST):
                with source.setting_aside(None, f"{source.name}#{key}", shown(value)):
                    rows[str(key).removeprefix(prefix)] = need_object(decode_value(value), "a bubble")
        reading = Reading(source, composer)
        bubbles: list[Bubble] = [(own, rows[own], f"{ref}:{own}") for own in order_of(composer) if own in rows]
        if not bubbles:  # older versions have the bubbles in the chat itself
            inside = objects_in(composer.get("conversation"))
            bubbles = [(str(one.get("bubbleId") or at), one, f"{ref}:{at}") for at, one in enumerate(inside)]
        for own in rows.keys() - {own for own, _, _ in bubbles}:
            reading.leave_out(rows[own])
        session = reading.read(bubbles)
        parent = self.parents.get(listed.id)
        return session.build(NAME, listed.id, parent_session_id=f"{NAME}-{parent}" if parent else None)


def _read_lines(source: Source) -> list[Transcript]:
    """The transcript of an agent. It has no times, and mostly no results."""
    session = SessionDraft(source)

    def take(where: int, record: Record) -> None:
        role, ref = record.get("role"), source.ref(where)
        if role is None and isinstance(record.get("type"), str):
            session.leave_out(BOOKKEEPING)  # `turn_ended`
            return
        if role not in ("user", "assistant", "system"):
            raise MalformedError(f"role is {role!r}, expected user or assistant")
        content = need_object(record.get("message"), "message").get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
        results = [block for block in objects_in(blocks) if block.get("type") == "tool_result"]
        for block in results:
            failed = block.get("is_error") is True
            session.result(block.get("tool_use_id"), text_of(block.get("content")), ref, is_error=failed)
        if len(results) == len(blocks) and results:
            return
        if role == "user" and not any(block_text(block) for block in blocks if nested(block, "type") != "tool_result"):
            session.leave_out(EMPTY_MESSAGE, "user")
            return
        draft = session.say(role, "", ref, typed=role == "user")
        session.model = session.model or text_or_none(nested(record, "message", "model"))
        for block in blocks:
            kind = nested(block, "type")
            if kind == "tool_use" and role == "assistant":
                session.call(draft, block.get("id"), block.get("name"), block.get("input"))
            elif kind == "thinking":
                draft.add_reasoning(block.get("thinking"))
            elif kind != "tool_result":
                draft.add_text(block_text(block) or "")

    source.each(take)
    path = PurePath(source.input.path)
    own = _UUID.fullmatch(source.name.lower().partition(".")[0])
    parent = path.parent.parent.name if path.parent.name == "subagents" else ""
    return session.build(NAME, own[0] if own else None, parent_session_id=f"{NAME}-{parent}" if parent else None)


FORMAT = SourceFormat(
    NAME,
    "Cursor's database (`state.vscdb`), read while Cursor has it open, and the transcripts of its agents (JSON lines)",
    "a SQLite file with the table `cursorDiskKV`; lines of `role` and a `message` that has `content` and no role",
    detect,
    read,
    order=55,
    shared_suffixes=(".vscdb",),
)
