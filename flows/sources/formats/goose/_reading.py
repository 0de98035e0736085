"""A goose session while it is read: its messages, and what goose's compactions took out of the context.

A compaction marks what was said as not visible to the model, and appends the summary, a note that the conversation
goes on, and the latest prompt once more (crates/goose/src/context_mgmt/mod.rs).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flows.sources.reading.account import Kind
from flows.sources.reading.base import MalformedError, Record, Source
from flows.sources.reading.blocks import block_text, iso_time, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, RECORDED_SUMMARY, MessageDraft, SessionDraft
from flows.sources.reading.values import as_dict, as_list, need_list, nested, objects_in, text_or_none

EMPTY_MESSAGE = "empty message"
FOR_THE_PERSON = "shown to the person only"
_GOES_ON = "Do not mention that you read a summary"
"""Stands in every version of the note behind a summary."""
_BESIDE = {"redactedThinking", "toolConfirmationRequest", "actionRequired"}
_NOTICES = {"systemNotification", "conversationCompacted", "contextLengthExceeded", "summarizationRequested"}
_CALLS = {"toolRequest", "frontendToolRequest"}


@dataclass
class Row:
    """A message as goose stores it."""

    role: str
    blocks: list[Record]
    ref: str
    id: str | None
    created: Any
    for_person: bool
    """Whether the person is shown it."""
    for_model: bool
    """Whether it is in the model's context by now."""
    drafts: list[MessageDraft] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text blocks, joined by line ends."""
        return "\n".join(text_of(block.get("text")) for block in self.blocks if block.get("type") == "text")

    @property
    def is_note(self) -> bool:
        """Whether the message says that the conversation goes on behind a summary."""
        return not self.for_person and self.role == "assistant" and _GOES_ON in self.text

    def has(self, *kinds: str) -> bool:
        """Whether the message has a block of one of these types."""
        return any(block.get("type") in kinds for block in self.blocks)


def row_of(message: Record, ref: str) -> Row:
    """A message in its parts.

    Raises:
        MalformedError: It has another role, or content that is no list.
    """
    role = message.get("role")
    if role not in ("user", "assistant"):
        raise MalformedError(f"role is {role!r}, expected user or assistant")
    shows = as_dict(message.get("metadata"))
    return Row(
        role,
        objects_in(need_list(message.get("content"), "content")),
        ref,
        text_or_none(message.get("id")),
        message.get("created"),
        shows.get("userVisible") is not False,
        shows.get("agentVisible") is not False,
    )


class Reading:
    """One session while it is read."""

    def __init__(self, source: Source, rows: list[Row]) -> None:
        self.session = SessionDraft(source)
        self.source = source
        self.rows = rows
        self.last_note = max((at for at, row in enumerate(rows) if row.is_note), default=-1)
        self.summary: str | None = None
        self.repeated: Row | None = None
        """The message in which a compaction repeats the latest prompt."""
        self.seen: set[str] = set()
        self.archived: dict[str, Row] = {}
        """Id of a call that left the context → its message; the oldest first."""
        self.answers: dict[str, Row] = {}
        """Id of such a call → the message with its result."""

    def read(self) -> SessionDraft:
        """The session, row by row."""
        for at, row in enumerate(self.rows):
            with self.source.setting_aside(None, row.ref, row.blocks):
                self._take(at, row)
        return self.session

    def _take(self, at: int, row: Row) -> None:
        before = self.rows[at - 1] if at else None
        follows = self.rows[at + 1] if at + 1 < len(self.rows) else None
        is_streamed = before is not None and before.id == row.id
        key = None if row.id is None or is_streamed else f"{row.id} {dumps(row.blocks)}"
        if row.is_note:
            self._compaction(row, follows)
        elif follows is not None and follows.is_note and not row.for_person and row.text:
            self.summary = row.text
        elif row is self.repeated or (key is not None and key in self.seen):
            self._leave_out(row, DUPLICATE)
        elif self._is_for_the_person(row, at):
            self._leave_out(row, FOR_THE_PERSON)
        elif row.role == "assistant":
            self._assistant(row, before)
        else:
            self._user(row)
        if key is not None:
            self.seen.add(key)

    def _is_for_the_person(self, row: Row, at: int) -> bool:
        """Whether the model was never given it. What no compaction follows was hidden from the start, but for calls."""
        if not row.for_model and at > self.last_note and not row.has("toolResponse", *_CALLS):
            return True
        return bool(row.blocks) and all(block.get("type") in _NOTICES for block in row.blocks)

    def _compaction(self, row: Row, follows: Row | None) -> None:
        """All that was said leaves, but the latest prompt, which is repeated behind the summary."""
        texts = [text_of(block.get("text")) for block in row.blocks if block.get("type") == "text"]
        own = "\n".join(text for text in texts if _GOES_ON not in text)
        prompt = next((draft for draft in reversed(self.session.drafts) if draft.role == "user"), None)
        is_kept = prompt is not None and follows is not None and follows.text == "\n".join(prompt.texts)
        self.repeated = follows if is_kept else None
        self.session.compacted(
            summary="\n".join(filter(None, (self.summary, own))),
            dropped=[draft for draft in self.session.drafts if not (is_kept and draft is prompt)],
            trigger="manual" if "user's request" in row.text else "auto",
            summary_at=0,
        )
        if self.summary is not None:  # older versions made one message of the summary and the note
            self.session.leave_out(RECORDED_SUMMARY, "assistant")
        self.summary = None
        self.archived.clear()

    def _leave_out(self, row: Row, reason: str) -> None:
        results = row.has("toolResponse")
        kind: Kind = "assistant" if row.role == "assistant" else "tool" if results else "user"
        self.session.leave_out(reason, kind)
        self.session.leave_out(reason, "tool_call", sum(block.get("type") in _CALLS for block in row.blocks))

    def _is_next_piece(self, before: Row, row: Row) -> bool:
        """Whether both are pieces of one response: goose stores a streamed one, or one with calls, in several."""
        return before.role == row.role == "assistant" and before.for_model == row.for_model and bool(before.drafts)

    def _assistant(self, row: Row, before: Row | None) -> None:
        session, time = self.session, iso_time(row.created)
        goes_on = before is not None and self._is_next_piece(before, row)
        draft = before.drafts[0] if before is not None and goes_on else session.respond(None, row.ref, time)
        row.drafts = [draft]
        is_streamed = goes_on and before is not None and row.id is not None and row.id == before.id
        for block in row.blocks:
            kind = block.get("type")
            if kind == "text" and is_streamed and draft.texts and self._is_told(block):
                draft.texts[-1] += text_of(block.get("text"))
            elif kind in ("thinking", "reasoning"):
                draft.add_reasoning(block.get("thinking") or block.get("text"))
            elif kind in _CALLS:
                self._call(draft, block)
                if not row.for_model:
                    self.archived[str(block.get("id"))] = row
            elif (text := self._text(block, row)) is not None:
                draft.add_text(text)

    def _call(self, draft: MessageDraft, block: Record) -> None:
        call = as_dict(block.get("toolCall"))
        value = as_dict(call.get("value")) or call
        error = call.get("error")
        # A call that goose could not read has the reason in place of a name.
        arguments = value.get("arguments") if error is None else {"error": text_of(error)}
        self.session.call(draft, block.get("id"), value.get("name"), arguments)

    def _user(self, row: Row) -> None:
        time, texts = iso_time(row.created), []
        for block in row.blocks:
            if block.get("type") == "toolResponse":
                row.drafts += self._result(block, row, time)
                self.answers[str(block.get("id"))] = row
            elif (text := self._text(block, row)) is not None:
                texts.append(text)
        if not texts:
            if not row.blocks:
                self.session.leave_out(EMPTY_MESSAGE, "user")
            return
        text = "\n".join(texts)
        if not row.for_person and self._summary_of_call(row, text):
            return
        row.drafts.append(self.session.say("user", text, row.ref, time, typed=True, is_harness=not row.for_person))

    def _result(self, block: Record, row: Row, time: str | None) -> list[MessageDraft]:
        result = as_dict(block.get("toolResult"))
        value = result.get("value")
        content = value.get("content") if isinstance(value, dict) else value
        failed = result.get("status") == "error" or nested(value, "isError") is True
        parts = [_content_text(part) for part in as_list(content) if self._is_told(part)]
        text = "\n".join(filter(None, parts)) or text_of(result.get("error"))
        draft = self.session.result(block.get("id"), text, row.ref, time, is_error=failed)
        return [draft] if draft is not None else []

    def _is_told(self, part: Any) -> bool:
        """Whether a part is for the model; a tool may have another text for the person's eyes."""
        audience = nested(part, "annotations", "audience")
        is_told = not isinstance(audience, list) or "assistant" in audience
        if not is_told:
            self.session.leave_out(FOR_THE_PERSON)
        return is_told

    def _text(self, block: Record, row: Row) -> str | None:
        """The text of a block for the model; None if the block is not shown to it as text."""
        kind = block.get("type")
        if kind in ("text", "image"):
            return _content_text(block) if self._is_told(block) else None
        if kind in _NOTICES:
            self.session.leave_out(FOR_THE_PERSON)
        elif kind in _BESIDE or kind in _CALLS:
            self.session.leave_out(BOOKKEEPING, "tool_call" if kind in _CALLS else None)
        else:
            self.source.quarantine(None, f"{row.ref}: a block of unknown type {kind!r}", block)
        return None

    def _summary_of_call(self, row: Row, text: str) -> bool:
        """Notes that a text stands for the oldest call that left the context and its result, whose time it has."""
        call = next(iter(self.archived), "")
        answer = self.answers.get(call)
        if answer is None or answer.for_model or answer.created != row.created:
            return False
        gone = [*self.archived.pop(call).drafts, *answer.drafts]
        event = self.session.compacted(summary=text, dropped=gone, trigger="tool pair")
        event["summary_at"] = self.session.number_kept()
        return True


def _content_text(part: Any) -> str:
    """The text of a part of a result or a message; of a resource what it holds."""
    held = nested(part, "resource")
    if isinstance(held, dict) and isinstance(held.get("text"), str):
        return text_of(held["text"])
    if nested(part, "type") == "image":
        return block_text({**part, "media_type": part.get("mimeType")}) or ""
    return block_text(part) or ""
