"""Kimi CLI's contexts: each file is what the model was given, from the start or from the last compaction on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.kimi._parts import NAME, add_parts, is_by_machine, visible
from flows.sources.reading import decode
from flows.sources.reading.account import Kind
from flows.sources.reading.base import BAD_CONTENT, MalformedError, Record, Source
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, REWOUND, MessageDraft, SessionDraft
from flows.sources.reading.siblings import load_sibling, sibling_path
from flows.sources.reading.usage import from_parts
from flows.sources.reading.values import as_dict, nested, objects_in, text_or_none

_NAME = re.compile(r"(context(?:_sub_\d+)?)(?:_(\d+))?\.jsonl")
_CWD = re.compile(r"The current working directory is `([^`\n]+)`")
_COMPACTED = "<system>Previous context has been compacted. Here is the compaction output:</system>"
_MESSAGE = ("role", "content", "tool_calls", "tool_call_id")
_ROLES: tuple[Kind, ...] = ("system", "user", "assistant", "tool")
_MOST_FILES = 1_000

_Entry = tuple[str, MessageDraft | None]
"""A message of the context as text, to compare it, and as it is stored; None for a summary."""


def read_context(source: Source) -> list[Transcript]:
    """The session of a context file and of the older ones beside it."""
    reading = _Contexts(source)
    for path in _older(source):
        reading.begin()
        for number, record in _records(source, path):
            reading.take(f"{path.name}:{number}", number, record)
        reading.end()
    reading.begin()
    for where, record in source.records():
        reading.take(source.ref(where), where, record)
    reading.end()
    return reading.build()


def _older(source: Source) -> list[Path]:
    """The contexts that this one went on from, oldest first."""
    named = _NAME.fullmatch(source.name)
    if named is None:
        return []
    found: list[Path] = []
    for number in range(1, int(named[2]) if named[2] and len(named[2]) < 5 else _MOST_FILES):
        path = sibling_path(source, f"{named[1]}_{number}.jsonl")
        if path is None:
            break
        found.append(path)
    return found


def _records(source: Source, path: Path) -> Iterable[tuple[int, Record]]:
    try:
        values, reason, rest = decode.load_values(path)
    except OSError as error:
        source.failed(f"{path.name} cannot be opened", error)
        return
    if reason:
        source.quarantine(None, f"{path.name}: {reason}", rest)
    yield from enumerate(objects_in(values), start=1)


class _Contexts:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.times = _Times(source)
        self.view: list[_Entry] = []
        """The context as the file before left it."""
        self.lines: list[tuple[str, int, Record]] = []
        self.prompt: str | None = None

    def begin(self) -> None:
        """Another file begins."""
        self.lines = []

    def take(self, ref: str, where: int, record: Record) -> None:
        """Keeps a message for the end of the file, and counts what is none."""
        role = record.get("role")
        if role == "_system_prompt":
            self.source.guard(partial(self._system, ref), where, record)
        elif role in _ROLES:
            self.lines.append((ref, where, record))
        elif isinstance(role, str) and role.startswith("_"):
            self.session.leave_out(BOOKKEEPING)
        else:
            self.source.quarantine(where, f"role is {role!r}, expected system, user, assistant or tool", record)

    def end(self) -> None:
        """Compares the messages of the file with the context before it, and says those that are new."""
        keys = [decode.dumps([record.get(name) for name in _MESSAGE]) for _, _, record in self.lines]
        before, same = self.view, 0
        while same < min(len(keys), len(before)) and keys[same] == before[same][0]:
            same += 1
        first = visible_or_nothing(self.lines[0][2]) if self.lines else ""
        if before and same:
            self._go_back(before[same:])
            self.view = before[:same]
        elif first.startswith(_COMPACTED):
            same = self._compact(before, keys, first.removeprefix(_COMPACTED).strip())
        elif before:
            self.session.compacted(summary=None, dropped=_drafts(before))
            self.view = []
        for key, (ref, where, record) in list(zip(keys, self.lines, strict=True))[same:]:
            self.source.guard(partial(self._say, key, ref), where, record)
        for _, _, record in self.lines[: same if before else 0]:
            if (role := record["role"]) == "user" and visible_or_nothing(record).startswith(_COMPACTED):
                continue  # counted with the compaction
            self.session.leave_out(DUPLICATE, role)
            self.session.leave_out(DUPLICATE, "tool_call", len(objects_in(record.get("tool_calls"))))

    def _go_back(self, left: list[_Entry]) -> None:
        """A checkpoint was gone back to: what followed it is no part of the session."""
        drafts = self.session.drafts
        gone = {id(draft) for draft in _drafts(left)}
        start = next((at for at, draft in enumerate(drafts) if id(draft) in gone), None)
        if start is not None:
            self.session.take_back(start, REWOUND)

    def _compact(self, before: list[_Entry], keys: list[str], summary: str) -> int:
        """Notes a compaction; returns how many of the file's messages are the summary and what it kept."""
        kept = min(len(keys) - 1, len(before))
        while kept and [key for key, _ in before[-kept:]] != keys[1 : 1 + kept]:
            kept -= 1
        tail = before[len(before) - kept :]
        self.session.compacted(
            summary=summary,
            dropped=_drafts(before[: len(before) - kept]),
            summary_at=sum(draft.role == "system" for draft in self.session.drafts),
        )
        self.view = [(keys[0], None), *tail]
        return 1 + kept

    def _system(self, ref: str, _where: int, record: Record) -> None:
        text = record.get("content")
        if not isinstance(text, str):
            raise MalformedError("a system prompt that is no text")
        if text == self.prompt:
            self.session.leave_out(DUPLICATE, "system")
            return
        self.prompt = text
        found = _CWD.search(text)
        self.session.cwd = self.session.cwd or (found[1] if found else None)
        self.session.say("system", text, ref)

    def _say(self, key: str, ref: str, _where: int, record: Record) -> None:
        session, role, content = self.session, record["role"], record.get("content")
        draft: MessageDraft | None
        if role == "assistant":
            draft = session.respond(None, ref)
            add_parts(draft, content)
            for call in objects_in(record.get("tool_calls")):
                own = call.get("id")
                draft.timestamp = draft.timestamp or self.times.of_calls.get(str(own))
                session.call(draft, own, nested(call, "function", "name"), nested(call, "function", "arguments"))
        elif role == "tool":
            text, own = visible(content), record.get("tool_call_id")
            failed = text.startswith("<system>ERROR:")
            draft = session.result(own, text, ref, self.times.of_results.get(str(own)), is_error=failed)
        else:
            text = visible(content)
            is_harness = role == "user" and is_by_machine(text)
            time = self.times.of_prompts.get(text)
            draft = session.say(role, text, ref, time, typed=role == "user", is_harness=is_harness)
        if draft is not None:
            self.view.append((key, draft))

    def build(self) -> list[Transcript]:
        """The one session: its id is its folder's name, where Kimi's other files stand beside it."""
        session, times = self.session, self.times
        session.started_at, session.ended_at = times.first, times.last
        for key, usage in times.usage:
            session.use(key, from_parts(*(usage.get(name) for name in _USAGE)))
        state = sibling_path(self.source, "state.json")
        session.title = text_or_none(as_dict(load_sibling(state)).get("custom_title")) if state else None
        folder = self.source.input.path.absolute().parent
        named = _NAME.fullmatch(self.source.name)
        if folder.parent.name == "subagents":
            parent = folder.parent.parent.name
            return session.build(NAME, f"{parent}-{folder.name}", parent_session_id=f"{NAME}-{parent}")
        if named is None or not (state or times.is_there):
            return session.build(NAME, None)
        if named[1] != "context":
            own = f"{folder.name}-{named[1]}"
            return session.build(NAME, own, parent_session_id=f"{NAME}-{folder.name}")
        return session.build(NAME, folder.name)


