"""``compaction-eval run`` with a real model as summariser, prober and responder: from a log to the leaderboard."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.local.conftest import ROOT, LocalServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SAMPLE = ROOT / "flows" / "samples" / "auth_service.jsonl"


def command(server: LocalServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "OPENAI_BASE_URL": server.base_url, "DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    }  # fmt: skip
    environment.pop("OPENAI_API_KEY", None)
    return subprocess.run(
        [sys.executable, "-m", "flows", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def rows(server: LocalServer, store: Path, query: str) -> list[dict[str, Any]]:
    done = command(server, "sql", query, "--store", str(store), "--format", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_a_run_with_a_real_model_answers_and_a_second_one_calls_nobody(
    local_server: LocalServer, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    run = (
        "run", str(SAMPLE), "--store", str(store), "--points", "messages:150", "--strategies", "empty,head_tail(head=1,tail=1)",
        "--responder", local_server.spec, "--concurrency", "2", "--ephemeral", "--quiet",
    )  # fmt: skip
    first = command(local_server, *run)
    # What is too long for the window, or an answer without an end, fails with its reason: 3.
    assert first.returncode in (0, 3), first.stderr
    answers = rows(local_server, store, "SELECT status, text, error FROM answers")
    done = [answer for answer in answers if answer["status"] == "done"]
    assert done
    assert all(answer["text"] for answer in done)
    assert all(answer["error"] for answer in answers if answer["status"] != "done")
    calls = rows(local_server, store, "SELECT stage, status, cached, input_tokens, cost_usd FROM calls")
    assert {call["stage"] for call in calls} == {"answer"}
    assert all(call["input_tokens"] > 0 and call["cost_usd"] is None for call in calls if call["status"] == "done")
    board = rows(local_server, store, "SELECT method, n_answers, overall FROM leaderboard")
    assert sum(line["n_answers"] for line in board) == len(done)

    again = command(local_server, *run)
    assert again.returncode == first.returncode, again.stderr
    assert rows(local_server, store, "SELECT text FROM answers WHERE status = 'done' ORDER BY text") == [
        {"text": text} for text in sorted(answer["text"] for answer in done)
    ]
