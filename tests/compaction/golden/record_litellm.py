"""Records what litellm's ``compress`` makes of generated histories.

Run from the project's folder, in an environment with litellm==1.105.3 (Python 3.12) and this project::

    python -m tests.compaction.golden.record_litellm

Tokens are a quarter of the characters on both sides, so that no vocabulary is needed.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compaction.testing import CharacterCounter
from compaction.transcript import Message
from tests.compaction.golden.texts import with_files
from tests.compaction.histories import build, random_words, written

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from litellm.compression import compress as _  # noqa: E402, F401 (loads the module below)
from litellm.compression.scoring.bm25 import bm25_score_messages  # noqa: E402

HISTORIES = 40
SETTINGS: tuple[dict[str, int], ...] = (
    {"trigger": 20},
    {"trigger": 200},
    {"trigger": 200, "target": 400},
    {"trigger": 1000},
    {"trigger": 4000},
    {"trigger": 300, "target": 1500},
)


def as_dicts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Chat messages. A text that is missing is an empty one here: the peer fails on a null."""
    found = []
    for message in messages:
        item: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.tool_calls:
            item["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in message.tool_calls
            ]
        if message.role == "tool":
            item["tool_call_id"] = message.tool_call_id
        found.append(item)
    return found


def brief(text: str) -> str:
    """A text, or the digest of a long one."""
    found = written(Message("tool", text))
    return found["text"] if "text" in found else found["sha256"]


def main() -> None:
    module: Any = sys.modules["litellm.compression.compress"]
    count = CharacterCounter().count
    module.token_counter = lambda model, text=None, messages=None: (
        count(text) if messages is None else sum(count(m["content"]) for m in messages)
    )
    cases = []
    for seed in range(HISTORIES):
        messages = with_files(build(random_words(seed)), seed)
        dicts = as_dicts(messages)
        runs = []
        for setting in SETTINGS:
            found = module.compress(
                dicts, "gpt-4o", compression_trigger=setting["trigger"], compression_target=setting.get("target")
            )
            left = [
                i if after["content"] == before["content"] else brief(after["content"])
                for i, (before, after) in enumerate(zip(dicts, found["messages"], strict=True))
            ]
            runs.append({**setting, "skipped": "compression_skipped_reason" in found, "left": left})
        query = "which auth setting failed in main.js or `line` 7?"
        scores = [round(score, 9) for score in bm25_score_messages(query, dicts)]
        cases.append({"seed": seed, "query": query, "scores": scores, "runs": runs})
    recorded = {"peer": "litellm", "version": version("litellm"), "cases": cases}
    path = Path(__file__).with_name("litellm.json")
    path.write_text(json.dumps(recorded, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