_USAGE = ("input_other", "input_cache_read", "input_cache_creation", "output")


class _Times:
    """Times and tokens from ``wire.jsonl``, the log of the screen beside a context."""

    def __init__(self, source: Source) -> None:
        self.of_calls: dict[str, str | None] = {}
        self.of_results: dict[str, str | None] = {}
        self.of_prompts: dict[str, str | None] = {}
        self.usage: list[tuple[str | None, Record]] = []
        self.first: str | None = None
        self.last: str | None = None
        path = sibling_path(source, "wire.jsonl")
        self.is_there = path is not None
        for _, record in _records(source, path) if path is not None else ():
            with source.setting_aside(None, "wire.jsonl", record):
                self._take(as_dict(record.get("message")), iso_time(record.get("timestamp")))

    def _take(self, message: Record, time: str | None) -> None:
        kind, payload = message.get("type"), as_dict(message.get("payload"))
        self.first, self.last = self.first or time, time or self.last
        if kind == "ToolCall":
            self.of_calls.setdefault(str(payload.get("id")), time)
        elif kind == "ToolResult":
            self.of_results.setdefault(str(payload.get("tool_call_id")), time)
        elif kind in ("TurnBegin", "SteerInput"):
            self.of_prompts.setdefault(visible(payload.get("user_input")), time)
        elif kind == "StatusUpdate" and isinstance(payload.get("token_usage"), dict):
            self.usage.append((text_or_none(payload.get("message_id")), payload["token_usage"]))


def visible_or_nothing(record: Record) -> str:
    """The text of a message; nothing where its content has no shape that is known."""
    content: Any = record.get("content")
    try:
        return visible(content)
    except BAD_CONTENT:
        return ""


def _drafts(entries: list[_Entry]) -> list[MessageDraft]:
    return [draft for _, draft in entries if draft is not None]
