"""A history in the wire shapes of two providers' APIs.

Both refuse calls without a result and results without a call, and one of them ids that are used twice. So a result
stands right behind the message that asked for it, wherever it came; a call without a result and a result without a
call are told as text. Reasoning is left out: neither takes another model's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from compaction.groups import declarations
from compaction.strategies._parts import system_prompt
from compaction.transcript import Message, ToolCall

Item = dict[str, Any]

_BAD_ID = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message as it is sent: its text, and its calls, each with an id of its own and its result."""

    role: Literal["system", "user", "assistant"]
    text: str
    calls: tuple[tuple[ToolCall, Message], ...] = ()
    opaque: str = ""


def exchanges(messages: Sequence[Message]) -> Iterator[Exchange]:
    """What is sent of some messages, in order; nothing for an empty one."""
    answers = answers_of(messages)
    answering = set(answers.values())
    used: set[str] = set()
    for position, message in enumerate(messages):
        if message.role == "tool":
            if position not in answering:
                yield Exchange("user", f"[result without a call] {message.text}")
            continue
        calls, said = [], [message.text]
        for number, call in enumerate(message.tool_calls):
            answer = answers.get((position, number))
            if answer is None:
                said.append(f"[call without a result] {call.name} {call.arguments}")
            else:
                calls.append((ToolCall(_fresh(call.id, used), call.name, call.arguments), messages[answer]))
        text = "\n\n".join(filter(None, said))
        if text or calls or message.opaque:
            yield Exchange(message.role, text, tuple(calls), message.opaque)


def answers_of(messages: Sequence[Message]) -> dict[tuple[int, int], int]:
    """(position of a message, number of its call) → position of the result, where there is one."""
    found: dict[tuple[int, int], int] = {}
    for position, asker in enumerate(declarations(messages)):
        if asker is not None:
            ids = [call.id for call in messages[asker].tool_calls]
            same = [n for n, id in enumerate(ids) if id == messages[position].tool_call_id]
            free = [n for n in same if (asker, n) not in found]
            if free:
                found[asker, free[0]] = position
    return found


def _fresh(id: str, used: set[str]) -> str:
    """An id that the API takes and that no earlier call of the request has."""
    base = _BAD_ID.sub("_", id) or "call"
    fresh, number = base, 2
    while fresh in used:
        fresh = f"{base}_{number}"
        number += 1
    used.add(fresh)
    return fresh


def instructions_of(messages: Sequence[Message]) -> str:
    """The system prompt as one text."""
    return "\n\n".join(message.text for message in system_prompt(messages) if message.text)


def openai_items(messages: Sequence[Message]) -> list[Item]:
    """Input items of OpenAI's Responses API."""
    items: list[Item] = []
    for said in exchanges(messages):
        if said.opaque:
            items += _opaque_items(said.opaque)
            continue
        if said.text:
            items.append({"role": said.role, "content": said.text})
        for call, _ in said.calls:
            items.append({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments})
        for call, result in said.calls:
            items.append({"type": "function_call_output", "call_id": call.id, "output": result.text})
    return items


def anthropic_messages(messages: Sequence[Message]) -> list[Item]:
    """Messages of Anthropic's API; a system message among them is a user's text there."""
    sent: list[Item] = []

    def add(role: str, blocks: list[Item]) -> None:
        if sent and sent[-1]["role"] == role:
            sent[-1]["content"] += blocks
        elif blocks:
            sent.append({"role": role, "content": blocks})

    for said in exchanges(messages):
        role = "assistant" if said.role == "assistant" else "user"
        if said.opaque:
            add(role, _opaque_items(said.opaque))
            continue
        text = f"<system>\n{said.text}\n</system>" if said.role == "system" else said.text
        blocks: list[Item] = [{"type": "text", "text": text}] if text.strip() else []
        blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.parsed()} for c, _ in said.calls]
        add(role, blocks)
        if said.calls:
            add("user", [_result_block(call, result) for call, result in said.calls])
    return sent


def _result_block(call: ToolCall, result: Message) -> Item:
    block: Item = {"type": "tool_result", "tool_use_id": call.id, "content": result.text}
    return {**block, "is_error": True} if result.is_error else block


def anthropic_tools(messages: Sequence[Message]) -> list[Item]:
    """The tools that some messages call, each once: the API wants them named, a log does not hold their schemas."""
    names = dict.fromkeys(call.name for said in exchanges(messages) for call, _ in said.calls)
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _opaque_items(text: str) -> list[Item]:
    found = json.loads(text)
    return found if isinstance(found, list) else [found]
