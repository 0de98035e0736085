"""How every stage grows with the number of sessions, and what orchestration adds to the work.

Corpora by ``tests.synth``, then ``ingest`` and ``run`` as real processes. The exponent is the slope of log over log
between two sizes: 1 is linear, 0 is flat. ``COMPACTION_EVAL_BENCH_MESSAGES`` sets the messages of the smallest corpus
(36,611 by default, those of the study), ``COMPACTION_EVAL_BENCH_SCALES`` the multiples (``1,10`` by default;
``1,10,100`` for the whole table), ``COMPACTION_EVAL_BENCH_DIR`` a folder with room (they are removed again),
``COMPACTION_EVAL_BENCH_SOURCES`` folders of real logs to measure beside them, separated by colons.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb
import psutil
import pytest

from tests.benchmarks.watch import Stage, Watched, folder_sizes, watched

METHODS = "none,empty,mask_sweagent,codex_local"
POINTS = "tokens:32000"
MB = 1e6

WITHOUT_PREFECT = """
import asyncio, sys
from flows.answer import answer
from flows.compact import compact
from flows.ingest import ingest
from flows.measure import measure
from flows.execution.stage_executor import PlainCalls
from flows.probe import probe
from flows.support.progress import make_report
from flows.execution.run import load_database, running
from flows.score import score
from flows.config.study import make_study

async def all_stages(study):
    for stage in (ingest, compact, probe, measure, answer, score):
        await stage.fn(study)

if __name__ == "__main__":
    source, store, strategies, points, concurrency = sys.argv[1:]
    flags = {"sources": (source,), "store": store, "strategies": strategies, "points": points}
    study = make_study({**flags, "concurrency": int(concurrency)}, None)
    with running(study, make_report(False), executor=PlainCalls()) as run:
        asyncio.run(all_stages(study))
        load_database(run)
