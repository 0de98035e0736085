"""Records what deepagents' middlewares themselves leave, so that the tests need not have them installed.

Its tool results come through ``FilesystemMiddleware``, its model calls through ``SummarizationMiddleware``; only the
model and the count of tokens are replaced. Run from the project's folder, in an environment with deepagents==0.7.32,
hypothesis and this project::

    python -m tests.compaction.golden.record_deepagents
"""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compaction.strategies.shared.parts import system_prompt
from compaction.tokens import total_tokens
from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows
from tests.compaction.golden.texts import with_file_tools
from tests.compaction.histories import COUNTER, build, packed, random_words

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from deepagents.backends import FilesystemBackend  # noqa: E402
from deepagents.middleware.filesystem import FilesystemMiddleware  # noqa: E402
from deepagents.middleware.summarization import SummarizationMiddleware  # noqa: E402
from langchain.agents.middleware.types import ModelRequest, ModelResponse  # noqa: E402
from langchain_core.language_models.fake_chat_models import FakeListChatModel  # noqa: E402
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage  # noqa: E402
from langgraph.prebuilt.tool_node import ToolCallRequest  # noqa: E402

CASES = 32


class Model(FakeListChatModel):
    """Remembers how often it was asked."""

    asked: int = 0

    def _call(self, messages: list[AnyMessage], *args: Any, **kwargs: Any) -> str:
        self.asked += 1
        return f"S{self.asked}"


class Agent:
    """A session in deepagents: its state, and what the model is shown."""

    def __init__(self, messages: Sequence[Message], folder: str, run: dict[str, Any]) -> None:
        params, limit = run["params"], max(1, int(run["budget"] * run["params"]["keep_share"]))
        few = params["keep_messages"]
        backend = FilesystemBackend(root_dir=folder, virtual_mode=True)
        self.messages = messages
        self.model = Model(responses=["unused"])
        self.files = FilesystemMiddleware(
            backend=backend,
            tool_token_limit_before_evict=params["tool_token_limit"],
            human_message_token_limit_before_evict=None,
        )
        self.middleware = SummarizationMiddleware(
            model=self.model,
            backend=backend,
            trigger=("messages", 1),
            keep=("messages", few) if few else ("tokens", limit),
            token_counter=self.count,
            trim_tokens_to_summarize=None,
            truncate_args_settings={
                "trigger": ("messages", 1),
                "keep": ("messages", 20) if few else ("tokens", limit),
                "max_length": params["max_argument_chars"],
            },
        )
        self.middleware._lc_helper._partial_token_counter = self.count
        self.shown: list[list[AnyMessage]] = []
        create = self.middleware._lc_helper._create_summary
        self.middleware._lc_helper._create_summary = lambda some: (self.shown.append(some), create(some))[1]
        self.state: dict[str, Any] = {"messages": []}
        self.calls: dict[str, str] = {}

    def add(self, m: Message) -> None:
        if m.role == "system":
            made: AnyMessage = SystemMessage(m.text, id=str(m.seq))
        elif m.role == "user":
            made = HumanMessage(m.text, id=str(m.seq))
        elif m.role == "tool":
            result = ToolMessage(m.text, tool_call_id=m.tool_call_id, name=m.tool_name, id=str(m.seq))
            call = {"name": self.calls.get(m.tool_call_id or "", m.tool_name or ""), "args": {}, "id": m.tool_call_id}
            request = ToolCallRequest(tool_call=call, tool=None, state=self.state, runtime=None)
            made = self.files.wrap_tool_call(request, lambda _: result)
        else:
            self.calls.update((c.id, c.name) for c in m.tool_calls)
            content: list[Any] = [{"type": "thinking", "thinking": m.reasoning}] if m.reasoning else []
            content += [{"type": "text", "text": m.text}] if m.text else []
            calls = [{"id": c.id, "name": c.name, "args": c.parsed()} for c in m.tool_calls]
            made = AIMessage(content, id=str(m.seq), tool_calls=calls)
        self.state["messages"].append(made)

    def ours(self, found: AnyMessage) -> Message:
        if not str(found.id).isdigit():
            return Message("user", re.sub(r"session_\w+\.md", "session.md", found.content))
        original = self.messages[int(found.id)]
        blocks = found.content if isinstance(found.content, list) else [{"type": "text", "text": found.content}]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        reasoning = original.reasoning if any(block["type"] == "thinking" for block in blocks) else ""
        calls = tuple(
            c if c.parsed() == f["args"] else replace(c, arguments=json.dumps(f["args"]))
            for c, f in zip(original.tool_calls, getattr(found, "tool_calls", ()), strict=True)
        )
        return replace(original, text=text, reasoning=reasoning, tool_calls=calls, tokens=None)

    def count(self, found: Sequence[AnyMessage], **_: Any) -> int:
        return total_tokens([self.ours(m) for m in found], COUNTER)

    def call_model(self) -> list[Message]:
        seen: list[AnyMessage] = []

        def handler(request: ModelRequest) -> ModelResponse:
            seen.extend(request.messages)
            return ModelResponse(result=[AIMessage("done")])

        request = ModelRequest(model=self.model, messages=self.state["messages"], state=self.state, tools=[])
        response = self.middleware.wrap_model_call(request, handler)
        if (command := getattr(response, "command", None)) is not None:
            self.state.update(command.update)
        return [self.ours(m) for m in seen]


def record(messages: Sequence[Message], run: dict[str, Any]) -> list[dict[str, Any]]:
    found, start, system = [], 0, system_prompt(messages)
    with TemporaryDirectory() as folder:
        agent = Agent(messages, folder, run)
        for cut in in_two(messages):
            for message in messages[max(start, len(system)) : cut]:
                agent.add(message)
            start, asked = cut, len(agent.shown)
            left = [*messages[: min(len(system), cut)], *agent.call_model()]
            asked_for = [[replace(agent.ours(m), reasoning="") for m in some] for some in agent.shown[asked:]]
            shown = [packed(rows(some, messages)) for some in asked_for]
            found.append({"left": packed(rows(left, messages)), "shown": shown})
    return found


def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = with_file_tools(build(words), seed)
    total = total_tokens(messages, COUNTER)
    runs = []
    for share, few, limit, chars, window in (
        (0.1, None, 40, 30, total // 2),
        (0.5, None, 20_000, 30, total // 2),
        (0.3, 6, 100, 60, total),
        (0.1, 3, 20_000, 2000, total),
        (1.0, None, 60, 100, total // 2),
        (1.0, None, 20_000, 100, total),
    ):
        params = {
            "keep_share": share,
            "keep_messages": few,
            "tool_token_limit": limit,
            "max_argument_chars": chars,
        }
        run = {"strategy": "deepagents", "params": params, "budget": max(1, window)}
        runs.append({**run, "rounds": record(messages, run)})
    return {"words": words, "seed": seed, "runs": runs}


def main() -> None:
    versions = {name: version(name) for name in ("deepagents", "langchain", "langchain-core")}
    recorded = {"versions": versions, "cases": [case(seed) for seed in range(CASES)]}
    path = Path(__file__).with_name("deepagents.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
