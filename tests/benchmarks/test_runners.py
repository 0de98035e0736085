"""What a runner costs: the same study by processes of this machine, and by Dask, each with two workers.

The sample sessions with all methods, and with ``--points messages:20``. ``COMPACTION_EVAL_BENCH_SOURCES`` names a
folder of others; ``COMPACTION_EVAL_BENCH_STRATEGIES`` fewer methods. CPU and memory are those of all processes
together, Prefect's server included.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flows.support.errors import DONE, INCOMPLETE
from tests.benchmarks.watch import Watched, watched
from tests.flows.disturb import lost_rows, tables

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(7200)]

RUNNERS = ("local", "dask")
TIMES = ("runs", "store_info")
POINTS = ("tokens:32000", "messages:20")


def run(store: Path, runner: str, points: str) -> Watched:
    source = os.environ.get("COMPACTION_EVAL_BENCH_SOURCES")
    strategies = os.environ.get("COMPACTION_EVAL_BENCH_STRATEGIES")
    found = watched(
        [
            "-m",
            "flows",
            "run",
            *([source] if source else []),
            "--store",
            str(store),
            "--runner",
            runner,
            "--points",
            points,
            "--concurrency",
            "2",
            *(["--strategies", strategies] if strategies else []),
        ]
    )
    assert found.code in (DONE, INCOMPLETE), found.lines
    return found


def stages(found: Watched) -> float:
    """Seconds of the stages, without what starts and ends them."""
    return sum(stage.wall for name, stage in found.stages.items() if name != "between")


@pytest.mark.parametrize("points", POINTS)
def test_runners(points: str, tmp_path: Path) -> None:
    run(tmp_path / "warm", "local", points)  # Prefect's database and the caches of the disk
    reference = None
    print(f"\n{points}\n{'runner':<8}{'wall s':>9}{'stages s':>10}{'CPU s':>9}{'peak MB':>9}{'tables apart':>14}")
    for runner in RUNNERS:
        found = run(tmp_path / runner, runner, points)
        mine = tables(tmp_path / runner)
        reference = reference or mine
        whole = found.total()
        print(
            f"{runner:<8}{found.wall:>9.1f}{stages(found):>10.1f}{whole.seconds:>9.1f}{whole.peak['all'] / 1e6:>9.0f}"
            f"{len(lost_rows(tmp_path / runner, reference, without=TIMES)):>14}",
            flush=True,
        )
        assert lost_rows(tmp_path / runner, reference, without=TIMES) == {}
