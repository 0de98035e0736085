"""A night that is disturbed: commands in processes of their own, ended or hindered at a place, and what was lost.

Only the command, the store's files and ``scores.duckdb`` are looked at, nothing inside of the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from flows.database.database_draft import MATERIALIZED
from flows.database.scores_db import connect

PATIENCE = 150.0
"""Seconds after which something that is waited for counts as never coming."""
OPTIONS = ("--points", "messages:20", "--strategies", "none,empty,head_tail")
NOT_COMPARED = {
    "seconds",
    "created_at",
    "started_at",
    "ended_at",
    "answered_at",
    "last_run_at",
    "run_id",
    "made_at",
    "taken_at",
    "cost_usd",
    "saved_usd",
}
"""Columns that differ from run to run. Of equal calls of several answers one is paid for, whichever comes first."""

Rows = list[tuple[Any, ...]]


def tables(store: Path, *, without: tuple[str, ...] = ("runs", "run_stages")) -> dict[str, Rows]:
    """Every table of the store, sorted, without the columns that differ from run to run.

    Not those that are figures of the others: sums of floats differ in the last digit from load to load.
    """
    with connect(store / "scores.duckdb") as connection:
        found: dict[str, list[str]] = {}
        for table, column in connection.execute(
            "SELECT table_name, column_name FROM duckdb_columns() SEMI JOIN duckdb_tables() "
            "USING (database_name, schema_name, table_name) WHERE database_name = 'store' ORDER BY ALL"
        ).fetchall():
            if table not in (*without, *MATERIALIZED, "run_stages"):  # what a run took is its own
                found.setdefault(table, []).extend([] if column in NOT_COMPARED else [column])
        # Calls are a log of tries: what was answered is the same and has the same price, how often it was asked for and
        # which call was paid may not be, nor which were sent and not read when a run was killed.
        found["calls"] = [name for name in found["calls"] if name not in {"call_id", "cached"}]
        found["calls"].append("cost_usd + CASE WHEN cached THEN saved_usd ELSE 0 END")
        return {
            table: connection.execute(
                f"SELECT {', '.join(columns)} FROM {table} ORDER BY ALL"
                if table != "calls"
                else f"SELECT DISTINCT {', '.join(columns)} FROM calls WHERE status <> 'sent' ORDER BY ALL"
            ).fetchall()
            for table, columns in found.items()
        }


def lost_rows(
    store: Path, reference: Mapping[str, Rows], *, without: tuple[str, ...] = ("runs", "run_stages")
) -> dict[str, int]:
    """Table → rows that are missing or too many, compared with an undisturbed run; empty when all tables are equal."""
    mine = tables(store, without=without)
    apart: dict[str, int] = {}
    for name in mine.keys() | (reference.keys() - set(without)):
        here, there = (Counter(map(repr, rows)) for rows in (mine.get(name, []), reference.get(name, [])))
        if number := ((here - there) + (there - here)).total():
            apart[name] = number
    return apart


def query(store: Path, sql: str) -> Rows:
    """Rows of a query on the store's database."""
    with connect(store / "scores.duckdb") as connection:
        return connection.execute(sql).fetchall()


def leftovers(store: Path) -> list[str]:
    """Files that should not outlive a run."""
    return sorted(path.name for path in store.rglob("*") if ".tmp" in path.name)


