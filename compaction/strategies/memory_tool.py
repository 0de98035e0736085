"""Anthropic's memory tool beside its context editing: noted before it is cleared, and read back by a call."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from compaction.groups import declarations
from compaction.markers import removed
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.notes import (
    ALL_NOTES_TOKENS,
    MARK,
    MARKERS,
    NOTES_TOKENS,
    SECTIONS,
    add_notes,
    call_for_notes,
    read_sections,
    write_notes,
)
from compaction.strategies.provider_native import CLEARED
from compaction.strategies.shared.parts import compaction_cuts, is_made, make_once, stands_for, whole_cuts, with_text
from compaction.strategy import History
from compaction.transcript import Message


@strategy(
    "anthropic_memory_tool",
    needs_model=True,
    peer="Anthropic memory tool",
    peer_version="context-management-2025-06-27",
    markers=(*MARKERS, *removed(CLEARED)),
    by_default=False,
    bites={"keep": 1},
)
def anthropic_memory_tool(
    history: History,
    *,
    keep: int = 3,
    exclude_tools: str = "",
    notes_tokens: Positive = NOTES_TOKENS,
    all_notes_tokens: Positive = ALL_NOTES_TOKENS,
) -> Sequence[Message]:
    """Approximation of an agent with the memory tool: old results are noted, cleared, and read back by a call.

    The text of every result but the last ``keep`` goes, as ``clear_tool_uses_20250919`` does it; results of
    ``exclude_tools``, names with spaces between them, stay. Before that a model notes down, in ``notes_tokens``, what
    these results and their calls say and the notes do not. The notes stand, as the result of a call of the tool, behind
    the first user message: the tool's protocol has the agent read its notes before all else. Beyond
    ``all_notes_tokens`` their oldest lines are left out. A real agent says itself what it notes, and when.
    """
    messages = history.messages
    earlier = next((message for message in messages if is_made(message, MARK)), None)
    notes = read_sections(earlier.text.removeprefix(MARK), SECTIONS) if earlier else {}
    covered = [earlier] if earlier else []
    noted = set(stands_for(covered))
    asked, excluded, cleared = declarations(messages), set(exclude_tools.split()), set[int]()
    results = [p for p, message in enumerate(messages) if message.role == "tool" and message.seq is not None]
    for end in compaction_cuts(history, 0):
        n_old = max(0, bisect_left(results, end) - keep)
        going = {position for position in results[:n_old] if messages[position].tool_name not in excluded}
        calls = {call for call in map(asked.__getitem__, going) if call is not None}
        span = [messages[p] for p in sorted(going | calls) if messages[p].seq not in noted]
        if any(message.role == "tool" for message in span):
            add_notes(history, "anthropic_memory_tool", notes, span, max_tokens=notes_tokens)
            covered += span
            noted.update(stands_for(span))
            cleared |= going
    if not cleared:
        return messages
    told = call_for_notes(write_notes(history, notes, all_notes_tokens), stands_for(covered))
    left = [
        make_once(history.counter, with_text, message, CLEARED) if position in cleared else message
        for position, message in enumerate(messages)
        if earlier is None or message.covers != earlier.covers
    ]
    task = next((position for position, message in enumerate(left) if message.role == "user"), -1)
    place = min(position for position in whole_cuts(left) if position > task)
    return (*left[:place], *told, *left[place:])
