"""A store for the pages: an ordinary session, and one whose every text tries to be more than text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.store.store import Store
from tests.flows.conftest import session_lines, without_server, write_session

EVIL = (
    "</script><script>window.hacked = 1</script>",
    '"\'><img src=x onerror="window.hacked = 2">',
    "<!--<script>",
    "{{ 7 * 7 }} ${7 * 7} &lt;b&gt; ]]>",
    "javascript:window.hacked=3",
    "abc\u202egnp.exe\u202c \u2066x\u2069 \x1b[31mred\x00\x07 \u2028",
)
LONG = 5_000_000
ORDINARY, HOSTILE = "claude_code-session-0", "claude_code-session-1"
"""Ids of the two sessions."""
METHODS = "none,empty,head_tail,mask_sweagent,codex_local,openhands_sdk(mode=full_content)"


def hostile_lines(session_id: str, turns: int) -> list[dict[str, Any]]:
    """An ordinary session with hostile texts in requests, answers, calls, names of files, and results."""
    lines = session_lines(session_id, turns, "lantern")
    for number, line in enumerate(lines):
        evil = EVIL[number % len(EVIL)]
        message = line["message"]
        if isinstance(message["content"], str):
            message["content"] = f"Sort {EVIL[0]} {EVIL[5]} stably. {message['content']} {evil}"
            continue
        for block in message["content"]:
            if block["type"] == "text":
                block["text"] = (
                    f"I decided on {evil} for lantern {number}, because {EVIL[0]} keeps equal keys in order."
                )
            elif block["type"] == "tool_use":
                block["input"] = {key: f"{value}{evil}" for key, value in block["input"].items()}
            else:
                block["content"] = f"{evil} {block['content']} {EVIL[1]}"
    lines[6]["message"]["content"][0]["content"] = f"{EVIL[0]} {'x' * LONG} the end"
    return lines


STORE = "store <i>"
"""The name of its folder."""


def copy_store(request: pytest.FixtureRequest) -> Store:
    """A copy of the store, which is made once for both pages and all processes of pytest-xdist."""

    def fill(folder: Path) -> None:
        home, kept = (request.getfixturevalue(name) for name in ("own_prefect_home", "kept_worker"))
        with without_server(home, kept):
            make_store(folder)

    made = request.getfixturevalue("made_once")("page", fill) / STORE
    own = request.getfixturevalue("tmp_path_factory").mktemp("page") / STORE
    return Store.open(str(shutil.copytree(made, own)))


def make_store(folder: Path) -> None:
    """Run the embedded engine over both sessions."""
    from flows.cli.app import app

    logs = folder / "logs"
    write_session(logs / "orchard.jsonl", "session-0", 45)
    text = "".join(json.dumps(line) + "\n" for line in hostile_lines("session-1", 45))
    (logs / "hostile.jsonl").write_text(text, encoding="utf-8")
    arguments = ["run", logs, "--store", folder / STORE, "--points", "messages:40", "--strategies", METHODS]
    result = CliRunner().invoke(app, [*map(str, arguments), "--quiet"])
    assert result.exit_code == 0, result.output
