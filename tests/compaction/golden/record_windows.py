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
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from compaction.strategies.shared.parts import system_prompt
from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows
from tests.compaction.histories import build, random_words

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
from strands.agent.conversation_manager import SlidingWindowConversationManager  # noqa: E402

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
        found.append({"left": rows([*messages[: min(system, cut)], *left], messages)})
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
        found.append({"left": rows([*messages[: min(system, cut)], *left], messages)})
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    runs = []
    for size, pinned in ((0, 0), (3, 0), (6, 0), (12, 2), (40, 0)):
        params = {"window_size": size, "pin_first": pinned}
        runs.append({"strategy": "strands_sliding", "params": params, "rounds": strands(messages, **params)})
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
