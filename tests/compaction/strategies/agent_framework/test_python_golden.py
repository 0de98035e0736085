"""Our strategies against what agent-framework-core 1.23.0 did with the same histories (golden/agent_framework.json)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compaction import SummaryError, make_method
from compaction.groups import group_messages
from compaction.testing import ScriptedSummarizer, blank, failing, history
from compaction.transcript import Message
from tests.compaction.histories import build, packed, written

RECORDED = json.loads((Path(__file__).parents[2] / "golden" / "agent_framework.json").read_text(encoding="utf-8"))
CASES = {f"history {number}": case for number, case in enumerate(RECORDED["cases"])}


def messages_of(case: dict[str, Any]) -> tuple[Message, ...]:
    """The case's history, with the tokens that the peer counted."""
    messages = build(case["words"])
    return tuple(replace(m, tokens=tokens) for m, tokens in zip(messages, case["tokens"], strict=True))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_histories_are_grouped_as_the_peer_groups_them(case: dict[str, Any]) -> None:
    found = [[g.kind, list(g.positions)] for g in group_messages(messages_of(case))]
    assert found == case["groups"]


class PeerCounter:
    """Text as the peer's estimator counts it."""

    name = "characters//4, at least 1"

    def count(self, text: str) -> int:
        return max(1, len(text) // 4)


def answered(run: dict[str, Any]) -> ScriptedSummarizer:
    """A summariser that answers as the peer's client did."""
    return ScriptedSummarizer({"fail": failing, "blank": blank}.get(run.get("says", "")))


def text_of(case: dict[str, Any], message: Message) -> str | dict[str, str]:
    """The number of a text that the case has, else the text."""
    text = written(message)
    return f"text {case['texts'].index(text)}" if text in case["texts"] else text


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_and_what_the_summariser_is_shown_are_the_peers(case: dict[str, Any]) -> None:
    messages = messages_of(case)
    position = {id(message): i for i, message in enumerate(messages)}
    for run in case["runs"]:
        method = make_method(run["strategy"], run["params"])
        summarizer = answered(run)
        given = history(messages, summarizer=summarizer, counter=PeerCounter())
        try:
            left = method.strategy.function(given, **method.params)
        except SummaryError:
            left = messages
        seen = [position[id(m)] if id(m) in position else text_of(case, m) for m in left]
        asked = [text_of(case, request.prompt[-1]) for request in summarizer.requests]
        assert (packed(seen), asked) == (run["left"], run.get("asked", [])), (run["strategy"], run["params"])


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    """Every strategy is recorded both changing a history and leaving one alone, and long results are cut."""
    cases = list(CASES.values())
    changed = Counter((run["strategy"], run["left"] == untouched(c)) for c in cases for run in c["runs"])
    for id in (
        "truncation",
        "sliding_window",
        "selective_tool_call",
        "tool_result",
        "context_window",
        "summarization",
        "token_budget",
    ):
        assert changed[f"af_py_{id}", True] >= 5
        assert changed[f"af_py_{id}", False] >= 5
    texts = [text for c in cases for text in c["texts"]]
    assert any("; " in text.get("text", "") for text in texts)
    assert any(text.get("text") == "[Tool results: no results]" for text in texts)
    assert any(text.get("ends", "").endswith("... [truncated]]") for text in texts)
    says = Counter(run.get("says") for c in cases for run in c["runs"])
    assert min(says["summary"], says["blank"], says["fail"]) >= 20
    parted = [p for c in cases for _, p in c["groups"] if p[-1] - p[0] >= len(p)]
    assert len(parted) >= 5
    assert RECORDED["version"] == "1.23.0"


def untouched(case: dict[str, Any]) -> list[Any]:
    return packed(list(range(len(case["tokens"]))))
