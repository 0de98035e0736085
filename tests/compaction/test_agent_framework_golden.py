"""Our strategies against what agent-framework-core 1.23.0 did with the same histories (golden/agent_framework.json)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compaction import make_method
from compaction.groups import group
from compaction.testing import history
from compaction.transcript import Message
from tests.compaction.histories import build, written

RECORDED = json.loads((Path(__file__).parent / "golden" / "agent_framework.json").read_text(encoding="utf-8"))
CASES = {f"history {number}": case for number, case in enumerate(RECORDED["cases"])}


def messages_of(case: dict[str, Any]) -> tuple[Message, ...]:
    """The case's history, with the tokens that the peer counted."""
    messages = build(case["words"])
    return tuple(replace(m, tokens=tokens) for m, tokens in zip(messages, case["tokens"], strict=True))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_histories_are_grouped_as_the_peer_groups_them(case: dict[str, Any]) -> None:
    found = [[g.kind, list(g.positions)] for g in group(messages_of(case))]
    assert found == case["groups"]


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_is_what_the_peer_keeps(case: dict[str, Any]) -> None:
    messages = messages_of(case)
    position = {id(message): i for i, message in enumerate(messages)}
    for run in case["runs"]:
        method = make_method(run["strategy"], run["params"])
        left = method.strategy.function(history(messages), **method.params)
        seen = [position[id(m)] if id(m) in position else written(m) for m in left]
        assert seen == run["left"], (run["strategy"], run["params"])


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    """Every strategy is recorded both changing a history and leaving one alone, and long results are cut."""
    cases = list(CASES.values())
    changed = Counter((run["strategy"], len(run["left"]) < len(c["tokens"])) for c in cases for run in c["runs"])
    for id in ("af_py_truncation", "af_py_sliding_window", "af_py_selective_tool_call", "af_py_tool_result"):
        assert changed[id, True] >= 5
        assert changed[id, False] >= 5
    made = [left for c in cases for run in c["runs"] for left in run["left"] if isinstance(left, dict)]
    assert any("; " in message.get("text", "") for message in made)
    assert any(message.get("text") == "[Tool results: no results]" for message in made)
    assert any(message.get("ends", "").endswith("... [truncated]]") for message in made)
    parted = [p for c in cases for _, p in c["groups"] if p[-1] - p[0] >= len(p)]
    assert len(parted) >= 5
    assert RECORDED["version"] == "1.23.0"
