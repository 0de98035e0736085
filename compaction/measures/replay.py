"""What a session's model calls would have been sent under a method: replays them one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compaction.transcript import Message


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One model call of a session, in tokens. Instructions and tools that the log does not hold are not counted."""

    seq: int
    """The first message that the model answered with."""
    input_tokens: int
    """All that the call was sent."""
    cached_tokens: int
    """Those at its beginning that the call before was sent too: a provider's prompt cache can have them."""
    output_tokens: int


def replay_calls(
    messages: Sequence[Message],
    contexts: Mapping[int, Sequence[Message]],
    view: Callable[[int], Sequence[Message]] | None = None,
    first: int = 0,
) -> list[ReplayedCall]:
    """Replay a session call by call.

    A run of messages of the assistant is the answer of one call. The call was sent the last context before it and what
    was said since. Of two calls in a row the messages at the beginning that are the same in both are cached, to the
    first that differs; what the model answered is new to the next call.

    Args:
        messages: The session, counted.
        contexts: Cut → what the method left of the messages before it, counted.
        view: For a method that works at every turn: number of messages → what the model is shown of them. ``contexts``
            is not used then.
        first: Calls that were answered before this message are replayed, but not returned (another session has them).
    """
    calls: list[ReplayedCall] = []
    sent: list[Message] = []
    upcoming = sorted(contexts)
    base: Sequence[Message] = ()
    since = 0
    for start, end in _answers(messages, upcoming):
        while upcoming and upcoming[0] <= start:
            since = upcoming.pop(0)
            base = contexts[since]
        shown = list(view(start)) if view else [*base, *messages[since:start]]
        if start >= first:
            cached = _tokens(shown[: _count_shared(sent, shown)])
            calls.append(ReplayedCall(start, _tokens(shown), cached, _tokens(messages[start:end])))
        sent = shown
    return calls


def _answers(messages: Sequence[Message], cuts: Sequence[int]) -> list[tuple[int, int]]:
    """Start and end of every run of messages of the assistant; a cut parts a run."""
    bounds = set(cuts)
    found: list[tuple[int, int]] = []
    for at, message in enumerate(messages):
        if message.role != "assistant":
            continue
        if found and found[-1][1] == at and at not in bounds:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found


def _count_shared(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Number of messages at the beginning that are the same in both."""
    number = 0
    for one, other in zip(before, now, strict=False):
        if one is not other and one != other:
            break
        number += 1
    return number


def _tokens(messages: Sequence[Message]) -> int:
    return sum(message.tokens or 0 for message in messages)
