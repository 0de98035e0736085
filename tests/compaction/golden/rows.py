"""Messages as golden vectors hold them: what a recorder writes and what a test compares with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from compaction.points import legal_cuts
from compaction.transcript import Message

Row = int | dict[str, Any]


def rows(messages: Sequence[Message], session: Sequence[Message]) -> list[Row]:
    """Each message as its ``seq`` if it is as in the session, else with what is different in it or all of it."""
    originals = {m.seq: m for m in session if m.seq is not None}
    return [_row(message, originals) for message in messages]


def text_row(text: str) -> dict[str, Any]:
    """A text; a long one by its length and digest."""
    if len(text) <= 120:
        return {"text": text}
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    return {"starts": text[:40], "chars": len(text), "sha256": digest}


def in_two(messages: Sequence[Message]) -> tuple[int, ...]:
    """Where a history is compacted: at a legal cut in its middle, if there is one, and at its end."""
    legal = [i for i, is_legal in enumerate(legal_cuts(tuple(messages))) if is_legal and i >= len(messages) // 2]
    return (*legal[:1], len(messages))


def _row(message: Message, originals: Mapping[int | None, Message]) -> Row:
    if message.seq is None:
        return {"role": message.role, **text_row(message.text)}
    original = originals[message.seq]
    found: dict[str, Any] = {"seq": message.seq}
    if message.text != original.text:
        found.update(text_row(message.text))
    if message.reasoning != original.reasoning:
        found["reasoning"] = message.reasoning
    if message.tool_calls != original.tool_calls:
        found["calls"] = [[call.id, call.arguments] for call in message.tool_calls]
    return found if len(found) > 1 else message.seq
