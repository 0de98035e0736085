"""Our stubs and scores against what litellm 1.105.3 made of the same histories (golden/litellm.json)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from compaction import make_method
from compaction.strategies.retrieval import Index
from compaction.testing import history
from compaction.transcript import Message
from tests.compaction.golden.texts import with_files
from tests.compaction.histories import build, random_words

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "litellm.json").read_text(encoding="utf-8"))
CASES = {f"history {case['seed']}": case for case in RECORDED["cases"]}


def messages_of(case: dict[str, Any]) -> tuple[Message, ...]:
    return with_files(build(random_words(case["seed"])), case["seed"])


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_and_every_stub_is_what_the_peer_leaves(case: dict[str, Any]) -> None:
    messages = messages_of(case)
    function = make_method("retrieval_bm25").strategy.function
    for run in case["runs"]:
        params = {name: run[name] for name in ("trigger", "target") if name in run}
        left = list(function(history(messages), forced=False, **params))
        seen = [
            i if after.text == before.text else after.text if len(after.text) <= 200 else digest(after.text)
            for i, (before, after) in enumerate(zip(messages, left, strict=True))
        ]
        # The peer counts no arguments; where it lets a history pass that is over the trigger with them, so are we not.
        assert seen == run["left"] or (run["skipped"] and over(messages, run["trigger"])), run


def over(messages: tuple[Message, ...], trigger: int) -> bool:
    return history(messages).count(messages) > trigger


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_scores_are_the_peers_also_where_the_index_grew_with_the_session(case: dict[str, Any]) -> None:
    messages = messages_of(case)
    index = Index()
    for message in messages:
        index.add([message])
    assert index.scores(case["query"], len(messages)) == pytest.approx(case["scores"], abs=1e-8)


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    runs = [run for case in CASES.values() for run in case["runs"]]
    texts = [text for run in runs for text in run["left"] if isinstance(text, str)]
    assert len(runs) == 240
    assert sum(run["skipped"] for run in runs) >= 20
    for part in (
        "[Compressed: setup.py",
        "auth.py_2",
        "settings.toml",
        "main.js",
        "message_",
        "json.",
        "code.",
        "text.",
    ):
        assert sum(part in text for text in texts) >= 4, part
    assert sum(len(text) == 64 for text in texts) >= 20, "messages that were cut"
    assert RECORDED["version"] == "1.105.3"
