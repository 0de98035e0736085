"""Small hand-made logs of every format, and the two functions that every test here uses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.sources import Input, ReadResult, read_input


def as_input(path: Path) -> Input:
    stat = path.stat()
    return Input(path, "folder" if path.is_dir() else "file", stat.st_size, stat.st_mtime_ns)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes, a JSON document, or a list of records as JSON lines."""

    def run(name: str, content: Any = None, *, lines: list[Any] | None = None) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if lines is not None:
            content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return run


@pytest.fixture
def read(write: Callable[..., Path]) -> Callable[..., ReadResult]:
    """Writes like ``write`` and reads what was written; a path is read as it is."""

    def run(name: str | Path, content: Any = None, *, lines: list[Any] | None = None) -> ReadResult:
        path = name if isinstance(name, Path) else write(name, content, lines=lines)
        return read_input(as_input(path))

    return run


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


@pytest.fixture
def claude() -> Any:
    """The makers of Claude Code lines."""

    class Makers:
        line = staticmethod(claude_line)
        says = staticmethod(claude_says)
        user = staticmethod(claude_user)
        use = staticmethod(claude_use)
        result = staticmethod(claude_result)

    return Makers


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload}


@pytest.fixture
def codex_line() -> Callable[..., dict[str, Any]]:
    return codex


def chat_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


CLAUDE = [
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
]
CODEX = [
    codex("session_meta", id="c-1", cwd="/home/ada", base_instructions={"text": "token-0"}),
    codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "token-1"}]),
    codex("turn_context", model="gpt-test", cwd="/home/ada", note="token-2"),
    codex("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "token-3"}]),
    codex("response_item", type="function_call", call_id="f1", name="shell", arguments='{"cmd": "token-4"}'),
    codex("event_msg", type="agent_message", message="token-5"),
    codex("response_item", type="function_call_output", call_id="f1", output="token-6"),
    codex("response_item", type="custom_tool_call", call_id="f2", name="apply_patch", input="token-7"),
    codex("response_item", type="custom_tool_call_output", call_id="f2", output="Exit code: 1\nOutput:\ntoken-8"),
]
PI = [
    {"type": "session", "id": "p-1", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/home/ada", "note": "token-0"},
    {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "token-1"}]}},
    {
        "type": "message",
        "message": {
            "role": "assistant",
            "model": "claude-test-1",
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"},
                {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "token-2"}},
            ],
        },
    },
    {
        "type": "message",
        "message": {
            "role": "toolResult",
            "toolCallId": "t1",
            "toolName": "bash",
            "content": [{"type": "text", "text": "token-3"}],
            "isError": False,
        },
    },
    {"type": "model_change", "modelId": "claude-test-2", "note": "token-4"},
    {"type": "message", "message": {"role": "bashExecution", "command": "ls", "output": "token-5", "exitCode": 2}},
]
OPENHANDS = [
    {"kind": "SystemPromptEvent", "id": "e0", "source": "agent", "system_prompt": {"type": "text", "text": "token-0"}},
    {
        "kind": "MessageEvent",
        "id": "e1",
        "source": "user",
        "llm_message": {"role": "user", "content": [{"type": "text", "text": "token-1"}]},
    },
    {
        "kind": "ActionEvent",
        "id": "e2",
        "source": "agent",
        "thought": [{"type": "text", "text": "token-2"}],
        "tool_name": "terminal",
        "tool_call_id": "t1",
        "tool_call": {"id": "t1", "name": "terminal", "arguments": '{"command": "make"}'},
        "llm_response_id": "r1",
    },
    {
        "kind": "ActionEvent",
        "id": "e3",
        "source": "agent",
        "thought": [],
        "tool_name": "terminal",
        "tool_call_id": "t2",
        "tool_call": {"id": "t2", "function": {"name": "terminal", "arguments": '{"command": "token-3"}'}},
        "llm_response_id": "r1",
    },
    {
        "kind": "ObservationEvent",
        "id": "e4",
        "source": "environment",
        "tool_name": "terminal",
        "tool_call_id": "t1",
        "action_id": "e2",
        "observation": {"kind": "ExecuteBashObservation", "output": "token-4", "metadata": {"exit_code": 2}},
    },
    {
        "kind": "ObservationEvent",
        "id": "e5",
        "source": "environment",
        "tool_name": "terminal",
        "tool_call_id": "t2",
        "action_id": "e3",
        "observation": {"kind": "TerminalObservation", "content": [{"type": "text", "text": "token-5"}]},
    },
    {"kind": "ConversationStateUpdateEvent", "id": "e6", "source": "environment", "key": "token-6", "value": 1},
]
CHAT = [
    {"role": "system", "content": "token-0"},
    {"role": "user", "content": [{"type": "text", "text": "token-1"}]},
    {"role": "assistant", "content": None, "tool_calls": [chat_call("c1", "run", '{"cmd": "token-2"}')]},
    {"role": "tool", "tool_call_id": "c1", "content": "token-3"},
    {"role": "assistant", "content": "token-4", "reasoning_content": "because"},
]
MINI = {
    "info": {"exit_status": "Submitted", "config": {"model": {"model_name": "test/model"}}, "mini_version": "1.15.0"},
    "messages": [
        {"role": "system", "content": "You are a shell."},
        {"role": "user", "content": "Mend the mill."},
        {
            "role": "assistant",
            "content": "THOUGHT: look.\n\n```bash\nls -la\n```",
            "extra": {
                "response": {"id": "gen-1", "created": 1767225600, "choices": [{"message": {"reasoning": "So."}}]}
            },
        },
        {"role": "user", "content": "<returncode>1</returncode>\n<output>\nnothing\n</output>"},
        {"role": "assistant", "content": "Two:\n```bash\na\n```\n```bash\nb\n```"},
        {"role": "user", "content": "Please always provide EXACTLY ONE action"},
    ],
    "trajectory_format": "mini-swe-agent-1",
}
SWE = {
    "environment": "swe_main",
    "trajectory": [{"action": "ls", "observation": "x"}],
    "history": [
        {"role": "system", "content": "You are a shell.", "agent": "primary"},
        {"role": "user", "content": "Another task.", "is_demo": True},
        {"role": "user", "content": "Mend the mill."},
        {"role": "assistant", "content": "Look.\n```\nls -la\n```", "thought": "Look.\n", "action": "ls -la\n"},
        {"role": "user", "content": "wheel.py"},
    ],
}


@pytest.fixture(scope="session")
def line_samples() -> dict[str, list[dict[str, Any]]]:
    """A log in JSON lines for each format that has one; line *n* holds the word ``token-n``."""
    return {
        "claude_code": CLAUDE,
        "codex_rollout": CODEX,
        "pi": PI,
        "openhands_v1_events": OPENHANDS,
        "openai_chat": CHAT,
    }


@pytest.fixture(scope="session")
def document_samples() -> dict[str, Any]:
    """A log in one JSON value for each format that has one."""
    return {"openai_chat": CHAT, "mini_swe_agent": MINI, "swe_agent_traj": SWE}
