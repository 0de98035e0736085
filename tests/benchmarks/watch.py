"""Watching a command and all its processes: time, CPU and memory by stage, as its progress lines tell the stages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

_BEGINS = re.compile(r"^(\w+): [\d,]+ [a-z ]+$")
_ENDS = re.compile(r"^(\w+): done, ")
ELSEWHERE = "between"
"""What lies before, between and after the stages: starts, plans, the summary."""
EVERY = 0.25
"""Seconds between two looks."""


@dataclass
class Stage:
    """What one stage took."""

    wall: float = 0.0
    cpu: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Role of a process (``parent``, ``workers``, ``server``) → seconds."""
    peak: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Role → most bytes at once of its processes together; ``all`` of the whole tree, ``biggest`` of one process."""

    @property
    def seconds(self) -> float:
        """CPU of all processes."""
        return sum(self.cpu.values())


@dataclass
class Watched:
    """A command that has ended."""

    code: int
    wall: float
    stages: dict[str, Stage]
    lines: list[str]

    def total(self) -> Stage:
        """All stages, and what lies between them."""
        whole = Stage(self.wall)
        for stage in self.stages.values():
            for role, seconds in stage.cpu.items():
                whole.cpu[role] += seconds
            for role, size in stage.peak.items():
                whole.peak[role] = max(whole.peak[role], size)
        return whole


def watched(command: Sequence[str], cwd: Path | None = None) -> Watched:
    """Run ``python`` with these arguments and watch it; its own lines on stderr say which stage it is in."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    watch = _Watch(process.pid)
    lines = []
    assert process.stderr is not None
    for line in process.stderr:
        lines.append(line.rstrip("\n"))
        if found := _ENDS.match(line):
            watch.enter(ELSEWHERE)
        elif found := _BEGINS.match(line.rstrip("\n")):
            watch.enter(found[1])
    code = process.wait()
    watch.stop()
    return Watched(code, time.perf_counter() - start, dict(watch.stages), lines)


class _Watch:
    """Looks at a process and all below it every so often, and notes what it sees under the stage of the moment."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._roles: dict[int, str] = {}
        self._used: dict[int, float] = {}
        self.stages: dict[str, Stage] = defaultdict(Stage)
        self._stage, self._since = ELSEWHERE, time.perf_counter()
        self._lock, self._over = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def enter(self, stage: str) -> None:
        """What is seen from now on belongs to this stage."""
        with self._lock:
            self._look()
            now = time.perf_counter()
            self.stages[self._stage].wall += now - self._since
            self._stage, self._since = stage, now

    def stop(self) -> None:
        """The process has ended."""
        self._over.set()
        self._thread.join()
        self.stages[self._stage].wall += time.perf_counter() - self._since

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            with self._lock:
                self._look()

    def _look(self) -> None:
        stage = self.stages[self._stage]
        sizes: dict[str, float] = defaultdict(float)
        try:
            family = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for one in family:
            try:
                role = self._roles.get(one.pid) or self._role(one)
                spent = sum(one.cpu_times()[:2])
                size = memory_of(one)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            self._roles[one.pid] = role
            stage.cpu[role] += spent - self._used.get(one.pid, 0.0)
            self._used[one.pid] = spent
            sizes[role] += size
            stage.peak["biggest"] = max(stage.peak["biggest"], size)
        for role, size in sizes.items():
            stage.peak[role] = max(stage.peak[role], size)
        stage.peak["all"] = max(stage.peak["all"], sum(sizes.values()))

    def _role(self, process: psutil.Process) -> str:
        if process.pid == self._root.pid:
            return "parent"
        words = " ".join(process.cmdline())
        if "spawn_main" in words:
            return "workers"
        return (
            "server"
            if "flows.execution.prefect_server_process" in words or "prefect" in words or "uvicorn" in words
            else "others"
        )


def memory_of(process: psutil.Process) -> int:
    """Bytes of a process: its own and its share of what it has in common with others, where the system tells that."""
    found = process.memory_full_info() if psutil.LINUX else process.memory_info()
    return int(getattr(found, "pss", found.rss))


def folder_sizes(root: Path) -> dict[str, int]:
    """Bytes of the entries of a folder, with all that is in them."""
    return {
        entry.name: sum(path.stat().st_size for path in [entry, *entry.rglob("*")] if path.is_file())
        for entry in sorted(root.iterdir())
    }
