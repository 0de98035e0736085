"""Sessions of Continue, in the editor and on the command line: a JSON file each (`~/.continue/sessions/<id>.json`).

The results of a response's calls stand beside it. A message may have a summary: the editor then leaves out what came
up to it, the message too, and gives the summary with the instructions (gui/src/redux/util/constructMessages.ts); on
the command line the message is the summary, and what it replaced is no longer in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.blocks import text_of
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, UNKNOWN, SessionDraft
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, as_list, need_list, need_object, nested, objects_in, text_or_none

NAME = "continue_dev"
_WITHOUT_OUTPUT = {"canceled": "The person stopped this call.", "errored": "The call failed."}


def detect(head: Head) -> bool:
    """Whether a record is a session: an id, and items that have a message beside what it was given."""
    return any(map(_is_session, head.records))


def _is_session(record: Record) -> bool:
    items = objects_in(record.get("history"))[:5]
    return isinstance(record.get("sessionId"), str) and any(
        "contextItems" in item and nested(item, "message", "role") for item in items
    )


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file."""
    for where, ref, record in source.values():
        with source.setting_aside(where, "a session", record):
            yield from _read_session(source, where, ref, record)


def _read_session(source: Source, where: int | None, ref: str, record: Record) -> list[Transcript]:
    reading = _Reading(source)
    for number, item in enumerate(need_list(record.get("history"), "history")):
        with source.setting_aside(where, f"item {number} of the history", item):
            reading.take(need_object(item, "an item"), f"{ref}#{number}")
    session = reading.session
    session.title = text_or_none(record.get("title"))
    session.model = text_or_none(record.get("chatModelTitle"))
    session.cwd = unquote((text_or_none(record.get("workspaceDirectory")) or "").removeprefix("file://")) or None
    used = as_dict(record.get("usage"))
    session.use(None, make_usage(used.get("promptTokens"), used.get("completionTokens"), cost=used.get("totalCost")))
    return session.build(NAME, text_or_none(record.get("sessionId")))


class _Reading:
    """Builds the session, item by item."""

    def __init__(self, source: Source) -> None:
        self.session = SessionDraft(source)
        self._thoughts: list[str] = []
        """Reasoning whose response is still to come."""
        self._answered: set[str] = set()
        """Calls whose result stood beside the response."""

    def take(self, item: Record, ref: str) -> None:
        message = need_object(item.get("message"), "message")
        role, text = message.get("role"), _text(message.get("content"))
        summary = text_or_none(item.get("conversationSummary"))
        if role == "assistant" and summary and text == summary:
            self._compact(summary)
            return
        if role == "thinking":
            self._thoughts.append(text)
            self.session.leave_out(BOOKKEEPING, count=not text)
        elif role == "assistant":
            self._respond(item, message, text, ref)
        elif role == "tool":
            self._result(message, text, ref)
        elif role in ("user", "system"):
            given = [_text(one.get("content")) for one in objects_in(item.get("contextItems"))]
            whole = "\n".join(piece for piece in (*given, text) if piece)
            self.session.say(role, whole, ref, typed=role == "user" and not given)
        else:
            self.session.leave_out(UNKNOWN)
        if summary:
            self._compact(summary)

    def _respond(self, item: Record, message: Record, text: str, ref: str) -> None:
        draft = self.session.respond(None, ref)
        for thought in (*self._thoughts, nested(item, "reasoning", "text")):
            draft.add_reasoning(thought)
        self._thoughts.clear()
        draft.add_text(text)
        states = objects_in(item.get("toolCallStates"))
        calls = objects_in(message.get("toolCalls")) or objects_in([state.get("toolCall") for state in states])
        for call in calls:
            function = call.get("function")
            self.session.call(draft, call.get("id"), nested(function, "name"), nested(function, "arguments"))
        for state in states:
            self._show_result(state, ref)

    def _show_result(self, state: Record, ref: str) -> None:
        """Adds the result of a call that has ended, as the model is given it."""
        own, status = text_or_none(state.get("toolCallId")), state.get("status")
        output = [_output(one) for one in objects_in(state.get("output"))]
        if own and (output or status in (*_WITHOUT_OUTPUT, "done")):
            text = "\n\n".join(output) or _WITHOUT_OUTPUT.get(str(status), "")
            self._answered.add(own)
            self.session.result(own, text, ref, is_error=status in _WITHOUT_OUTPUT)

    def _result(self, message: Record, text: str, ref: str) -> None:
        """Adds a result that is an item of its own, unless it stood beside its call."""
        own = message.get("toolCallId")
        if own in self._answered:
            self.session.leave_out(DUPLICATE, "tool")
        else:
            self.session.result(own, text, ref)

    def _compact(self, summary: str) -> None:
        """Notes that a summary took the place of everything but the instructions."""
        said = [draft for draft in self.session.drafts if draft.role != "system"]
        self.session.compacted(summary=summary, dropped=said, summary_at=len(self.session.drafts) - len(said))


def _text(content: Any) -> str:
    """The text of a message; Continue's name of an image's block is its own."""
    blocks = as_list(content)
    if not blocks:
        return text_of(content)
    return text_of([_block(block) for block in blocks])


def _block(block: Any) -> Any:
    if nested(block, "type") == "imageUrl":
        return {"type": "image_url", "image_url": block.get("imageUrl")}
    return block


def _output(item: Record) -> str:
    text, status = _text(item.get("content")), text_or_none(item.get("status"))
    return f"{text}\n[Status: {status}]" if status else text


FORMAT = SourceFormat(
    NAME,
    "session of Continue (one JSON object)",
    "`sessionId` beside a `history` of items with a `message` and `contextItems`",
    detect,
    read,
    order=41,
)
