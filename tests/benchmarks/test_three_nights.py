"""A night simulated three times over: what each costs and says. The tables of docs/nightly.md.

Each night is a process of its own, as ``serve`` has it, on a Prefect server that is up.
``COMPACTION_EVAL_NIGHT_SESSIONS``
sets the number of sessions (20 by default).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.execution.prefect_server import Server, prepare
from tests.flows.conftest import ROOT, write_session

SESSIONS = int(os.environ.get("COMPACTION_EVAL_NIGHT_SESSIONS", "20"))

NIGHT = """
import asyncio, json, os, sys
from flows.nightly import nightly
state = asyncio.run(nightly(**json.loads(sys.argv[1]), return_state=True))
print(json.dumps([state.name, state.message]), flush=True)
"""
STUDY = """
points = "messages:20"
strategies = ["none", "empty", "head_tail", "factory_style_anchored", "ours"]
[[methods]]
name = "ours"
strategy = "head_tail"
params = {{ tail = {tail} }}
"""


def night(folder: Path) -> tuple[float, float, str, str]:
    """Wall and CPU seconds of a night with all its processes, its state, and what it says."""
    study = {"sources": [str(folder / "logs")], "store": str(folder / "store")}
    given = {"study": study, "study_file": str(folder / "study.toml"), "fail_if_worse": 0.2}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", NIGHT, json.dumps(given)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    name, message = json.loads(done.stdout.splitlines()[-1])
    return time.monotonic() - start, cpu, name, message


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "store").rglob("*") if path.is_file())


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_three_nights_and_an_idle_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    prepare()
    server = Server(lasting=True)
    try:
        server.wait()
        for name, value in server.client_settings.items():
            monkeypatch.setenv(name, value)
        words = [f"part{number}" for number in range(SESSIONS)]
        for number, word in enumerate(words):
            write_session(tmp_path / "logs" / f"{word}.jsonl", f"session-{number}", 30, word)
        study = tmp_path / "study.toml"
        study.write_text(STUDY.format(tail=14))
        rows = [("1: everything is new", *night(tmp_path), size(tmp_path))]
        rows.append(("2: nothing is new", *night(tmp_path), size(tmp_path)))
        write_session(tmp_path / "logs" / "part0.jsonl", "session-0", 45, "part0")
        write_session(tmp_path / "logs" / "fresh.jsonl", "session-new", 30, "fresh")
        study.write_text(STUDY.format(tail=1))
        rows.append(("3: one grew, one is new, a method is worse", *night(tmp_path), size(tmp_path)))
        rows.append(("4: nothing is new", *night(tmp_path), size(tmp_path)))
    finally:
        server.stop()
    print(f"\n{SESSIONS} sessions\n\n| night | wall s | CPU s | store MB | state | says |")
    print("| --- | ---: | ---: | ---: | --- | --- |")
    for what, wall, cpu, name, message, n_bytes in rows:
        print(f"| {what} | {wall:.1f} | {cpu:.1f} | {n_bytes / 1e6:.2f} | {name} | {message} |")
    assert [row[3] for row in rows] == ["Completed", "Completed", "MethodWorse", "Completed"]
