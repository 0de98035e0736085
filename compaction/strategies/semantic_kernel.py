"""Semantic Kernel's Python 1.45.0: ``ChatHistoryTruncationReducer`` and ``ChatHistorySummarizationReducer``.

Both cut at one place, which moves back to the start of a run of calls and results, and from there to a user message
within the threshold. Of the system messages before the cut only the first of all stays. Agent Framework has taken over
the prompt, so ours is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.agent_framework.python_summary import SUMMARY_TOKENS
from compaction.strategies.shared.parts import stands_for
from compaction.strategies.shared.requests import summary_request
from compaction.strategy import History
from compaction.transcript import Message

PEER = "semantic-kernel"
VERSION = "1.45.0"

TARGET = 10
THRESHOLD = 10
"""Both as in the original's samples; a target has no default there, and the threshold is 0."""
BITES = {"target_count": 3, "threshold_count": 1}


@strategy("semantic_kernel_truncation", peer=PEER, peer_version=VERSION, by_default=False, bites=BITES)
def semantic_kernel_truncation(
    history: History, *, target_count: Positive = TARGET, threshold_count: int = THRESHOLD
) -> Sequence[Message]:
    """The last ``target_count`` messages, and the first system message, which is one of them.

    Nothing is done up to ``threshold_count`` messages more. Where the rest would begin among calls and results it
    begins with the first of their run, which may be everything; then with the latest user message before it that is
    no more than the target and the threshold from the end.
    """
    messages = history.messages
    cut = _cut(messages, target_count, threshold_count, 0)
    return messages if cut is None else _with_system(messages, messages[cut:])


@strategy(
    "semantic_kernel_summary",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    variants=({"include_function_content": True},),
    by_default=False,
    bites=BITES,
)
def semantic_kernel_summary(
    history: History,
    *,
    target_count: Positive = TARGET,
    threshold_count: int = THRESHOLD,
    use_single_summary: bool = True,
    include_function_content: bool = False,
    summary_tokens: Positive = SUMMARY_TOKENS,
) -> Sequence[Message]:
    """A summary, by the assistant, of all but the last ``target_count`` messages; the first system message stays.

    It is cut as ``semantic_kernel_truncation`` does, with the same ``threshold_count``. The summariser is shown neither
    system messages nor, unless ``include_function_content`` is on, calls and results: these are lost. Where nothing is
    left to show, nothing is done. With ``use_single_summary`` off earlier summaries stay as they are, if nothing
    stands before them.
    """
    messages = history.messages
    first = next((p for p, message in enumerate(messages) if not _is_summary(message)), 0)
    cut = _cut(messages, target_count, threshold_count, first)
    if cut is None:
        return messages
    shown = _select_shown(messages, 0 if use_single_summary else first, cut, include_function_content)
    if not shown:
        return messages
    request = summary_request(history, "af_py_summarization", shown, sections=(), max_tokens=summary_tokens)
    summary = Message("assistant", history.summarize(request), covers=stands_for(shown))
    earlier = () if use_single_summary else messages[:first]
    return _with_system(messages, (*earlier, summary, *messages[cut:]))


def _is_summary(message: Message) -> bool:
    return message.seq is None and bool(message.covers)


def _is_call_or_result(message: Message) -> bool:
    return message.role == "tool" or bool(message.tool_calls)


def _system_position(messages: Sequence[Message]) -> int | None:
    """Position of the first system message that is no summary."""
    return next((p for p, m in enumerate(messages) if m.role == "system" and not _is_summary(m)), None)


def _with_system(messages: Sequence[Message], left: Sequence[Message]) -> Sequence[Message]:
    """Add the first system message of all in front, unless it is there."""
    position = _system_position(messages)
    if position is None or any(message is messages[position] for message in left):
        return left
    return (messages[position], *left)


def _cut(messages: Sequence[Message], target: int, threshold: int, offset: int) -> int | None:
    """Find where the rest begins; None where nothing is to be done. The first ``offset`` messages are summaries."""
    total = len(messages)
    if total <= target + threshold:
        return None
    system = _system_position(messages)
    if system is not None and system < total - target:
        target -= 1
        if target == 0:
            return total
    earliest = total - threshold - target
    if earliest <= offset:
        return None
    cut = total - target
    while cut > offset and all(map(_is_call_or_result, messages[cut - 1 : cut + 1])):
        cut -= 1
    users = (p for p in range(cut, earliest - 1, -1) if messages[p].role == "user")
    return next(users, cut)


def _select_shown(messages: Sequence[Message], start: int, end: int, functions: bool) -> list[Message]:
    """Select what the summariser is shown; the last result of a call stands right behind it."""
    if not functions:
        return [m for m in messages[start:end] if m.role != "system" and not _is_call_or_result(m)]
    others = _other_halves(messages)
    order: dict[int, None] = {}
    for position in range(start, end):
        if position in order or messages[position].role == "system":
            continue
        order[position] = None
        if position < others.get(position, -1) < end:
            order[others[position]] = None
    return [messages[position] for position in order]


def _other_halves(messages: Sequence[Message]) -> dict[int, int]:
    """Position of a call → that of its last result, and of each result → that of its call."""
    asked = {call.id: position for position, message in enumerate(messages) for call in message.tool_calls}
    found: dict[int, int] = {}
    for position, message in enumerate(messages):
        call = asked.pop(message.tool_call_id or "", None) if message.role == "tool" else None
        if call is not None:
            found[call], found[position] = position, call
    return found
