"""Threads of LangGraph in the SQLite file of its checkpointer.

What each step wrote to the channel ``messages`` is applied in the order of the checkpoints that lead to the latest one:
a message with a known id takes the place of that one, and messages may be removed. Nothing that Python has pickled is
opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import msgpack

from compaction.transcript import Transcript
from flows.sources.reading.base import BAD_CONTENT, Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.chat import add_message
from flows.sources.reading.database import Database, Select
from flows.sources.reading.parts import as_chat
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, REWOUND, MessageDraft, SessionDraft
from flows.sources.reading.stored import StoredSession, decode_value, read_each, shown
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, as_list, first_text, nested, objects_in, text_or_none

NAME = "langgraph"
SUB_GRAPH = "write of a sub-graph"
_LIST = "select thread_id, max(checkpoint_id) from checkpoints group by thread_id order by min(rowid)"
_CHAIN = """
select checkpoint_id, parent_checkpoint_id, cast(metadata as blob) from checkpoints
where thread_id = ? and checkpoint_ns = '' order by checkpoint_id
"""
_WRITES = """
select rowid, checkpoint_id, channel, type, cast(value as blob) from writes
where thread_id = ? and checkpoint_ns = '' and channel in ('messages', 'summary')
order by checkpoint_id, channel = 'messages', rowid
"""
_OTHERS = "select count(*) from writes where thread_id = ? and checkpoint_ns <> '' and channel = 'messages'"
_STATE = """
select type, cast(checkpoint as blob) from checkpoints
where thread_id = ? and checkpoint_ns = '' and checkpoint_id = ?
"""
_UNNAMED = "unnamed "
_REMOVE, _REMOVE_ALL = "remove", "__remove_all__"
_OBJECTS = (4, 5)
"""Extensions that hold a Pydantic object: its module, its class and its fields."""
_FIRST_TICK = 0x01B21DD213814000
"""The epoch in the ticks of a UUID's time, 100 ns since 1582."""


def detect(head: Head) -> bool:
    """Whether the file has the tables of the checkpointer."""
    return "checkpoint_ns" in head.tables.get("checkpoints", "") and "channel" in head.tables.get("writes", "")


def read(source: Source) -> Iterator[Transcript]:
    """The threads one by one."""
    return read_each(source, NAME, _list_sessions, _read_thread)


def _list_sessions(database: Database) -> Iterator[StoredSession]:
    with database.snapshot() as select:
        for own, latest in select(_LIST):
            yield StoredSession(str(own), True, _seconds(latest))


def _seconds(checkpoint: Any) -> float:
    """The time of a checkpoint, read from its id, a UUID of version 6; 0 for any other id."""
    digits = str(checkpoint).replace("-", "")
    try:
        ticks = int(digits[:12], 16) << 12 | int(digits[13:16], 16)
    except ValueError:
        return 0
    return max(ticks - _FIRST_TICK, 0) / 10**7 if digits[12] == "6" else 0


def _read_thread(source: Source, database: Database, listed: StoredSession) -> list[Transcript]:
    thread = _Thread(SessionDraft(source))
    with database.snapshot() as select:
        rows = list(select(_CHAIN, listed.id))
        following = dict(pairwise(own for own, *_ in rows))
        applied = _find_applied(rows)
        for number, checkpoint, channel, kind, data in list(select(_WRITES, listed.id)):
            ref = f"{source.name}#{number}"
            time = iso_time(_seconds(following.get(checkpoint, checkpoint)) or None)
            with source.setting_aside(None, ref, shown(data)):
                value = _value(kind, data)
                if checkpoint not in applied:
                    thread.leave(value)
                    continue
                if thread.has_unnamed and any(one.get("type") == _REMOVE for one in _messages(value)):
                    thread.name(_ids(select, listed.id, checkpoint))
                thread.write(channel, value, ref, time)
        thread.session.leave_out(SUB_GRAPH, count=next(select(_OTHERS, listed.id))[0])
    return thread.session.build(NAME, listed.id)


def _find_applied(rows: list[tuple[Any, ...]]) -> set[Any]:
    """Find the checkpoints whose writes the latest one has: its ancestors, but for those that new input passed over."""
    steps = {own: (parent, metadata) for own, parent, metadata in rows}
    here = rows[-1][0] if rows else None
    applied, seen = {here}, set()
    while here in steps and here not in seen:
        seen.add(here)
        parent, metadata = steps[here]
        if not _is_input(metadata):
            applied.add(parent)
        here = parent
    return applied


def _is_input(metadata: Any) -> bool:
    try:
        return bool(nested(decode_value(metadata), "source") == "input")
    except BAD_CONTENT:
        return False


def _ids(select: Select, thread: str, checkpoint: Any) -> list[str | None]:
    """The ids of the messages that a checkpoint has: a write may hold a message without one."""
    kind, data = next(select(_STATE, thread, checkpoint), (None, None))
    try:
        held = nested(_value(kind, data), "channel_values", "messages")
    except BAD_CONTENT:
        return []
    return [text_or_none(one.get("id")) for one in objects_in(held)]


