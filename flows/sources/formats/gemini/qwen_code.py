"""Qwen Code chats: JSON lines with Claude Code's envelope (``uuid``, ``parentUuid``) round turns of the Gemini API.

The file is a tree. The live branch leads from the last line back to the first; going back leaves the rest beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.gemini._parts import Turn, parts_of, sort_parts
from flows.sources.reading.account import Kind
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.branches import rewound_ids
from flows.sources.reading.decode import dumps
from flows.sources.reading.kinds import kind_of_unknown
from flows.sources.reading.session import (
    BOOKKEEPING,
    DUPLICATE,
    INHERITED,
    REWOUND,
    UNKNOWN,
    MessageDraft,
    SessionDraft,
)
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, nested, objects_in, text_or_none

NAME = "qwen_code"
_KINDS: dict[Any, Kind] = {"user": "user", "assistant": "assistant", "tool_result": "tool"}
_BY_MACHINE = ("notification", "cron", "goal_runtime")
_NOT_SENT = ("realtime_message", "code_mode_tool_result")
_SCREEN = "shown to the person only"
_COMPARED = ("text", "functionCall", "functionResponse", "inlineData", "fileData")


def detect(head: Head) -> bool:
    """Whether a record is a line of Qwen Code."""
    return any(map(_is_line, head.records))


def _is_line(record: Record) -> bool:
    if "uuid" not in record or "sessionId" not in record:
        return False
    if record.get("type") == "system":
        return "systemPayload" in record
    return record.get("type") in tuple(_KINDS) and "parts" in as_dict(record.get("message"))


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file along its live branch; lines of sub-agents are sessions of their own."""
    groups: dict[str | None, list[tuple[int, Record]]] = defaultdict(list)
    for where, record in source.records():
        result = record.get("toolCallResult")
        if isinstance(result, dict):
            result.pop("resultDisplay", None)  # what the screen shows
        agent = text_or_none(record.get("agentId")) if record.get("isSidechain") is True else None
        groups[agent].append((where, record))
    for agent, lines in groups.items():
        chat = _Chat(source, rewound_ids([record for _, record in lines], "uuid", "parentUuid"))
        for where, record in lines:
            source.guard(chat.take, where, record)
        yield from chat.build(agent)


