"""Ours against what openai-agents and semantic-kernel left of the same histories (golden/reducers.json)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.golden.replay import replay
from tests.compaction.histories import build, packed

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "reducers.json").read_text(encoding="utf-8"))
CASES = {f"history {number}": case for number, case in enumerate(RECORDED["cases"])}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_and_what_is_shown_is_as_with_the_peer(case: dict[str, Any]) -> None:
    messages = build(case["words"])
    for run in case["runs"]:
        assert replay(run, messages) == run["rounds"], (run["strategy"], run["params"])


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    changed: Counter[tuple[str, bool]] = Counter()
    twice = 0
    for case in CASES.values():
        for run in case["runs"]:
            last = run["rounds"][-1]
            changed[run["strategy"], last["left"] != packed([*range(len(case["words"]))])] += 1
            twice += any(isinstance(row, dict) for shown in last["shown"] for row in shown)
    assert len(changed) == 6
    assert min(changed.values()) >= 20
    assert twice >= 20
    assert RECORDED["versions"] == {"openai-agents": "0.24.0", "semantic-kernel": "1.45.0"}
