"""A session of Factory's Droid made by hand."""

from typing import Any


def line(own: str, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A message with its envelope; what else is given stands in the message."""
    message = {"role": role, "content": content} | more
    return {"type": "message", "id": own, "timestamp": "2026-03-01T10:00:00Z", "message": message}


def text(said: str) -> list[dict[str, Any]]:
    """The content of a message of one text."""
    return [{"type": "text", "text": said}]


LINES = [
    {"type": "session_start", "id": "d-1", "title": "Mill", "version": 2, "cwd": "/home/ada", "note": "token-0"},
    line("m0", "user", text("<system-reminder>token-1</system-reminder>"), visibility="llm_only"),
    line("m1", "user", text("Run it. token-2")),
    line(
        "m2",
        "assistant",
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "Execute", "input": {"command": "make token-3"}},
        ],
        modelId="droid-test-1",
    ),
    line("m3", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "no rule token-4", "is_error": True}]),
    {"type": "todo_state", "id": "x1", "todos": {"todos": "1. [pending] token-5"}, "messageIndex": 3},
    {
        "type": "compaction_state",
        "id": "x2",
        "summaryText": "It failed. token-6",
        "summaryKind": "llm_summary",
        "anchorMessage": {"id": "m2", "index": 2},
        "removedCount": 3,
    },
    line("m4", "user", text("A notice. token-7"), visibility="user_only"),
    line("m5", "assistant", text("Good. token-8")),
]
