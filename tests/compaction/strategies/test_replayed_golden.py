"""Ours against what originals left of the same histories, round after round (``golden/replay.py``)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.golden.replay import replay
from tests.compaction.golden.texts import as_cline, with_file_tools
from tests.compaction.histories import build, packed

GOLDEN = Path(__file__).parents[1] / "golden"
VERSIONS = {
    "windows": {"strands-agents": "1.62.0", "autogen-core": "0.7.5"},
    "reducers": {"openai-agents": "0.24.0", "semantic-kernel": "1.45.0"},
    "deepagents": {"deepagents": "0.7.32", "langchain": "1.5.2", "langchain-core": "1.8.3"},
    "adk": {"google-adk": "2.13.0"},
    "aider": {"aider-chat": "0.86.2"},
    "pydantic_ai": {"pydantic-ai-harness": "0.62.0", "pydantic-ai-slim": "2.62.0"},
    "openhands_condensers": {"openhands-ai": "0.62.0"},
    "kimi": {"kimi-cli": "1.52.0"},
    "roo": {"Roo Code": "3.52.1"},
    "cline": {"Cline": "3.89.2"},
    "lcm": {"lossless-claw": "0.15.3"},
}
"""Recordings → the versions of the originals."""
METHODS = {
    "windows": {"strands_sliding", "strands_summarizing", "autogen_head_tail"},
    "reducers": {"openai_agents_trim", "semantic_kernel_truncation", "semantic_kernel_summary"},
    "deepagents": {"deepagents"},
    "adk": {"adk_compaction"},
    "aider": {"aider_chat_summary"},
    "pydantic_ai": {"pydantic_ai_history", "pydantic_ai_summary"},
    "openhands_condensers": {
        "openhands_v0_recent",
        "openhands_v0_amortized",
        "openhands_v0_llm_attention",
        "openhands_v0_structured",
    },
    "kimi": {"kimi_compact"},
    "roo": {"roo_condense"},
    "cline": {"cline_auto_compact"},
    "lcm": {"lcm"},
}
RECORDED = {name: json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")) for name in VERSIONS}
CASES = {f"{name} {n}": case for name, found in RECORDED.items() for n, case in enumerate(found["cases"])}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_and_what_is_shown_is_as_with_the_peer(case: dict[str, Any]) -> None:
    messages = build(case["words"])
    if "seed" in case:
        messages = (as_cline if case.get("texts") == "cline" else with_file_tools)(messages, case["seed"])
    for run in case["runs"]:
        assert replay(run, messages) == run["rounds"], (run["strategy"], run["params"])


@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_cases_exercise_what_they_are_for(name: str) -> None:
    changed: Counter[tuple[str, bool]] = Counter()
    n_shown = 0
    for case in RECORDED[name]["cases"]:
        for run in case["runs"]:
            last = run["rounds"][-1]
            changed[run["strategy"], last["left"] != packed([*range(len(case["words"]))])] += 1
            n_shown += bool(last["shown"] and run["rounds"][0]["shown"])
    assert set(changed) == {(method, is_changed) for method in METHODS[name] for is_changed in (True, False)}
    assert min(changed.values()) >= 20
    assert n_shown >= 20
    assert RECORDED[name]["versions"] == VERSIONS[name]
