"""A thread of Amp made by hand."""

from typing import Any


def say(number: int, role: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A message with its blocks."""
    return {"role": role, "messageId": number, "content": list(blocks)} | more


def text(said: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": said}


def result(call: str, **run: Any) -> dict[str, Any]:
    """The result of a call."""
    return {"type": "tool_result", "toolUseID": call, "run": run}


USAGE = {
    "model": "amp-test-1",
    "inputTokens": 10,
    "cacheReadInputTokens": 5,
    "cacheCreationInputTokens": 1,
    "outputTokens": 7,
    "timestamp": "2026-03-01T10:00:01Z",
}

DOCUMENT = {
    "v": 3,
    "id": "T-1",
    "created": 1772359200000,
    "title": "Mill",
    "env": {"initial": {"trees": [{"displayName": "mill", "uri": "file:///home/ada/mill"}]}},
    "messages": [
        say(0, "user", text("Run it."), meta={"sentAt": 1772359200000}),
        say(
            1,
            "assistant",
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"cmd": "make"}, "complete": True},
            usage=USAGE,
        ),
        say(2, "user", result("t1", status="error", error={"message": "no rule"})),
        say(3, "info", {"type": "summary", "summary": {"type": "message", "summary": "It failed."}}),
        say(
            4,
            "info",
            {"type": "manual_bash_invocation", "args": {"cmd": "ls"}, "toolRun": {"result": {"output": "a.c"}}},
        ),
        say(5, "assistant", text("Good.")),
    ],
}
