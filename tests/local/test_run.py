"""``compaction-eval run`` with a real model: from a log to the leaderboard."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.local.conftest import ROOT, LocalServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SAMPLE = ROOT / "flows" / "samples" / "auth_service.jsonl"
STUDY = """
points = "messages:150"
strategies = ["empty", "none"]
responder = "{spec}"

[models."{spec}"]
base_url = "{base_url}"
timeout = 900
"""


class Command:
    """``compaction-eval`` on one store, without any key."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store"
        self._environment = {**os.environ, "DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            self._environment.pop(name, None)

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "flows", *arguments, "--store", str(self.store)]
        return subprocess.run(command, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False)

    def sql(self, query: str) -> list[dict[str, Any]]:
        done = self("sql", query, "--format", "json")
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found


def test_a_run_answers_by_a_real_model_and_a_second_run_pays_for_nothing_again(
    local_server: LocalServer, tmp_path: Path
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(spec=local_server.spec, base_url=local_server.base_url))
    command = Command(tmp_path)
    run = ("run", str(SAMPLE), "--study", str(study), "--concurrency", "2", "--ephemeral", "--quiet")
    first = command(*run)
    # The whole history is too long for the model's window: those answers fail with that reason, and the run goes on.
    assert first.returncode == 3, first.stderr
    answers = command.sql(
        "SELECT method, a.status, text, a.error FROM answers a "
        "JOIN compactions USING (compaction_id) JOIN methods USING (method_id)"
    )
    done = sorted(answer["text"] for answer in answers if answer["status"] == "done")
    whole = [answer for answer in answers if answer["method"] == "none"]
    assert len(answers) == 2 * len(whole)
    assert all(answer["text"] is None and "context" in answer["error"] for answer in whole)
    assert all(done)

    calls = command.sql("SELECT stage, status, input_tokens, output_tokens, cost_usd FROM calls")
    paid = [call for call in calls if call["status"] == "done"]
    assert len(paid) == len(done)
    assert {call["stage"] for call in calls} == {"answer"}
    assert all(call["input_tokens"] > 0 and call["output_tokens"] > 0 and call["cost_usd"] is None for call in paid)
    board = command.sql("SELECT method, n_answers FROM leaderboard")
    assert sum(line["n_answers"] for line in board) == len(done)

    again = command(*run)
    assert again.returncode == 3, again.stderr
    calls = command.sql("SELECT status, cached FROM calls")
    assert len([call for call in calls if call["status"] == "done" and not call["cached"]]) == len(done)
