"""The log of a run's stages: their counts, times and resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flows.pipeline.tasks.task_context import Tally
from flows.support import event_log
from flows.support.clock import now
from flows.support.resource_use import StageTime


class StageLog:
    """Counts and times of the stages of one run."""

    def __init__(self, stage_ended: Callable[[], None] = lambda: None) -> None:
        """``stage_ended`` is called at the end of each stage, to write down what is known by then."""
        self.tallies: dict[str, Tally] = {}
        """Stage → what this run did."""
        self.times: dict[str, StageTime] = {}
        """Key of a stage → what it took and came to, for the run's record."""
        self.restarts: Counter[str] = Counter()
        """Name of a task → how often its worker died."""
        self._stage_ended = stage_ended

    @contextmanager
    def timed(self, key: str) -> Iterator[StageTime]:
        """Count the work inside as a stage, and log it at its end, so that a kill does not lose it."""
        time = self.times.setdefault(key, StageTime(key, now()))
        is_inner = time.is_open
        if not is_inner:
            event_log.event("stage_started", stage=key)
        try:
            with time.clock():
                yield time
        finally:
            if not is_inner:
                event_log.event("stage_ended", **time.as_dict())
                self._stage_ended()

    def left(self) -> dict[str, int]:
        """Stage → items that were not begun, of the stages that left any."""
        return {stage: tally.counts["left"] for stage, tally in self.tallies.items() if tally.counts.get("left")}

    def as_dict(self) -> dict[str, Any]:
        """The columns ``counts`` and ``stages`` of the run's row."""
        return {
            "counts": {
                name: {"done": tally.done, "failed": tally.failed, **tally.counts}
                for name, tally in self.tallies.items()
            },
            "stages": [time.as_dict() for time in self.times.values()],
        }
