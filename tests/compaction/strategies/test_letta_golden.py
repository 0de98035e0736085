"""Ours against what letta 0.16.8 did with the same histories (golden/letta.json)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from compaction import Message, SummaryError, SummaryRequest, compact, make_method
from compaction.strategies.letta import render_messages
from compaction.testing import ScriptedSummarizer, history
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import build

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "letta.json").read_text(encoding="utf-8"))
CASES = {f"history {number}": case for number, case in enumerate(RECORDED["cases"])}


def scripted(number: int, *, fails_once: bool) -> Callable[[SummaryRequest], str]:
    answers = iter([SummaryError("the model is not reachable")] if fails_once else [])

    def handler(request: SummaryRequest) -> str:
        if (error := next(answers, None)) is not None:
            raise error
        return f"S{number}"

    return handler


def ours(run: dict[str, Any], messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """What our strategy leaves, and what it shows its summariser, at each of the recorded compactions."""
    method = make_method("letta_sliding", run["params"])
    found: list[dict[str, Any]] = []
    left: tuple[Message, ...] = ()
    start = 0
    for number, cut in enumerate(in_two(messages), 1):
        model = ScriptedSummarizer(scripted(number, fails_once=run["fails"]))
        left = (*left, *messages[start:cut])
        with suppress(SummaryError):
            left = compact(history(left, budget=run["budget"], summarizer=model), method).messages
        start = cut
        shown = [text_row(render_messages(request.span)) for request in model.requests]
        found.append({"left": rows(left, messages), "shown": shown})
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_and_what_is_shown_is_as_with_the_peer(case: dict[str, Any]) -> None:
    messages = build(case["words"])
    for run in case["runs"]:
        assert ours(run, messages) == run["rounds"], (run["params"], run["budget"], run["fails"])


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    seen: Counter[str] = Counter()
    for case in CASES.values():
        for run in case["runs"]:
            for found in run["rounds"]:
                text = json.dumps(found["left"])
                seen["window" if "from the beginning" in text else "all"] += 1
                seen["asked twice"] += len(found["shown"]) == 2
                seen["summary of a summary"] += any(
                    row.get("starts", "").startswith("[user] Note") for row in found["shown"]
                )
    assert min(seen.values()) >= 10
    assert RECORDED["version"] == "0.16.8"
