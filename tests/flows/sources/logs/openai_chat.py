"""Chat messages made by hand, and the maker of their calls."""

from __future__ import annotations

from typing import Any


def chat_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


LINES = [
    {"role": "system", "content": "token-0"},
    {"role": "user", "content": [{"type": "text", "text": "token-1"}]},
    {"role": "assistant", "content": None, "tool_calls": [chat_call("c1", "run", '{"cmd": "token-2"}')]},
    {"role": "tool", "tool_call_id": "c1", "content": "token-3"},
    {"role": "assistant", "content": "token-4", "reasoning_content": "because"},
]
DOCUMENT = LINES
