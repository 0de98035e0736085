"""Records what Letta's sliding window itself does, so that the tests need not have it installed.

Its own code chooses the cut, falls back, writes the transcript and packs the summary; only the model and the count of
tokens are replaced. Run from the project's folder, in an environment with letta==0.16.8 (Python 3.12), hypothesis and
this project::

    python -m tests.compaction.golden.record_letta
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

from compaction.strategies.shared.parts import system_prompt
from compaction.tokens import total_tokens
from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import COUNTER, build, random_words

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from letta.schemas.letta_message_content import ReasoningContent, TextContent  # noqa: E402
from letta.schemas.llm_config import LLMConfig  # noqa: E402
from letta.schemas.message import Message as PeerMessage  # noqa: E402
from letta.schemas.message import ToolReturn  # noqa: E402
from letta.services.summarizer import compact as peer  # noqa: E402
from letta.services.summarizer import summarizer_all, summarizer_sliding_window  # noqa: E402
from letta.services.summarizer.summarizer import simple_formatter  # noqa: E402
from letta.services.summarizer.summarizer_config import CompactionSettings  # noqa: E402
from openai.types.chat.chat_completion_message_function_tool_call import (  # noqa: E402
    ChatCompletionMessageFunctionToolCall as PeerCall,
)

CASES = 32
AGENT = "agent-00000000-0000-4000-8000-000000000000"


def to_peer(m: Message) -> PeerMessage:
    known: dict[str, Any] = {"role": m.role, "agent_id": AGENT, "name": None}
    if m.role == "tool":
        returned = ToolReturn(tool_call_id=m.tool_call_id, status="success", func_response=m.text)
        return PeerMessage(
            **known, content=[TextContent(text=m.text)], tool_call_id=m.tool_call_id, tool_returns=[returned]
        )
    content: list[Any] = [ReasoningContent(reasoning=m.reasoning, is_native=True)] if m.reasoning else []
    content += [TextContent(text=m.text)] if m.text or not m.reasoning else []
    calls = [
        PeerCall(id=c.id, type="function", function={"name": c.name, "arguments": c.arguments}) for c in m.tool_calls
    ]
    return PeerMessage(**known, content=content, tool_calls=calls or None)


class Agent:
    """One agent's messages in the peer, and what its summariser was asked at the latest compaction."""

    def __init__(self, system: Sequence[Message], window: int, share: float, failing: bool) -> None:
        self.window, self.share, self.failing = window, share, failing
        self.known: dict[str, Message] = {}
        self.asked: list[str] = []
        self.number = 0
        prompt = Message("system", "".join(m.text for m in system), tokens=total_tokens(system, COUNTER))
        self.left: list[PeerMessage] = []
        self.add([prompt])

    def add(self, some: Sequence[Message]) -> None:
        made = [to_peer(m) for m in some]
        self.known.update((p.id, m) for p, m in zip(made, some, strict=True))
        self.left += made

    def ours(self, message: PeerMessage) -> Message:
        if message.id not in self.known:
            self.known[message.id] = Message("user", json.loads(message.content[0].text)["message"])
        return self.known[message.id]

    async def count(self, actor: Any, llm_config: Any, messages: list[PeerMessage], *_: Any, **__: Any) -> int:
        return total_tokens([self.ours(m) for m in messages], COUNTER)

    async def config(self, agent_llm_config: Any, **_: Any) -> Any:
        return agent_llm_config

    async def summary(self, messages: list[PeerMessage], **_: Any) -> str:
        text = simple_formatter(messages).split("\n<end_transcript>")[0].removeprefix("<start_transcript>\n")
        for message in messages:
            if message.role == "summary":  # a summary is packed with the time
                text = text.replace(message.content[0].text, self.ours(message).text)
        self.asked.append(re.sub(r"^\[MessageRole\.(\w+)\]", r"[\1]", text, flags=re.MULTILINE))
        if self.failing and len(self.asked) == 1:
            raise RuntimeError("the model is not reachable")
        return f"S{self.number}"

    async def compact(self) -> None:
        self.asked = []
        self.number += 1
        before = self.left
        with (
            suppress(RuntimeError),
            patch.object(summarizer_sliding_window, "simple_summary", self.summary),
            patch.object(summarizer_all, "simple_summary", self.summary),
            patch.object(summarizer_sliding_window, "count_tokens", self.count),
            patch.object(peer, "count_tokens_with_tools", self.count),
            patch.object(peer, "build_summarizer_llm_config", self.config),
        ):
            result = await peer.compact_messages(
                actor=None,
                agent_id=AGENT,
                telemetry_manager=None,
                llm_client=None,
                agent_type=None,
                timezone="UTC",
                agent_llm_config=LLMConfig(model="m", model_endpoint_type="openai", context_window=self.window),
                messages=before,
                compaction_settings=CompactionSettings(sliding_window_percentage=self.share),
            )
            self.left = result.compacted_messages
        if not any(self.asked):  # asked to summarise nothing, which only grows; ours does not ask
            self.left, self.asked = before, []


async def run(messages: Sequence[Message], window: int, share: float, failing: bool) -> list[dict[str, Any]]:
    """What stays, and what the summariser was shown, at each of two compactions."""
    found: list[dict[str, Any]] = []
    system = system_prompt(messages)
    agent = Agent(system, window, share, failing)
    start = len(system)
    for cut in in_two(messages):
        agent.add(messages[start:cut])
        start = max(start, cut)
        await agent.compact()
        stays = [*messages[: min(len(system), cut)], *map(agent.ours, agent.left[1:])]
        found.append({"left": rows(stays, messages), "shown": [text_row(text) for text in agent.asked]})
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    total = total_tokens(messages, COUNTER)
    runs = []
    for share, part, failing in (
        (0.3, 1.0, False),
        (0.3, 0.4, False),
        (0.3, 0.1, False),
        (0.1, 1.0, False),
        (0.6, 0.8, False),
        (0.3, 1.0, True),
    ):
        window = max(int(total * part), 1)
        found = await run(messages, window, share, failing)
        runs.append(
            {"params": {"sliding_window_percentage": share}, "budget": window, "fails": failing, "rounds": found}
        )
    return {"words": words, "runs": runs}


async def main() -> None:
    recorded = {"peer": "letta", "version": version("letta"), "cases": [await case(seed) for seed in range(CASES)]}
    path = Path(__file__).with_name("letta.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
