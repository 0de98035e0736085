"""A run of Gemini CLI with `-o stream-json`, in the shapes of its own code."""

from typing import Any


def event(kind: str, **about: Any) -> dict[str, Any]:
    """An event with its time."""
    return {"type": kind, "timestamp": "2026-03-01T10:00:00.000Z"} | about


LINES = [
    event("init", session_id="g-token-0", model="gemini-test-1"),
    event("message", role="user", content="Mend the mill token-1"),
    event("message", role="assistant", content="Look token-2 ", delta=True),
    event("message", role="assistant", content="ing token-3", delta=True),
    event("tool_use", tool_name="read_file", tool_id="r1", parameters={"path": "a.toml token-4"}),
    event("tool_use", tool_name="run", tool_id="r2", parameters={"command": "make token-5"}),
    event("tool_result", tool_id="r1", status="success", output="port=80 token-6"),
    event("tool_result", tool_id="r2", status="error", error={"type": "X", "message": "no rule token-7"}),
    event("error", severity="warning", message="Loop detected token-8"),
    event("message", role="assistant", content="Done token-9", delta=True),
    event("result", status="success", stats={"input_tokens": 9, "output_tokens": 5, "cached": 4}, note="token-10"),
]
