"""Observation masking: old tool results lose their text and everything else stays.

Three systems mean three things by it. In the normal form an observation is a ``tool`` message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from compaction.groups import declarations
from compaction.markers import removed
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once, with_text
from compaction.strategy import History
from compaction.transcript import Message

MASK = "<MASKED>"

OMITTED = removed("Old environment output: ({n} lines omitted)")
MASKED = removed(MASK)

_OMITTED = re.compile(r"Old environment output: \(\d+ lines omitted\)")


@strategy("mask_sweagent", every_turn=True, peer="SWE-agent", peer_version="1.1.0", markers=OMITTED, bites={"n": 2})
def mask_sweagent(history: History, *, n: Positive = 10, polling: Positive = 1) -> Sequence[Message]:
    """All but the last ``n`` tool results are replaced by the number of their lines.

    ``LastNObservations``: with ``polling`` the window moves only every so many results. The original's first
    observation is the task, which is never omitted; here that is the first user message, or without one the first
    result. n=10 is the setting of the published masking runs; the original has no default.
    """
    messages = history.messages
    task = next((i for i, m in enumerate(messages) if m.role == "user"), None)
    observations = [] if task is None else [task]
    observations += [i for i, m in enumerate(messages) if m.role == "tool"]
    omitted = set(observations[1 : max(0, len(observations) // polling * polling - n)])
    return [_omit(history, m) if i in omitted else m for i, m in enumerate(messages)]


@strategy(
    "mask_openhands_v0",
    every_turn=True,
    peer="openhands-ai",
    peer_version="0.62.0",
    variants=({"attention_window": 10},),
    markers=MASKED,
    bites={"attention_window": 3},
)
def mask_openhands_v0(
    history: History, *, attention_window: int = 100, mode: Literal["faithful", "valid"] = "faithful"
) -> Sequence[Message]:
    """Tool results before the last ``attention_window`` events are replaced by ``<MASKED>``.

    Every message is an event, and every tool call of a message is one of its own. ``faithful`` is what the original
    sends with native function calling: a masked result has lost its link, so it goes out as a user message and the
    message that called for it, with any result of the same batch, is left out. ``valid`` keeps the calls and the
    pairs. 100 is the configuration's default, the class's own is 5.
    """
    messages = history.messages
    masked: set[int] = set()
    events_after = 0
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "tool" and events_after >= attention_window:
            masked.add(position)
        events_after += max(1, len(messages[position].tool_calls))
    if not masked:
        return messages
    if mode == "valid":
        return [_mask(history, m) if i in masked else m for i, m in enumerate(messages)]
    asked = declarations(messages)
    broken = {call for i in masked if (call := asked[i]) is not None}
    stays: list[Message] = []
    for position, message in enumerate(messages):
        if position in masked:
            stays.append(make_once(history.counter, _bare_mask, message))
        elif position not in broken and asked[position] not in broken:
            stays.append(message)
    return stays


@strategy(
    "mask_seed",
    every_turn=True,
    peer="article",
    peer_version="undated",
    markers=MASKED,
    bites={"attention_window": 3},
    by_default=False,
)
def mask_seed(history: History, *, attention_window: int = 10) -> Sequence[Message]:
    """Tool results *and user messages* before the last ``attention_window`` messages become ``<MASKED>``.

    Only the first of them, which is the task, is spared; the number of messages stays. The pseudo-code of an article
    on condensers, as printed: it also masks what people said later on. It leaves the window open; 10 is ours.
    """
    messages = history.messages
    old = len(messages) - attention_window
    maskable = [i for i, m in enumerate(messages) if m.role in ("user", "tool")]
    masked = {i for i in maskable[1:] if i < old}
    return [_mask(history, m) if i in masked else m for i, m in enumerate(messages)]


def _omit(history: History, message: Message) -> Message:
    if _OMITTED.fullmatch(message.text):
        return message
    lines = len(message.text.splitlines())
    text = f"Old environment output: ({lines} lines omitted)"
    return make_once(history.counter, with_text, message, text)


def _mask(history: History, message: Message) -> Message:
    """Masked in place; a summary that is masked stands for nothing any more."""
    if message.text == MASK:
        return message
    return make_once(history.counter, _mask_message, message)


def _mask_message(message: Message) -> Message:
    return replace(message.with_text(MASK), covers=())


def _bare_mask(message: Message) -> Message:
    bare = replace(message, role="user", tool_call_id=None, tool_name=None, is_error=False, covers=())
    return bare.with_text(MASK)
