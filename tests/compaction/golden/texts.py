"""Texts and tools of kinds that some peers tell apart: source files, JSON, diffs; tools that read and write files."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace

from compaction.testing import CharacterCounter
from compaction.tokens import counted
from compaction.transcript import Message, ToolCall

FILES = (
    "# setup.py\nimport a\nimport b\nfrom c import d",
    '{"path": "auth.py", "ok": true}',
    "[1, 2",
    "see `auth.py` and authentication",
    "// main.js\n    let x\n    let y\n    let z\n    a\n    b\n    c",
    "File: /srv/app/settings.toml\n" + "line\n" * 60,
    "--- old.c\n+++ new.c",
    "请把 auth.py 里的登录错误修好",
)


def with_files(messages: Sequence[Message], seed: int) -> tuple[Message, ...]:
    """The history with texts of the kinds that the peer tells apart in the place of some of its results."""
    source = random.Random(seed)
    changed = []
    for message in messages:
        if message.role in ("tool", "user") and source.random() < 0.4:
            changed.append(counted(replace(message, text=source.choice(FILES), tokens=None), CharacterCounter()))
        else:
            changed.append(message)
    return tuple(changed)


TOOLS = ("write_file", "edit_file", "read_file", "run")


def with_file_tools(messages: Sequence[Message], seed: int) -> tuple[Message, ...]:
    """The history with calls that write and read files, some with a long argument, and some results of long lines."""
    source = random.Random(seed)
    tools: dict[str, str] = {}
    changed = []
    for message in messages:
        calls = []
        for call in message.tool_calls:
            content = f"x = {message.seq}\n" * source.choice((1, 5, 50))
            calls.append(ToolCall(call.id, source.choice(TOOLS), json.dumps({"path": "a.py", "content": content})))
            tools[call.id] = calls[-1].name
        text = message.text
        if message.role == "tool" and source.random() < 0.3:
            text = "word " * source.choice((100, 300)) + text
        name = tools.get(message.tool_call_id or "", message.tool_name)
        made = replace(message, text=text, tool_calls=tuple(calls), tool_name=name, tokens=None)
        changed.append(counted(made, CharacterCounter()))
    return tuple(changed)


def as_cline(messages: Sequence[Message], seed: int) -> tuple[Message, ...]:
    """The history with results that begin as Cline's do: files read and written again and again, and mentions."""
    source = random.Random(seed)
    changed = []
    for message in messages:
        path, text = f"src/{source.choice('ab')}.py", message.text
        kind = source.choice(("read", "read", "read", "write", "denied", "command", "plain"))
        file = "x = 1\n" * source.choice((3, 40))
        if message.role == "tool":
            text = {
                "read": f"[read_file for '{path}'] Result:\n{file}{text}",
                "write": f"[replace_in_file for '{path}'] Result:\nSaved.\n"
                f'<final_file_content path="{path}">\n{file}</final_file_content>\nGo on from there.',
                "denied": f"[write_to_file for '{path}'] Result:\nThe user denied this operation.",
                "command": f"[execute_command for 'ls'] Result:\n{text}",
                "plain": text,
            }[kind]
        elif message.role == "user" and source.random() < 0.7:
            shown = [f'<file_content path="{name}">\n{file}</file_content>' for name in (path, "src/c.py")]
            text = "\n\n".join([text, *shown[: source.choice((1, 2))]])
        changed.append(counted(replace(message, text=text, tokens=None), CharacterCounter()))
    return tuple(changed)