"""
"""The same stages with the same batches in the same worker processes: flows and tasks without Prefect, no server."""


@dataclass
class Measured:
    """One size."""

    name: str
    messages: int
    stages: dict[str, Stage]
    store: dict[str, int]
    counts: dict[str, int]


def scales() -> list[int]:
    return [int(scale) for scale in os.environ.get("COMPACTION_EVAL_BENCH_SCALES", "1,10").split(",")]


def smallest() -> int:
    return int(os.environ.get("COMPACTION_EVAL_BENCH_MESSAGES", "36611"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    given = os.environ.get("COMPACTION_EVAL_BENCH_DIR")
    return Path(given) if given else tmp_path


def synth(folder: Path, scale: int) -> Watched:
    return watched(["-m", "tests.synth", str(folder), "--messages", str(smallest()), "--scale", str(scale)])


def pipeline(name: str, sources: list[str], store: Path) -> Measured:
    """``ingest``, then ``run`` on the same store, each in its own processes."""
    ingested = watched(["-m", "flows", "ingest", *sources, "--store", str(store)])
    assert ingested.code in (0, 3), ingested.lines[-3:]
    options = ["--store", str(store), "--strategies", METHODS, "--points", POINTS]
    ran = watched(["-m", "flows", "run", *sources, *options])
    assert ran.code in (0, 3), ran.lines[-3:]
    again = watched(["-m", "flows", "run", *sources, *options])
    counts = counted(store)
    stages = {
        "ingest": ingested.stages["ingest"],
        "ingest, rest": ingested.stages["between"],
        **{"run, rest" if name == "between" else name: stage for name, stage in ran.stages.items()},
        "run again": again.total(),
    }
    return Measured(name, counts["messages"], stages, folder_sizes(store), counts)


def counted(store: Path) -> dict[str, int]:
    with duckdb.connect(store / "scores.duckdb", read_only=True) as connection:
        found = connection.execute(
            "select count(*), sum(n_messages), sum(n_tokens), (select count(*) from points), "
            "(select count(*) from answers), (select count(*) from scores), "
            "(select count(*) from folded_sessions), (select sum(violations) from checks) from sessions"
        ).fetchone()
    names = ("sessions", "messages", "tokens", "points", "answers", "scores", "folded", "violations")
    return dict(zip(names, map(int, found or ()), strict=True))


def slope(small: float, large: float, ratio: float) -> str:
    """The exponent between two sizes."""
    return f"{math.log(large / small) / math.log(ratio):6.2f}" if small > 0 and large > 0 else "     –"


def show(sizes: list[Measured]) -> None:
    """The table of all sizes, and the exponents between neighbours."""
    for one in sizes:
        print(f"\n{one.name}: " + ", ".join(f"{number:,} {what}" for what, number in one.counts.items()))
        print(
            f"{'stage':22}{'wall s':>9}{'CPU s':>9}{'workers':>9}{'parent':>9}{'server':>9}   peak MB: "
            f"{'parent':>8}{'workers':>9}{'server':>8}{'biggest':>9}{'all':>8}"
        )
        for name, stage in one.stages.items():
            cpu, peak = stage.cpu, stage.peak
            print(
                f"{name:22}{stage.wall:9.1f}{stage.seconds:9.1f}{cpu['workers']:9.1f}{cpu['parent']:9.1f}"
                f"{cpu['server']:9.1f}            " + f"{peak['parent'] / MB:8.0f}{peak['workers'] / MB:9.0f}"
                f"{peak['server'] / MB:8.0f}{peak['biggest'] / MB:9.0f}{peak['all'] / MB:8.0f}"
            )
        total = sum(one.store.values())
        print(
            f"store: {total / MB:.1f} MB, {total / one.messages:.0f} bytes a message: "
            + ", ".join(f"{name} {size / MB:.1f}" for name, size in one.store.items() if size > 50_000)
        )
    for small, large in pairwise(sizes):
        ratio = large.messages / small.messages
        print(f"\nexponents from {small.name} to {large.name} ({ratio:.2f} x the messages): 1 is linear, 0 is flat")
        print(f"{'stage':22}{'wall':>8}{'CPU':>8}{'peak':>8}{'parent':>8}")
        for name in (name for name in small.stages if name in large.stages):
            one, other = small.stages[name], large.stages[name]
            print(
                f"{name:22}  {slope(one.wall, other.wall, ratio)}  {slope(one.seconds, other.seconds, ratio)}  "
                f"{slope(one.peak['all'], other.peak['all'], ratio)}  "
                f"{slope(one.peak['parent'], other.peak['parent'], ratio)}"
            )
        for name in small.store:
            if large.store.get(name, 0) > 50_000:
                print(f"{'store/' + name:22}  {slope(small.store[name], large.store[name], ratio)}  (bytes)")


@pytest.mark.benchmark
@pytest.mark.timeout(24 * 3600)
def test_every_stage_over_the_number_of_sessions(place: Path) -> None:
    print(f"\n{psutil.cpu_count()} CPUs, {psutil.virtual_memory().total / 1e9:.0f} GB; load {os.getloadavg()}")
    sizes = []
    for scale in scales():
        folder, store = place / f"corpus-{scale}", place / f"store-{scale}"
        made = synth(folder, scale)
        assert made.code == 0, made.lines[-3:]
        whole = made.total()
        print(
            f"synth {scale} x: {made.wall:.1f} s, {whole.seconds:.1f} s CPU, peak {whole.peak['all'] / MB:.0f} MB",
            flush=True,
        )
        sizes.append(pipeline(f"{scale} x", [str(folder)], store))
        shutil.rmtree(folder)
        shutil.rmtree(store)
    show(sizes)
    if given := os.environ.get("COMPACTION_EVAL_BENCH_SOURCES"):
        show([pipeline("real", given.split(":"), place / "store-real")])
    assert all(one.counts["violations"] == 0 and one.counts["folded"] == 0 for one in sizes)


@pytest.mark.benchmark
@pytest.mark.timeout(4 * 3600)
def test_what_orchestration_adds_to_the_work(place: Path) -> None:
    """The whole run beside the same stages without Prefect, in turn, so that what else runs meets both alike."""
    folder = place / "corpus"
    assert synth(folder, 1).code == 0
    (place / "bare.py").write_text(WITHOUT_PREFECT)
    rounds: dict[str, list[Watched]] = {"with Prefect": [], "without": []}
    for turn in range(int(os.environ.get("COMPACTION_EVAL_BENCH_ROUNDS", "2"))):
        for name, found in rounds.items():
            store = place / f"store-{turn}-{name.split()[0]}"
            options = ["--strategies", METHODS, "--points", POINTS, "--concurrency", "1"]
            if name == "without":
                done = watched([str(place / "bare.py"), str(folder), str(store), METHODS, POINTS, "1"])
            else:
                done = watched(["-m", "flows", "run", str(folder), "--store", str(store), *options])
            assert done.code == 0, done.lines[-5:]
            found.append(done)
            shutil.rmtree(store)
    figures = {name: medians(found) for name, found in rounds.items()}
    print(f"\n{smallest():,} messages, one worker process, load {os.getloadavg()}; medians")
    print(f"{'':14}" + "".join(f"{name:>16}" for name in next(iter(figures.values()))))
    for name, values in figures.items():
        print(f"{name:14}" + "".join(f"{value:16.1f}" for value in values.values()))
    bare = figures["without"]
    share = {name: figures["with Prefect"][name] / max(bare[name], 1e-9) - 1 for name in bare}
    print("added by Prefect: " + ", ".join(f"{name} {100 * value:+.1f} %" for name, value in share.items()))
    print(json.dumps(figures))


def medians(found: list[Watched]) -> Mapping[str, float]:
    totals = [one.total() for one in found]
    in_stages = [sum(s.wall for name, s in one.stages.items() if name != "between") for one in found]
    return {
        "wall s": statistics.median(one.wall for one in found),
        "in stages s": statistics.median(in_stages),
        "CPU s": statistics.median(total.seconds for total in totals),
        "workers CPU s": statistics.median(total.cpu["workers"] for total in totals),
        "parent CPU s": statistics.median(total.cpu["parent"] for total in totals),
        "server CPU s": statistics.median(total.cpu["server"] for total in totals),
    }


def test_a_watched_run_tells_its_stages_apart(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "def say(x): print(x, file=sys.stderr, flush=True)\n"
        "say('points: 3 sessions'); kept = bytearray(60_000_000); t = time.process_time()\n"
        "while time.process_time() - t < 0.6: pass\n"
        "say('points: done, 3 sessions in 0.6 s'); del kept\n"
        "say('compact: 1,200 compactions'); time.sleep(0.6); say('compact: done, 1,200 compactions in 0.6 s')\n"
    )
    done = watched(["-c", script])
    assert done.code == 0
    points, compact = done.stages["points"], done.stages["compact"]
    assert points.cpu["parent"] > 0.3 > compact.cpu["parent"]
    assert points.peak["parent"] > 60e6
    assert compact.wall > 0.5
    assert slope(1, 100, 10).strip() == "2.00"
