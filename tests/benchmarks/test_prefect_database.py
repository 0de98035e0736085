"""The same small runs on a Prefect server with SQLite and on one with PostgreSQL. The figures of docs/operating.md.

``COMPACTION_EVAL_BENCH_POSTGRES`` is the URL of an empty database (``postgresql+asyncpg://user@host:port/name``), in
which Prefect makes its tables; ``COMPACTION_EVAL_BENCH_ROUNDS`` the number of runs on each (6 by default).
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flows.execution.prefect_server import answers
from tests.flows.conftest import ROOT, write_session

POSTGRES = os.environ.get("COMPACTION_EVAL_BENCH_POSTGRES", "")
ROUNDS = int(os.environ.get("COMPACTION_EVAL_BENCH_ROUNDS", "6"))
WAIT = "retryable status code 503"
"""What Prefect's client says before it waits because the server's database was locked."""


@contextmanager
def lasting(home: Path, database: str | None) -> Iterator[dict[str, str]]:
    """A server as ``prefect server start`` has it; the environment of its clients."""
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    own |= {"PREFECT_HOME": str(home)}
    if database is not None:
        own["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = database
    url = f"http://127.0.0.1:{port}/api"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "prefect", "server"]
    subprocess.run([*command, "database", "upgrade", "--yes"], env=own, check=True, **quiet)
    with subprocess.Popen([*command, "start", "--port", str(port)], env=own, **quiet) as server:
        try:
            while not answers(url):
                assert server.poll() is None, "the server did not start"
                time.sleep(0.2)
            yield own | {"PREFECT_API_URL": url, "PREFECT_LOGGING_LEVEL": "DEBUG"}
        finally:
            server.terminate()


@pytest.mark.benchmark
@pytest.mark.skipif(not POSTGRES, reason="COMPACTION_EVAL_BENCH_POSTGRES is not set")
@pytest.mark.timeout(3600)
def test_small_runs_on_sqlite_and_on_postgresql(tmp_path: Path) -> None:
    for number in range(6):
        write_session(tmp_path / "logs" / f"{number}.jsonl", f"session-{number}", 20, f"part{number}")
    rows: dict[str, list[tuple[float, int]]] = {"SQLite": [], "PostgreSQL": []}
    with contextlib.ExitStack() as stack:
        databases = {"SQLite": None, "PostgreSQL": POSTGRES}
        clients = {name: stack.enter_context(lasting(tmp_path / name, url)) for name, url in databases.items()}
        for turn in range(ROUNDS):
            for name, environment in clients.items():
                start = time.monotonic()
                done = subprocess.run(
                    [
                        sys.executable,
                        "-m",
                        "flows",
                        "run",
                        str(tmp_path / "logs"),
                        "--points",
                        "messages:20",
                        "--strategies",
                        "none,empty",
                        "--store",
                        str(tmp_path / f"{name}-{turn}"),
                    ],
                    cwd=ROOT,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                rows[name].append((time.monotonic() - start, (done.stdout + done.stderr).count(WAIT)))
    print("\n\n| database | runs: wall s, in order | waits of the client, in order |\n| --- | --- | --- |")
    for name, found in rows.items():
        print(f"| {name} | {', '.join(f'{s:.1f}' for s, _ in found)} | {', '.join(str(n) for _, n in found)} |")
    assert sum(waits for _, waits in rows["PostgreSQL"]) == 0
