"""Records what kimi-cli's ``SimpleCompaction`` itself leaves and asks, so that the tests need not have it installed.

Only the model is replaced. Run from the project's folder, in an environment with kimi-cli==1.52.0 (Python 3.13),
hypothesis and this project::

    python -m tests.compaction.golden.record_kimi
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import kimi_cli.soul.compaction as original
from kimi_cli.soul.compaction import SimpleCompaction
from kosong.message import Message as Theirs
from kosong.message import TextPart, ThinkPart, ToolCall

from compaction.strategies.shared.parts import system_prompt
from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import build, packed, random_words

CASES = 40


class Model:
    """Remembers what it was shown, and answers with a thought and a number."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def step(self, history: Sequence[Theirs], **_: Any) -> Any:
        *parts, _prompt = history[0].content
        text, follows_head = "", True
        for part in parts:
            is_head = part.text.startswith("## Message ")
            text += ("" if not text or (follows_head and not is_head) else "\n") + part.text
            follows_head = is_head
        self.asked.append(text)
        said = Theirs(role="assistant", content=[ThinkPart(think="hm"), TextPart(text=f"S{len(self.asked)}")])
        return SimpleNamespace(message=said, usage=None, trace_id=None)


def to_theirs(m: Message) -> Theirs:
    thought = [ThinkPart(think=m.reasoning)] if m.reasoning else []
    text = [TextPart(text=m.text)] if m.text else []
    calls = [
        ToolCall(id=c.id, function=ToolCall.FunctionBody(name=c.name, arguments=c.arguments)) for c in m.tool_calls
    ]
    return Theirs(role=m.role, content=[*thought, *text], tool_calls=calls or None, tool_call_id=m.tool_call_id)


async def record(messages: Sequence[Message], keep: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    model = Model()
    n_apart = len(system_prompt(messages))
    left: list[Theirs] = []
    seqs: dict[int, int | None] = {}
    alive, start = [], n_apart
    for cut in in_two(messages):
        asked = len(model.asked)
        for m in messages[start:cut]:
            left.append(to_theirs(m))
            alive.append(left[-1])
            seqs[id(left[-1])] = m.seq
        start = max(start, cut)
        with patch.object(original.kosong, "step", model.step):
            done = await SimpleCompaction(keep).compact(left, SimpleNamespace(chat_provider=None))
        left = list(done.messages)
        alive += left
        ours = [
            messages[s] if (s := seqs.get(id(m))) is not None else Message("user", m.extract_text("\n")) for m in left
        ]
        stays = [*messages[: min(n_apart, cut)], *ours]
        found.append({"left": packed(rows(stays, messages)), "shown": [text_row(t) for t in model.asked[asked:]]})
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    runs = []
    for keep in (2, 0, 1, 4, 9, 30):
        run = {"strategy": "kimi_compact", "params": {"max_preserved_messages": keep}, "shows": "text"}
        runs.append({**run, "rounds": await record(messages, keep)})
    return {"words": words, "runs": runs}


async def main() -> None:
    recorded = {"versions": {"kimi-cli": version("kimi-cli")}, "cases": [await case(seed) for seed in range(CASES)]}
    path = Path(__file__).with_name("kimi.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
