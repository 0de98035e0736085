"""A chat of Qwen Code made by hand."""

from typing import Any


def line(number: int, kind: str, parts: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    """A line that follows the one before it."""
    made: dict[str, Any] = {
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "q-1",
        "timestamp": f"2026-03-01T10:00:{number:02}Z",
        "type": kind,
        "cwd": "/home/ada",
    }
    if parts is not None:
        made["message"] = {"role": "model" if kind == "assistant" else "user", "parts": parts}
    return made | more


RESULT = {"functionResponse": {"id": "t1", "name": "run_shell_command", "response": {"output": "no rule token-3"}}}

LINES = [
    line(0, "system", subtype="ui_telemetry", systemPayload={"uiEvent": "token-0"}),
    line(1, "user", [{"text": "Run it. token-1"}]),
    line(
        2,
        "assistant",
        [
            {"text": "hm", "thought": True},
            {"text": "I will."},
            {"functionCall": {"id": "t1", "name": "run_shell_command", "args": {"command": "make token-2"}}},
        ],
        model="qwen-test-1",
        usageMetadata={"promptTokenCount": 100, "candidatesTokenCount": 20, "cachedContentTokenCount": 50},
    ),
    line(3, "tool_result", [RESULT], toolCallResult={"callId": "t1", "status": "error"}),
    line(
        4,
        "system",
        subtype="chat_compression",
        systemPayload={
            "info": {"originalTokenCount": 175, "newTokenCount": 20},
            "compressedHistory": [
                {"role": "user", "parts": [{"text": "It failed. token-4"}]},
                {"role": "model", "parts": [{"text": "Got it."}]},
                {"role": "user", "parts": [RESULT]},
            ],
        },
    ),
    line(5, "user", [{"text": "A task ended. token-5"}], subtype="notification"),
    line(6, "assistant", [{"text": "Good. token-6"}]),
]
