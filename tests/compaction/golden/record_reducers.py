"""Records what openai-agents' trimmer and Semantic Kernel's reducers themselves leave, so that the tests need neither.

Run from the project's folder, in an environment with openai-agents==0.24.0, semantic-kernel==1.45.0, hypothesis and
this project::

    python -m tests.compaction.golden.record_reducers
"""

from __future__ import annotations

import asyncio
import json
import logging
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows
from tests.compaction.histories import build, packed, random_words

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from agents.extensions import ToolOutputTrimmer  # noqa: E402
from agents.run_config import CallModelData, ModelInputData  # noqa: E402
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase  # noqa: E402
from semantic_kernel.contents import (  # noqa: E402
    AuthorRole,
    ChatHistorySummarizationReducer,
    ChatHistoryTruncationReducer,
    ChatMessageContent,
    FunctionCallContent,
    FunctionResultContent,
    TextContent,
)

CASES = 32


def to_items(message: Message) -> list[dict[str, Any]]:
    """Items of OpenAI's Responses API, each with the ``seq`` of its message."""
    known = {"seq": message.seq}
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text, **known}]
    calls = [
        {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments, **known}
        for c in message.tool_calls
    ]
    said = [{"role": message.role, "content": message.text, **known}] if message.text or not calls else []
    return [*said, *calls]


def trim(messages: Sequence[Message], **params: Any) -> list[dict[str, Any]]:
    """The trimmer is given the whole session at every call."""
    tools = params["trimmable_tools"]
    trimmer = ToolOutputTrimmer(**{**params, "trimmable_tools": tools and set(tools.split())})
    found = []
    for cut in in_two(messages):
        items = [item for message in messages[:cut] for item in to_items(message)]
        data = CallModelData(ModelInputData(input=items, instructions=None), agent=None, context=None)
        left = {item["seq"]: item.get("output") for item in trimmer(data).input}
        kept = [m if left[m.seq] in (None, m.text) else replace(m, text=left[m.seq]) for m in messages[:cut]]
        found.append({"left": packed(rows(kept, messages)), "shown": []})
    return found


class Service(ChatCompletionClientBase):
    """Remembers what it was asked to sum up, and answers with a number."""

    asked: list[Any] = []  # noqa: RUF012 (a field of pydantic's)

    async def get_chat_message_content(self, chat_history: Any, settings: Any, **_: Any) -> ChatMessageContent:
        self.asked.append(chat_history.messages[:-1])
        return ChatMessageContent(role=AuthorRole.ASSISTANT, content=f"S{len(self.asked)}")


def to_kernel(message: Message) -> ChatMessageContent:
    known = {"metadata": {"seq": message.seq}}
    if message.role == "tool":
        result = FunctionResultContent(id=message.tool_call_id, name=message.tool_name, result=message.text)
        return ChatMessageContent(role=AuthorRole.TOOL, items=[result], **known)
    calls = [FunctionCallContent(id=c.id, name=c.name, arguments=c.arguments) for c in message.tool_calls]
    text = [TextContent(text=message.text)] if message.text or not calls else []
    return ChatMessageContent(role=AuthorRole(message.role), items=[*text, *calls], **known)


def ours(found: Sequence[ChatMessageContent], messages: Sequence[Message]) -> list[Message]:
    seqs = [message.metadata.get("seq") for message in found]
    return [
        messages[seq] if seq is not None else Message(message.role.value, message.content)
        for seq, message in zip(seqs, found, strict=True)
    ]


async def reduce(messages: Sequence[Message], reducer: Any, service: Service) -> list[dict[str, Any]]:
    found, start = [], 0
    for cut in in_two(messages):
        reducer.messages = [*reducer.messages, *map(to_kernel, messages[start:cut])]
        start, asked = cut, len(service.asked)
        await reducer.reduce()
        shown = [packed(rows(ours(some, messages), messages)) for some in service.asked[asked:]]
        found.append({"left": packed(rows(ours(reducer.messages, messages), messages)), "shown": shown})
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    runs = []
    for turns, most, preview, tools in (
        (2, 500, 200, None),
        (1, 100, 20, None),
        (1, 90, 40, "tool_4"),
        (3, 1, 0, None),
        (1, 400, 500, "tool_5 tool_4"),
    ):
        params: dict[str, Any] = {"recent_turns": turns, "max_output_chars": most, "preview_chars": preview}
        params["trimmable_tools"] = tools
        runs.append({"strategy": "openai_agents_trim", "params": params, "rounds": trim(messages, **params)})
    for target, threshold in ((10, 10), (1, 0), (3, 0), (3, 4), (8, 2)):
        counts = {"target_count": target, "threshold_count": threshold}
        truncated = await reduce(messages, ChatHistoryTruncationReducer(**counts), Service(ai_model_id="m"))
        runs.append({"strategy": "semantic_kernel_truncation", "params": counts, "rounds": truncated})
        for single, functions in ((True, False), (True, True), (False, False), (False, True)):
            flags = {"use_single_summary": single, "include_function_content": functions}
            service = Service(ai_model_id="m", asked=[])
            reducer = ChatHistorySummarizationReducer(
                **counts,
                service=service,
                use_single_summary=single,
                include_function_content_in_summary=functions,
            )
            summed = await reduce(messages, reducer, service)
            runs.append({"strategy": "semantic_kernel_summary", "params": {**counts, **flags}, "rounds": summed})
    return {"words": words, "runs": runs}


async def main() -> None:
    versions = {name: version(name) for name in ("openai-agents", "semantic-kernel")}
    recorded = {"versions": versions, "cases": [await case(seed) for seed in range(CASES)]}
    path = Path(__file__).with_name("reducers.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