@dataclass
class Started:
    """A command under way in a process of its own, the leader of its session."""

    pid: int
    forker: Forker
    out_path: Path
    err_path: Path
    code: int | None = None
    """Exit code, negative for a signal, once it has ended."""

    @property
    def out(self) -> str:
        """What it has printed so far."""
        return self.out_path.read_text(errors="replace") if self.out_path.exists() else ""

    @property
    def err(self) -> str:
        """What it has said on stderr so far."""
        return self.err_path.read_text(errors="replace") if self.err_path.exists() else ""

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        if self.code is None:
            self.code = self.forker.ask({"ended": self.pid})
        return self.code

    def until(self, reached: Callable[[], object], what: str = "the place") -> Any:
        """Wait for something while it runs; what it was. Fails when the command ends before."""
        deadline = time.monotonic() + PATIENCE
        while not (found := reached()):
            assert not self._is_gone(), f"ended with {self.poll()} before {what}: {self.err}"
            assert time.monotonic() < deadline, f"{what} never came: {self.err}"
            time.sleep(0.005)
        return found

    def _is_gone(self) -> bool:
        """Whether it has ended, without asking the forker, which takes longer."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            return True

    def says(self, words: str) -> None:
        """Wait until it has said something on stderr."""
        self.until(lambda: words in self.err, words)

    def wait(self) -> int:
        """Wait until it ends; its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.poll() is None:
            assert time.monotonic() < deadline, f"never ended: {self.err}"
            time.sleep(0.05)
        assert self.code is not None
        return self.code

    def signal(self, number: int = signal.SIGKILL) -> None:
        """Send the process a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process as the system does it for want of memory, and wait until its helpers are gone too."""
        helpers = self.helpers()
        self.signal()
        self.wait()
        psutil.wait_procs(helpers, timeout=20)

    def kill_all(self) -> None:
        """End it and everything that it started in one go, as when the machine goes."""
        everything = [psutil.Process(self.pid), *self.helpers()]
        for process in everything:  # nothing may notice that another is gone
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        for process in everything:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.wait()
        psutil.wait_procs(everything[1:], timeout=20)

    def helpers(self, words: str = "") -> list[psutil.Process]:
        """Processes that it started whose command has some words.

        Workers have ``spawn_main``, the server has ``flows.execution.prefect_server_process``.
        """
        found = []
        for process in psutil.Process(self.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if words in " ".join(process.cmdline()):
                    found.append(process)
        return found


@dataclass
class Forker:
    """Starts the command; see ``tests.flows.forker``."""

    folder: Path
    """For what the commands print."""
    process: subprocess.Popen[str]
    has_mounts: bool
    """Whether disks of its own can be had."""
    n_started: int = 0
    started: list[Started] = field(default_factory=list)

    def ask(self, order: Mapping[str, Any]) -> Any:
        """Have something done, and what came of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the forker is gone"
        return json.loads(line)

    def start(
        self,
        *arguments: object,
        environment: Mapping[str, str | None] | None = None,
        fresh: bool = False,
        most_bytes: int | None = None,
        cores: int = 1,
    ) -> Started:
        """Start the command.

        Args:
            arguments: Of the command.
            environment: Variables to set, or with None to take away.
            fresh: In a Python of its own, ``python -m flows``, for what must be in place when Python starts.
            most_bytes: Largest file that it and its workers may write.
            cores: That it may use, and so its worker processes.
        """
        self.n_started += 1
        out, err = (self.folder / f"{self.n_started}.{name}" for name in ("out", "err"))
        env = {name: value for name, value in {**os.environ, **(environment or {})}.items() if value is not None}
        order = {"run": [str(a) for a in arguments], "env": env, "out": str(out), "err": str(err), "fresh": fresh}
        started = Started(self.ask({**order, "most_bytes": most_bytes, "cores": cores}), self, out, err)
        self.started.append(started)
        return started

    def run(self, *arguments: object, **how: Any) -> Started:
        """Start the command, as ``start``, and wait until it has ended."""
        started = self.start(*arguments, **how)
        started.wait()
        return started

    def end_all(self) -> None:
        """End whatever still runs."""
        for one in self.started:
            if one.poll() is None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill_all()
        self.started.clear()

    def seen(self, path: Path) -> Path:
        """A path on a disk that only the commands have, as it is reached from here."""
        return Path(f"/proc/{self.process.pid}/root{path}")

    def do(self, *command: object) -> None:
        """Run a program where the commands run (``mount``)."""
        said = self.ask({"do": [str(word) for word in command]})
        assert not said, said


def _own_mounts() -> list[str]:
    for how in (["unshare", "-m"], ["unshare", "-Urm"]):
        with contextlib.suppress(OSError):
            if subprocess.run([*how, "true"], capture_output=True, check=False).returncode == 0:
                return how
    return []


@contextlib.contextmanager
def forking(folder: Path, root: Path) -> Iterator[Forker]:
    """A forker for the length of a test module; what it started is ended with it."""
    own = _own_mounts()
    process = subprocess.Popen(
        [*own, sys.executable, "-m", "tests.flows.forker"],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline(), "the forker did not start"
    forker = Forker(folder, process, bool(own))
    try:
        yield forker
    finally:
        forker.end_all()
        process.stdin.close()
        process.wait(20)
        process.stdout.close()
