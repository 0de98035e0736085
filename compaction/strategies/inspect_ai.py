"""inspect_ai 0.3.285: ``CompactionTrim`` and ``CompactionEdit``.

Its conversation has three parts: system messages, the input of a sample, and all else. A transcript does not say what
the input was; as there without that mark it is all up to the first user message.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from compaction.markers import removed
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once, with_calls, with_text, without_reasoning
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

PEER = "inspect-ai"
VERSION = "0.3.285"

REMOVED = "(Tool result removed)"
SUMMARY_MARK = "[CONTEXT COMPACTION SUMMARY]"
MEMORY_TOOL = "memory"
MEMORY_ARGUMENTS = ("file_text", "insert_text", "new_str")
SAVED = "(content saved to memory)"
MARKERS = removed(SAVED)
KEPT_TOOL = "tool_search"
"""Its results are definitions of tools and are never removed."""
THRESHOLD = 0.9
"""Share of the window above which the original compacts, and goes on compacting."""


class Parts(NamedTuple):
    """A history in the three parts that the original distinguishes."""

    system: tuple[Message, ...]
    input: tuple[Message, ...]
    conversation: tuple[Message, ...]


def partition(messages: Sequence[Message]) -> Parts:
    """System messages from wherever they are, all up to the first user message, and the rest.

    A summary is conversation, and where the conversation begins with one there is no input.
    """
    system = tuple(message for message in messages if message.role == "system")
    others = [message for message in messages if message.role != "system"]
    length = 0
    while length < len(others) and not is_summary(others[length]):
        length += 1
        if others[length - 1].role == "user":
            break
    return Parts(system, tuple(others[:length]), tuple(others[length:]))


def is_summary(message: Message) -> bool:
    """Whether a summary of inspect's stands in the message."""
    return message.seq is None and message.role == "user" and message.text.startswith(SUMMARY_MARK)


@strategy("inspect_trim", peer=PEER, peer_version=VERSION, markers=MARKERS, bites={"preserve": 0.5}, by_default=False)
def inspect_trim(history: History, *, preserve: float = 0.8, passes: Positive = 1) -> Sequence[Message]:
    """System messages, the input, and the newest share ``preserve`` of the other messages.

    System messages go to the front. Results whose call is gone, and calls whose result is gone, are left out, and so is
    an assistant message at the end. The original compacts again while more than nine tenths of the window are full,
    up to four ``passes`` in all; one is what its class does.
    """
    left: Sequence[Message] = history.messages
    for number in range(passes):
        if number and history.count(left) <= THRESHOLD * history.budget:
            break
        parts = partition(left)
        newest = parts.conversation[int(len(parts.conversation) * (1 - preserve)) :]
        left = (*parts.system, *parts.input, *_without_unpaired(history, newest))
    return _without_saved(history, left)


@strategy(
    "inspect_edit",
    peer=PEER,
    peer_version=VERSION,
    markers=(*MARKERS, *removed(REMOVED)),
    bites={"keep_tool_uses": 1},
    by_default=False,
)
def inspect_edit(
    history: History, *, keep_tool_uses: int = 3, keep_thinking_turns: int | None = 1, exclude_tools: str | None = None
) -> Sequence[Message]:
    """Results of all but the last ``keep_tool_uses`` answered calls are removed, and the reasoning of older turns.

    Reasoning stays in the last ``keep_thinking_turns`` assistant messages (None: in all). ``exclude_tools``, names with
    spaces between them, are never cleared and, unlike elsewhere, do not use up what is kept. Assistant messages at the
    end go, because providers want a user's turn there.
    """
    messages = list(history.messages)
    if keep_thinking_turns is not None:
        turns = [position for position, message in enumerate(messages) if message.role == "assistant"]
        for position in turns[: max(0, len(turns) - keep_thinking_turns)]:
            messages[position] = without_reasoning(history, messages[position])
    uses = _tool_uses(messages, {KEPT_TOOL, *(exclude_tools or "").split()})
    for position in uses[: max(0, len(uses) - keep_tool_uses)]:
        messages[position] = _remove_content(history, messages[position])
    while messages and messages[-1].role == "assistant":
        messages.pop()
    return _without_saved(history, messages)


def _without_unpaired(history: History, messages: Sequence[Message]) -> list[Message]:
    """The messages without results that do not belong to the assistant message before them, and without open calls."""
    kept: list[Message] = []
    asked: frozenset[str | None] = frozenset()
    for message in messages:
        if message.role == "assistant":
            asked = frozenset(call.id for call in message.tool_calls)
        elif message.role == "user":
            asked = frozenset()
        elif message.tool_call_id not in asked:
            continue
        kept.append(message)
    answered = {message.tool_call_id for message in kept if message.role == "tool"}
    kept = [_with_calls(history, message, answered) for message in kept]
    return kept[:-1] if kept and kept[-1].role == "assistant" else kept


def _with_calls(history: History, message: Message, answered: Collection[str | None]) -> Message:
    calls = tuple(call for call in message.tool_calls if call.id in answered)
    if len(calls) == len(message.tool_calls):
        return message
    return make_once(history.counter, with_calls, message, calls)


def _tool_uses(messages: Sequence[Message], excluded: Collection[str]) -> list[int]:
    """Positions of the results of all calls that have one, in the order of the calls."""
    results: dict[str | None, list[int]] = {}
    for position, message in enumerate(messages):
        if message.role == "tool":
            results.setdefault(message.tool_call_id, []).append(position)
    found: list[int] = []
    for position, message in enumerate(messages):
        for call in message.tool_calls:
            places = results.get(call.id, [])
            first = bisect_right(places, position)
            if call.name not in excluded and first < len(places):
                found.append(places[first])
    return found


def _remove_content(history: History, message: Message) -> Message:
    if message.text == REMOVED:
        return message
    return make_once(history.counter, with_text, message, REMOVED)


def _without_saved(history: History, messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without the texts that calls of the memory tool have stored."""
    return tuple(
        _without_memory(history, message) if any(call.name == MEMORY_TOOL for call in message.tool_calls) else message
        for message in messages
    )


def _without_memory(history: History, message: Message) -> Message:
    calls = tuple(map(_empty_arguments, message.tool_calls))
    if calls == message.tool_calls:
        return message
    return make_once(history.counter, with_calls, message, calls)


def _empty_arguments(call: ToolCall) -> ToolCall:
    arguments = call.parsed()
    stored = {name: SAVED for name in MEMORY_ARGUMENTS if arguments.get(name, SAVED) != SAVED}
    if call.name != MEMORY_TOOL or not stored:
        return call
    return replace(call, arguments=json.dumps(arguments | stored, ensure_ascii=False))
