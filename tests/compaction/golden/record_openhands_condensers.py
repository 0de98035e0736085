"""Records what OpenHands V0's condensers themselves leave and ask, so that the tests need not have them installed.

Their own code chooses the events, writes them out and says what is sent; only the model is replaced. Run from the
project's folder, in an environment with openhands-ai==0.62.0 (Python 3.12), hypothesis and this project::

    python -m tests.compaction.golden.record_openhands_condensers
"""

from __future__ import annotations

import json
import logging
import random
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from compaction.strategies.shared.parts import system_prompt
from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import build, packed, random_words

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from litellm import ModelResponse  # noqa: E402
from openhands.core.config.agent_config import AgentConfig  # noqa: E402
from openhands.events.action import MessageAction  # noqa: E402
from openhands.events.action.mcp import MCPAction  # noqa: E402
from openhands.events.action.message import SystemMessageAction  # noqa: E402
from openhands.events.event import EventSource  # noqa: E402
from openhands.events.observation.agent import AgentCondensationObservation  # noqa: E402
from openhands.events.observation.mcp import MCPObservation  # noqa: E402
from openhands.events.tool import ToolCallMetadata  # noqa: E402
from openhands.memory.condenser.condenser import Condensation  # noqa: E402
from openhands.memory.condenser.impl.amortized_forgetting_condenser import AmortizedForgettingCondenser  # noqa: E402
from openhands.memory.condenser.impl.llm_attention_condenser import LLMAttentionCondenser  # noqa: E402
from openhands.memory.condenser.impl.recent_events_condenser import RecentEventsCondenser  # noqa: E402
from openhands.memory.condenser.impl.structured_summary_condenser import StructuredSummaryCondenser  # noqa: E402
from openhands.memory.conversation_memory import ConversationMemory  # noqa: E402
from openhands.memory.view import View  # noqa: E402

CASES = 32
SOURCES = {"user": EventSource.USER, "assistant": EventSource.AGENT, "system": EventSource.ENVIRONMENT}


def with_results(words: Sequence[str]) -> list[str]:
    """Words for a history in which every call has its results, once: others are no events of the peer's."""
    found, n_open = [], 0
    for word in words:
        if word in ("orphan", "reused_call") or (word in ("result", "late_result") and not n_open):
            continue
        n_open += {"call1": 1, "call2": 2, "call3": 3, "thoughtful_call": 1, "result": -1, "late_result": -1}.get(
            word, 0
        )
        found.append(word)
    return found + ["result"] * n_open


