"""Records what Aider's ``ChatSummary`` itself makes of a chat, so that the tests need not have it installed.

Only the model is replaced, and the module that would load all models. Run from the project's folder, in an environment
with aider-chat==0.86.2 (``pip install --no-deps``), hypothesis and this project::

    python -m tests.compaction.golden.record_aider
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from compaction.strategies.aider import spoken_messages, write_messages
from compaction.strategies.shared.parts import system_prompt
from compaction.tokens import total_tokens
from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import COUNTER, build, packed, random_words

sys.modules["aider.models"] = ModuleType("aider.models")

from aider.history import ChatSummary  # noqa: E402

CASES = 32


class Model:
    """Remembers what it was shown, and answers with a number."""

    def __init__(self, answer: str, window: int) -> None:
        self.name = "m"
        self.answer = answer
        self.info = {"max_input_tokens": window}
        self.asked: list[str] = []

    def simple_send_with_retries(self, messages: list[dict[str, Any]]) -> str:
        self.asked.append(messages[1]["content"])
        return self.answer.format(len(self.asked))

    def token_count(self, messages: Any) -> int:
        some = messages if isinstance(messages, list) else [messages]
        return total_tokens([m for message in some for m in ours(message)], COUNTER)


def to_aider(spoken: list[Message]) -> dict[str, Any]:
    """A message of Aider's, which also has those that it is made of."""
    text = write_messages([spoken]).partition("\n")[2]
    return {"role": {"tool": "assistant"}.get(spoken[0].role, spoken[0].role), "content": text, "spoken": spoken}


def ours(message: dict[str, Any]) -> list[Message]:
    return message.get("spoken") or [Message(message["role"], message["content"])]


def record(messages: Sequence[Message], run: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    start, system = 0, system_prompt(messages)
    model = Model(run["answer"], run["params"]["input_tokens"])
    left: list[dict[str, Any]] = []
    for cut in in_two(messages):
        asked = len(model.asked)
        new = messages[max(start, len(system)) : cut]
        start = cut
        said = [m for message in left for m in ours(message)]
        left = [to_aider(spoken) for spoken in spoken_messages([*said, *new])]
        summary = ChatSummary([model], max_tokens=run["params"]["max_tokens"])
        if summary.too_big(left):
            before, left = left, summary.summarize(list(left))
            if "" in model.asked[asked:]:  # asked to summarise nothing; ours does not ask
                left = before
                del model.asked[asked:]
        stays = [*messages[: min(len(system), cut)], *(m for message in left for m in ours(message))]
        found.append({"left": packed(rows(stays, messages)), "shown": [text_row(t) for t in model.asked[asked:]]})
    return found


def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    total = total_tokens(messages, COUNTER)
    runs = []
    for most, window, answer in (
        (60, 100_000, "S{}"),
        (max(60, total // 3), 100_000, "S{}"),
        (max(60, total * 3 // 4), 100_000, "S{}"),
        (max(60, total * 3 // 4), 512 + max(1, total // 3), "S{}"),
        (max(60, total // 2), 100_000, "S{}" + " long" * 200),
        (total, 100_000, "S{}"),
    ):
        params = {"max_tokens": most or 1, "input_tokens": window}
        run = {"strategy": "aider_chat_summary", "params": params, "answer": answer, "shows": "text"}
        runs.append({**run, "rounds": record(messages, run)})
    return {"words": words, "runs": runs}


def main() -> None:
    recorded = {"versions": {"aider-chat": version("aider-chat")}, "cases": [case(seed) for seed in range(CASES)]}
    path = Path(__file__).with_name("aider.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
