"""opencode's compaction: a summary as an answer of the assistant, and the last turns if they are small.

Read from Eric-Guo/opencode: ``session/compaction.ts`` at 1af9af1, and ``session/message-v2.ts`` at 05296d3, which has
the later order; the earlier one is that of the tests of its time. Tokens are opencode's: a quarter of the characters of
the messages as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from compaction.markers import Marker, headings, removed
from compaction.model import Section
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.originals import json_length, utf16_length
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_text
from compaction.strategies.shared.requests import summary_or_empty, summary_request
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

PEER = "opencode"
VERSION = "Eric-Guo/opencode 1af9af1"

TAIL_TURNS = 2
"""``DEFAULT_TAIL_TURNS``."""
TAIL_SHARE, MIN_TAIL_TOKENS, MAX_TAIL_TOKENS = 0.25, 2_000, 8_000
"""The tail's tokens: a share of what the context may hold, within two limits."""
PRUNE_PROTECT = 40_000
"""``PRUNE_PROTECT``: tokens of tool outputs, the newest first, that pruning leaves alone."""
PRUNE_MINIMUM = 20_000
"""``PRUNE_MINIMUM``: pruning that would free no more than this is not done."""
PROTECTED_TOOLS = frozenset({"skill"})

QUESTION = "What did we do so far?"
CLEARED = "[Old tool result content cleared]"

SECTIONS = (
    Section("Goal", ("intent",), "What the user wants to reach."),
    Section("Instructions", (), "What the user told the agent to do or not to do, and the plan or spec there is."),
    Section("Discoveries", ("decisions", "errors", "details"), "What was found out that the next agent should know."),
    Section("Accomplished", ("state", "next_steps"), "What is finished, what is being worked on, what is left."),
    Section("Relevant files / directories", ("files",), "Files that were read, changed or created for the task."),
)

MARKERS = (Marker(QUESTION, place="whole", made=True), *removed(CLEARED), *headings(SECTIONS, Instructions="intent"))


@strategy(
    "opencode_summary", needs_model=True, peer=PEER, peer_version=VERSION, markers=MARKERS, bites={"tail_tokens": 40}
)
def opencode_summary(
    history: History,
    *,
    tail_turns: int = TAIL_TURNS,
    tail_tokens: int | None = None,
    prune: bool = False,
    prune_protect: int = PRUNE_PROTECT,
    prune_minimum: int = PRUNE_MINIMUM,
    summary_tokens: Positive = SUMMARY_TOKENS,
    mode: Literal["faithful", "fixed"] = "fixed",
) -> Sequence[Message]:
    """A summary as the answer to a fixed question, and of the last ``tail_turns`` turns those that fit.

    A turn begins at a user message. The newest turns that together have at most ``tail_tokens`` stay (a quarter of
    the budget, but 2,000 to 8,000); if the last alone has more, or if the tail would be everything, all is summarised
    and nothing stays. With ``prune`` tool outputs older than the last two turns and beyond the newest
    ``prune_protect`` tokens are cleared before the summariser sees them, if that frees more than ``prune_minimum``;
    those of the tool ``skill`` never are.

    ``faithful`` is the version that was read: the tail stands before the summary, so that an earlier summary can stay
    in the tail and miss in what the next one is written from; and a blank summary is taken. ``fixed`` has the order of
    later versions, summary first, refuses a blank one, and does not summarise a summary alone.
    """
    system = system_prompt(history.messages)
    said: Sequence[Message] = history.messages[len(system) :]
    if tail_tokens is None:
        tail_tokens = min(MAX_TAIL_TOKENS, max(MIN_TAIL_TOKENS, int(history.budget * TAIL_SHARE)))
    if prune:
        said = _prune(history, said, prune_protect, prune_minimum)
    cut = tail_start(said, tail_turns, tail_tokens)
    head, tail = said[:cut], said[cut:]
    if not head or (mode == "fixed" and all(map(_is_own, head))):
        return history.messages
    request = summary_request(history, "opencode_summary", head, sections=SECTIONS, max_tokens=summary_tokens)
    text = summary_or_empty(history, request, mode)
    covers = stands_for(head)
    made = (Message("user", QUESTION, covers=covers), Message("assistant", text, covers=covers))
    return (*system, *made, *tail) if mode == "fixed" else (*system, *tail, *made)


def tail_start(messages: Sequence[Message], max_turns: int, max_tokens: int) -> int:
    """Position of the first message that stays; the number of messages when none does."""
    left, start, end = max_tokens, None, len(messages)
    turns = [i for i, m in enumerate(messages) if m.role == "user" and not _is_own(m)]
    for begin in turns[::-1][:max_turns]:
        left -= estimated_tokens(messages[begin:end])
        if left < 0:
            break
        start = end = begin
    return start or len(messages)


def estimated_tokens(messages: Sequence[Message]) -> int:
    """The original's estimate of some messages, as they are sent."""
    sent: list[dict[str, object]] = []
    for is_tool, run in groupby(messages, lambda m: m.role == "tool"):
        if is_tool:
            sent.append({"role": "tool", "content": [_result(m) for m in run]})
        else:
            sent += [{"role": m.role, "content": content} for m in run if (content := _content(m))]
    return (json_length(sent) + 2) // 4


def _content(message: Message) -> list[dict[str, object]]:
    content: list[dict[str, object]] = []
    if message.reasoning:
        content.append({"type": "reasoning", "text": message.reasoning})
    if message.text:
        content.append({"type": "text", "text": message.text})
    return content + [
        {"type": "tool-call", "toolCallId": call.id, "toolName": call.name, "input": call.parsed()}
        for call in message.tool_calls
    ]


def _result(message: Message) -> dict[str, object]:
    output = {"type": "error-text" if message.is_error else "text", "value": message.text}
    return {"type": "tool-result", "toolCallId": message.tool_call_id, "toolName": message.tool_name, "output": output}


def _is_own(message: Message) -> bool:
    """Whether the strategy itself wrote the message: the question, or the summary that answers it."""
    if message.seq is not None or not message.covers:
        return False
    return message.role == "assistant" or message.text == QUESTION


def _prune(history: History, messages: Sequence[Message], protect: int, minimum: int) -> Sequence[Message]:
    turns = total = freed = 0
    old: set[int] = set()
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        turns += message.role == "user"
        if turns < 2:
            continue
        if message.role == "assistant" and _is_own(message):
            break
        if message.role != "tool" or message.is_error or message.tool_name in PROTECTED_TOOLS:
            continue
        if message.text == CLEARED:
            break
        tokens = (utf16_length(message.text) + 2) // 4
        total += tokens
        if total > protect:
            freed += tokens
            old.add(position)
    if freed <= minimum:
        return messages
    return tuple(
        make_once(history.counter, with_text, message, CLEARED) if position in old else message
        for position, message in enumerate(messages)
    )