def _messages(value: Any) -> list[Record]:
    return objects_in(value if isinstance(value, list) else [value])


def _value(kind: Any, data: Any) -> Any:
    if kind == "json":
        return _plain(decode_value(data))
    if kind != "msgpack":
        raise MalformedError(f"a value of type {kind!r}, expected msgpack or json")
    return _plain(msgpack.unpackb(data, strict_map_key=False, unicode_errors="replace"))


def _plain(value: Any) -> Any:
    """The value with the fields of objects in their place."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        named = value.get("kwargs") if value.get("lc") == 1 else None
        return {str(key): _plain(held) for key, held in (named if isinstance(named, dict) else value).items()}
    if isinstance(value, msgpack.ExtType):
        held = msgpack.unpackb(value.data, strict_map_key=False, unicode_errors="replace")
        return _plain(held[2]) if value.code in _OBJECTS and isinstance(held, list) and len(held) > 2 else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str | int | float) else None


@dataclass
class _Thread:
    session: SessionDraft
    state: dict[str, list[MessageDraft]] = field(default_factory=dict)
    """Id of a message of the context → what it became, in the order of the context."""
    given: str | None = None
    """The summary in a channel of its own."""
    unnamed: int = 0

    @property
    def has_unnamed(self) -> bool:
        """Whether the context has a message that was written without an id."""
        return any(own.startswith(_UNNAMED) for own in self.state)

    def name(self, ids: list[str | None]) -> None:
        """Gives the messages of the context the ids that they have in a checkpoint."""
        if len(ids) == len(self.state):
            self.state = {new or old: drafts for new, (old, drafts) in zip(ids, self.state.items(), strict=True)}

    def leave(self, value: Any) -> None:
        """Counts the messages on an abandoned branch."""
        for message in _messages(value):
            self._leave_out(message, REWOUND)

    def write(self, channel: str, value: Any, ref: str, time: str | None) -> None:
        """Applies a step's write to a channel."""
        if channel == "summary":
            self.given = text_or_none(value)
            return
        messages = _messages(value)
        removing = [text_or_none(one.get("id")) for one in messages if one.get("type") == _REMOVE]
        told = [one for one in messages if one.get("type") != _REMOVE]
        self.session.leave_out(BOOKKEEPING, count=len(removing))
        again = {text_or_none(one.get("id")) for one in told} & self.state.keys()
        is_all = _REMOVE_ALL in removing
        gone = [own for own in self.state if own not in again and (is_all or own in removing)]
        removed = [draft for own in gone for draft in self.state.pop(own)]
        summary = _summary_of(told, again)
        if removed:
            self._compact(removed, summary, [one.get("id") for one in told], is_all)
        for message in told:
            if text_or_none(message.get("id")) in again:
                self._leave_out(message, DUPLICATE)
            elif removed and message is summary:
                self._keep(message, [])
            else:
                self._say(message, ref, time)
        if is_all:
            order = [own for one in told if (own := text_or_none(one.get("id"))) is not None and own in self.state]
            self.state = {own: self.state[own] for own in (*order, *self.state)}

    def _compact(self, removed: list[MessageDraft], summary: Record | None, ids: list[Any], is_all: bool) -> None:
        before = ids[: ids.index(nested(summary, "id"))] if summary is not None else []
        at = sum(len(drafts) for own, drafts in self.state.items() if not is_all or own in before)
        text = first_text(nested(summary, "content"), self.given)
        self.session.compacted(summary=text, dropped=removed, summary_at=at)

    def _leave_out(self, message: Record, reason: str) -> None:
        role = as_chat(message)[-1].get("role")
        if role in ("system", "user", "assistant", "tool"):
            self.session.leave_out(reason, role)
            self.session.leave_out(reason, "tool_call", len(as_list(message.get("tool_calls"))))

    def _keep(self, message: Record, drafts: list[MessageDraft]) -> None:
        self.unnamed += 1
        self.state[text_or_none(message.get("id")) or f"{_UNNAMED}{self.unnamed}"] = drafts

    def _say(self, message: Record, ref: str, time: str | None) -> None:
        session, before = self.session, len(self.session.drafts)
        for one in as_chat(message):
            draft = add_message(session, one, ref)
            if draft is not None:
                draft.timestamp = draft.timestamp or time
        self._keep(message, session.drafts[before:])
        used = as_dict(message.get("usage_metadata"))
        read = nested(used, "input_token_details", "cache_read")
        session.use(None, make_usage(used.get("input_tokens"), used.get("output_tokens"), read))
        session.model = first_text(nested(message, "response_metadata", "model_name"), session.model)


def _summary_of(told: list[Record], again: Iterable[Any]) -> Record | None:
    """The first new message of those that took the place of others, when no model and no tool wrote it."""
    return next((one for one in told if one.get("type") in ("system", "human") and one.get("id") not in again), None)


FORMAT = SourceFormat(
    NAME,
    "threads of LangGraph in the SQLite file of its checkpointer",
    "the tables `checkpoints` with `checkpoint_ns` and `writes` with `channel`",
    detect,
    read,
    order=119,
    shared_suffixes=(".db", ".sqlite", ".sqlite3"),
)
