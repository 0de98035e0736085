"""One message while its pieces are still coming."""

from __future__ import annotations

from typing import Any

from compaction.transcript import Author, Message, Role, ToolCall


class MessageDraft:
    """A message that may still grow."""

    __slots__ = (
        "author",
        "calls",
        "is_error",
        "reasoning",
        "ref",
        "role",
        "seq",
        "texts",
        "timestamp",
        "tool_call_id",
        "tool_name",
        "typed",
    )

    def __init__(self, role: Role, ref: str, timestamp: str | None) -> None:
        self.role: Role = role
        self.ref = ref
        self.timestamp = timestamp
        self.texts: list[str] = []
        self.reasoning: list[str] = []
        self.calls: list[ToolCall] = []
        self.tool_call_id: str | None = None
        self.tool_name: str | None = None
        self.is_error = False
        self.typed = False
        self.author: Author | None = None
        self.seq = -1

    def add_text(self, text: str) -> None:
        """Another piece of visible text; a repeated piece is the same piece."""
        if text and text not in self.texts:
            self.texts.append(text)

    def add_reasoning(self, text: Any) -> None:
        """Another piece of readable reasoning."""
        if isinstance(text, str) and text and text not in self.reasoning:
            self.reasoning.append(text)

    @property
    def is_empty_response(self) -> bool:
        """Whether it is a response without text, reasoning or calls."""
        return self.role == "assistant" and not (self.texts or self.reasoning or self.calls)

    def message(self, names: dict[str, str]) -> Message:
        """The finished message; a result without a tool name takes the name of its call."""
        return Message(
            role=self.role,
            text="\n".join(self.texts),
            reasoning="\n".join(self.reasoning),
            tool_calls=tuple(self.calls),
            tool_call_id=self.tool_call_id,
            tool_name=self.tool_name or (names.get(self.tool_call_id) if self.tool_call_id is not None else None),
            is_error=self.is_error,
            seq=self.seq,
            timestamp=self.timestamp,
            source_ref=self.ref,
            author=self.author,
        )
