"""Compactions of Roo Code and Kilo Code: a summary or a marker among the messages of the history.

A summary of the person's role (since 2026) takes the place of all before it; an older one, and a marker, of the
messages that name it as their parent. A marker stands where what is kept begins, and not where it was set: that the
screen's file says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flows.sources.reading.anthropic_blocks import blocks_of, visible_text
from flows.sources.reading.base import Record
from flows.sources.reading.session import SessionDraft
from flows.sources.reading.values import as_dict, nested

Spans = Sequence[tuple[int, int]]
"""For each message of the history so far the first and the last but one of the messages that it was turned into."""


def is_condensed(message: Record) -> bool:
    """Whether a message is a summary or the marker of a truncation."""
    return message.get("isSummary") is True or message.get("isTruncationMarker") is True


class Condensings:
    """The compactions of a task.

    Args:
        session: Where they go.
        messages: The history.
        told: What the screen's file says of them, by their id.
    """

    def __init__(self, session: SessionDraft, messages: Sequence[Any], told: Mapping[str, Record]) -> None:
        self.session = session
        self.messages = messages
        self.told = told
        self._timed: list[tuple[Record, float]] = []

    def take(self, message: Record, spans: Spans) -> None:
        """Adds the compaction of a summary or a marker behind the messages that ``spans`` covers."""
        session, is_summary = self.session, message.get("isSummary") is True
        id_key, parent_key = ("condenseId", "condenseParent") if is_summary else ("truncationId", "truncationParent")
        own = message.get(id_key)
        gone = [
            draft
            for (start, end), other in zip(spans, self.messages, strict=False)
            if own is not None and nested(other, parent_key) == own
            for draft in session.drafts[start:end]
        ]
        if is_summary and message.get("role") == "user":
            gone = list(session.drafts)
        texts = [visible_text(block) or "" for block in blocks_of(message)] if is_summary else []
        told = as_dict(self.told.get(own)) if isinstance(own, str) else {}
        event = session.compacted(
            summary="\n".join(filter(None, texts)), dropped=gone, tokens_before=told.get("prevContextTokens")
        )
        if is_summary:
            event["summary_at"] = session.number_kept()
        if type(told.get("ts")) in (int, float):
            self._timed.append((event, told["ts"]))

    def place(self, spans: Spans) -> None:
        """Moves each compaction to where it fired: before the first message that is younger."""
        end = len(self.session.drafts)
        for event, when in self._timed:
            younger = (
                start
                for (start, _), message in zip(spans, self.messages, strict=False)
                if type(time := nested(message, "ts")) in (int, float) and time > when
            )
            event["at"] = max(event["at"], next(younger, end))
