"""Amp's threads: one JSON object a thread, with messages of three roles and what each answer used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from compaction.transcript import Transcript
from flows.sources.reading.anthropic_blocks import CALLS, THINKING
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import block_text, iso_time, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.session import BOOKKEEPING, UNKNOWN, MessageDraft, SessionDraft
from flows.sources.reading.usage import from_parts
from flows.sources.reading.values import as_dict, first_item, first_text, need_list, nested, objects_in, text_or_none

NAME = "amp"
_HIDDEN = "command of the person, kept from the model"
_FAILED = ("error", "cancelled", "rejected-by-user")
_DRIVE = re.compile(r"/[A-Za-z]:")
_USAGE = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")


def detect(head: Head) -> bool:
    """Whether a record is a thread."""
    return any(map(_is_thread, head.records))


def _is_thread(record: Record) -> bool:
    own, messages = record.get("id"), record.get("messages")
    if not isinstance(own, str) or not isinstance(messages, list) or "created" not in record:
        return False
    return own.startswith("T-") or any("messageId" in message for message in objects_in(messages))


def read(source: Source) -> Iterator[Transcript]:
    """The thread, and what its sub-agents said as sessions of their own."""
    for where, ref, thread in source.values():
        with source.setting_aside(where, "a thread", thread):
            yield from _read_thread(source, where, ref, thread)


def _read_thread(source: Source, where: int | None, ref: str, thread: Record) -> Iterator[Transcript]:
    parts: dict[str | None, _Thread] = {None: _Thread(source, thread)}
    for number, message in enumerate(need_list(thread.get("messages"), "messages")):
        with source.setting_aside(where, f"message {number}", message):
            agent = text_or_none(message.get("parentToolUseId"))
            if agent not in parts:
                parts[agent] = _Thread(source, thread)
            parts[agent].take(message, f"{ref}#{number}")
    native = text_or_none(thread.get("id"))
    if not any("usage" in message for message in objects_in(thread["messages"])):
        parts[None].use(objects_in(nested(thread, "usageLedger", "events")))
    for agent, part in parts.items():
        if agent is not None and native:
            yield from part.session.build(NAME, f"{native}-{agent}", parent_session_id=f"{NAME}-{native}")
        elif agent is not None or part.session.drafts or len(parts) == 1:
            yield from part.session.build(NAME, native)


class _Thread:
    """The messages of a thread or of one of its sub-agents."""

    def __init__(self, source: Source, thread: Record) -> None:
        self.session = session = SessionDraft(source)
        session.title = text_or_none(thread.get("title"))
        session.started_at = iso_time(thread.get("created"))
        tree = first_item(nested(thread, "env", "initial", "trees"))
        path = unquote((text_or_none(nested(tree, "uri")) or "").removeprefix("file://"))
        session.cwd = (path[1:] if _DRIVE.match(path) else path) or None

    def use(self, events: list[Record]) -> None:
        """Notes the model and tokens in the ledger: older versions had them there only."""
        for event in events:
            tokens = as_dict(event.get("tokens"))
            self.session.model = self.session.model or text_or_none(event.get("model"))
            self.session.use(None, from_parts(tokens.get("input"), None, None, tokens.get("output")))

    def take(self, message: Any, ref: str) -> None:
        """Takes the next message."""
        role, usage = message.get("role"), as_dict(message.get("usage"))
        if role not in ("user", "assistant", "info"):
            raise MalformedError(f"role is {role!r}, expected user, assistant or info")
        time = iso_time(nested(message, "meta", "sentAt")) or iso_time(usage.get("timestamp"))
        blocks = objects_in(message.get("content"))
        if role == "assistant":
            self._answer(blocks, usage, ref, time)
            return
        texts: list[str] = []
        for block in blocks:
            kind = block.get("type")
            if kind == "tool_result":
                self._result(block, ref, time)
            elif kind == "summary":
                self._compact(as_dict(block.get("summary")))
            elif kind == "manual_bash_invocation":
                self._command(block, ref, time)
            else:
                texts += [text for text in [block_text(block)] if text]
        if texts:
            is_harness = role == "info"
            self.session.say("user", "\n".join(texts), ref, time, typed=not is_harness, is_harness=is_harness)
        elif not blocks:
            self.session.leave_out(BOOKKEEPING)

    def _answer(self, blocks: list[Record], usage: Record, ref: str, time: str | None) -> None:
        session = self.session
        draft: MessageDraft = session.respond(None, ref, time)
        for block in blocks:
            kind = block.get("type")
            if kind in tuple(CALLS) and "name" in block:
                session.call(draft, block.get("id"), block.get("name"), block.get("input"))
            elif kind in tuple(THINKING):
                draft.add_reasoning(block.get("thinking"))
            elif isinstance(block.get("text"), str):
                draft.add_text(block["text"])
            else:
                session.leave_out(UNKNOWN)
        session.model = session.model or text_or_none(usage.get("model"))
        session.use(None, from_parts(*(usage.get(name) for name in _USAGE)))

    def _result(self, block: Record, ref: str, time: str | None) -> None:
        run = as_dict(block.get("run"))
        status = run.get("status")
        error = run.get("error")
        value = first_text(nested(error, "message"), error) if status == "error" else run.get("result")
        if value is None:
            value = run.get("reason") or (status if status in _FAILED else "")
        text = text_of(value) if isinstance(value, str) else dumps(value)
        self.session.result(block.get("toolUseID"), text, ref, time, is_error=status in _FAILED)

    def _command(self, block: Record, ref: str, time: str | None) -> None:
        """A command that the person ran; the model is told of it unless it was hidden."""
        if block.get("hidden") is True:
            self.session.leave_out(_HIDDEN, "user")
            return
        result = nested(block, "toolRun", "result")
        output = first_text(nested(result, "output"), result) or ""
        self.session.say("user", f"Ran `{nested(block, 'args', 'cmd') or ''}`\n{text_of(output)}", ref, time)

    def _compact(self, summary: Record) -> None:
        """The model goes on from the summary; one that is a thread of its own is only named."""
        text = text_or_none(summary.get("summary"))
        if text is None:
            self.session.leave_out(BOOKKEEPING)
            return
        self.session.compacted(summary=text.rstrip(), dropped=list(self.session.drafts), summary_at=0)


FORMAT = SourceFormat(
    NAME,
    "Amp thread (one JSON object)",
    "`messages` beside `created` and an id that begins with `T-`, or messages with a `messageId`",
    detect,
    read,
    order=46,
)
