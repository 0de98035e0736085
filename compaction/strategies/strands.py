"""strands-agents 1.62.0: ``SlidingWindowConversationManager`` and ``SummarizingConversationManager``.

Its messages are ours, but results that follow each other are one message. It has no system messages: the system
prompt stands apart, and later ones count as the user's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from compaction.markers import headings
from compaction.model import Section
from compaction.parameters import Positive, Range
from compaction.registry import strategy
from compaction.strategies.shared.parts import stands_for, system_prompt, turns_of
from compaction.strategies.shared.requests import summary_request
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

PEER = "strands-agents"
VERSION = "1.62.0"

SECTIONS = (
    Section("Conversation Summary", ("intent", "state"), "The key topics, and the questions that were asked."),
    Section("Tools Executed", ("files", "errors"), "Every tool call that mattered, with what came of it."),
    Section("Technical Information", ("details",), "Code that was shown, and other technical facts."),
    Section("Key Insights", ("decisions", "next_steps"), "The most important things that were learned."),
)


@strategy(
    "strands_sliding", every_turn=True, peer=PEER, peer_version=VERSION, bites={"window_size": 3}, by_default=False
)
def strands_sliding(history: History, *, window_size: int = 40, pin_first: int = 0) -> Sequence[Message]:
    """The last ``window_size`` messages from the first user message among them on, and the system prompt.

    Results that follow each other are one message there. Without a user message the window begins at a message that
    calls tools and is answered right away; without that too nothing goes, which is flagged ``no_cut``. The first
    ``pin_first`` messages stay, with the results of a call that is the last of them. The task goes with the oldest
    messages unless it is pinned. Later system messages count as the user's, because the original has none.
    """
    system, turns = _split(history)
    if len(turns) <= window_size:
        return history.messages
    start = _trim_point(turns, len(turns) - window_size) if window_size else len(turns)
    if start is None:
        history.flag("no_cut")
        return history.messages
    kept = [*turns[: min(_n_pinned(turns, pin_first), start)], *turns[start:]]
    return (*system, *(message for turn in kept for message in turn))


@strategy(
    "strands_summarizing",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    by_default=False,
    markers=headings(SECTIONS),
    bites={"summary_ratio": 0.5, "preserve_recent_messages": 2},
)
def strands_summarizing(
    history: History,
    *,
    summary_ratio: Annotated[float, Range(0.1, 0.8)] = 0.3,
    preserve_recent_messages: int = 10,
    pin_first: int = 0,
    summary_tokens: Positive = SUMMARY_TOKENS,
) -> Sequence[Message]:
    """The oldest ``summary_ratio`` of the messages becomes a summary as a user message; the rest stays.

    At least one message goes and the last ``preserve_recent_messages`` stay. The cut moves on to a message that is
    neither a result nor a call without its results right behind it; without one nothing goes, which is flagged
    ``no_cut``. The first ``pin_first`` messages stay in front of the summary, with the results of a call that is the
    last of them. An earlier summary is a message like any other.
    """
    system, turns = _split(history)
    size = min(max(1, int(len(turns) * summary_ratio)), len(turns) - preserve_recent_messages)
    if size <= 0:
        return history.messages
    cut = _summary_cut(turns, size)
    if cut is None:
        history.flag("no_cut")
        return history.messages
    n_pinned = min(_n_pinned(turns, pin_first), cut)
    span = [message for turn in turns[n_pinned:cut] for message in turn]
    if not span:
        return history.messages
    request = summary_request(history, "strands_summarizing", span, sections=SECTIONS, max_tokens=summary_tokens)
    summary = Message("user", history.summarize(request), covers=stands_for(span))
    pinned, rest = ([message for turn in part for message in turn] for part in (turns[:n_pinned], turns[cut:]))
    return (*system, *pinned, summary, *rest)


def _split(history: History) -> tuple[list[Message], list[list[Message]]]:
    """The session's system prompt, as far as it is left, and the original's messages."""
    own = system_prompt(history.session)
    system = [message for message, first in zip(history.messages, own, strict=False) if message.seq == first.seq]
    return system, turns_of(history.messages[len(system) :])


def _summary_cut(turns: Sequence[Sequence[Message]], start: int) -> int | None:
    """Find the first turn from ``start`` on that may follow a summary; the end is one if it is the start."""
    for position in range(start, len(turns)):
        turn, behind = turns[position], turns[position + 1 : position + 2]
        if turn[0].role != "tool" and not (turn[0].tool_calls and behind and behind[0][0].role != "tool"):
            return position
    return start if start == len(turns) else None


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
