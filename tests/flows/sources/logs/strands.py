"""Sessions of Strands Agents, after what the file session manager of version 1.62 wrote for an agent with a tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def stored(number: int, role: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    """The content of a message's file; a text stands for its block."""
    content = [{"text": block} if isinstance(block, str) else block for block in blocks]
    time = f"2026-03-01T10:00:{number:02}.5+00:00"
    message = {"role": role, "content": content, "tracking_id": f"f023c6cf-{number}"}
    if role == "assistant":
        message["metadata"] = {"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}, "metrics": {}}
    return {
        "message": message,
        "message_id": number,
        "redact_message": None,
        "created_at": time,
        "updated_at": time,
    } | more


def use(own: str, **arguments: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": own, "name": "ls", "input": arguments}}


def result(own: str, *parts: Any, status: str = "success") -> dict[str, Any]:
    content = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"toolResult": {"toolUseId": own, "status": status, "content": content}}


THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
PICTURE = {"image": {"format": "png", "source": {"bytes": {"__bytes_encoded__": True, "data": "aWlpaQ=="}}}}
LINES = [
    stored(0, "user", "token-0"),
    stored(1, "assistant", THOUGHT, "token-1", use("c1", path=".")),
    stored(2, "user", result("c1", "token-2")),
    stored(3, "assistant", "token-3"),
]
MESSAGES = [
    stored(0, "user", "Mend the mill.", PICTURE),
    stored(1, "assistant", THOUGHT, "I look.", use("c1", path="."), use("c2", path="x")),
    stored(2, "user", result("c1", "a.c", {"json": {"n": 1}}), result("c2", "Error: no such path", status="error")),
    stored(3, "assistant", "Mended."),
    stored(4, "user", "Oil it."),
    stored(5, "assistant", "Oiled."),
]
SUMMARY = {"role": "user", "content": [{"text": "The mill was mended."}], "tracking_id": "9e1bdf73"}


def write_session(folder: Path, messages: list[dict[str, Any]], agent: str = "miller", **state: Any) -> Path:
    """The folder of an agent's messages, with what stands beside it; the manager's state was noted before message 5."""
    here = folder / "session_mill-1" / "agents" / f"agent_{agent}"
    (here / "messages").mkdir(parents=True)
    (folder / "session_mill-1" / "session.json").write_text('{"session_id": "mill-1", "session_type": "AGENT"}')
    about = {"agent_id": agent, "state": {}, "conversation_manager_state": state}
    (here / "agent.json").write_text(json.dumps(about | {"updated_at": "2026-03-01T10:00:05+00:00"}))
    for message in messages:
        (here / "messages" / f"message_{message['message_id']}.json").write_text(json.dumps(message))
    return here / "messages"
