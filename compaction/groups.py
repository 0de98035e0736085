"""Atomic groups: messages that stay or go together.

Semantics of agent-framework-core 1.23.0 (Python), ``_compaction.py``: system and user messages stand alone; an
assistant message with tool calls takes the results that follow it, and later results that are linked to it by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compaction.transcript import Message

GroupKind = Literal["system", "user", "assistant_text", "tool_call"]


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that a strategy keeps or drops as one."""

    kind: GroupKind
    messages: tuple[Message, ...]
    positions: tuple[int, ...]
    """Index of each message in the history (not its ``seq``)."""


def group(messages: Sequence[Message]) -> tuple[Group, ...]:
    """Group a history, left to right, in order of each group's first message.

    A run of tool results that follows no call is a ``tool_call`` group of its own. Messages that hold nothing but
    reasoning belong to the calls that they lead up to. A result that does not follow its call directly is linked to
    it when exactly one unanswered call has its id; a reused or ambiguous id links nothing.
    """
    spans = _spans(messages)
    span_of = [number for number, (_, start, end) in enumerate(spans) for _ in range(start, end)]
    root = list(range(len(spans)))
    for call, result in _linked(messages):
        _join(root, span_of[call], span_of[result])
    members: dict[int, list[int]] = {}
    for number, (_, start, end) in enumerate(spans):
        members.setdefault(_find(root, number), []).extend(range(start, end))
    return tuple(
        Group(spans[first][0], tuple(messages[i] for i in positions), tuple(positions))
        for first, positions in members.items()
    )


def flatten(groups: Sequence[Group]) -> list[Message]:
    """The messages of some groups, in the history's order."""
    pairs = [pair for g in groups for pair in zip(g.positions, g.messages, strict=True)]
    return [message for _, message in sorted(pairs, key=lambda pair: pair[0])]


def declarations(messages: Sequence[Message]) -> list[int | None]:
    """For each tool result the position of the nearest earlier message that asked for it; None for anything else.

    Unlike a group's links this also settles ids that are used again: a result belongs to the latest call of its id.
    """
    latest: dict[str, int] = {}
    found: list[int | None] = []
    for position, message in enumerate(messages):
        wanted = message.tool_call_id if message.role == "tool" else None
        found.append(None if wanted is None else latest.get(wanted))
        for call in message.tool_calls:
            latest[call.id] = position
    return found


def _spans(messages: Sequence[Message]) -> list[tuple[GroupKind, int, int]]:
    """Runs of adjacent messages that belong together: (kind, first position, position after the last)."""
    spans: list[tuple[GroupKind, int, int]] = []
    start = 0
    while start < len(messages):
        role = messages[start].role
        kind: GroupKind = "assistant_text"
        end = start + 1
        if role in ("system", "user"):
            kind = "system" if role == "system" else "user"
        elif role == "tool":
            kind, end = "tool_call", _skip_results(messages, end)
        else:
            caller = _skip_reasoning(messages, start)
            if caller < len(messages) and _calls_tools(messages[caller]):
                kind, end = "tool_call", _skip_results(messages, _skip_reasoning(messages, caller + 1))
        spans.append((kind, start, end))
        start = end
    return spans


def _calls_tools(message: Message) -> bool:
    return message.role == "assistant" and bool(message.tool_calls)


def _only_reasons(message: Message) -> bool:
    return message.role == "assistant" and bool(message.reasoning) and not message.text and not message.tool_calls


def _skip_reasoning(messages: Sequence[Message], position: int) -> int:
    while position < len(messages) and _only_reasons(messages[position]):
        position += 1
    return position


def _skip_results(messages: Sequence[Message], position: int) -> int:
    while position < len(messages) and messages[position].role == "tool":
        position += 1
    return position


def _linked(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """(position of the call, position of the result) for results whose call is in no doubt."""
    unanswered: dict[str, list[int]] = {}
    pairs: list[tuple[int, int]] = []
    for position, message in enumerate(messages):
        if message.role == "assistant":
            for call in message.tool_calls:
                if call.id:
                    unanswered.setdefault(call.id, []).append(position)
        elif message.role == "tool" and message.tool_call_id:
            candidates = unanswered.get(message.tool_call_id, [])
            if len(candidates) == 1:
                pairs.append((candidates.pop(), position))
    return pairs


def _find(root: list[int], number: int) -> int:
    while root[number] != number:
        root[number] = root[root[number]]
        number = root[number]
    return number


def _join(root: list[int], one: int, other: int) -> None:
    first, second = sorted((_find(root, one), _find(root, other)))
    root[second] = first
