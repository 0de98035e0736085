"""Results become lines and pointers, and long arguments are cut, before anything is summed up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compaction.markers import REMOVED, Marker, removed, shortened
from compaction.strategies.shared.parts import make_once, with_calls, with_text
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

OVERSHOOT = 1.5
"""The tail may have so many times its tokens."""
TAIL_MESSAGES = 8
PRUNED_FROM = 200
"""Characters of a result from which on it may become a line."""
LONG_ARGUMENTS, ARGUMENT_CHARS = 500, 200
NEWEST = 3
"""Messages at the end that stay whole where the tail alone is too long, if that is enough."""

DUPLICATE = "[Duplicate tool output — same content as a more recent call]"
DEMOTED = (
    "[{tool} output demoted at compaction — {n} chars preserved in session history. "
    "Recover with session_search(query=..., session_id='session')]"
)
LINE = "[{tool}]{arguments} ({n} chars)"
CUT_ARGUMENT = "...[truncated]"
_SPACED = re.compile(r'\{\s*"[^"]*": ')
"""JSON with a space behind its colons, as others write it without."""

MARKERS = (
    *removed(DUPLICATE),
    Marker(DEMOTED, REMOVED + " {tool}"),
    Marker(LINE, REMOVED, "line"),
    *shortened(CUT_ARGUMENT),
)


def prune(history: History, messages: Sequence[Message], room: int) -> list[Message]:
    """Older results as lines, the same result once, long arguments cut; in the tail only where it is far too long."""
    made = list(messages)
    calls = {call.id: call for message in messages for call in message.tool_calls}
    boundary, tokens = len(made), 0
    while boundary and (
        (tokens := tokens + history.count((made[boundary - 1],))) <= room or len(made) - boundary < TAIL_MESSAGES
    ):
        boundary -= 1
    seen: set[str] = set()
    for position in range(len(made) - 1, -1, -1):
        message = made[position]
        if message.role == "tool" and len(message.text) >= PRUNED_FROM:
            if message.text in seen:
                made[position] = make_once(history.counter, with_text, message, DUPLICATE)
            seen.add(message.text)
    for position in range(boundary):
        made[position] = _shrink(history, made[position], calls)
    tokens = history.count(made[boundary:])
    newest = next((n for n in range(len(made) - 1, boundary - 1, -1) if made[n].role == "tool"), None)
    older = range(boundary, len(made) - NEWEST)
    for position in (*older, *(n for n in range(boundary, len(made)) if n != newest), newest):
        if tokens <= OVERSHOOT * room or position is None:
            break
        shrunk = _shrink(history, made[position], calls)
        tokens += history.count((shrunk,)) - history.count((made[position],))
        made[position] = shrunk
    return made


def _shrink(history: History, message: Message, calls: Mapping[str, ToolCall]) -> Message:
    """A long result as a line, or long arguments cut."""
    if message.role == "tool":
        is_line = message.text.startswith("[") and (" chars)" in message.text or message.text == DUPLICATE)
        if len(message.text) <= PRUNED_FROM or (is_line and len(message.text) < 2 * PRUNED_FROM):
            return message
        return make_once(history.counter, with_text, message, _line(message, calls.get(message.tool_call_id or "")))
    cut = tuple(_cut_arguments(call) for call in message.tool_calls)
    return message if cut == message.tool_calls else make_once(history.counter, with_calls, message, cut)


def _line(message: Message, call: ToolCall | None) -> str:
    """What is left of a result: its tool, the first two arguments, and its length."""
    given = list(call.parsed().items())[:2] if call else []
    said = "".join(f" {key}={str(value)[:40]}" for key, value in given).replace("\n", " ")
    return LINE.format(tool=call.name if call else "unknown", arguments=said, n=f"{len(message.text):,}")


def _cut_arguments(call: ToolCall) -> ToolCall:
    if len(call.arguments) <= LONG_ARGUMENTS or not (arguments := call.parsed()):
        return call
    separators = None if _SPACED.match(call.arguments) else (",", ":")
    return replace(call, arguments=json.dumps(_cut_strings(arguments), ensure_ascii=False, separators=separators))


def _cut_strings(value: object) -> object:
    if isinstance(value, str):
        return (
            value
            if len(value) <= ARGUMENT_CHARS or value.endswith(CUT_ARGUMENT)
            else value[:ARGUMENT_CHARS] + CUT_ARGUMENT
        )
    if isinstance(value, dict):
        return {key: _cut_strings(one) for key, one in value.items()}
    return [_cut_strings(one) for one in value] if isinstance(value, list) else value


def demote(history: History, tail: Sequence[Message], rounds: int, least: int) -> list[Message]:
    """The tail with pointers in the place of long results, except in the last rounds of results."""
    left = list(tail)
    seen, last = 0, -1
    for position in range(len(left) - 1, -1, -1):
        message = left[position]
        if message.role != "tool":
            continue
        seen += last - position != 1
        last = position
        is_line = message.text.startswith("[") and " chars" in message.text and len(message.text) < 2 * PRUNED_FROM
        if seen > rounds and len(message.text) >= least and not is_line:
            text = DEMOTED.format(tool=message.tool_name or "tool", n=f"{len(message.text):,}")
            left[position] = make_once(history.counter, with_text, message, text)
    return left
