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

from compaction.strategies.agent_framework.python_summary import PROMPT
from compaction.strategies.shared.requests import write_prompt
from compaction.transcript import Message
from tests.compaction.histories import build, packed, random_words, written

warnings.filterwarnings("ignore")

from agent_framework import (  # noqa: E402
    CharacterEstimatorTokenizer,
    ChatResponse,
    Content,
    ContextWindowCompactionStrategy,
    SelectiveToolCallCompactionStrategy,
    SlidingWindowStrategy,
    SummarizationStrategy,
    TokenBudgetComposedStrategy,
    ToolResultCompactionStrategy,
    TruncationStrategy,
    apply_compaction,
)
from agent_framework import Message as PeerMessage  # noqa: E402
from agent_framework._compaction import _serialize_message, group_messages  # noqa: E402

CASES = 40


class Tokenizer(CharacterEstimatorTokenizer):
    """The peer's estimate, but of a message that is nothing but text without the envelope.

    What a strategy makes is such a message, and the peer's own ids for it are longer than those of the others.
    """

    def count_tokens(self, text: str) -> int:
        contents = json.loads(text)["contents"] if text.startswith('{"contents": ') else ()
        return super().count_tokens(contents[0]["text"] if [c["type"] for c in contents] == ["text"] else text)


TOKENIZER = Tokenizer()
INSTRUCTIONS = write_prompt(PROMPT, (), 0)
"""Our words in the place of the peer's: the prompt counts towards what the summariser may be shown."""


class Client:
    """A chat client that gives numbered summaries, and remembers what it was asked."""

    def __init__(self, says: str) -> None:
        self.says = says
        self.asked: list[str] = []

    async def get_response(self, messages: Sequence[Any], *, stream: bool = False) -> Any:
        system, user = messages
        assert system.text == INSTRUCTIONS
        self.asked.append(user.text)
        if self.says == "fail":
            raise RuntimeError("the model is not reachable")
        text = " \n" if self.says == "blank" else f"SUMMARY {len(self.asked)}"
        return ChatResponse(messages=[PeerMessage(role="assistant", contents=[text])])


def to_peer(messages: Sequence[Message]) -> list[Any]:
    """The same history as the peer's messages; ids of equal length, because they count as tokens."""
    return [PeerMessage(role=m.role, contents=contents(m), message_id=f"m{i:04}") for i, m in enumerate(messages)]


def contents(m: Message) -> list[Any]:
    if m.role == "tool":
        return [Content.from_function_result(call_id=m.tool_call_id, result=m.text)]
    found = [Content.from_text_reasoning(text=m.reasoning)] if m.reasoning else []
    found += [Content.from_text(m.text)] if m.text else []
    return found + [Content.from_function_call(call_id=c.id, name=c.name, arguments=c.arguments) for c in m.tool_calls]


def strategies(total: int, count: int, client: Client) -> dict[str, tuple[str, dict[str, Any], Any]]:
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
    for size, keep, first in ((2.2, 4, False), (0.7, 1, True), (0.3, 4, False), (0.1, 0, False)):
        window = max(2, int(total * size))
        flags = {"keep_last_tool_call_groups": keep, "preserve_first_user_group": first}
        found[f"context window {size}"] = (
            "af_py_context_window",
            {"max_tokens": window, **flags},
            ContextWindowCompactionStrategy(
                max_context_window_tokens=window + 1, max_output_tokens=1, tokenizer=TOKENIZER, **flags
            ),
        )
    return found | summaries(total, client)


def summaries(total: int, client: Client) -> dict[str, tuple[str, dict[str, Any], Any]]:
    """Those that ask a summariser."""
    found: dict[str, tuple[str, dict[str, Any], Any]] = {}
    for target, threshold, limit in ((4, 2, 8000), (1, 0, 700), (2, 3, None), (4, 0, 250)):
        params = {"target_count": target, "threshold": threshold, "max_summary_input_tokens": limit}
        strategy = SummarizationStrategy(client=client, prompt=INSTRUCTIONS, **params)
        found[f"summarization {target} {limit}"] = ("af_py_summarization", {**params, "forced": False}, strategy)
    for share, early in ((1.1, True), (0.6, True), (0.3, True), (0.3, False), (0.05, True)):
        budget = max(1, int(total * share))
        steps = [
            ToolResultCompactionStrategy(keep_last_tool_call_groups=1),
            SummarizationStrategy(client=client, prompt=INSTRUCTIONS, target_count=4, threshold=2),
            SlidingWindowStrategy(keep_last_groups=5),
        ]
        found[f"budget {share} {early}"] = (
            "af_py_token_budget",
            {"token_budget": budget, "keep_last_groups": 5, "early_stop": early, "mode": "faithful"},
            TokenBudgetComposedStrategy(token_budget=budget, tokenizer=TOKENIZER, strategies=steps, early_stop=early),
        )
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    if seed % 4 == 1:
        words.insert(2, "summary")
    messages = build(words)
    peers = to_peer(messages)
    spans: dict[str, tuple[str, list[int]]] = {}
    for span in group_messages(peers):
        members = range(span["start_index"], span["end_index"] + 1)
        spans.setdefault(span["group_id"], (span["kind"], []))[1].extend(members)
    sizes = [TOKENIZER.count_tokens(_serialize_message(m)) for m in peers]
    runs, texts = [], []

    def made(message: Message) -> str:
        """The number of its text, which many runs share."""
        if (text := written(message)) not in texts:
            texts.append(text)
        return f"text {texts.index(text)}"

    says = ("summary", "summary", "summary", "blank", "fail")[seed % 5]
    client = Client(says)
    for id, params, strategy in strategies(sum(sizes), len(messages), client).values():
        client.asked.clear()
        left = await apply_compaction(to_peer(messages), strategy=strategy, tokenizer=TOKENIZER)
        run = {
            "strategy": id,
            "params": params,
            "left": packed(
                [int(m.message_id[1:]) if m.message_id[0] == "m" else made(Message(m.role, m.text)) for m in left]
            ),
        }
        if client.asked:
            run |= {"says": says, "asked": [made(Message("user", text)) for text in client.asked]}
        runs.append(run)
    return {"words": words, "tokens": sizes, "groups": list(spans.values()), "texts": texts, "runs": runs}


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
