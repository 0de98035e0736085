"""Ours against what strands-agents 1.62.0 and autogen-core 0.7.5 left of the same histories (golden/windows.json)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.golden.replay import replay
from tests.compaction.histories import build, packed

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "windows.json").read_text(encoding="utf-8"))
CASES = {f"history {number}": case for number, case in enumerate(RECORDED["cases"])}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_and_what_is_shown_is_as_with_the_peer(case: dict[str, Any]) -> None:
    messages = build(case["words"])
    for run in case["runs"]:
        assert replay(run, messages) == run["rounds"], (run["strategy"], run["params"])


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    changed: Counter[tuple[str, bool]] = Counter()
    for case in CASES.values():
        for run in case["runs"]:
            changed[run["strategy"], run["rounds"][-1]["left"] != packed([*range(len(case["words"]))])] += 1
    assert min(changed.values()) >= 20
    assert len(changed) == 6
    assert RECORDED["versions"] == {"strands-agents": "1.62.0", "autogen-core": "0.7.5"}
