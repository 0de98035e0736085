"""A Codex rollout made by hand, and the maker of its lines."""

from __future__ import annotations

from typing import Any


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload}


LINES = [
    codex("session_meta", id="c-1", cwd="/home/ada", base_instructions={"text": "token-0"}),
    codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "token-1"}]),
    codex("turn_context", model="gpt-test", cwd="/home/ada", note="token-2"),
    codex("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "token-3"}]),
    codex("response_item", type="function_call", call_id="f1", name="shell", arguments='{"cmd": "token-4"}'),
    codex("event_msg", type="agent_message", message="token-5"),
    codex("response_item", type="function_call_output", call_id="f1", output="token-6"),
    codex("response_item", type="custom_tool_call", call_id="f2", name="apply_patch", input="token-7"),
    codex("response_item", type="custom_tool_call_output", call_id="f2", output="Exit code: 1\nOutput:\ntoken-8"),
    codex("response_item", type="agent_message", author="/root", content=[{"type": "input_text", "text": "token-9"}]),
    codex("inter_agent_communication", author="/root", recipient="/root/a", content="token-10"),
    codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "token-11"}]),
    codex("event_msg", type="thread_rolled_back", num_turns=1, note="token-12"),
]
