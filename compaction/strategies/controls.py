"""The controls: everything, nothing, and the two ends."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.groups import declarations
from compaction.strategies._parts import at_least, system_prompt
from compaction.strategy import History, strategy
from compaction.transcript import Message


@strategy("none")
def none(history: History) -> Sequence[Message]:
    """The full context, unchanged: the ceiling."""
    return history.messages


@strategy("empty")
def empty(history: History) -> Sequence[Message]:
    """The system prompt and nothing of the session: the floor.

    What can be answered from it was known without the session. System messages that came later are content of the
    session and go with the rest.
    """
    return system_prompt(history.messages)


@strategy("head_tail")
def head_tail(history: History, *, head: int = 2, tail: int = 8) -> Sequence[Message]:
    """The first ``head`` and the last ``tail`` messages.

    A group (a message with tool calls and all of their results) of which either end takes a part is kept whole, so a
    little more than ``head + tail`` messages may stay. Defaults: the figures of a published diagram of OpenHands'
    summary condenser, without its summary.
    """
    at_least(0, head=head, tail=tail)
    messages = history.messages
    if len(messages) <= head + tail:
        return messages
    asked = declarations(messages)
    group_of = {position: group for group in history.groups for position in group.positions}
    wanted = [*range(head), *range(len(messages) - tail, len(messages))]
    kept: set[int] = set()
    while wanted:
        position = wanted.pop()
        if position not in kept:
            members = group_of[position].positions
            kept.update(members)
            wanted += [call for call in map(asked.__getitem__, members) if call is not None and call not in kept]
    return [messages[position] for position in sorted(kept)]
