"""Resources that a stage uses: wall time, time of its tasks, processor time, memory."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COLLECT_AT = (50_000, 20, 100)
"""Thresholds of Python's garbage collector. Sessions are many small objects that stay: to look through them for circles
as often as Python does by default takes a sixth of the time."""


@dataclass
class ResourceUse:
    """Resources that tasks used, in the processes that ran them."""

    busy_seconds: float = 0.0
    """Wall time, added up over the tasks."""
    cpu_seconds: float = 0.0
    """Of the worker processes; the time of a task that is done in the run's own process is counted there."""
    peak_memory_bytes: int = 0
    """The most that a process which did a task had in memory until then."""

    def add(self, other: ResourceUse) -> None:
        """Add the use of other tasks."""
        self.busy_seconds += other.busy_seconds
        self.cpu_seconds += other.cpu_seconds
        self.peak_memory_bytes = max(self.peak_memory_bytes, other.peak_memory_bytes)


@dataclass
class StageTime:
    """Resources and results of one stage of one run. A stage that runs twice adds up."""

    stage: str
    started_at: str
    unit: str = ""
    """Noun for its items."""
    seconds: float = 0.0
    """Wall time."""
    driver_cpu_seconds: float = 0.0
    """Processor time of the run's own process meanwhile."""
    tasks: int = 0
    retries: int = 0
    """Tasks that were started again because their worker died."""
    done: int = 0
    failed: int = 0
    left: int = 0
    """Items not started, because no more model calls were allowed."""
    sessions: int | None = None
    """Sessions that were planned; None for a stage that does not work by sessions."""
    settled: int | None = None
    """Sessions that were skipped, because they are marked as done."""
    busy_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    is_open: bool = False
    """Whether its clock is running."""

    def add(self, used: ResourceUse, *, done: int, failed: int, left: int) -> None:
        """Add the use and the results of some tasks."""
        self.busy_seconds += used.busy_seconds
        self.cpu_seconds += used.cpu_seconds
        self.peak_memory_bytes = max(self.peak_memory_bytes, used.peak_memory_bytes)
        self.done, self.failed, self.left = self.done + done, self.failed + failed, self.left + left

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Add the time that passes inside. Nested use counts no time twice."""
        if self.is_open:
            yield
            return
        self.is_open = True
        start, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.is_open = False
            self.seconds += time.perf_counter() - start
            self.driver_cpu_seconds += time.process_time() - cpu

    def as_dict(self) -> dict[str, Any]:
        """The fields for the record of a run; times in seconds, rounded to milliseconds."""
        return {
            name: round(value, 3) if isinstance(value, float) else value
            for name, value in vars(self).items()
            if name != "is_open"
        }


def peak_memory() -> int:
    """Peak memory of this process so far, in bytes."""
    # What getrusage says of a process that was spawned begins with its parent's peak (Linux).
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
