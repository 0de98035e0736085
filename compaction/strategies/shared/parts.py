"""Helpers of several strategies: legal cuts, the messages that a message covers, and a cache of made messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVarTuple

from compaction.groups import declarations
from compaction.memo import Memo
from compaction.strategy import History
from compaction.tokens import TokenCounter, counted
from compaction.transcript import Message, ToolCall

Ts = TypeVarTuple("Ts")

_made: Memo[Message] = Memo(32_000_000)


def make_once(counter: TokenCounter, make: Callable[[*Ts], Message], *args: *Ts) -> Message:
    """The counted message that a function makes of these arguments, made once for the same messages (``Memo.of``).

    A session is compacted again and again with the same messages in it: at every point, and by several methods.
    """
    return _made.of(_make_counted, counter, make, args)


def with_text(message: Message, text: str) -> Message:
    """The message with another text, for ``make_once``."""
    return message.with_text(text)


def with_calls(message: Message, calls: tuple[ToolCall, ...]) -> Message:
    """The message with other calls, for ``make_once``."""
    return replace(message, tool_calls=calls, tokens=None)


def _make_counted(counter: TokenCounter, make: Callable[..., Message], args: tuple[Any, ...]) -> Message:
    return counted(make(*args), counter)


def system_prompt(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The session's system messages before anything else was said.

    Later system messages (reminders, notices, summaries) are content of the session, also where a method has removed
    all that stood before them.
    """
    length = 0
    while length < len(messages) and messages[length].role == "system" and messages[length].seq == length:
        length += 1
    return tuple(messages[:length])


def stands_for(messages: Iterable[Message]) -> tuple[int, ...]:
    """``seq`` of these messages and of all messages that they cover, ascending."""
    found: set[int] = set()
    for message in messages:
        found.update(message.covers)
        if message.seq is not None:
            found.add(message.seq)
    return tuple(sorted(found))


def is_made(message: Message, mark: str) -> bool:
    """Whether a strategy that marks its messages so left this one behind."""
    return message.seq is None and bool(message.covers) and message.text.startswith(mark)


def without_reasoning(history: History, message: Message) -> Message:
    """The message as it is where reasoning is left out."""
    if not message.reasoning:
        return message
    return make_once(history.counter, _without_reasoning, message)


def _without_reasoning(message: Message) -> Message:
    return replace(message, reasoning="", tokens=None)


def read_time(message: Message) -> float | None:
    """The message's time in seconds, in UTC where the log names no zone; None where it has none that can be read."""
    try:
        time = datetime.fromisoformat(message.timestamp or "")
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def turns_of(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages one by one, and tool results that follow each other together: as some systems store them."""
    turns: list[list[Message]] = []
    for message in messages:
        if turns and message.role == "tool" and turns[-1][0].role == "tool":
            turns[-1].append(message)
        else:
            turns.append([message])
    return turns


def compaction_cuts(history: History, start: int) -> Iterator[int]:
    """Positions after ``start`` at which the session was compacted before, then the end of the history."""
    earlier = iter(sorted(history.earlier_cuts))
    cut = next(earlier, None)
    for position, message in enumerate(history.messages):
        while cut is not None and message.seq is not None and message.seq >= cut:
            if position > start:
                yield position
            cut = next(earlier, None)
    yield len(history.messages)


def whole_cuts(messages: Sequence[Message]) -> set[int]:
    """Positions without a later result of an earlier call; the end is one."""
    lowest = len(messages)
    legal = {lowest}
    for position, asked in reversed(list(enumerate(declarations(messages)))):
        lowest = min(lowest, position if asked is None else asked)
        if lowest >= position:
            legal.add(position)
    return legal


def without_lost_results(before: Sequence[Message], left: Sequence[Message]) -> list[Message]:
    """What is left of some messages, without the results of calls that are gone."""
    kept = {message.seq for message in left if message.seq is not None}
    lost = {
        message.seq
        for message, asked in zip(before, declarations(before), strict=True)
        if asked is not None and message.role == "tool" and before[asked].seq not in kept
    }
    return [message for message in left if message.seq is None or message.seq not in lost]


def needs_from(history: History) -> list[int]:
    """Find for each position the first one that must stay with it: the start of its group, or its call."""
    needed = [position if asked is None else asked for position, asked in enumerate(declarations(history.messages))]
    for group in history.groups:
        first = group.positions[0]
        for position in group.positions:
            needed[position] = min(needed[position], first)
    return needed


def tail_start(history: History, needed: Sequence[int], start: int, end: int, max_tokens: int) -> int:
    """Find the start of the longest run of whole groups up to ``end`` within ``max_tokens``.

    It does not begin before ``start``. It is empty (``end``) when not even the last group fits.
    """
    begin = lowest = end
    tokens = 0
    for position in range(end - 1, start - 1, -1):
        tokens += history.count((history.messages[position],))
        if tokens > max_tokens:
            break
        lowest = min(lowest, needed[position])
        if lowest >= position:
            begin = position
    return begin
