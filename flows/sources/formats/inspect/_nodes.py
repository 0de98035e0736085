"""Messages at their places in a conversation, and its compactions."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from flows.sources.formats.inspect._calls import Compaction, ModelCall
from flows.sources.reading.base import Record


@dataclass(eq=False, slots=True)
class Node:
    """A message at its place in a conversation."""

    number: int
    """In the table; a message that is said twice has one number and two nodes."""
    message: Record
    role: str
    state: str | None = None
    """Why it is not part of the conversation; None when it is."""
    call: ModelCall | None = None
    """The call whose answer it is."""
    position: int | None = None
    """Where it stands in the conversation as it was at the end."""


@dataclass
class Shrink:
    """A compaction of a conversation."""

    dropped: list[Node]
    cleared: list[Node]
    cleared_text: str
    summary: Node | None
    summary_at: int | None
    note: Compaction | None


def align_numbers(wanted: list[int], there: list[int]) -> list[int | None]:
    """Find the index in ``there`` of each wanted number, in the same order; None for a missing one."""
    places: dict[int, list[int]] = {}
    for at, number in enumerate(there):
        places.setdefault(number, []).append(at)
    found: list[int | None] = []
    after = 0
    for number in wanted:
        mine = places.get(number, [])
        index = bisect_left(mine, after)
        found.append(mine[index] if index < len(mine) else None)
        if index < len(mine):
            after = mine[index] + 1
    return found


def is_summary(message: Record) -> bool:
    """Whether a message is marked as the summary of what it replaced."""
    about = message.get("metadata")
    return message["role"] == "user" and isinstance(about, dict) and bool(about.get("summary"))


def call_ids(message: Record) -> list[str]:
    """The ids of the calls that a message makes or answers."""
    if message["role"] == "tool":
        return [str(message["tool_call_id"])] if message.get("tool_call_id") else []
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or message["role"] != "assistant":
        return []
    return [str(call["id"]) for call in calls if isinstance(call, dict) and call.get("id")]
