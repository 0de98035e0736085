"""Our masking against what openhands-ai 0.62.0 sent for the same histories (golden/openhands_v0.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compaction import make_method
from compaction.testing import history, talk

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "openhands_v0.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["talk"])
def test_what_is_sent_is_what_the_peer_sends(case: dict[str, Any]) -> None:
    function = make_method("mask_openhands_v0").strategy.function
    for window, sent in case["sent_by_window"].items():
        left = function(history(talk(case["talk"])), attention_window=int(window))
        assert [[m.role, m.text, [call.id for call in m.tool_calls], m.tool_call_id] for m in left] == sent


def test_the_recorded_cases_mask_and_leave_batches_out() -> None:
    sent = [rows for case in RECORDED["cases"] for rows in case["sent_by_window"].values()]
    assert sum(any(row[1] == "<MASKED>" for row in rows) for rows in sent) > 50
    assert sum(any(row[3] for row in rows) for rows in sent) > 50
    assert RECORDED["version"] == "0.62.0"
