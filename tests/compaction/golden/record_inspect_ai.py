"""Records what inspect_ai's compaction strategies themselves do, so that the tests need not have it installed.

Run from the project's folder, in an environment with inspect-ai==0.3.285, hypothesis and this project::

    python -m tests.compaction.golden.record_inspect_ai
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

from compaction.transcript import Message, ToolCall
from tests.compaction.golden.rows import in_two, rows
from tests.compaction.histories import build, random_words

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import inspect_ai.model._model as peer_model  # noqa: E402
import inspect_ai.model._tokens as peer_tokens  # noqa: E402
from inspect_ai.model import (  # noqa: E402
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    CompactionEdit,
    CompactionSummary,
    CompactionTrim,
    ContentReasoning,
    ContentText,
    ModelOutput,
    get_model,
)
from inspect_ai.model._compaction.summary import _summary_text  # noqa: E402
from inspect_ai.model._trim import partition_messages  # noqa: E402
from inspect_ai.tool import ToolCall as PeerCall  # noqa: E402

CASES = 32
MEMORY = ("memory", "tool_search")


def offline(text: str) -> int:
    """In place of a count that downloads a vocabulary."""
    return max(1, len(text) // 4)


peer_tokens.count_text_tokens = offline
peer_model.count_text_tokens = offline


def with_special_tools(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The history with a call of the memory tool and one of the tool search in it."""
    special = iter(MEMORY)
    found = []
    for message in messages:
        if len(message.tool_calls) == 1 and (name := next(special, None)):
            call = message.tool_calls[0]
            arguments = '{"command": "create", "file_text": "long", "path": "notes.md"}'
            found.append(replace(message, tool_calls=(ToolCall(call.id, name, arguments),)))
        else:
            found.append(message)
    return tuple(found)


def to_peer(m: Message) -> ChatMessage:
    known: dict[str, Any] = {"metadata": {"seq": m.seq}}
    if m.role == "system":
        return ChatMessageSystem(content=m.text, **known)
    if m.role == "user":
        return ChatMessageUser(content=m.text, **known)
    if m.role == "tool":
        return ChatMessageTool(content=m.text, tool_call_id=m.tool_call_id, function=m.tool_name, **known)
    content: Any = m.text
    if m.reasoning:
        content = [ContentReasoning(reasoning=m.reasoning), *([ContentText(text=m.text)] if m.text else ())]
    calls = [PeerCall(id=c.id, function=c.name, arguments=c.parsed()) for c in m.tool_calls]
    return ChatMessageAssistant(content=content, tool_calls=calls or None, **known)


def ours(found: ChatMessage, messages: Sequence[Message]) -> Message:
    """The same message as one of ours; of a summary only what the model wrote."""
    seq = (found.metadata or {}).get("seq")
    if seq is None:
        assert "[CONTEXT COMPACTION SUMMARY]" in found.text
        return Message(found.role, found.text.split("\n\n")[2])
    reasoning = ""
    if isinstance(found.content, list):
        reasoning = "".join(part.reasoning for part in found.content if isinstance(part, ContentReasoning))
    original = messages[seq]
    left = {c.id: c for c in getattr(found, "tool_calls", None) or ()}
    calls = tuple(
        call
        if call.parsed() == left[call.id].arguments
        else replace(call, arguments=json.dumps(left[call.id].arguments))
        for call in original.tool_calls
        if call.id in left
    )
    return replace(original, text=found.text, reasoning=reasoning, tool_calls=calls)


async def run(messages: Sequence[Message], strategy: Any) -> list[dict[str, Any]]:
    """What stays, and what the summariser was shown, at each of two compactions."""
    found = []
    left: list[ChatMessage] = []
    start = 0
    for number, cut in enumerate(in_two(messages), 1):
        asked: list[Any] = []

        def answer(input: list[ChatMessage], *_: Any, number: int = number, asked: list[Any] = asked) -> ModelOutput:
            asked.append(rows([ours(m, messages) for m in input[:-1]], messages))
            return ModelOutput.from_content("mockllm", f"<analysis>a</analysis><summary>S{number}</summary>")

        model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
        left += map(to_peer, messages[start:cut])
        # The peer has the input summarised and the summary put behind it; that only grows, and ours does not ask.
        if not isinstance(strategy, CompactionSummary) or partition_messages(left).conversation:
            left, _ = await strategy.compact(model, left, [])
        start = cut
        found.append({"left": rows([ours(m, messages) for m in left], messages), "shown": asked})
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = with_special_tools(build(words))
    runs = []
    for preserve in (0.8, 0.5, 0.0):
        found = await run(messages, CompactionTrim(preserve=preserve))
        runs.append({"strategy": "inspect_trim", "params": {"preserve": preserve}, "rounds": found})
    for uses, turns, tools in ((3, 1, None), (0, 0, None), (1, None, "tool_4"), (1, 2, None)):
        params = {"keep_tool_uses": uses, "keep_thinking_turns": turns, "exclude_tools": tools}
        edit = CompactionEdit(
            keep_tool_uses=uses, keep_thinking_turns="all" if turns is None else turns, exclude_tools=tools and [tools]
        )
        runs.append({"strategy": "inspect_edit", "params": params, "rounds": await run(messages, edit)})
    runs.append(
        {"strategy": "claude_code_style_regen", "params": {}, "rounds": await run(messages, CompactionSummary())}
    )
    return {"words": words, "runs": runs}


ANSWERS = (
    "plain",
    "<analysis>why</analysis>\n<summary>what</summary>",
    "Well: <analysis>why</analysis>  <summary>what</summary> done",
    "<summary>it said <analysis>x</analysis><summary>y</summary>",
    "<analysis>a <summary> tag</analysis><summary>what</summary>",
    "<analysis>not closed <summary>what</summary>",
    "<analysis>only this</analysis>",
    "<analysis>one</analysis> and <analysis>two</analysis><summary>what</summary>",
    "<analysis>one</analysis> then </analysis>\n\n<summary>what</summary>",
    "<analysis>why</analysis><summary>",
)


async def main() -> None:
    recorded = {
        "peer": "inspect-ai",
        "version": version("inspect-ai"),
        "answers": [[text, _summary_text(text)] for text in ANSWERS],
        "cases": [await case(seed) for seed in range(CASES)],
    }
    path = Path(__file__).with_name("inspect_ai.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
