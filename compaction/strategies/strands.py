"""strands-agents 1.62.0: ``SlidingWindowConversationManager``."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.registry import strategy
from compaction.strategies.shared.parts import system_prompt, turns_of
from compaction.strategy import History
from compaction.transcript import Message


@strategy("strands_sliding", every_turn=True, peer="strands-agents", peer_version="1.62.0", bites={"window_size": 3})
def strands_sliding(history: History, *, window_size: int = 40, pin_first: int = 0) -> Sequence[Message]:
    """The last ``window_size`` messages from the first user message among them on, and the system prompt.

    Results that follow each other are one message there. Without a user message the window begins at a message that
    calls tools and is answered right away; without that too nothing goes, which is flagged ``no_cut``. The first
    ``pin_first`` messages stay, with the results of a call that is the last of them. The task goes with the oldest
    messages unless it is pinned. Later system messages count as the user's, because the original has none.
    """
    own = system_prompt(history.session)
    system = [message for message, first in zip(history.messages, own, strict=False) if message.seq == first.seq]
    turns = turns_of(history.messages[len(system) :])
    if len(turns) <= window_size:
        return history.messages
    start = _trim_point(turns, len(turns) - window_size) if window_size else len(turns)
    if start is None:
        history.flag("no_cut")
        return history.messages
    kept = [*turns[: min(_n_pinned(turns, pin_first), start)], *turns[start:]]
    return (*system, *(message for turn in kept for message in turn))


def _n_pinned(turns: Sequence[Sequence[Message]], count: int) -> int:
    """Count the pinned turns: one more if a call would be separated from its results."""
    if not 0 < count < len(turns):
        return count
    last, following = (_ids(turn) for turn in turns[count - 1 : count + 1])
    return count + bool(last & following)


def _ids(turn: Sequence[Message]) -> set[str]:
    return {id for m in turn for id in (m.tool_call_id, *(call.id for call in m.tool_calls)) if id}


def _trim_point(turns: Sequence[Sequence[Message]], start: int) -> int | None:
    """Find the first turn from ``start`` on that may begin a window."""
    for position in range(start, len(turns)):
        if turns[position][0].role in ("user", "system"):
            return position
    for position in range(start, len(turns) - 1):
        if turns[position][0].tool_calls and turns[position + 1][0].role == "tool":
            return position
    return None
