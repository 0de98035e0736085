"""Records what Google's ADK itself makes of a session, so that the tests need not have it installed.

Its own code chooses the events, writes them out and assembles the history; only the model and the trigger in tokens
are replaced. Run from the project's folder, in an environment with google-adk==2.13.0, hypothesis and this project::

    python -m tests.compaction.golden.record_adk
"""

from __future__ import annotations

import asyncio
import json
import logging
import warnings
from collections.abc import AsyncGenerator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

from compaction.strategies.shared.parts import system_prompt
from compaction.transcript import Message
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import build, packed, random_words

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.apps import App, compaction  # noqa: E402
from google.adk.apps.app import EventsCompactionConfig  # noqa: E402
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer  # noqa: E402
from google.adk.events.event import Event  # noqa: E402
from google.adk.flows.llm_flows.context import _compaction as assembly  # noqa: E402
from google.adk.models.base_llm import BaseLlm  # noqa: E402
from google.adk.models.llm_response import LlmResponse  # noqa: E402
from google.adk.sessions import InMemorySessionService  # noqa: E402
from google.genai import types  # noqa: E402

CASES = 40
LONG = "S{}" + " long" * 60
"""A summary that is longer than some of what it would replace."""


class Model(BaseLlm):
    """Remembers what it was shown, and answers with a number."""

    answer: str
    asked: list[str] = []  # noqa: RUF012 (a field of pydantic's)

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(llm_request.contents[0].parts[0].text)
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text=self.answer.format(len(self.asked)))])
        )


def parts_of(m: Message) -> list[types.Part]:
    if m.role == "tool":
        response = types.FunctionResponse(id=m.tool_call_id, name=m.tool_name, response={"result": m.text})
        return [types.Part(function_response=response)]
    thought = [types.Part(text=m.reasoning, thought=True)] if m.reasoning else []
    text = [types.Part(text=m.text)] if m.text else []
    calls = [types.Part(function_call=types.FunctionCall(id=c.id, name=c.name, args=c.parsed())) for c in m.tool_calls]
    return [*thought, *text, *calls]


class Session:
    """A session of ADK's, and the messages of each of its events."""

    def __init__(self, params: dict[str, Any], answer: str) -> None:
        self.model = Model(model="m", answer=answer, asked=[])
        summarizer = LlmEventSummarizer(llm=self.model, prompt_template="{conversation_history}")
        sliding = params["compaction_interval"] is not None
        config = EventsCompactionConfig(
            summarizer=summarizer,
            **(
                {k: params[k] for k in ("compaction_interval", "overlap_size")}
                if sliding
                else {"token_threshold": 1, "event_retention_size": params["event_retention_size"]}
            ),
        )
        self.sliding = sliding
        self.app = App(name="app", root_agent=LlmAgent(name="agent", model=self.model), events_compaction_config=config)
        self.service = InMemorySessionService()
        self.session = self.service.create_session_sync(app_name="app", user_id="u")
        self.messages: dict[str, list[Message]] = {}
        self.invocation = 0

    async def add(self, m: Message) -> None:
        events = self.session.events
        last = self.messages.get(events[-1].id, []) if events else []
        if m.role == "tool" and last and last[0].role == "tool":  # an event holds the results of all calls of a message
            events[-1].content.parts += parts_of(m)
            last.append(m)
            return
        if m.role in ("user", "system"):
            if self.sliding and self.invocation + len(events) > 0:
                await self.slide()
            self.invocation += 1
        role = "model" if m.role == "assistant" else "user"
        parts = parts_of(m)
        event = Event(
            id=f"e{m.seq}",
            author="agent" if m.role == "assistant" else "user",
            invocation_id=f"i{self.invocation}",
            timestamp=float((m.seq or 0) + 1),
            content=types.Content(role=role, parts=parts) if parts else None,
        )
        self.messages[event.id] = [m]
        self.session.events.append(event)

    async def slide(self) -> None:
        found = compaction._run_compaction_for_sliding_window(self.app, self.session, self.service)
        async for event in found:
            self.session.events.append(event)

    async def keep_last(self) -> None:
        with patch.object(compaction, "_latest_prompt_token_count", return_value=10**9):
            await compaction._run_compaction_for_token_threshold(self.app, self.session, self.service)

    def left(self) -> list[Message]:
        """Without the calls that it puts back in front of late results, out of their order, which ours does not."""
        found = []
        for event in assembly._process_compaction_events(self.session.events):
            if event.actions.compaction:
                found.append(Message("assistant", event.content.parts[0].text))
            else:
                found += self.messages[event.id]
        return found


async def record(messages: Sequence[Message], params: dict[str, Any], answer: str) -> list[dict[str, Any]]:
    found, start, system = [], 0, system_prompt(messages)
    session = Session(params, answer)
    for cut in in_two(messages):
        asked = len(session.model.asked)
        for message in messages[max(start, len(system)) : cut]:
            await session.add(message)
        start = cut
        if not session.sliding:
            await session.keep_last()
        left = [*messages[: min(len(system), cut)], *session.left()]
        shown = [text_row(text) for text in session.model.asked[asked:]]
        found.append({"left": packed(rows(left, messages)), "shown": shown})
    return found


async def case(seed: int) -> dict[str, Any]:
    words = random_words(seed)
    messages = build(words)
    runs = []
    for retention, interval, overlap, answer in (
        (0, None, 1, "S{}"),
        (2, None, 1, "S{}"),
        (5, None, 1, "S{}"),
        (10, None, 1, "S{}"),
        (10, 1, 0, "S{}"),
        (10, 1, 2, "S{}"),
        (10, 2, 1, "S{}"),
        (10, 3, 1, "S{}"),
        (1, None, 1, LONG),
        (10, 1, 2, LONG),
    ):
        params = {"event_retention_size": retention, "compaction_interval": interval, "overlap_size": overlap}
        rounds = await record(messages, params, answer)
        runs.append({"strategy": "adk_compaction", "params": params, "answer": answer, "rounds": rounds})
    return {"words": words, "runs": runs}


async def main() -> None:
    recorded = {"versions": {"google-adk": version("google-adk")}, "cases": [await case(s) for s in range(CASES)]}
    path = Path(__file__).with_name("adk.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
