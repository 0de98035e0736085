"""Analysts at ``scores.duckdb`` while it is written again and again: no query fails, each sees one whole run.

Two studies have their results in one store, and each run puts the other one's database in place: a mixture would show
at once. The readers are processes of their own and hold on to what they have opened.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.flows.conftest import ROOT, write_session
from tests.flows.disturb import PATIENCE, Forker, query

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEEN = (
    "SELECT (SELECT count(*) FROM points), (SELECT count(*) FROM compactions), (SELECT count(*) FROM probes), "
    "(SELECT count(*) FROM answers), (SELECT count(*) FROM scores), (SELECT count(*) FROM measures), "
    "(SELECT any_value(points_spec) FROM points)"
)
READER = """
import json, shutil, sys, threading, time
from pathlib import Path
import duckdb
from flows.database.scores_db import connect
from flows.results import open_results

store, seen = Path(sys.argv[1]), sys.argv[2]
database, copy = store / "scores.duckdb", Path(sys.argv[3])
lock = threading.Lock()

def note(kind, counts):
    with lock:
        print(json.dumps([kind, list(counts)]), flush=True)

def again_and_again(kind, look):
    def go():
        try:
            while True:
                note(kind, look())
                time.sleep(0.1)
        except BaseException as error:
            note("failed", [kind, repr(error)])
    threading.Thread(target=go, daemon=True).start()

def newly_opened():
    with connect(database) as connection:
        return connection.execute(seen).fetchone()

def copied():
    shutil.copyfile(database, copy)
    with connect(copy) as connection:
        return connection.execute(seen).fetchone()

results = open_results(store)
held = duckdb.connect(database, read_only=True)
held.execute("BEGIN")
held.execute(seen).fetchone()
again_and_again("results", lambda: results.sql(seen).row(0))
again_and_again("transaction", lambda: held.execute(seen).fetchone())
again_and_again("newly opened", newly_opened)
again_and_again("copied", copied)
note("ready", [])
sys.stdin.read()
"""


@contextmanager
def reading(store: Path, copy: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that reads in four ways at once, and the file of what it has seen."""
    seen = copy.with_suffix(".seen")
    with seen.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", READER, str(store), SEEN, str(copy)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=file,
            text=True,
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while '["ready"' not in seen.read_text():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process, seen
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(20)


def test_readers_see_whole_runs_through_every_load_and_no_load_waits_for_them(forker: Forker, tmp_path: Path) -> None:
    store = tmp_path / "store"
    log = write_session(tmp_path / "a.jsonl", "s", 30)
    studies = [
        ("run", log, "--store", store, "--strategies", "none,empty", "--points", points)
        for points in ("messages:20", "messages:30")
    ]
    states = []
    for study in (*reversed(studies), studies[0]):
        done = forker.run(*study)
        assert done.code == 0, done.err
        states.append(list(query(store, SEEN)[0]))
    assert states[0] != states[1] == states[2]
    first, second = states[1], states[0]

    with reading(store, tmp_path / "one.duckdb") as (_, seen), reading(store, tmp_path / "two.duckdb") as (other, _):
        for number in range(4):
            if number == 2:
                os.kill(other.pid, signal.SIGKILL)  # a reader that dies in the middle leaves nothing behind
                other.wait()
            done = forker.run(*studies[(number + 1) % 2])
            assert done.code == 0, done.err
            assert "nothing to do" in done.err
            assert list(query(store, SEEN)[0]) == (second, first)[number % 2]
    noted: dict[str, list[list[object]]] = {}
    for line in seen.read_text().splitlines():
        kind, counts = json.loads(line)
        noted.setdefault(kind, []).append(counts)
    assert "failed" not in noted, noted["failed"]
    for kind in ("results", "transaction"):
        assert len(noted[kind]) > 10
        assert all(counts == first for counts in noted[kind]), f"{kind}: as it was when it was opened"
    for kind in ("newly opened", "copied"):
        assert all(counts in (first, second) for counts in noted[kind]), kind
        assert {str(counts) for counts in noted[kind]} == {str(first), str(second)}, "both were seen"
