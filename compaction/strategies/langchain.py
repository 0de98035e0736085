"""LangChain 1.4.7: the summary of ``SummarizationMiddleware``, and ``ClearToolUsesEdit``.

Both act on an agent's state, a flat list of messages. Tokens are the project's exact ones; the original estimates a
quarter of the characters and three tokens a message.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from compaction.groups import declarations
from compaction.markers import headings, removed, wrapper
from compaction.model import Section, SummaryError, SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import (
    make_once,
    stands_for,
    system_prompt,
    with_calls,
    with_text,
    without_reasoning,
)
from compaction.strategies.shared.requests import instructions, summary_or_empty
from compaction.strategies.shared.trim import newest_from_user
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

PEER = "langchain"
VERSION = "1.4.7"

PREFIX = "Here is a summary of the conversation to date:\n\n"
TOO_LONG = "Previous conversation was too long to summarize."
CLEARED = "[cleared]"
TRIM_TOKENS = 4000
"""What the original itself shows its summariser at most."""
MAX_ID_CHARS = 64
"""Longer ids of calls are cut in what the summariser is shown."""

SECTIONS = (
    Section("SESSION INTENT", ("intent",), "The user's main request or goal, and what the whole session is for."),
    Section(
        "SUMMARY",
        ("decisions", "details"),
        "All that matters of the conversation so far: choices, conclusions and strategies with their reasons, and "
        "options that were rejected, with why.",
    ),
    Section(
        "ARTIFACTS",
        ("files",),
        "Every file or other resource that was created, changed or looked at, with its path and what changed in it.",
    ),
    Section("NEXT STEPS", ("next_steps",), "What is left to do for the request, and what comes next."),
)

MARKERS = (*wrapper(PREFIX.rstrip()), *removed(TOO_LONG), *headings(SECTIONS))

_TYPES = {"system": "system", "user": "human", "assistant": "ai", "tool": "tool"}


@strategy(
    "langchain_summary",
    version=2,
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    variants=({"trim_tokens": TRIM_TOKENS, "mode": "faithful"},),
    markers=MARKERS,
    bites={"keep": 3},
)
def langchain_summary(
    history: History,
    *,
    keep: Positive = 20,
    trim_tokens: Positive | None = None,
    summary_tokens: Positive = SUMMARY_TOKENS,
    system_in_state: bool = True,
    mode: Literal["valid", "faithful"] = "valid",
) -> Sequence[Message]:
    """All but the last ``keep`` messages become a user message with a fixed prefix and a summary of four sections.

    A cut that would fall among results moves back to the message that called for them. System messages are messages of
    the state like any other and are summarised away; without ``system_in_state`` the system prompt is kept apart, as
    that of LangChain's own agents is. ``trim_tokens`` (the original's default is 4000) shows the summariser no more
    than the newest tokens from a user message on; what it is not shown is lost. ``faithful``: an empty summary takes
    the history's place, as does a fixed sentence where no user message is left to show, and a late result may lose its
    call. ``valid`` refuses the first two, and moves the cut back for the third.
    """
    apart = () if system_in_state else system_prompt(history.messages)
    state = history.messages[len(apart) :]
    cut = _cut(state, keep, mode)
    if cut <= 0:
        return history.messages
    shown = tuple(without_reasoning(history, message) for message in state[:cut])
    if trim_tokens is not None:
        shown = newest_from_user(history, shown, trim_tokens, keep_system=True)
    covers: tuple[int, ...] = ()
    if shown:
        text = summary_or_empty(history, summary_request(history, shown, summary_tokens), mode)
        covers = stands_for(shown) if text else ()
    elif mode == "valid":
        raise SummaryError(f"no user message among the last {trim_tokens} tokens: there is nothing to summarise")
    else:
        text = TOO_LONG
        history.flag("placeholder_summary")
    return (*apart, Message("user", PREFIX + text, covers=covers), *state[cut:])


@strategy(
    "clear_tool_uses", every_turn=True, peer=PEER, peer_version=VERSION, markers=removed(CLEARED), bites={"keep": 1}
)
def clear_tool_uses(
    history: History,
    *,
    trigger: int = 100_000,
    keep: int = 3,
    clear_at_least: int = 0,
    clear_tool_inputs: bool = False,
    exclude_tools: str | None = None,
    forced: bool = True,
) -> Sequence[Message]:
    """The text of every tool result but the last ``keep`` becomes ``[cleared]``; calls and all else stay.

    ``exclude_tools``, names with spaces between them, are never cleared and still use up ``keep``. A result is cleared
    only if the assistant message right before the results asked for it, so late and orphan results stay.
    ``clear_tool_inputs`` empties the arguments of the calls too. With ``clear_at_least`` it stops, oldest first, when
    so many tokens are gained. ``trigger`` tokens are asked for only when ``forced`` is off.
    """
    messages = list(history.messages)
    if not forced and history.count(messages) <= trigger:
        return history.messages
    excluded = frozenset((exclude_tools or "").split())
    results = sum(message.role == "tool" for message in messages)
    gained, seen, owner = 0, 0, -1
    for position, message in enumerate(messages):
        if message.role == "assistant":
            owner = position
        if message.role != "tool":
            continue
        seen += 1
        if seen > results - keep:
            break
        call = None if owner < 0 else _call(messages[owner], message.tool_call_id)
        if call is None or message.text == CLEARED or (message.tool_name or call.name) in excluded:
            continue
        before = history.count((messages[owner], message))
        messages[position] = make_once(history.counter, with_text, message, CLEARED)
        if clear_tool_inputs:
            messages[owner] = _without_inputs(history, messages[owner], call.id)
        gained += before - history.count((messages[owner], messages[position]))
        if 0 < clear_at_least <= gained:
            break
    return messages


def render_messages(messages: Sequence[Message]) -> str:
    """Messages as the summariser is shown them: XML without reasoning, names and ids of results, or error marks."""
    return "\n".join(map(_xml, messages))


def summary_request(history: History, shown: tuple[Message, ...], max_tokens: int) -> SummaryRequest:
    """The request for a summary of these messages, in four sections."""
    prompt = instructions(
        history, "langchain_summary", SECTIONS, max_tokens, material={"messages": render_messages(shown)}
    )
    return SummaryRequest((Message("user", prompt),), shown, SECTIONS, max_tokens=max_tokens)


def _xml(message: Message) -> str:
    start, text = f"<message type={quoteattr(_TYPES[message.role])}>", escape(message.text)
    if not message.tool_calls:
        return f"{start}{text}</message>"
    lines = [start, *([f"  <content>{text}</content>"] if text else ())]
    for call in message.tool_calls:
        id = call.id if len(call.id) <= MAX_ID_CHARS else f"{call.id[:MAX_ID_CHARS]}..."
        arguments = escape(json.dumps(call.parsed(), ensure_ascii=False))
        lines.append(f"  <tool_call id={quoteattr(id)} name={quoteattr(call.name)}>{arguments}</tool_call>")
    return "\n".join([*lines, "</message>"])


def _cut(messages: Sequence[Message], keep: int, mode: str) -> int:
    """Count the messages to summarise; 0 if there are no more than ``keep``."""
    if len(messages) <= keep:
        return 0
    cut = safe_cut(messages, len(messages) - keep)
    if mode == "valid":
        asked = declarations(messages)
        position = len(messages) - 1
        while position >= cut:
            call = asked[position]
            cut = cut if call is None else min(cut, call)
            position -= 1
    return cut


def safe_cut(messages: Sequence[Message], cut: int) -> int:
    """The cut, moved back to the nearest message that called for one of the results that follow it.

    Where no message did, it moves on past them.
    """
    end = cut
    while end < len(messages) and messages[end].role == "tool":
        end += 1
    wanted = {message.tool_call_id for message in messages[cut:end]} - {None, ""}
    if end > cut:
        for position in range(cut - 1, -1, -1):
            if any(call.id in wanted for call in messages[position].tool_calls):
                return position
    return end


def _call(message: Message, id: str | None) -> ToolCall | None:
    return next((call for call in message.tool_calls if call.id == id), None)


def _without_inputs(history: History, message: Message, id: str) -> Message:
    calls = tuple(replace(call, arguments="{}") if call.id == id else call for call in message.tool_calls)
    return make_once(history.counter, with_calls, message, calls)