class Model:
    """Remembers the events that it was shown, and answers."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.llm = MagicMock()
        self.llm.config.model, self.llm.config.custom_llm_provider = "gpt-4o", None
        self.llm.format_messages_for_llm = lambda messages: messages
        self.llm.completion = self.complete

    def complete(self, messages: list[Any], **asked: Any) -> Any:
        if "tools" not in asked:
            self.asked.append("\n".join(message["content"] for message in messages[1:]))
            said = {"role": "assistant", "content": self.answer.format(len(self.asked))}
            return ModelResponse(choices=[{"message": said}])
        text = messages[0].content[0].text
        self.asked.append("<EVENT" + text.split("</PREVIOUS SUMMARY>", 1)[1].partition("<EVENT")[2].removesuffix("\n"))
        fields = [part.split("\n", 1) for part in self.answer.format(len(self.asked)).split("## ")[1:]]
        arguments = {title.lower().replace(" ", "_"): body.strip() for title, body in fields}
        call = {"id": "c", "type": "function", "function": {"name": "create_state_summary"}}
        call["function"]["arguments"] = json.dumps(arguments)
        return ModelResponse(choices=[{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}])


class Session:
    """A session in the peer's events, which are numbered by their place in the view."""

    def __init__(self, messages: Sequence[Message], keep_first: int) -> None:
        self.messages, self.keep_first = messages, keep_first
        self.n_prompt = len(system_prompt(messages))
        self.memory = ConversationMemory(AgentConfig(), prompt_manager=MagicMock())
        self.memory.prompt_manager.get_system_message.return_value = "another prompt"
        self.seqs: dict[int, list[int]] = {}
        self.alive: list[Any] = []

    def event(self, event: Any, source: EventSource, *seqs: int) -> Any:
        event._source = source
        self.seqs[id(event)] = list(seqs)
        self.alive.append(event)
        return event

    def events(self, left: Sequence[Any]) -> list[Any]:
        """Events of what is left: numbers of messages, and summaries."""
        found: list[Any] = []
        called: dict[str, ToolCallMetadata] = {}
        if 0 in left and self.n_prompt:
            text = "\n\n".join(m.text for m in self.messages[: self.n_prompt])
            found.append(self.event(SystemMessageAction(content=text), EventSource.AGENT, *range(self.n_prompt)))
        for item in left:
            if not isinstance(item, int):
                found.append(item)
                continue
            m = self.messages[item]
            if item < self.n_prompt:
                continue
            if m.role == "tool":
                seen = MCPObservation(content=m.text, name=called[m.tool_call_id or ""].function_name)
                seen.tool_call_metadata = called[m.tool_call_id or ""]
                found.append(self.event(seen, EventSource.ENVIRONMENT, item))
            elif not m.tool_calls:
                found.append(self.event(MessageAction(content=m.text), SOURCES[m.role], item))
            calls = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in m.tool_calls
            ]
            said = {"role": "assistant", "content": m.text, "tool_calls": calls}
            response = ModelResponse(id=f"response-{item}", choices=[{"message": said}])
            for n, call in enumerate(m.tool_calls):
                action = MCPAction(name=call.name, arguments=call.parsed(), thought="" if n else m.text)
                action.tool_call_metadata = called[call.id] = ToolCallMetadata(
                    tool_call_id=call.id,
                    function_name=call.name,
                    model_response=response,
                    total_calls_in_response=len(calls),
                )
                found.append(self.event(action, EventSource.AGENT, item))
        for number, event in enumerate(found):
            event._id = number
        return found

    def first_user(self, left: Sequence[Any], cut: int) -> tuple[int | None, set[int]]:
        """The first user message, and what only stands in front of the view again: it, or the system prompt."""
        first = next((m.seq for m in self.messages[:cut] if m.role == "user"), None)
        first = first if first in left else None
        if list(left) == list(range(cut)):
            return first, set()
        before = self.messages[self.n_prompt : first]
        place = bool(self.n_prompt) + sum(max(1, len(m.tool_calls)) for m in before)
        apart = set(range(self.n_prompt)) if self.keep_first == 0 else set()
        return first, apart | ({first} if first is not None and place >= self.keep_first else set())

    def sent(self, view: list[Any], first: int | None) -> list[Any]:
        """What is sent of a view, in the session's order before and behind a summary."""
        events = list(view)
        initial = MessageAction(content="none") if first is None else MessageAction(self.messages[first].text)
        self.event(initial, EventSource.USER, *([] if first is None else [first]))
        sent = self.memory.process_events(events, initial, max_message_chars=None, vision_is_active=False)
        ids = {call.id for m in sent for call in m.tool_calls or []} | {m.tool_call_id for m in sent}
        parts: list[list[Any]] = [[]]
        for event in events:
            if isinstance(event, AgentCondensationObservation):
                parts.append([event])
                continue
            metadata = getattr(event, "tool_call_metadata", None)
            if metadata is None or metadata.tool_call_id in ids:
                parts[-1] += self.seqs.get(id(event), [])
        later = {seq for part in parts[1:] for seq in part[1:]}
        parts[0] = sorted({*parts[0], *range(self.n_prompt)} - later)
        return [*parts[0], *(item for part in parts[1:] for item in (part[0], *sorted(set(part[1:]))))]


