"""A Claude Code log made by hand, and the makers of its lines."""

from __future__ import annotations

from typing import Any


def claude_line(kind: str, uuid: str, parent: str | None, message: Any = None, **more: Any) -> dict[str, Any]:
    line: dict[str, Any] = {
        "parentUuid": parent,
        "isSidechain": False,
        "cwd": "/home/ada/mill",
        "sessionId": "s-1",
        "type": kind,
        "uuid": uuid,
        "timestamp": "2026-03-01T10:00:00Z",
    }
    if message is not None:
        line["message"] = message
    return line | more


def claude_says(uuid: str, parent: str | None, response: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "id": response, "model": "claude-test-1", "content": list(blocks)}
    return claude_line("assistant", uuid, parent, message, **more)


def claude_user(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return claude_line("user", uuid, parent, {"role": "user", "content": content}, **more)


def claude_use(call_id: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def claude_result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | more


def claude_progress(uuid: str, parent: str, agent: str, said: dict[str, Any]) -> dict[str, Any]:
    """A notice of what a sub-agent said."""
    wrapped = {key: value for key, value in said.items() if key in ("type", "uuid", "timestamp", "message")}
    data = {"type": "agent_progress", "agentId": agent, "prompt": "Look", "message": wrapped}
    return claude_line("progress", uuid, parent, data=data, parentToolUseID="t1")


LINES = [
    {"type": "file-history-snapshot", "messageId": "m0", "snapshot": {"note": "token-0"}},
    claude_user("u1", None, "token-1 grind the wheat"),
    claude_line("progress", "p1", "u1", data={"type": "hook_progress", "note": "token-2"}),
    claude_says("a1", "p1", "msg_1", {"type": "thinking", "thinking": "token-3", "signature": "c2ln"}),
    claude_says("a2", "a1", "msg_1", claude_use("t1", command="token-4")),
    claude_user("r1", "a2", [claude_result("t1", "token-5")]),
    claude_says("a3", "a2", "msg_1", claude_use("t2", command="token-6")),
    claude_user("r2", "a3", [claude_result("t2", [{"type": "text", "text": "token-7"}], is_error=True)]),
    claude_says("a4", "r2", "msg_2", {"type": "text", "text": "token-8"}),
    claude_user("u2", "a4", [{"type": "text", "text": "token-9"}]),
    claude_progress("p2", "u2", "c4", claude_user("x1", None, "token-10")),
    claude_progress("p3", "p2", "c4", claude_says("x2", None, "msg_9", claude_use("t9", command="token-11"))),
    claude_progress("p4", "p3", "c4", claude_user("x3", None, [claude_result("t9", "token-12")])),
]
