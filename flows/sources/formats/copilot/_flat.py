"""The flat lines that Copilot CLI prints for Anthropic models: message, tool_use, tool_result, usage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compaction.transcript import Transcript
from flows.sources.reading.base import MalformedError, Record, Source
from flows.sources.reading.blocks import block_text, iso_time, text_of
from flows.sources.reading.session import BOOKKEEPING, MessageDraft, SessionDraft
from flows.sources.reading.usage import from_anthropic
from flows.sources.reading.values import first_text, nested, objects_in, text_or_none


def is_flat(records: Sequence[Record]) -> bool:
    """Whether there are calls, results or usage on lines of their own, with the names that Anthropic gives them."""
    return any(
        (record.get("type") == "tool_use" and "name" in record and "input" in record)
        or (record.get("type") == "tool_result" and "tool_use_id" in record)
        or (record.get("type") == "usage" and "input_tokens" in record)
        for record in records
    )


class FlatLines:
    """Builds the session from the lines. A response is open until a result, a prompt or its usage comes."""

    def __init__(self, source: Source, format: str) -> None:
        self.source = source
        self.format = format
        self.session = SessionDraft(source)
        self.native: str | None = None
        self.response: MessageDraft | None = None
        self.used = 0

    def take(self, where: int, line: Record) -> None:
        kind, ref, time = line.get("type"), self.source.ref(where), iso_time(line.get("timestamp"))
        self.native = self.native or first_text(line.get("session_id"), line.get("sessionId"))
        self.session.model = self.session.model or text_or_none(line.get("model"))
        if kind == "message":
            self._message(line, ref, time)
        elif kind in ("tool_use", "tool_result"):
            self._block(line, ref, time)
        elif kind == "usage":
            self.session.use(None, from_anthropic(line))
            self.session.leave_out(BOOKKEEPING)
            self.response = None
        elif isinstance(kind, str):
            self.session.leave_out(BOOKKEEPING)
        else:
            raise MalformedError("a line without a type")

    def _message(self, line: Record, ref: str, time: str | None) -> None:
        role, content = line.get("role", "user"), line.get("content")
        blocks = content if isinstance(content, list) else [content]
        if role == "assistant":
            draft = self._open(ref, time)
            texts = []
            for block in blocks:
                if isinstance(block, dict) and block.get("type") in ("tool_use", "thinking"):
                    self._block(block, ref, time)
                else:
                    texts.append(block_text(block) if block is not None else None)
            draft.add_text("\n".join(filter(None, texts)))
            return
        if role not in ("user", "system"):
            raise MalformedError(f"role is {role!r}, expected user, assistant or system")
        self.response = None
        results = [block for block in objects_in(blocks) if block.get("type") == "tool_result"]
        for block in results:
            self._block(block, ref, time)
        said = [block for block in blocks if block is not None and nested(block, "type") != "tool_result"]
        if said or not results:
            self.session.say(role, text_of(said), ref, time, typed=role == "user")

    def _block(self, block: Record, ref: str, time: str | None) -> None:
        if block["type"] == "thinking":
            self._open(ref, time).add_reasoning(block.get("thinking"))
        elif block["type"] == "tool_use":
            self.session.call(self._open(ref, time), block.get("id"), block.get("name"), block.get("input"))
        else:
            self.response = None
            text, failed = text_of(block.get("content")), block.get("is_error") is True
            self.session.result(block.get("tool_use_id"), text, ref, time, is_error=failed)

    def _open(self, ref: str, time: str | None) -> MessageDraft:
        if self.response is None:
            self.response = self.session.respond(None, ref, time)
        return self.response

    def built(self) -> Iterator[Transcript]:
        """The session, when there were such lines."""
        if self.session.drafts:
            yield from self.session.build(self.format, self.native)