class _Chat:
    def __init__(self, source: Source, left: set[str]) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.left = left
        self.seen: set[str] = set()
        self.native: str | None = None
        self.parent: str | None = None
        self.view: list[tuple[str, list[MessageDraft]]] = []
        """The context: each turn as text, to compare it, with the messages that it became."""
        self.command: str | None = None
        """The last line, where it is a prompt of one text."""

    def take(self, where: int, record: Record) -> None:
        """Takes the next line."""
        kind, own = record.get("type"), record.get("uuid")
        self.native = self.native or text_or_none(record.get("sessionId"))
        if isinstance(own, str):
            if own in self.seen or own in self.left:
                self._leave_out(DUPLICATE if own in self.seen else REWOUND, record)
                return
            self.seen.add(own)
        origin = text_or_none(nested(record, "forkedFrom", "sessionId"))
        if origin is not None:
            self.parent = self.parent or origin
            self._leave_out(INHERITED, record)
            return
        self.session.cwd = self.session.cwd or text_or_none(record.get("cwd"))
        if kind == "system":
            self._system(record)
        elif not isinstance(kind, str):
            raise MalformedError("a line without a type")
        elif kind not in _KINDS:
            self.session.leave_out(UNKNOWN, kind_of_unknown(record))
        elif record.get("message") is None or record.get("subtype") in _NOT_SENT:
            self._leave_out(_SCREEN, record)
        else:
            self._message(kind, record, self.source.ref(where), iso_time(record.get("timestamp")))

    def _leave_out(self, reason: str, record: Record) -> None:
        kind = _KINDS.get(record["type"]) if isinstance(record.get("type"), str) else None
        self.session.leave_out(reason, kind)
        if kind == "assistant":
            parts = objects_in(nested(record, "message", "parts"))
            self.session.leave_out(reason, "tool_call", sum("functionCall" in part for part in parts))

    def _message(self, kind: str, record: Record, ref: str, time: str | None) -> None:
        session, subtype, content = self.session, record.get("subtype"), record["message"]
        turn = sort_parts(parts_of(content), streamed=kind == "assistant")
        for part in turn.unknown:
            self.source.quarantine(None, f"{ref}: a part of an unknown kind", part)
        drafts: list[MessageDraft] = []
        if kind == "assistant":
            drafts.append(self._answer(turn, record, ref, time))
        else:
            failed = nested(record, "toolCallResult", "status") == "error"
            for one in turn.responses:
                draft = session.result(one.id, one.text, ref, time, is_error=one.is_error or failed, name=one.name)
                drafts += [draft] if draft is not None else []
            if turn.texts or not turn.responses:
                by_machine = subtype in _BY_MACHINE or kind == "tool_result"
                drafts.append(session.say("user", turn.text, ref, time, typed=not by_machine, is_harness=by_machine))
        self.view.append((_key(content), drafts))
        self.command = turn.text if kind == "user" and subtype is None and not turn.responses else None

    def _answer(self, turn: Turn, record: Record, ref: str, time: str | None) -> MessageDraft:
        session, usage = self.session, as_dict(record.get("usageMetadata"))
        draft = session.respond(None, ref, time)
        for text in turn.texts:
            draft.add_text(text)
        for thought in turn.thoughts:
            draft.add_reasoning(thought)
        for call in turn.calls:
            session.call(draft, call.id, call.name, call.arguments)
        session.model = session.model or text_or_none(record.get("model"))
        figures = (usage.get(f"{name}TokenCount") for name in ("prompt", "candidates", "cachedContent"))
        session.use(None, make_usage(*figures))
        return draft

    def _system(self, record: Record) -> None:
        subtype, payload = record.get("subtype"), as_dict(record.get("systemPayload"))
        if subtype == "chat_compression":
            self._compact(payload)
            return
        if subtype == "custom_title":
            self.session.title = text_or_none(payload.get("customTitle")) or self.session.title
        elif subtype == "parent_session":
            self.parent = self.parent or text_or_none(payload.get("parentSessionId"))
        elif subtype == "slash_command":
            self._take_back_command(payload)
        self.session.leave_out(INHERITED if subtype == "agent_bootstrap" else BOOKKEEPING)

    def _take_back_command(self, payload: Record) -> None:
        """A command that only the screen answered was written down as a prompt: the model is not told of it."""
        items = payload.get("outputHistoryItems")
        if payload.get("phase") != "result" or payload.get("sentToModel") is True or not objects_in(items):
            return
        shown = all(item.get("type") == "assistant" for item in objects_in(items))
        if shown and self.command and self.command == payload.get("rawCommand") and self.view:
            self.view.pop()
            self.session.take_back(len(self.session.drafts) - 1, "local command")
        self.command = None

    def _compact(self, payload: Record) -> None:
        """The new context stands on the line: what of it was said before was kept, the rest is the summary."""
        history = payload.get("compressedHistory")
        self.command = None
        if not isinstance(history, list):
            self.session.leave_out("compaction that failed")
            return
        open_turns = list(self.view)
        view: list[tuple[str, list[MessageDraft]]] = []
        summary: list[str] = []
        for content in reversed(objects_in(history)):
            key = _key(content)
            at = next((at for at in range(len(open_turns) - 1, -1, -1) if open_turns[at][0] == key), None)
            view.insert(0, (key, open_turns[at][1] if at is not None else []))
            if at is not None:
                del open_turns[at:]
            elif content.get("role") == "user":
                summary.insert(0, sort_parts(parts_of(content)).text)
        kept = {id(draft) for _, drafts in view for draft in drafts}
        self.session.compacted(
            summary="\n\n".join(filter(None, summary)),
            dropped=[draft for _, drafts in self.view for draft in drafts if id(draft) not in kept],
            tokens_before=nested(payload, "info", "originalTokenCount"),
            trigger=payload.get("trigger"),
        )
        self.view = view

    def build(self, agent: str | None) -> list[Transcript]:
        """The one session."""
        native, parent = self.native, self.parent
        if agent is not None:
            native, parent = f"{native}-{agent}" if native else None, native
        parent = f"{NAME}-{parent}" if parent else None
        return self.session.build(NAME, native, parent_session_id=parent, is_fork=agent is None)


def _key(content: Any) -> str:
    """The content of a turn without reasoning and signatures, which a compaction may leave out."""
    parts = [part for part in objects_in(nested(content, "parts")) if not part.get("thought")]
    return dumps([[part.get(name) for name in _COMPARED] for part in parts])


FORMAT = SourceFormat(
    NAME,
    "Qwen Code chat (one JSON object a line)",
    "lines with `uuid` and `sessionId` whose `message` has `parts`, or with a `systemPayload`",
    detect,
    read,
    order=12,
    version=2,
)
