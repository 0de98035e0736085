"""Ours against what inspect-ai 0.3.285 did with the same histories (golden/inspect_ai.json)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compaction import Message, ToolCall, compact, make_method
from compaction.strategies.claude_code_style import CLOSING, OPENING, without_analysis
from compaction.testing import ScriptedSummarizer, history
from tests.compaction.golden.rows import in_two, rows
from tests.compaction.histories import build

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "inspect_ai.json").read_text(encoding="utf-8"))
CASES = {f"history {number}": case for number, case in enumerate(RECORDED["cases"])}


def with_special_tools(messages: Sequence[Message]) -> tuple[Message, ...]:
    """As the recorder has it: the first single calls are one of the memory tool and one of the tool search."""
    special = iter(("memory", "tool_search"))
    found = []
    for message in messages:
        if len(message.tool_calls) == 1 and (name := next(special, None)):
            call = message.tool_calls[0]
            arguments = '{"command": "create", "file_text": "long", "path": "notes.md"}'
            found.append(replace(message, tool_calls=(ToolCall(call.id, name, arguments),)))
        else:
            found.append(message)
    return tuple(found)


def only_written(messages: Sequence[Message]) -> list[Message]:
    """Summaries without what stands around them, which is ours."""
    return [
        m if m.seq is not None else m.with_text(m.text.removeprefix(OPENING).removesuffix(CLOSING)) for m in messages
    ]


def ours(run: dict[str, Any], messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """What our strategy leaves, and what it shows its summariser, at each of the recorded compactions."""
    method = make_method(run["strategy"], run["params"])
    found: list[dict[str, Any]] = []
    left: tuple[Message, ...] = ()
    start = 0
    for number, cut in enumerate(in_two(messages), 1):
        answer = f"<analysis>a</analysis><summary>S{number}</summary>"
        model = ScriptedSummarizer(lambda request, answer=answer: answer)
        before = (*left, *messages[start:cut])
        left = compact(history(before, summarizer=model), method).messages
        start = cut
        system = [m for m in before if m.role == "system"]
        shown = [rows([*system, *only_written(request.span)], messages) for request in model.requests]
        found.append({"left": rows(only_written(left), messages), "shown": shown})
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_and_what_is_shown_is_as_with_the_peer(case: dict[str, Any]) -> None:
    messages = with_special_tools(build(case["words"]))
    for run in case["runs"]:
        assert ours(run, messages) == run["rounds"], (run["strategy"], run["params"])


@pytest.mark.parametrize(("answer", "kept"), RECORDED["answers"])
def test_the_scratchpad_of_an_answer_is_cut_off_where_the_peer_cuts_it_off(answer: str, kept: str) -> None:
    assert without_analysis(answer) == kept


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    texts: Counter[str] = Counter()
    for case in CASES.values():
        for run in case["runs"]:
            for found in run["rounds"]:
                written = json.dumps(found["left"])
                texts.update(
                    text for text in ("(Tool result removed)", "content saved", "reasoning") if text in written
                )
                texts[run["strategy"]] += bool(found["shown"]) or len(found["left"]) < len(case["words"])
    assert min(texts.values()) >= 10
    assert len(texts) == 6
    assert RECORDED["version"] == "0.3.285"
