"""The hooks of ``docs/hooks`` with event files as the agents write them, in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import ROOT, session_lines
from tests.flows.sources.logs import opencode_db

HOOKS = ROOT / "docs" / "hooks"
RULE = "Never edit the files in fixtures/, they belong to the auditors."


def environment() -> dict[str, str]:
    """With the installed command on the path."""
    return {**os.environ, "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}


def shown_by_hook(event: dict[str, Any]) -> str:
    """What the script for Claude Code and Codex has its agent show."""
    ended = subprocess.run(
        [sys.executable, HOOKS / "compaction_lost.py"],
        input=json.dumps(event),
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(ended.stdout)
    assert list(answer) == ["systemMessage"]
    return str(answer["systemMessage"])


def claude_code_log(path: Path) -> Path:
    lines = session_lines("hooked", 6)
    lines[0]["message"]["content"] = f"Make the sorting stable. {RULE}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_claude_codes_event_has_the_summary_that_its_log_need_not_have_yet(tmp_path: Path) -> None:
    event = {
        "session_id": "hooked",
        "transcript_path": str(claude_code_log(tmp_path / "hooked.jsonl")),
        "cwd": str(tmp_path),
        "hook_event_name": "PostCompact",
        "trigger": "auto",
        "compact_summary": "The sorting is to be stable. src/orchard_0.py was created.",
    }
    shown = shown_by_hook(event)
    assert "kept 0 of 1 constraint" in shown
    assert "LOST    constraint 0 user" in shown
    kept = shown_by_hook({**event, "compact_summary": f"Stable sorting. {RULE}"})
    assert "kept 1 of 1 constraint" in kept


def codex_line(kind: str, **payload: Any) -> str:
    return json.dumps({"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload}) + "\n"


def codex_said(role: str, text: str) -> dict[str, Any]:
    return {
        "type": "message",
        "role": role,
        "content": [{"type": f"{'in' if role == 'user' else 'out'}put_text", "text": text}],
    }


def test_codex_has_the_compaction_in_its_log(tmp_path: Path) -> None:
    log = tmp_path / "rollout-2026-03-01T10-00-00-0199.jsonl"
    patch = "*** Begin Patch\n*** Add File: src/rows.py\n+rows = []\n*** End Patch\n"
    log.write_text(
        codex_line("session_meta", id="0199", cwd="/home/ada/mill", timestamp="2026-03-01T10:00:00Z")
        + codex_line("response_item", **codex_said("user", f"Make the sorting stable. {RULE}"))
        + codex_line("response_item", type="custom_tool_call", call_id="c1", name="apply_patch", input=patch)
        + codex_line("response_item", type="custom_tool_call_output", call_id="c1", output="Success.")
        + codex_line("compacted", message="The sorting is to be stable.", replacement_history=[])
    )
    event = {
        "session_id": "0199",
        "turn_id": "7",
        "transcript_path": str(log),
        "cwd": str(tmp_path),
        "hook_event_name": "PostCompact",
        "model": "gpt-5.2-codex",
        "trigger": "manual",
    }
    shown = shown_by_hook(event)
    assert "recorded: " in shown
    assert "kept 0 of 1 constraint" in shown
    assert "created src/rows.py" in shown


def test_codex_has_no_log_of_a_session_that_it_does_not_keep() -> None:
    assert "no log" in shown_by_hook({"session_id": "0199", "transcript_path": None, "hook_event_name": "PostCompact"})


PLUGIN = """
import { CompactionLost } from "./compaction-lost.mjs"
const shown = []
const client = { tui: { showToast: async (toast) => shown.push(toast.body) } }
const plugin = await CompactionLost({ client })
await plugin.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } })
await plugin.event({ event: { type: "session.compacted", properties: { sessionID: "ses_1" } } })
await plugin.event({ event: { type: "session.compacted", properties: { sessionID: "ses_0" } } })
console.log(JSON.stringify(shown))
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_opencodes_database_has_the_session_that_it_has_compacted(tmp_path: Path) -> None:
    def message(role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"info": {"role": role, "time": {"created": 1, "completed": 2}, **more}, "parts": list(parts)}

    messages = [
        message("user", {"type": "text", "text": f"Make the sorting stable. {RULE}"}),
        message("assistant", {"type": "text", "text": "It is stable now."}),
        message("user", {"type": "compaction", "auto": True}),
        message("assistant", {"type": "text", "text": "Stable sorting."}, summary=True, finish="stop"),
    ]
    database = opencode_db.open_database(tmp_path / "opencode.db", 1)
    opencode_db.add_1(database, {"info": {"id": "ses_1"}, "messages": messages})
    opencode_db.add_1(database, {"info": {"id": "ses_2", "time": {"updated": 9}}, "messages": messages[:2]})
    shutil.copy(HOOKS / "compaction-lost.js", tmp_path / "compaction-lost.mjs")
    (tmp_path / "main.mjs").write_text(PLUGIN)
    ended = subprocess.run(
        ["node", "main.mjs"],
        cwd=tmp_path,
        env={**environment(), "OPENCODE_DB": str(tmp_path / "opencode.db")},
        capture_output=True,
        text=True,
        check=False,
    )
    database.close()
    assert ended.returncode == 0, ended.stderr
    toast, failed = json.loads(ended.stdout)
    assert "no session 'ses_0'" in failed["message"]
    assert toast["variant"] == "warning"
    assert "kept 0 of 1 constraint" in " ".join(toast["message"].split())
    assert all(len(line) <= 60 for line in toast["message"].splitlines())
