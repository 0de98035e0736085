"""The page of figures says what was measured, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from tests.benchmarks.originals import Watch
from tests.benchmarks.page import render

ROOT = Path(__file__).parents[1]


def test_the_page_says_the_figures_that_the_command_wrote() -> None:
    figures = json.loads((ROOT / "tests" / "golden" / "performance.json").read_text(encoding="utf-8"))
    assert (ROOT / "docs" / "performance.md").read_text(encoding="utf-8") == render(figures), (
        "the page is made by python -m tests.benchmarks"
    )


def test_a_call_within_a_timed_call_counts_once() -> None:
    watch = Watch()
    spin = watch.timing(lambda: sum(range(300_000)))
    watch.timing(lambda: [spin() for _ in range(3)])()
    once = watch.seconds
    assert once > 0
    watch.seconds = 0.0
    for _ in range(3):
        spin()
    assert once < 2 * watch.seconds
