"""Records what agent-framework-core itself does, so that the tests need not have it installed.

Run from the project's folder, in an environment with agent-framework-core==1.23.0, hypothesis and this project::

    python -m tests.compaction.golden.record_agent_framework
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compaction.transcript import Message
from tests.compaction.histories import build, random_words, written

warnings.filterwarnings("ignore")

from agent_framework import (  # noqa: E402
    CharacterEstimatorTokenizer,
    Content,
    SelectiveToolCallCompactionStrategy,
    SlidingWindowStrategy,
    ToolResultCompactionStrategy,
    TruncationStrategy,
    apply_compaction,
)
from agent_framework import Message as PeerMessage  # noqa: E402
from agent_framework._compaction import _serialize_message, group_messages  # noqa: E402

CASES = 40
TOKENIZER = CharacterEstimatorTokenizer()


def to_peer(messages: Sequence[Message]) -> list[Any]:
    """The same history as the peer's messages; ids of equal length, because they count as tokens."""
    return [PeerMessage(role=m.role, contents=contents(m), message_id=f"m{i:04}") for i, m in enumerate(messages)]


def contents(m: Message) -> list[Any]:
    if m.role == "tool":
        return [Content.from_function_result(call_id=m.tool_call_id, result=m.text)]
    found = [Content.from_text_reasoning(text=m.reasoning)] if m.reasoning else []
    found += [Content.from_text(m.text)] if m.text else []
    return found + [Content.from_function_call(call_id=c.id, name=c.name, arguments=c.arguments) for c in m.tool_calls]


def strategies(total: int, count: int) -> dict[str, tuple[str, dict[str, Any], Any]]:
    """Name → (our id, our parameters, the peer's strategy)."""
    found: dict[str, tuple[str, dict[str, Any], Any]] = {}
    for share in (0.8, 0.3):
        for first in (False, True):
            for system in (True, False):
                limits = {"max_n": max(1, int(total * share)), "compact_to": max(1, int(total * share / 2))}
                flags = {"preserve_system": system, "preserve_first_user_group": first}
                found[f"truncation {share} {first} {system}"] = (
                    "af_py_truncation",
                    {**limits, **flags, "forced": False},
                    TruncationStrategy(**limits, **flags, tokenizer=TOKENIZER),
                )
    limits = {"max_n": max(1, count // 2), "compact_to": max(1, count // 3)}
    found["truncation messages"] = (
        "af_py_truncation",
        {**limits, "metric": "messages", "forced": False},
        TruncationStrategy(**limits),
    )
    for keep in (1, 3, 20):
        for system in (True, False):
            params = {"keep_last_groups": keep, "preserve_system": system}
            found[f"sliding {keep} {system}"] = ("af_py_sliding_window", params, SlidingWindowStrategy(**params))
    for keep in (0, 1, 2):
        params = {"keep_last_tool_call_groups": keep}
        ours = "af_py_selective_tool_call"
        found[f"selective {keep}"] = (ours, params, SelectiveToolCallCompactionStrategy(**params))
        found[f"tool result {keep}"] = ("af_py_tool_result", params, ToolResultCompactionStrategy(**params))
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    peers = to_peer(messages)
    spans: dict[str, tuple[str, list[int]]] = {}
    for span in group_messages(peers):
        members = range(span["start_index"], span["end_index"] + 1)
        spans.setdefault(span["group_id"], (span["kind"], []))[1].extend(members)
    sizes = [TOKENIZER.count_tokens(_serialize_message(m)) for m in peers]
    runs = []
    for id, params, strategy in strategies(sum(sizes), len(messages)).values():
        left = await apply_compaction(to_peer(messages), strategy=strategy, tokenizer=TOKENIZER)
        runs.append({
            "strategy": id,
            "params": params,
            "left": [
                int(m.message_id[1:]) if m.message_id[0] == "m" else written(Message(m.role, m.text)) for m in left
            ],
        })  # fmt: skip
    return {"words": words, "tokens": sizes, "groups": list(spans.values()), "runs": runs}


async def main() -> None:
    recorded = {
        "peer": "agent-framework-core",
        "version": version("agent-framework-core"),
        "cases": [await case(seed) for seed in range(CASES)],
    }
    path = Path(__file__).with_name("agent_framework.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
