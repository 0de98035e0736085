"""``python -m tests.benchmarks``: measure what docs/performance.md says, and write that page.

The figures are kept in tests/golden/performance.json; a test holds that the page says these. Nothing else should run
on the machine meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flows.database.scores_db import connect
from flows.sources import discover, read_input
from tests.benchmarks.originals import sample_histories, time_pairs
from tests.benchmarks.page import render
from tests.benchmarks.test_client import ANSWER, measure_calls
from tests.benchmarks.test_judging import IN_FLIGHT, measure_judging
from tests.benchmarks.test_speed import embedded_run, multiplied_samples, tokenising_pass
from tests.flows.llm.server import serving

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "tests" / "golden" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"
VERDICTS = 1024
DELAY = 0.5
LEAST_SECONDS = 0.05
"""Of CPU; stages below are left out."""


def main() -> None:
    """Measure part by part, write the figures, and the page of them."""
    found: dict[str, Any] = {
        "machine": {
            "python": platform.python_version(),
            "cores": len(os.sched_getaffinity(0)),
            **{name: version(name) for name in ("tiktoken", "openai")},
        }
    }
    with tempfile.TemporaryDirectory() as name:
        for part, measure in (
            ("calls", lambda _: measure_clients()),
            ("judging", measure_verdicts),
            ("originals", lambda _: measure_originals()),
            ("embedded", measure_study),
        ):
            print(part, file=sys.stderr)
            folder = Path(name) / part
            folder.mkdir()
            found[part] = measure(folder)
    FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(render(found), encoding="utf-8")


def measure_study(folder: Path) -> dict[str, Any]:
    """An embedded run of the default methods in passes of tiktoken."""
    sources = [str(multiplied_samples(folder / "sessions"))]
    transcripts = [t for one in discover(sources) for t in read_input(one).transcripts]
    store = folder / "store"
    _, one_pass = tokenising_pass(transcripts)
    _, cpu, _, _ = embedded_run(sources, store)
    stages = cpu_by_stage(store)
    _, again, _, _ = embedded_run(sources, store)
    tokens, second_pass = tokenising_pass(transcripts)
    one_pass = min(one_pass, second_pass)
    with connect(store / "scores.duckdb") as database:
        counted = database.execute(
            "SELECT (SELECT count(DISTINCT method_id) FROM compactions), (SELECT count(*) FROM compactions), "
            "(SELECT count(*) FROM answers)"
        ).fetchone()
    assert counted is not None
    return {
        "sessions": len(transcripts),
        "messages": sum(len(one.messages) for one in transcripts),
        "tokens": tokens,
        **dict(zip(("methods", "compactions", "answers"), counted, strict=True)),
        "stages": {stage: seconds / one_pass for stage, seconds in stages.items()},
        "whole": cpu / one_pass,
        "again": again / one_pass,
    }


def cpu_by_stage(store: Path) -> dict[str, float]:
    """CPU seconds of each stage of the store's only run, of the workers and of the run itself."""
    (record,) = (json.loads(path.read_text(encoding="utf-8")) for path in (store / "runs").glob("*.json"))
    spent = {one["stage"]: one["cpu_seconds"] + one["driver_cpu_seconds"] for one in record["stages"]}
    return {stage: seconds for stage, seconds in spent.items() if seconds >= LEAST_SECONDS}


def measure_originals() -> list[dict[str, Any]]:
    """Ours over the originals that are installed."""
    return [
        {
            "original": one.pair.theirs,
            "package": one.pair.package,
            "version": one.version,
            "method": one.pair.ours,
            "ours": one.ours,
            "alone": one.original,
            "adapted": one.adapted,
        }
        for one in time_pairs(sample_histories())
    ]


def measure_clients() -> dict[str, dict[str, float]]:
    """CPU milliseconds of a call by kilobytes of the prompt and client."""
    with serving(text=ANSWER) as url:
        least = asyncio.run(measure_calls(url))
    names = {"bare": "bare", "bare, aiohttp": "aiohttp", "ours": "ours"}
    found: dict[str, dict[str, float]] = {}
    for (size, name), spent in least.items():
        found.setdefault(str(size // 1000), {})[names[name]] = spent
    return found


def measure_verdicts(folder: Path) -> dict[str, Any]:
    """Judging over the bare client and over the clock; inspect_ai's grading beside it where it is installed."""
    found = measure_judging(folder, VERDICTS, DELAY)
    unit = found.aiohttp[1]
    given: dict[str, Any] = {
        "calls": VERDICTS,
        "kilobytes": round(found.n_characters / 1000),
        "delay": DELAY,
        "wall": found.cold[0] / (VERDICTS * DELAY / IN_FLIGHT),
        "wall_bare": found.aiohttp[0] / (VERDICTS * DELAY / IN_FLIGHT),
        "cpu": found.cold[1] / unit,
        "cached": found.warm[1] / unit,
        "cached_a_second": VERDICTS / found.warm[0],
    }
    if find_spec("inspect_ai"):
        from tests.benchmarks.inspect_grading import grade_cold_and_warm

        cold, warm = grade_cold_and_warm(folder, VERDICTS, DELAY)
        given |= {"inspect_version": version("inspect-ai"), "inspect": cold / unit, "inspect_cached": warm / unit}
    return given


if __name__ == "__main__":
    main()
