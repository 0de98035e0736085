"""A history as turns that a provider takes: every call with its result, ids and names that both interfaces allow.

OpenAI and Anthropic refuse calls without a result, results without a call, and ids that are used twice. So a result
stands right behind the message that asked for it, wherever it came; a call without a result and a result without a
call are sent as text. Reasoning is left out: neither accepts that of another model.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from compaction.groups import declarations
from compaction.transcript import Message, ToolCall

Item = dict[str, Any]

ID_CHARS = 64
"""Longest id of a call in OpenAI's Responses API. Chat completions take 40; Anthropic names no limit."""
NAME_CHARS = 64
"""Longest name of a tool: OpenAI's limit for functions."""
CALLS = 128
"""Most calls of one message in chat completions."""
DEPTH = 100
"""Levels of a call's arguments that are sent as an object; deeper ones are sent as text."""

NO_OUTPUT = "(no output)"
"""Stands in a failed result without text, which Anthropic refuses."""

_BAD = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message as it is sent: its text, and its calls, each with an id of its own and its result."""

    role: Literal["system", "user", "assistant"]
    text: str
    calls: tuple[tuple[ToolCall, Message], ...] = ()
    opaque: str = ""


def exchanges(messages: Sequence[Message], id_chars: int = ID_CHARS) -> Iterator[Exchange]:
    """Yield the exchanges to send for some messages, in order; an empty message gives none."""
    answers = answers_of(messages)
    answering = set(answers.values())
    used: set[str] = set()
    for position, message in enumerate(messages):
        if message.role == "tool":
            if position not in answering:
                yield Exchange("user", f"[result without a call] {sendable_text(message.text)}")
            continue
        calls, said = [], [message.text]
        for number, call in enumerate(message.tool_calls if message.role == "assistant" else ()):
            answer = answers.get((position, number))
            if answer is None:
                said.append(f"[call without a result] {call.name} {call.arguments}")
            else:
                sent = ToolCall(
                    _unused_id(call.id, used, id_chars), tool_name(call.name), sendable_text(call.arguments)
                )
                calls.append((sent, messages[answer]))
        text = sendable_text("\n\n".join(filter(None, said)))
        if text or calls or message.opaque:
            yield Exchange(message.role, text, tuple(calls[:CALLS]), message.opaque)
        for start in range(CALLS, len(calls), CALLS):
            yield Exchange(message.role, "", tuple(calls[start : start + CALLS]))


def answers_of(messages: Sequence[Message]) -> dict[tuple[int, int], int]:
    """(position of a message, number of its call) → position of the result, where there is one."""
    found: dict[tuple[int, int], int] = {}
    for position, asker in enumerate(declarations(messages)):
        if asker is not None and messages[asker].role == "assistant":
            ids = [call.id for call in messages[asker].tool_calls]
            same = [n for n, id in enumerate(ids) if id == messages[position].tool_call_id]
            free = [n for n in same if (asker, n) not in found]
            if free:
                found[asker, free[0]] = position
    return found


def tool_name(name: str) -> str:
    """The name as both interfaces take it."""
    return _BAD.sub("_", name)[:NAME_CHARS] or "tool"


def sendable_text(text: str) -> str:
    """The text without the null character, which no provider is known to take."""
    return text.replace("\0", "\ufffd")


def _unused_id(id: str, used: set[str], chars: int) -> str:
    """An id that the API accepts and that no earlier call of the request uses."""
    base = _BAD.sub("_", id)[:chars] or "call"
    fresh, number = base, 2
    while fresh in used:
        end = f"_{number}"
        fresh = base[: chars - len(end)] + end
        number += 1
    used.add(fresh)
    return fresh


def opaque_items(text: str) -> list[Item]:
    """The items of a provider's own that a message holds."""
    found = json.loads(text)
    return found if isinstance(found, list) else [found]


def chat_messages(said: Iterable[Exchange]) -> list[Item]:
    """Messages of OpenAI's chat completions."""
    sent: list[Item] = []
    for one in said:
        if not one.calls:
            sent.append({"role": one.role, "content": one.text})
            continue
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _object_text(call)}}
            for call, _ in one.calls
        ]
        sent.append({"role": one.role, "content": one.text or None, "tool_calls": calls})
        sent += [
            {"role": "tool", "tool_call_id": c.id, "content": sendable_text(result.text)} for c, result in one.calls
        ]
    return sent


def responses_items(said: Iterable[Exchange]) -> list[Item]:
    """Input items of OpenAI's Responses API."""
    items: list[Item] = []
    for one in said:
        if one.opaque:
            items += opaque_items(one.opaque)
            continue
        if one.text or not one.calls:
            items.append({"role": one.role, "content": one.text})
        for call, _ in one.calls:
            items.append({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments})
        for call, result in one.calls:
            items.append({"type": "function_call_output", "call_id": call.id, "output": sendable_text(result.text)})
    return items


def anthropic_turns(said: Iterable[Exchange]) -> list[Item]:
    """Messages of Anthropic's API in content blocks; a system message among them is a user's text there."""
    sent: list[Item] = []

    def add(role: str, blocks: list[Item]) -> None:
        if sent and sent[-1]["role"] == role:
            sent[-1]["content"] += blocks
        elif blocks:
            sent.append({"role": role, "content": blocks})

    for one in said:
        role = "assistant" if one.role == "assistant" else "user"
        if one.opaque:
            add(role, opaque_items(one.opaque))
            continue
        text = below_system(one.text) if one.role == "system" else one.text
        blocks: list[Item] = [{"type": "text", "text": text}] if text.strip() else []
        blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": _input(c)} for c, _ in one.calls]
        add(role, blocks)
        if one.calls:
            add("user", [_result_block(call, result) for call, result in one.calls])
    return sent


def below_system(text: str) -> str:
    """A system message that does not stand at the beginning, as a user's text."""
    return f"<system>\n{text}\n</system>"


def anthropic_tools(said: Iterable[Exchange]) -> list[Item]:
    """The tools that are called, each once: the API wants them named, a log does not hold their schemas."""
    names = dict.fromkeys(call.name for one in said for call, _ in one.calls)
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _result_block(call: ToolCall, result: Message) -> Item:
    text = sendable_text(result.text)
    if result.is_error and not text.strip():
        text = NO_OUTPUT
    block: Item = {"type": "tool_result", "tool_use_id": call.id, "content": text}
    return {**block, "is_error": True} if result.is_error else block


def _object_text(call: ToolCall) -> str:
    """The arguments as text of a JSON object: chat templates of compatible servers read them as one."""
    try:
        is_object = isinstance(json.loads(call.arguments), dict)
    except (ValueError, RecursionError):
        is_object = False
    return call.arguments if is_object else json.dumps(_input(call), ensure_ascii=False)


def _input(call: ToolCall) -> Item:
    """The arguments as a JSON object without what JSON cannot carry."""
    try:
        plain = _plain(call.parsed())
    except RecursionError:
        return {"input": call.arguments}
    return plain if isinstance(plain, dict) else {"input": plain}


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > DEPTH:
        raise RecursionError
    if isinstance(value, str):
        return sendable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list):
        return [_plain(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {sendable_text(name): _plain(one, depth + 1) for name, one in value.items()}
    return value
