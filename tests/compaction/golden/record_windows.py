"""Records what the windows of strands-agents and autogen-core themselves leave, so that the tests need not have them.

Run from the project's folder, in an environment with strands-agents==1.62.0, autogen-core==0.7.5, hypothesis and this
project::

    python -m tests.compaction.golden.record_windows
"""

from __future__ import annotations

import asyncio
import json
import logging
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from compaction.strategies.shared.parts import system_prompt
from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows
from tests.compaction.histories import build, packed, random_words

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from autogen_core import FunctionCall  # noqa: E402
from autogen_core.model_context import HeadAndTailChatCompletionContext  # noqa: E402
from autogen_core.models import (  # noqa: E402
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from strands.agent.conversation_manager import (  # noqa: E402
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.types.exceptions import ContextWindowOverflowException  # noqa: E402

CASES = 32


def to_strands(messages: Sequence[Message], earlier: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """As its conversations are stored: results that follow each other are one message of the user's."""
    found = list(earlier)
    for m in messages:
        if m.role == "tool":
            result = {"toolUseId": m.tool_call_id, "status": "success", "content": [{"text": m.text}]}
            if found and "toolResult" in found[-1]["content"][0]:
                found[-1]["content"].append({"toolResult": result})
                found[-1]["seqs"].append(m.seq)
                continue
            content: list[Any] = [{"toolResult": result}]
        else:
            uses = [{"toolUseId": c.id, "name": c.name, "input": c.parsed()} for c in m.tool_calls]
            content = [*([{"text": m.text}] if m.text or not uses else ()), *({"toolUse": use} for use in uses)]
        role = "assistant" if m.role == "assistant" else "user"
        found.append({"role": role, "content": content, "seqs": [m.seq]})
    return found


def strands(messages: Sequence[Message], **params: Any) -> list[dict[str, Any]]:
    system = len(system_prompt(messages))
    found = []
    agent = SimpleNamespace(messages=[])
    start = system
    for cut in in_two(messages):
        agent.messages = to_strands(messages[start:cut], agent.messages)
        start = max(cut, start)
        SlidingWindowConversationManager(**params).apply_management(agent)
        left = [messages[seq] for message in agent.messages for seq in message["seqs"]]
        found.append({"left": packed(rows([*messages[: min(system, cut)], *left], messages)), "shown": []})
    return found


class Model:
    """Remembers what it was asked to sum up, and answers with a number."""

    def __init__(self) -> None:
        self.asked: list[list[dict[str, Any]]] = []

    async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
        self.asked.append(messages[:-1])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": f"S{len(self.asked)}"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def strands_summary(messages: Sequence[Message], **params: Any) -> list[dict[str, Any]]:
    """Its messages are as in ``strands``; a summary has no ``seqs``."""

    def ours(found: Sequence[dict[str, Any]]) -> list[Message]:
        made = [Message("user", "".join(block.get("text", "") for block in m["content"])) for m in found]
        return [
            left
            for m, new in zip(found, made, strict=True)
            for left in ([messages[seq] for seq in m["seqs"]] if "seqs" in m else [new])
        ]

    system = len(system_prompt(messages))
    model = Model()
    manager = SummarizingConversationManager(**params)
    agent = SimpleNamespace(messages=[], aux_model=model)
    found, start = [], system
    for cut in in_two(messages):
        agent.messages = to_strands(messages[start:cut], agent.messages)
        start, asked = max(cut, start), len(model.asked)
        with suppress(ContextWindowOverflowException):
            manager.reduce_context(agent, e=ContextWindowOverflowException())
        shown = [packed(rows(ours(some), messages)) for some in model.asked[asked:]]
        left = [*messages[: min(system, cut)], *ours(agent.messages)]
        found.append({"left": packed(rows(left, messages)), "shown": shown})
    return found


def to_autogen(messages: Sequence[Message]) -> list[Any]:
    found: list[Any] = []
    for m in messages:
        if m.role == "system":
            found.append(SystemMessage(content=m.text))
        elif m.role == "user":
            found.append(UserMessage(content=m.text, source="user"))
        elif m.role == "tool":
            result = FunctionExecutionResult(content=m.text, name=m.tool_name or "", call_id=m.tool_call_id or "")
            if found and isinstance(found[-1], FunctionExecutionResultMessage):
                found[-1].content.append(result)
                found[-1].__dict__["seqs"].append(m.seq)
                continue
            found.append(FunctionExecutionResultMessage(content=[result]))
        else:
            calls = [FunctionCall(id=c.id, name=c.name, arguments=c.arguments) for c in m.tool_calls]
            found.append(AssistantMessage(content=calls or m.text, thought=m.text if calls else None, source="a"))
        found[-1].__dict__["seqs"] = [m.seq]
    return found


async def autogen(messages: Sequence[Message], **params: Any) -> list[dict[str, Any]]:
    """Its context holds the whole session; what a model is shown is a view of it."""
    system = len(system_prompt(messages))
    found = []
    for cut in in_two(messages):
        context = HeadAndTailChatCompletionContext(**params, initial_messages=to_autogen(messages[system:cut]))
        left: list[Message] = []
        for message in await context.get_messages():
            seqs = message.__dict__.get("seqs")
            left += [Message("user", message.content)] if seqs is None else [messages[seq] for seq in seqs]
        found.append({"left": packed(rows([*messages[: min(system, cut)], *left], messages)), "shown": []})
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    runs = []
    for size, pinned in ((0, 0), (3, 0), (6, 0), (12, 2), (40, 0)):
        params = {"window_size": size, "pin_first": pinned}
        runs.append({"strategy": "strands_sliding", "params": params, "rounds": strands(messages, **params)})
    for ratio, recent, pinned in ((0.3, 10, 0), (0.5, 3, 0), (0.8, 0, 0), (0.1, 1, 0), (0.5, 2, 2), (0.3, 25, 0)):
        params = {"summary_ratio": ratio, "preserve_recent_messages": recent, "pin_first": pinned}
        summaries = strands_summary(messages, **params)
        runs.append({"strategy": "strands_summarizing", "params": params, "rounds": summaries})
    for head, tail in ((1, 1), (2, 8), (3, 2), (4, 5)):
        params = {"head_size": head, "tail_size": tail}
        runs.append({"strategy": "autogen_head_tail", "params": params, "rounds": await autogen(messages, **params)})
    return {"words": words, "runs": runs}


async def main() -> None:
    versions = {name: version(name) for name in ("strands-agents", "autogen-core")}
    recorded = {"versions": versions, "cases": [await case(seed) for seed in range(CASES)]}
    path = Path(__file__).with_name("windows.json")
    path.write_text(json.dumps(recorded, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
