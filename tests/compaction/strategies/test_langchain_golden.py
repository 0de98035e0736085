"""Ours against what langchain 1.4.7 and langmem 0.0.30 did with the same histories (golden/langchain.json)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compaction import Message, compact, make_method
from compaction.strategies.langchain import render_messages
from compaction.testing import ScriptedSummarizer, history
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import build

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "langchain.json").read_text(encoding="utf-8"))
CASES = {f"history {number}": case for number, case in enumerate(RECORDED["cases"])}
MODES = {"langchain_summary": {"mode": "faithful"}, "langmem_running": {"mode": "faithful"}}


def ours(run: dict[str, Any], messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """What our strategy leaves, and what it shows its summariser, at each of the recorded compactions."""
    params = {**run["params"], **MODES.get(run["strategy"], {})}
    method = make_method(run["strategy"], params)
    found: list[dict[str, Any]] = []
    left: tuple[Message, ...] = ()
    start = 0
    for number, cut in zip(range(1, len(run["rounds"]) + 1), in_two(messages), strict=False):
        answer = run.get("answer", "").format(number)
        model = ScriptedSummarizer(lambda request, answer=answer: answer)
        left = compact(history((*left, *messages[start:cut]), summarizer=model), method).messages
        start = cut
        if run["strategy"] == "langmem_running":
            shown = [[rows(request.span, messages), request.previous or None] for request in model.requests]
        else:
            shown = [text_row(render_messages(request.span)) for request in model.requests]
        found.append({"left": rows(left, messages), "shown": shown})
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_and_what_is_shown_is_as_with_the_peer(case: dict[str, Any]) -> None:
    messages = build(case["words"])
    for run in case["runs"]:
        assert ours(run, messages) == run["rounds"], (run["strategy"], run["params"])


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    rounds = [(run, found) for case in CASES.values() for run in case["runs"] for found in run["rounds"]]
    made = Counter(
        (run["strategy"], row["text"].split(":")[0])
        for run, found in rounds
        for row in found["left"]
        if isinstance(row, dict) and "seq" not in row
    )
    assert made["langchain_summary", "Here is a summary of the conversation to date"] > 100
    assert made["langmem_running", "Summary of the conversation so far"] > 50
    texts = [str(found["left"]) for run, found in rounds if run["strategy"] == "langchain_summary"]
    assert sum("too long to summarize" in text for text in texts) >= 5
    assert sum("to date:\\n\\n'" in text for text in texts) >= 10
    extended = [found for run, found in rounds if run["strategy"] == "langmem_running" and found["shown"]]
    assert sum(found["shown"][0][1] is not None for found in extended) >= 20
    cleared = Counter(str(found["left"]).count("[cleared]") > 0 for run, found in rounds if "clear" in run["strategy"])
    assert min(cleared[True], cleared[False]) >= 20
    assert RECORDED["versions"] == {"langchain": "1.4.7", "langchain-core": "1.7.2", "langmem": "0.0.30"}
