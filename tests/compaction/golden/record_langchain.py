"""Records what LangChain's middlewares and langmem themselves do, so that the tests need not have them installed.

Run from the project's folder, in an environment with langchain==1.4.7, langmem==0.0.30, hypothesis and this project::

    python -m tests.compaction.golden.record_langchain
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compaction.tokens import total_tokens
from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import COUNTER, build, random_words

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from langchain.agents.middleware.context_editing import ClearToolUsesEdit  # noqa: E402
from langchain.agents.middleware.summarization import SummarizationMiddleware  # noqa: E402
from langchain_core.language_models.fake_chat_models import FakeListChatModel  # noqa: E402
from langchain_core.messages import (  # noqa: E402
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langmem.short_term import summarize_messages  # noqa: E402

CASES = 32
MARK = "\x00"


class Model(FakeListChatModel):
    """Remembers what it was asked."""

    asked: list[list[AnyMessage]]

    def _call(self, messages: list[AnyMessage], *args: Any, **kwargs: Any) -> str:
        self.asked.append(messages)
        return super()._call(messages, *args, **kwargs)


def to_peer(m: Message) -> AnyMessage:
    if m.role == "system":
        return SystemMessage(m.text, id=str(m.seq))
    if m.role == "user":
        return HumanMessage(m.text, id=str(m.seq))
    if m.role == "tool":
        return ToolMessage(m.text, tool_call_id=m.tool_call_id, name=m.tool_name, id=str(m.seq))
    calls = [{"id": c.id, "name": c.name, "args": c.parsed()} for c in m.tool_calls]
    return AIMessage(m.text, id=str(m.seq), tool_calls=calls)


class Peer:
    """A history in the peer's messages, and back."""

    def __init__(self, messages: Sequence[Message], *, with_reasoning: bool) -> None:
        self.messages = messages
        self.with_reasoning = with_reasoning

    def ours(self, found: AnyMessage) -> Message:
        """The same message as one of ours; what the peer does not carry is that of the original."""
        if not str(found.id).isdigit():
            role = "system" if isinstance(found, SystemMessage) else "user"
            return Message(role, found.content)
        original = self.messages[int(found.id)]
        calls = tuple(
            replace(c, arguments=json.dumps(f["args"]))
            for c, f in zip(original.tool_calls, getattr(found, "tool_calls", ()), strict=True)
        )
        return replace(original, text=found.content, tool_calls=calls, tokens=None)

    def count(self, found: Sequence[AnyMessage]) -> int:
        messages = [self.ours(m) for m in found]
        if not self.with_reasoning:
            messages = [replace(m, reasoning="", tokens=None) for m in messages]
        return total_tokens(messages, COUNTER)


Round = Callable[[list[AnyMessage], int], tuple[list[AnyMessage], Any]]


def run(messages: Sequence[Message], peer: Peer, compact: Round) -> list[dict[str, Any]]:
    """What stays, and what the summariser was shown, at each of two compactions."""
    found = []
    left: list[AnyMessage] = []
    start = 0
    for number, cut in enumerate(in_two(messages), 1):
        left, shown = compact([*left, *map(to_peer, messages[start:cut])], number)
        start = cut
        found.append({"left": rows([peer.ours(m) for m in left], messages), "shown": shown})
    return found


def summary(messages: Sequence[Message], answer: str, **params: Any) -> list[dict[str, Any]]:
    peer = Peer(messages, with_reasoning=False)

    def compact(state: list[AnyMessage], number: int) -> tuple[list[AnyMessage], Any]:
        model = Model(responses=[answer.format(number)], asked=[])
        middleware = SummarizationMiddleware(
            model=model,
            trigger=("messages", 1),
            keep=("messages", params["keep"]),
            trim_tokens_to_summarize=params["trim_tokens"],
            token_counter=peer.count,
            summary_prompt=f"{MARK}{{messages}}{MARK}",
        )
        update = middleware.before_model({"messages": state}, None)
        asked = [text_row(call[0].content.split(MARK)[1]) for call in model.asked]
        if update is None:
            return state, asked
        return [m for m in update["messages"] if not isinstance(m, RemoveMessage)], asked

    return run(messages, peer, compact)


def clear(messages: Sequence[Message], **params: Any) -> list[dict[str, Any]]:
    peer = Peer(messages, with_reasoning=True)
    excluded = (params["exclude_tools"] or "").split()
    rest = {k: v for k, v in params.items() if k in ("trigger", "keep", "clear_at_least", "clear_tool_inputs")}

    def compact(state: list[AnyMessage], number: int) -> tuple[list[AnyMessage], Any]:
        ClearToolUsesEdit(**rest, exclude_tools=excluded).apply(state, count_tokens=peer.count)
        return state, []

    return run(messages, peer, compact)


def running(messages: Sequence[Message], answer: str, **params: Any) -> list[dict[str, Any]]:
    """Each time the whole history and what the last call returned, as the peer's documentation has it."""
    peer = Peer(messages, with_reasoning=True)
    found: list[dict[str, Any]] = []
    state = None
    for number, cut in enumerate(in_two(messages), 1):
        model = Model(responses=[answer.format(number)], asked=[])
        try:
            result = summarize_messages(
                list(map(to_peer, messages[:cut])),
                running_summary=state,
                model=model,
                token_counter=peer.count,
                **params,
            )
        except ValueError as error:
            if "already been summarized" not in str(error):
                raise
            break
        earlier, state = state, result.running_summary
        asked = [
            [rows([peer.ours(m) for m in call[:-1]], messages), earlier and earlier.summary] for call in model.asked
        ]
        found.append({"left": rows([peer.ours(m) for m in result.messages], messages), "shown": asked})
    return found


def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    total = total_tokens(messages, COUNTER)
    runs = []
    for keep, trim, answer in (
        (3, None, "S{}"),
        (6, None, "S{}"),
        (20, None, "S{}"),
        (3, 400, "S{}"),
        (3, 60, "S{}"),
        (6, 12, "S{}"),
        (3, None, " "),
    ):
        params: dict[str, Any] = {"keep": keep, "trim_tokens": trim}
        found = summary(messages, answer, **params)
        runs.append({"strategy": "langchain_summary", "params": params, "answer": answer, "rounds": found})
    for keep, least, inputs, tools, trigger in (
        (3, 0, False, None, 0),
        (0, 0, True, None, 0),
        (1, 0, False, "tool_4", 0),
        (1, 150, True, None, 0),
        (1, 150, False, "tool_5 tool_9", 0),
        (1, 0, False, None, total // 3),
    ):
        params = {"keep": keep, "clear_at_least": least, "clear_tool_inputs": inputs, "exclude_tools": tools}
        params |= {"trigger": trigger, "forced": False}
        runs.append({"strategy": "clear_tool_uses", "params": params, "rounds": clear(messages, **params)})
    for most, before, room in (
        (total // 3, None, 5),
        (total // 2, total // 5, 5),
        (40, 20, 10),
        (100_000, total // 4, 9),
    ):
        limits = {"max_tokens": max(most, 12), "max_tokens_before_summary": before or None, "max_summary_tokens": room}
        found = running(messages, "R{}", **limits)
        runs.append({"strategy": "langmem_running", "params": limits, "answer": "R{}", "rounds": found})
    return {"words": words, "runs": runs}


def main() -> None:
    versions = {name: version(name) for name in ("langchain", "langchain-core", "langmem")}
    recorded = {"versions": versions, "cases": [case(seed) for seed in range(CASES)]}
    path = Path(__file__).with_name("langchain.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
