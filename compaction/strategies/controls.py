"""The controls: everything, nothing, the two ends, and what came last."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.groups import declarations
from compaction.registry import strategy
from compaction.strategies.shared.parts import needs_from, system_prompt, tail_start, whole_cuts
from compaction.strategy import History
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


@strategy("head_tail", version=2, bites={"head": 1, "tail": 3})
def head_tail(history: History, *, head: int = 2, tail: int = 8) -> Sequence[Message]:
    """The first ``head`` and the last ``tail`` messages.

    A group (a message with tool calls and all of their results) of which either end takes a part is kept whole, so a
    little more than ``head + tail`` messages may stay. Defaults: the figures of a published diagram of OpenHands'
    summary condenser, without its summary.
    """
    messages = history.messages
    if len(messages) <= head + tail:
        return messages
    asked = declarations(messages)
    partners: dict[int, list[int]] = {}
    for result, call in enumerate(asked):
        if call is not None:
            partners.setdefault(call, []).append(result)
            partners.setdefault(result, []).append(call)
    group_of = {position: group for group in history.groups for position in group.positions}
    wanted = [*range(head), *range(len(messages) - tail, len(messages))]
    kept: set[int] = set()
    while wanted:
        position = wanted.pop()
        if position not in kept:
            members = group_of[position].positions
            kept.update(members)
            wanted += [partner for member in members for partner in partners.get(member, ())]
    return [messages[position] for position in sorted(kept)]


def _room(history: History, *, share: float, tokens: int | None) -> int:
    return int(share * history.count(history.session)) if tokens is None else tokens


@strategy(
    "recency",
    variants=tuple({"share": share} for share in (0.02, 0.05, 0.2, 0.4)),
    limit=_room,
    bites={"share": 0.4},
)
def recency(history: History, *, share: float = 0.1, tokens: int | None = None) -> Sequence[Message]:
    """The system prompt and the newest messages that fit into ``tokens``, or else into a share of what was said.

    History cut from its beginning. The room is ``tokens``, or ``share`` (0 to 1) of the tokens of all messages before
    the point, and the system prompt, which always stays, takes its part of it. What stays is a run of whole groups (a
    message with tool calls and all of their results) up to the end; none when not even the last group fits. The
    plainest method at any size: what the view ``matched_budget`` holds each other method against.
    """
    room = _room(history, share=share, tokens=tokens)
    prompt = system_prompt(history.messages)
    end = len(history.messages)
    start = tail_start(history, needs_from(history), len(prompt), end, room - history.count(prompt))
    return (*prompt, *history.messages[start:])


@strategy("primacy", limit=_room, bites={"share": 0.4})
def primacy(history: History, *, share: float = 0.1, tokens: int | None = None) -> Sequence[Message]:
    """The system prompt and the oldest messages that fit into ``tokens``, or else into a share of what was said.

    History cut from its end: the opposite of ``recency``, with the same room (``tokens``, or ``share``), in which the
    task stays and what was done last goes. What stays is a run of whole groups from the beginning.
    """
    messages = history.messages
    room = _room(history, share=share, tokens=tokens)
    end = len(system_prompt(messages))
    left, legal = room - history.count(messages[:end]), whole_cuts(messages)
    for position in range(end, len(messages)):
        left -= history.count((messages[position],))
        if left < 0:
            break
        end = position + 1 if position + 1 in legal else end
    return messages[:end]
