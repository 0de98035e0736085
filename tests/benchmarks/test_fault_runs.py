"""Runs whose provider fails at every request, fault by fault: requests, seconds, exit code, what is said, the next run.

Each is the command in a process of its own, with the waits that it has in use; a try may take 3 seconds.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.llm.server import FAULTS, HttpError, Json, MockProvider
from tests.flows.test_model_runs import OPTIONS, handler, sessions

__all__ = ["sessions"]

IN_FLIGHT = 16
STUDY = """[models."openai:m"]
timeout = 3
"""


def refusing(status: int) -> Callable[[Json], str]:
    """A handler that refuses every request with this status."""

    def refuse(_: Json) -> str:
        raise HttpError(status, "", type=None)

    return refuse


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_a_run_with_each_fault(sessions: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    print("\n| fault | requests | seconds | exit | said | exit of the next run |")
    print("| --- | --- | --- | --- | --- | --- |")
    for fault in (*FAULTS, "closed port", "401", "403 without a reason"):
        with MockProvider(handler=handler) as provider, socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = provider.openai_url
            if fault in FAULTS:
                provider.faults = {fault: 1.0}
            elif fault == "closed port":
                url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
            else:
                provider.handler = refusing(int(fault[:3]))
            store = tmp_path / fault.replace(" ", "_")
            arguments = ["run", str(sessions), "--store", str(store), *OPTIONS[:-1], "--study", str(study)]
            arguments += ["--responder", "openai:m", "--concurrency", str(IN_FLIGHT)]
            seconds, code, said = command(arguments, url)
            sent = len(provider.requests)
            provider.faults, provider.handler = {}, handler
            _, again, _ = command(arguments, provider.openai_url)
        print(f"| {fault} | {sent} | {seconds:.0f} | {code} | {said} | {again} |", flush=True)
        assert code in (0, 3, 4)


def command(arguments: list[str], url: str) -> tuple[float, int, str]:
    """Seconds and exit code of a run, and the last line that it says of a model."""
    start = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-m", "flows", *arguments],
        env={**environment, "OPENAI_BASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in " ".join(done.stderr.split("\n\n")).splitlines() if "openai:m" in line or "×" in line]
    return time.perf_counter() - start, done.returncode, lines[-1].strip() if lines else ""
