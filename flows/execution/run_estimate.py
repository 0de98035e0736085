"""When a run will end, by what the stages of an earlier one took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flows.support.resource_use import StageTime

LEAST_BASIS = 5.0
"""Seconds that the stages which have ended must have taken; less says more of start-up than of the work."""
LEAST_LEFT = 10.0
"""Seconds below which the end is not worth a line."""
EMBEDDED = {"compact": 140.4, "probe": 33.1, "measure": 87.4, "answer": 12.6, "score": 5.8, "load": 13.9}
"""Seconds of the stages of one run with the embedded engine (1,597 real sessions, 54 methods, two cores).

Only their ratios count. They stand in for an earlier run where there is none. ``ingest`` is left out, since its share
depends on how many sessions are long enough for a compaction point.
"""


def seconds_left(ended: Sequence[StageTime], earlier: Mapping[str, float]) -> float | None:
    """Estimate the seconds until the end of a run: the stages of the earlier run that are still to come.

    They are scaled by what the stages which both have done took, in this run and in the earlier one. ``earlier``:
    stage → seconds. None where too little has been done to tell: always before ``compact`` has ended, so also for
    a backfill, which has no such stage.
    """
    both = [time for time in ended if time.stage in earlier]
    if not any(time.stage == "compact" for time in both):
        return None
    basis = sum(time.seconds for time in both)
    then = sum(earlier[time.stage] for time in both)
    if basis < LEAST_BASIS or then <= 0:
        return None
    to_come = earlier.keys() - {time.stage for time in ended}
    return sum(earlier[stage] for stage in to_come) * basis / then


def earlier_seconds(runs: Iterable[Mapping[str, Any]], study_key: str) -> dict[str, float]:
    """Stage → seconds, of the longest finished run of a study; empty if none has.

    The longest, because a run that finds little to do tells little.
    """
    finished = (row for row in runs if row["status"] == "done" and row["study_key"] == study_key)
    seconds = ({stage["stage"]: float(stage["seconds"]) for stage in row["stages"]} for row in finished)
    return max(seconds, key=lambda one: sum(one.values()), default={})


def format_left(seconds: float) -> str:
    """The line about the end of a run, such as ``run: about 4 min left``."""
    return f"run: about {seconds:.0f} s left" if seconds < 100 else f"run: about {seconds / 60:.0f} min left"