def record(messages: Sequence[Message], run: dict[str, Any], condenser: Any, model: Model) -> list[dict[str, Any]]:
    session = Session(messages, run["params"]["keep_first"])
    left: list[Any] = []
    found = []
    start = 0
    for cut in in_two(messages):
        asked = len(model.asked)
        left += range(start, cut)
        start = cut
        first, apart = session.first_user(left, cut)
        events = session.events([item for item in left if not (isinstance(item, int) and item in apart)])
        states = (n for n, event in enumerate(events) if isinstance(event, AgentCondensationObservation))
        condenser.keep_first = next(states, run["params"]["keep_first"])  # less if the head has lost half of a pair
        try:
            done = condenser.condense(
                View(events=events, unhandled_condensation_request=run["params"].get("forced", True))
            )
        except (ValueError, IndexError):  # nothing to forget; it asked all the same, and ours does not
            done = View(events=events)
            del model.asked[asked:]
        if isinstance(done, Condensation):
            action = done.action
            action._id = len(events)
            earlier = AgentCondensationObservation if action.summary is not None else ()
            done = View.from_events([*(e for e in events if not isinstance(e, earlier)), action])
            stays = {seq for event in done for seq in session.seqs.get(id(event), ())}
            if action.summary is not None and all(stays.issuperset(session.seqs.get(id(e), ())) for e in events):
                done = View(events=events)  # a call was forgotten of a message that is sent whole; ours leaves it
                del model.asked[asked:]
        if {id(event) for event in done} != {id(event) for event in events}:
            left = session.sent(list(done), first)
        stays = [messages[item] if isinstance(item, int) else Message("user", item.content) for item in left]
        shown = [text_row(text) for text in model.asked[asked:]]
        found.append({"left": packed(rows(stays, messages)), "shown": shown})
    return found


def case(seed: int) -> dict[str, Any]:
    words = with_results(random_words(seed))
    messages = build(words)
    source = random.Random(seed)
    runs: list[dict[str, Any]] = []

    def run(name: str, params: dict[str, Any], condenser: Any, answer: str = "", model: Model | None = None) -> None:
        asked = {"strategy": f"openhands_v0_{name}", "params": params, "answer": answer}
        runs.append({**asked, "rounds": record(messages, asked, condenser, model or Model(answer))})

    for first, most in ((1, 100), (1, 4), (2, 7), (0, 5), (1, 10)):
        run("recent", {"keep_first": first, "max_events": most}, RecentEventsCondenser(first, most))
    for first, most, forced in ((1, 100, True), (1, 6, True), (0, 10, True), (4, 12, True), (1, 14, False)):
        params = {"keep_first": first, "max_size": most, "forced": forced}
        run("amortized", params, AmortizedForgettingCondenser(most, first))
    for first, most, size in ((1, 6, 40), (2, 10, 3), (0, 10, 12), (1, 16, 40), (1, 100, 0)):
        ids = [*source.sample(range(60), size), 0, 1, 2]
        model = Model('{{"ids": ' + json.dumps(ids) + "}}")
        params = {"keep_first": first, "max_size": most}
        run("llm_attention", params, LLMAttentionCondenser(model.llm, most, first), model.answer, model)
    for first, most, chars, forced in (
        (1, 8, 10_000, True),
        (2, 12, 60, True),
        (0, 6, 400, True),
        (1, 100, 400, False),
    ):
        model = Model("## User Context\nU{0}\n- more\n\n## Branch Name\nb{0}\n\n## Other Relevant Context\nS{0}")
        params = {"keep_first": first, "max_size": most, "max_event_length": chars, "forced": forced}
        condenser = StructuredSummaryCondenser(model.llm, most, first, chars)
        run("structured", params, condenser, model.answer, model)
    return {"words": words, "runs": runs}


def main() -> None:
    versions = {"openhands-ai": version("openhands-ai")}
    recorded = {"versions": versions, "cases": [case(seed) for seed in range(CASES)]}
    path = Path(__file__).with_name("openhands_condensers.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
