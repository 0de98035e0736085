"""Completions as OpenHands logs them, made by hand: a conversation that grows."""

from __future__ import annotations

from typing import Any

from tests.flows.sources.logs.openai_chat import chat_call


def completion(number: int, messages: list[Any], answer: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "messages": messages,
        "response": {
            "id": f"r{number}",
            "model": "model-test-1",
            "choices": [{"index": 0, "message": {"role": "assistant", **answer}}],
            "usage": {"prompt_tokens": 10 * number, "completion_tokens": 1},
        },
        "args": [],
        "kwargs": {"tools": []},
        "timestamp": 1733339000.5 + number,
        "cost": 0.25,
        **more,
    }


_TALK: list[dict[str, Any]] = [
    {"role": "system", "content": [{"type": "text", "text": "You are an agent."}]},
    {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
    {"role": "assistant", "content": "token-0", "tool_calls": [chat_call("tooluse_1", "run", '{"cmd": "make"}')]},
    {"role": "tool", "tool_call_id": "tooluse_1", "name": "run", "content": [{"type": "text", "text": "all right"}]},
    {"role": "assistant", "content": "token-1", "tool_calls": [chat_call("tooluse_2", "run", '{"cmd": "ls"}')]},
    {"role": "tool", "tool_call_id": "tooluse_2", "name": "run", "content": [{"type": "text", "text": "a.py"}]},
    {"role": "assistant", "content": "token-2"},
]

LINES = [
    completion(number, _TALK[: 2 * number], {**_TALK[2 * number], "reasoning_content": f"because {number}"})
    for number in (1, 2, 3)
]
DOCUMENT = LINES[2]
