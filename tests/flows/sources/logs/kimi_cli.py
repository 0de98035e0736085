"""Logs of Kimi made by hand: an agent's of Kimi Code, and a context of Kimi CLI."""

from typing import Any


def say(role: str, text: str, **more: Any) -> dict[str, Any]:
    """A message of Kimi Code's log."""
    message = {"role": role, "content": [{"type": "text", "text": text}], "toolCalls": []} | more
    return {"type": "context.append_message", "message": message, "time": 1772359200100}


def event(kind: str, **more: Any) -> dict[str, Any]:
    """A piece of a step."""
    return {"type": "context.append_loop_event", "event": {"type": kind} | more, "time": 1772359200200}


LINES = [
    {"type": "metadata", "protocol_version": "1.4", "created_at": 1772359200000, "note": "token-0"},
    {"type": "config.update", "cwd": "/home/ada", "systemPrompt": "You help. token-1", "time": 1772359200001},
    say("user", "Run it. token-2", origin={"kind": "user"}),
    event("step.begin", uuid="s1", note="token-3"),
    event("content.part", stepUuid="s1", part={"type": "think", "think": "hm token-4"}),
    event("tool.call", stepUuid="s1", toolCallId="t1", name="Bash", args={"command": "make token-5"}),
    say("user", "<system-reminder>token-6</system-reminder>", origin={"kind": "injection", "variant": "plan"}),
    event("tool.result", toolCallId="t1", result={"output": "no rule token-7", "isError": True}),
    event("step.end", uuid="s1", usage={"inputOther": 10, "output": 5, "inputCacheRead": 3}, note="token-8"),
    {"type": "full_compaction.begin", "source": "manual", "note": "token-9"},
    {
        "type": "context.apply_compaction",
        "summary": "It failed. token-10",
        "compactedCount": 4,
        "tokensBefore": 175,
        "keptUserMessageCount": 1,
    },
    say("user", "Again token-11"),
]

CONTEXT: list[dict[str, Any]] = [
    {"role": "_system_prompt", "content": "You help. The current working directory is `C:\\work`."},
    {"role": "_checkpoint", "id": 0},
    {"role": "user", "content": "Run it."},
    {"role": "_usage", "token_count": 10},
    {
        "role": "assistant",
        "content": [{"type": "think", "think": "hm", "encrypted": None}, {"type": "text", "text": "I will."}],
        "tool_calls": [{"type": "function", "id": "t1", "function": {"name": "Shell", "arguments": "{}"}}],
    },
    {"role": "tool", "content": "<system>ERROR: no rule</system>", "tool_call_id": "t1"},
]
