"""Records what the compactions of Pydantic AI's harness themselves leave, so that the tests need not have them.

Run from the project's folder, in an environment with pydantic-ai-harness==0.62.0 (which brings pydantic-ai 2.62.0),
hypothesis and this project::

    python -m tests.compaction.golden.record_pydantic_ai
"""

from __future__ import annotations

import asyncio
import json
import logging
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import build, packed, random_words

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from pydantic_ai import RunContext  # noqa: E402
from pydantic_ai.messages import (  # noqa: E402
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import _conversation_summary_text  # noqa: E402
from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: E402
from pydantic_ai.usage import RunUsage  # noqa: E402
from pydantic_ai_harness.compaction import SlidingWindowCompaction, SummarizingCompaction  # noqa: E402

CASES = 32


class Session:
    """A session in the peer's messages, which follow each other in turn, and what its summariser was asked."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.left: list[ModelMessage] = []
        self.asked: list[list[Any]] = []
        self.seqs: dict[int, int | None] = {}
        self.alive: list[Any] = []
        self.context = RunContext(deps=None, model=FunctionModel(self.answer), usage=RunUsage())

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        prompt = messages[-1].parts[-1].content
        transcript = prompt.split("<messages>\n", 1)[1]
        _, found, previous = transcript.rpartition("<previous-summary>\n")
        shown = transcript.rpartition("\n</messages>")[0]
        self.asked.append([text_row(shown), previous.removesuffix("\n</previous-summary>") if found else None])
        return ModelResponse(parts=[TextPart(f"S{len(self.asked)}")])

    def know(self, thing: Any, seq: int | None) -> Any:
        self.seqs[id(thing)] = seq
        self.alive.append(thing)
        return thing

    def add(self, m: Message) -> None:
        if m.role == "assistant":
            thinking = [ThinkingPart(m.reasoning)] if m.reasoning else []
            text = [TextPart(m.text)] if m.text else []
            calls = [ToolCallPart(c.name, c.arguments, c.id) for c in m.tool_calls]
            self.left.append(self.know(ModelResponse(parts=[*thinking, *text, *calls]), m.seq))
            return
        if m.role == "tool":
            part: Any = ToolReturnPart(m.tool_name or "", m.text, m.tool_call_id)
        else:
            part = SystemPromptPart(m.text) if m.role == "system" else UserPromptPart(m.text)
        self.left.append(ModelRequest(parts=[self.know(part, m.seq)]))

    def merge(self) -> None:
        """Make requests that follow each other one, as the peer does before each run."""
        merged: list[ModelMessage] = []
        for message in self.left:
            if merged and isinstance(message, ModelRequest) and isinstance(merged[-1], ModelRequest):
                merged[-1] = ModelRequest(parts=[*merged[-1].parts, *message.parts])
            else:
                merged.append(message)
        self.left = merged

    def ours(self) -> list[Message]:
        found = []
        for message in self.left:
            if isinstance(message, ModelResponse):
                found.append(self.messages[self.seqs[id(message)]])
                continue
            for part in message.parts:
                if isinstance(part, CompactionPart):
                    found.append(Message("user", _conversation_summary_text(part.content)))
                else:
                    found.append(self.messages[self.seqs[id(part)]])
        return found


async def record(messages: Sequence[Message], compaction: Any) -> list[dict[str, Any]]:
    session, found, start = Session(messages), [], 0
    for cut in in_two(messages):
        for message in messages[start:cut]:
            session.add(message)
        session.merge()
        start, asked = cut, len(session.asked)
        before, given = session.left, session.ours()
        session.left = await compaction.compact(session.left, session.context)
        if [m for m in session.ours() if m.seq is not None] == given:  # a summary of what stays; ours does not ask
            session.left = before
            del session.asked[asked:]
        found.append({"left": packed(rows(session.ours(), messages)), "shown": session.asked[asked:]})
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    runs = []
    for keep, first in ((40, True), (3, True), (8, True), (0, True), (5, False)):
        params: dict[str, Any] = {"keep_messages": keep, "preserve_first_user_message": first}
        rounds = await record(messages, SlidingWindowCompaction(max_messages=1, **params))
        runs.append({"strategy": "pydantic_ai_history", "params": params, "rounds": rounds})
    for keep, first, incremental, chars in (
        (20, True, True, 500),
        (3, True, True, 500),
        (8, True, True, None),
        (3, False, True, 4),
        (5, True, False, 40),
        (0, False, False, 500),
    ):
        params = {"keep_messages": keep, "preserve_first_user_message": first, "incremental": incremental}
        params["tool_return_max_chars"] = chars
        rounds = await record(messages, SummarizingCompaction(max_messages=1, **params))
        runs.append({"strategy": "pydantic_ai_summary", "params": params, "shows": "transcript", "rounds": rounds})
    return {"words": words, "runs": runs}


async def main() -> None:
    versions = {name: version(name) for name in ("pydantic-ai-harness", "pydantic-ai-slim")}
    recorded = {"versions": versions, "cases": [await case(seed) for seed in range(CASES)]}
    path = Path(__file__).with_name("pydantic_ai.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
