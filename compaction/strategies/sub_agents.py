"""Sub-agents with contexts of their own: an approximation, since the stored session was one agent's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compaction.markers import headings, wrapper
from compaction.model import Section
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.notes import find_opening, leaving_messages, read_sections, shown_before
from compaction.strategies.shared.parts import is_made, stands_for, system_prompt
from compaction.strategies.shared.requests import summary_request
from compaction.strategy import History
from compaction.transcript import Message

MARK = "[Conclusion of a sub-agent that worked on an earlier part.]"

CONCLUSION_TOKENS = 300
"""Ours, as all figures here."""
SEGMENT_SHARE = 0.25
"""``segment_tokens`` as a share of the budget where no figure is given."""
LEAST_SHARE = 0.25
"""A user message begins a new segment where the one before has this share of ``segment_tokens``."""
TASK_CHARS = 2000
"""How much of the task a sub-agent is shown."""

SECTIONS = (
    Section(
        "Outcome", ("decisions", "state"), "What was found out, decided and finished, with exact names and values."
    ),
    Section("Files", ("files",), "Path, what was done to it, and the names that changed: `- path (modified): names`."),
    Section("Open", ("next_steps", "errors"), "What is not finished, what fails and why."),
)

MARKERS = (*wrapper(MARK), *headings(SECTIONS))


@strategy("sub_agent_contexts", needs_model=True, markers=MARKERS)
def sub_agent_contexts(
    history: History,
    *,
    segment_tokens: Positive | None = None,
    conclusion_tokens: Positive = CONCLUSION_TOKENS,
    tail_tokens: int | None = None,
    result_chars: Positive | None = None,
) -> Sequence[Message]:
    """Approximation of sub-agents: the task, one conclusion for each segment of what was dropped, and the newest.

    The session is split as if each segment had been a sub-agent's. A segment is concluded from its own messages
    and the task alone, in ``conclusion_tokens``, and its conclusion never changes again. Segments end at user messages,
    and before they have more than ``segment_tokens`` (a quarter of the budget). Real sub-agents are given a task of
    their own and work apart; here the segments are pieces of one agent's work. The newest whole groups within
    ``tail_tokens`` (a tenth of the budget) stay.
    """
    messages = history.messages
    start, task = find_opening(messages, MARK)
    size = int(history.budget * SEGMENT_SHARE) if segment_tokens is None else segment_tokens
    conclusions = [message for message in messages[:start] if is_made(message, MARK)]
    tail, reach = start, group_ends(history)
    for span, cut in leaving_messages(history, start, task, tail_tokens):
        for segment in segments(history, span, size, reach):
            request = summary_request(
                history,
                "sub_agent_contexts",
                segment,
                sections=SECTIONS,
                max_tokens=conclusion_tokens,
                result_chars=result_chars,
            )
            if task is not None:
                request = shown_before(request, f"<task>\n{messages[task].text[:TASK_CHARS]}\n</task>")
            text = _conclusion(history.summarize(request))
            conclusions.append(Message("user", f"{MARK}\n\n{text}", covers=stands_for(segment)))
        tail = cut
    if tail == start:
        return messages
    before = (messages[task],) if task is not None and task < tail else ()
    return (*system_prompt(messages), *before, *conclusions, *messages[tail:])


def segments(
    history: History, span: Sequence[Message], max_tokens: int, reach: Mapping[int, int]
) -> Iterator[tuple[Message, ...]]:
    """A span in pieces of whole groups; one group may be longer than the limit. ``reach``: see ``group_ends``."""
    piece: list[Message] = []
    tokens = 0
    for unit in _units(span, reach):
        more = history.count(unit)
        begins_turn = unit[0].role == "user" and tokens >= max_tokens * LEAST_SHARE
        if piece and (begins_turn or tokens + more > max_tokens):
            yield tuple(piece)
            piece, tokens = [], 0
        piece += unit
        tokens += more
    if piece:
        yield tuple(piece)


def group_ends(history: History) -> dict[int, int]:
    """Map each message, by identity, to the number of messages until the last one of its group."""
    return {
        id(message): group.positions[-1] - position
        for group in history.groups
        for position, message in zip(group.positions, group.messages, strict=True)
    }


def _units(span: Sequence[Message], reach: Mapping[int, int]) -> Iterator[list[Message]]:
    """Yield runs of messages that contain each group whole."""
    unit: list[Message] = []
    end = 0
    for position, message in enumerate(span):
        unit.append(message)
        end = max(end, position + reach[id(message)])
        if end <= position:
            yield unit
            unit = []
    if unit:
        yield unit


def _conclusion(text: str) -> str:
    """The sections that say something; the text as it is where none does."""
    found = {title: lines for title, lines in read_sections(text, SECTIONS).items() if lines}
    return "\n\n".join(f"## {title}\n" + "\n".join(lines) for title, lines in found.items()) or text
