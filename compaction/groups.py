"""Atomic groups: messages that stay or go together.

``group_messages`` has the semantics of agent-framework-core 1.23.0 (Python), ``_compaction.py``: system and user
messages stand alone; an assistant message with tool calls takes the results that follow it, and later results that are
linked to it by id. ``index_groups`` has those of Agent Framework .NET (commit 5eb3eb7, ``CompactionMessageIndex.cs``),
which knows summaries and user turns besides, pairs by adjacency only, and calls a result without a call a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compaction.transcript import Message

GroupKind = Literal["system", "user", "assistant_text", "tool_call"]
IndexKind = Literal["system", "user", "assistant_text", "tool_call", "summary"]

COLLAPSED_MARK, NAMES_MARK = "[Tool Calls]", "[Tool calls:"
"""What the text of a collapsed group of tool calls begins with (.NET); unlike a summary it belongs to a turn."""


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that a strategy keeps or drops as one."""

    kind: GroupKind
    messages: tuple[Message, ...]
    positions: tuple[int, ...]
    """Index of each message in the history (not its ``seq``)."""


def group_messages(messages: Sequence[Message]) -> tuple[Group, ...]:
    """Group a history, left to right, in order of each group's first message.

    A run of tool results that follows no call is a ``tool_call`` group of its own. Messages that hold nothing but
    reasoning belong to the calls that they lead up to. A result that does not follow its call directly is linked to
    it when exactly one unanswered call has its id; a reused or ambiguous id links nothing.
    """
    spans = _spans(messages)
    span_of = [number for number, (_, start, end) in enumerate(spans) for _ in range(start, end)]
    root = list(range(len(spans)))
    for call, result in _call_pairs(messages):
        _join(root, span_of[call], span_of[result])
    members: dict[int, list[int]] = {}
    for number, (_, start, end) in enumerate(spans):
        members.setdefault(_find(root, number), []).extend(range(start, end))
    return tuple(
        Group(spans[first][0], tuple(messages[i] for i in positions), tuple(positions))
        for first, positions in members.items()
    )


@dataclass(frozen=True, slots=True)
class IndexedGroup:
    """A group of the .NET index: messages that follow each other."""

    kind: IndexKind
    messages: tuple[Message, ...]
    turn: int | None
    """Which user turn it belongs to, from 1; 0 before the first; None for system messages and summaries."""


def index_groups(messages: Sequence[Message], session: Sequence[Message] = ()) -> tuple[IndexedGroup, ...]:
    """The .NET index of a history.

    A group of tool calls is an assistant message with calls, the assistant messages without text right before it, and
    all results and assistant messages without text right after it. An assistant message that a strategy made to stand
    for others is a summary. A turn begins at a user message. ``session`` is all that was said: what is left of a turn
    whose user message is gone is a turn of its own still, as in the original, which keeps its index from call to call.
    """
    turns = _turns(messages, session or messages)
    groups: list[IndexedGroup] = []
    start = 0
    while start < len(messages):
        kind, end = _indexed_span(messages, start)
        groups.append(IndexedGroup(kind, tuple(messages[start:end]), turns[start]))
        start = end
    return tuple(groups)


def flatten(groups: Sequence[Group]) -> list[Message]:
    """The messages of these groups, in the order of the history."""
    pairs = [pair for g in groups for pair in zip(g.positions, g.messages, strict=True)]
    return [message for _, message in sorted(pairs, key=lambda pair: pair[0])]


def declarations(messages: Sequence[Message]) -> list[int | None]:
    """Find for each tool result the position of the nearest earlier message that asked for it; None for other messages.

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


def without_other_half(messages: Sequence[Message]) -> set[tuple[str, int | None, str]]:
    """(role, ``seq``, id) of every call without a result, and of every result without a call of its own before it.

    A result belongs to the latest call of its id; of several that belong to one call only the first is its own.
    """
    waiting: dict[tuple[int, str], int | None] = {}
    found: set[tuple[str, int | None, str]] = set()
    for position, (message, asked) in enumerate(zip(messages, declarations(messages), strict=True)):
        if message.role == "tool" and message.tool_call_id is not None:
            call = (-1 if asked is None else asked, message.tool_call_id)
            if call in waiting:
                del waiting[call]
            else:
                found.add(("tool", message.seq, message.tool_call_id))
        waiting.update(((position, call.id), message.seq) for call in message.tool_calls)
    return found | {("assistant", seq, id) for (_, id), seq in waiting.items()}


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


def _indexed_span(messages: Sequence[Message], start: int) -> tuple[IndexKind, int]:
    """Kind of the .NET group that begins at a position, and the position after it."""
    message = messages[start]
    if message.role in ("system", "user"):
        return ("system" if message.role == "system" else "user"), start + 1
    caller = start
    while caller < len(messages) and _says_nothing(messages[caller]):
        caller += 1
    if caller == len(messages) or not _calls_tools(messages[caller]):
        made = message.role == "assistant" and message.seq is None and bool(message.covers)
        return "summary" if made else "assistant_text", start + 1
    end = caller + 1
    while end < len(messages) and (messages[end].role == "tool" or _says_nothing(messages[end])):
        end += 1
    return "tool_call", end


def _turns(messages: Sequence[Message], session: Sequence[Message]) -> list[int | None]:
    """Number the turn of each message: one a user message, and one for the rest of a turn without it."""
    original: dict[int, int] = {}
    count = 0
    for message in session:
        if message.seq is not None:
            count += message.role == "user"
            original[message.seq] = count
    turns: list[int | None] = []
    turn, last = 0, 0
    for message in messages:
        made = message.seq is None and bool(message.covers)
        collapsed = message.text.startswith((COLLAPSED_MARK, NAMES_MARK))
        if message.role == "system" or (message.role == "assistant" and made and not collapsed):
            turns.append(None)
            continue
        known = original.get(message.covers[-1] if made else message.seq if message.seq is not None else -1)
        if message.role == "user" or (known is not None and -1 < last < known):
            turn += 1
        # After a summary in the user's role of which the session knows nothing, what comes next belongs to its turn.
        last = max(last, known) if known is not None else -1 if made and message.role == "user" else last
        turns.append(turn)
    return turns


def _says_nothing(message: Message) -> bool:
    """Whether an assistant's message is empty but for reasoning: such a one counts in .NET and not in Python."""
    return message.role == "assistant" and not message.text and not message.tool_calls


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


def _call_pairs(messages: Sequence[Message]) -> list[tuple[int, int]]:
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
