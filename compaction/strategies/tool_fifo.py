"""First in, first out: tool results go first, then what the agent said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from compaction.groups import declarations
from compaction.markers import CALL, Marker
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once
from compaction.strategy import History
from compaction.transcript import Message

MARKERS = (Marker("[called {name}({lines})]", CALL + "{name} {lines}", "line"),)


def _limit(history: History, *, context_length: int | None, history_length: int | None, **_: object) -> int:
    limit = history.budget if context_length is None else context_length
    return limit if history_length is None else min(limit, history_length)


@strategy(
    "tool_fifo",
    every_turn=True,
    peer="article",
    peer_version="undated",
    variants=({"history_length": 8_000},),
    markers=MARKERS,
    limit=_limit,
)
def tool_fifo(
    history: History,
    *,
    context_length: Positive | None = None,
    history_length: Positive | None = None,
    mode: Literal["valid", "faithful"] = "valid",
) -> Sequence[Message]:
    """Every tool result but the latest goes; still over ``context_length`` tokens, assistant messages go, oldest first.

    ``context_length`` is the budget where it is not given (the article: 32,000, of which 24,000 are for the answer).
    ``history_length`` is a second, lower limit: in the article's drawing the assistant messages go although the whole
    fits by then, until the prompt's share of 8,000 holds what is left. ``faithful`` is that drawing: calls stay without
    their results, and the last result may lose its call, which providers refuse. ``valid`` turns a call whose result
    is gone into a line of its message's text, and never drops the message that called for the latest result. The
    drawing's tags (the number of the cycle, and a mask that keeps what was condensed out of a training loss) are no
    part of a context; ``compactions`` has each context's cycle.
    """
    messages = history.messages
    *dropped, latest = [-1, *(i for i, m in enumerate(messages) if m.role == "tool")]
    asked = declarations(messages)
    stays = {i: m for i, m in enumerate(messages) if m.role != "tool" or i == latest}
    owner: int | None = None
    if mode == "valid":
        owner = asked[latest] if latest >= 0 else None
        for position, gone in _calls_without_result(messages, asked, dropped[1:], latest).items():
            stays[position] = make_once(history.counter, _spelled_out, messages[position], gone)
    tokens = history.count(tuple(stays.values()))
    limit = _limit(history, context_length=context_length, history_length=history_length)
    for position in [i for i, m in stays.items() if m.role == "assistant" and i != owner]:
        if tokens <= limit:
            break
        tokens -= history.count((stays.pop(position),))
    return list(stays.values())


def _calls_without_result(
    messages: Sequence[Message], asked: Sequence[int | None], dropped: Sequence[int], latest: int
) -> dict[int, frozenset[str]]:
    """Map each assistant message to the ids of its calls whose results are all dropped."""
    found: dict[int, set[str]] = {}
    for position in dropped:
        call, id = asked[position], messages[position].tool_call_id
        if call is not None and id is not None and (call, id) != (asked[latest], messages[latest].tool_call_id):
            found.setdefault(call, set()).add(id)
    return {position: frozenset(ids) for position, ids in found.items()}


def _spelled_out(message: Message, gone: frozenset[str]) -> Message:
    """The message with some of its calls as text: what was tried stays, and no call is left without a result."""
    lines = [f"[called {call.name}({call.arguments})]" for call in message.tool_calls if call.id in gone]
    text = "\n".join([message.text, *lines] if message.text else lines)
    calls = tuple(call for call in message.tool_calls if call.id not in gone)
    return replace(message, text=text, tool_calls=calls, tokens=None)
