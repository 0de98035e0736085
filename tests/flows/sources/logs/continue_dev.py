"""A session of Continue made by hand, after the types that its core, editor and command line share (June 2026)."""

from __future__ import annotations

from typing import Any


def item(role: str, content: Any, *given: str, **more: Any) -> dict[str, Any]:
    """An item of the history; ``given`` are texts of attached files."""
    said = {name: more.pop(name) for name in ("toolCalls", "toolCallId") if name in more}
    files = [{"content": text, "name": "a.c", "description": "", "id": {}} for text in given]
    return {"message": {"role": role, "content": content, **said}, "contextItems": files, **more}


def call(own: str, name: str = "read_file", arguments: str = '{"filepath": "a.c"}') -> dict[str, Any]:
    """A call of a tool."""
    return {"id": own, "type": "function", "function": {"name": name, "arguments": arguments}}


def state(own: str, *output: str, status: str = "done", **more: Any) -> dict[str, Any]:
    """What became of a call."""
    shown = [{"content": text, "name": "out", "description": "", **more} for text in output]
    return {"toolCallId": own, "toolCall": call(own), "status": status, "parsedArgs": {}, "output": shown or None}


HISTORY = [
    item("system", "You mend mills. token-0"),
    item("user", [{"type": "text", "text": "Mend it. token-1"}], "int main;"),
    item("thinking", "hm token-2"),
    item(
        "assistant",
        "I look. token-3",
        toolCalls=[call("c1"), call("c2")],
        toolCallStates=[state("c1", "int main;", "token-4", status="done"), state("c2", status="canceled")],
    ),
    item("tool", "int main;", toolCallId="c1"),
    item("assistant", "Mended. token-5", reasoning={"active": False, "text": "easy", "startAt": 1}),
]
DOCUMENT = {
    "sessionId": "5d1f0c1e-0000-4000-8000-000000000001",
    "title": "The mill",
    "workspaceDirectory": "file:///home/ada/the%20mill",
    "history": HISTORY,
    "mode": "agent",
    "chatModelTitle": "claude-test-1",
    "usage": {"totalCost": 0.5, "promptTokens": 100, "completionTokens": 20},
}
