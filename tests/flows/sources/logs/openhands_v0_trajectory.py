"""OpenHands V0 events made by hand, and the makers of actions, observations and model responses."""

from __future__ import annotations

import json
from typing import Any


def action(number: int, kind: str, source: str = "agent", **args: Any) -> dict[str, Any]:
    return {
        "id": number,
        "timestamp": f"2025-03-01T10:00:{number % 60:02}",
        "source": source,
        "message": "",
        "action": kind,
        "args": args,
    }


def observation(number: int, kind: str, content: str, cause: int | None = None, **extras: Any) -> dict[str, Any]:
    made = {
        "id": number,
        "timestamp": f"2025-03-01T10:00:{number % 60:02}",
        "source": "agent",
        "message": "",
        "observation": kind,
        "content": content,
        "extras": extras,
    }
    return made if cause is None else {**made, "cause": cause}


def response(key: str, content: str, *calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    """A model response; a call is id, name and arguments."""
    tool_calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for id, name, arguments in calls
    ]
    return {
        "id": key,
        "model": "model-test-1",
        "choices": [{"message": {"role": "assistant", "content": content, "tool_calls": tool_calls}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }


def with_response(event: dict[str, Any], call_id: str, name: str, made: dict[str, Any]) -> dict[str, Any]:
    """The event as one of a model response."""
    meta = {"function_name": name, "tool_call_id": call_id, "model_response": made, "total_calls_in_response": 1}
    return {**event, "tool_call_metadata": meta}


_TWO = response(
    "r1",
    "token-3",
    ("toolu_01", "execute_bash", {"command": "make"}),
    ("toolu_02", "str_replace_editor", {"command": "view", "path": "token-4"}),
)

LINES = [
    action(0, "system", content="token-0", tools=[]),
    action(1, "message", "user", content="token-1", image_urls=None, wait_for_response=False),
    {**action(2, "change_agent_state", "environment", agent_state="running"), "message": "token-2"},
    with_response(action(4, "run", command="make", thought="token-3"), "toolu_01", "execute_bash", _TWO),
    with_response(action(5, "read", path="token-4", thought=""), "toolu_02", "str_replace_editor", _TWO),
    with_response(observation(6, "read", "token-5", 5, path="token-4"), "toolu_02", "str_replace_editor", _TWO),
    with_response(
        observation(7, "run", "token-6", 4, metadata={"exit_code": 2, "suffix": "\n[code 2.]"}),
        "toolu_01",
        "execute_bash",
        _TWO,
    ),
    action(8, "message", content="token-7", wait_for_response=True),
]
DOCUMENT = LINES
