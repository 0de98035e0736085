"""Ours against what strands-agents 1.62.0 and autogen-core 0.7.5 left of the same histories (golden/windows.json)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compaction import Message, SummaryRequest, compact, make_method
from compaction.testing import ScriptedSummarizer, history
from tests.compaction.golden.rows import in_two, rows
from tests.compaction.histories import build

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "windows.json").read_text(encoding="utf-8"))
CASES = {f"history {number}": case for number, case in enumerate(RECORDED["cases"])}


def numbered(number: int) -> Callable[[SummaryRequest], str]:
    return lambda _: f"S{number}"


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_is_what_the_peer_keeps(case: dict[str, Any]) -> None:
    messages = build(case["words"])
    for run in case["runs"]:
        method = make_method(run["strategy"], run["params"])
        left: tuple[Message, ...] = ()
        start = number = 0
        for cut, recorded in zip(in_two(messages), run["rounds"], strict=True):
            before = (*left, *messages[start:cut])
            model = ScriptedSummarizer(numbered(number + 1))
            left = compact(history(before, session=messages[:cut], summarizer=model), method).messages
            start, number = cut, number + len(model.requests)
            assert rows(left, messages) == recorded["left"], (run["strategy"], run["params"], cut)
            assert [rows(request.span, messages) for request in model.requests] == recorded.get("shown", [])


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    changed: Counter[tuple[str, bool]] = Counter()
    for case in CASES.values():
        for run in case["runs"]:
            changed[run["strategy"], len(run["rounds"][-1]["left"]) < len(case["words"])] += 1
    assert min(changed.values()) >= 20
    assert len(changed) == 6
    assert RECORDED["versions"] == {"strands-agents": "1.62.0", "autogen-core": "0.7.5"}
