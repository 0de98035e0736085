"""A study of a thousand times the size on a cluster, by plan: measured rates and a simulated schedule.

``docs/cluster.md`` has the figures. The rates are those that ``test_scale`` measured at 100× on two cores. Assumed is
that a core of the cluster is as quick as one of these, that the shared folder keeps up, that stages follow each other
as they do, and that the run's own process sends a task in ``SENDING`` seconds.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Sequence
from statistics import fmean

import pytest

MESSAGES, SESSIONS = 36_611, 1_902
"""Of the study, a hundredth of what was measured."""
WORKERS = {
    "ingest": 2_520.0,
    "points": 82.0,
    "compact": 665.0,
    "probe": 2_319.0,
    "measure": 2_202.0,
    "answer": 120.0,
    "score": 141.0,
}
"""Stage → CPU seconds of the workers, at 100×."""
OWN = {"settle and start": 65.0, "plans of stages": 67.0, "load": 69.0}
"""What the run's own process does alone → its seconds, at 100×."""
SENDING = 0.1
"""Seconds of the run's own process a task (``test_runners``)."""
MEASURED_AT = 100


def makespan(tasks: Iterable[float], workers: int, sending: float = 0.0) -> float:
    """Seconds until all tasks are done: the heaviest first, each by the worker that is free first.

    ``sending``: seconds between two tasks at least.
    """
    free = [0.0] * workers
    end = 0.0
    for number, seconds in enumerate(sorted(tasks, reverse=True), start=1):
        begun = max(heapq.heappop(free), number * sending)
        heapq.heappush(free, begun + seconds)
        end = max(end, begun + seconds)
    return end


def shares(n_buckets: int, n_sessions: int, seed: int = 1) -> list[float]:
    """The shares of buckets in the work of sessions that hashes spread over them, most of them short."""
    chance = random.Random(seed)
    found = [0.0] * n_buckets
    for _ in range(n_sessions):
        found[chance.randrange(n_buckets)] += chance.lognormvariate(0, 1.3)
    total = sum(found)
    return [one / total for one in found]


def plan(scale: int, workers: int, buckets: Sequence[float]) -> dict[str, float]:
    """Wall seconds by stage."""
    grown = scale / MEASURED_AT
    walls = {
        stage: makespan([share * seconds * grown for share in buckets], workers, SENDING)
        for stage, seconds in WORKERS.items()
    }
    return walls | {f"{name} (one process)": seconds * grown for name, seconds in OWN.items()}


@pytest.mark.benchmark
def test_a_thousand_times_the_study_on_sixteen_machines() -> None:
    buckets = shares(1_024, SESSIONS * 1_000)
    print(f"\n1,000×: {MESSAGES * 1_000:,} messages; heaviest bucket {max(buckets) / fmean(buckets):.2f} × the mean")
    for workers in (16, 64, 256):
        walls = plan(1_000, workers, buckets)
        total, work = sum(walls.values()), sum(WORKERS.values()) * 1_000 / MEASURED_AT
        print(
            f"{workers} workers: {total / 60:.0f} min, {work / workers / total:.0%} of it at work; "
            + ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in walls.items())
        )
        assert total >= work / workers


def test_a_schedule_is_no_shorter_than_its_work_and_its_longest_task() -> None:
    assert makespan([3, 3, 2, 2, 2], 2) == 7  # the heaviest first; 6 would be the best
    assert makespan([5, 1, 1], 8) == 5
    assert makespan([0.1] * 100, 50, sending=0.1) == pytest.approx(10.1)
    assert sum(shares(8, 100)) == pytest.approx(1)
