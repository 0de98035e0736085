"""Records what OpenHands V0 sends to a model after observation masking, under native function calling.

Run from the project's folder, in an environment with openhands-ai==0.62.0 (Python 3.12) and this project::

    python -m tests.compaction.golden.record_openhands_v0
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

from compaction.testing import talk
from compaction.transcript import Message

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from litellm import ModelResponse  # noqa: E402
from openhands.core.config.agent_config import AgentConfig  # noqa: E402
from openhands.events.action import CmdRunAction, MessageAction  # noqa: E402
from openhands.events.action.message import SystemMessageAction  # noqa: E402
from openhands.events.event import EventSource  # noqa: E402
from openhands.events.observation import CmdOutputObservation  # noqa: E402
from openhands.events.tool import ToolCallMetadata  # noqa: E402
from openhands.memory.condenser.impl.observation_masking_condenser import ObservationMaskingCondenser  # noqa: E402
from openhands.memory.conversation_memory import ConversationMemory  # noqa: E402
from openhands.memory.view import View  # noqa: E402

HISTORIES = 30
WINDOWS = (0, 1, 3, 5, 8, 13)


def to_events(messages: Sequence[Message]) -> list[Any]:
    """The same history as events: one action a call, one observation a result."""
    events: list[Any] = []
    called: dict[str, ToolCallMetadata] = {}

    def add(event: Any, source: EventSource) -> None:
        event._id, event._source = len(events), source
        events.append(event)

    for message in messages:
        if message.role == "system":
            add(SystemMessageAction(content=message.text), EventSource.AGENT)
        elif message.role == "tool":
            seen = CmdOutputObservation(content=message.text, command="x", exit_code=0)
            seen.tool_call_metadata = called[message.tool_call_id or ""]
            add(seen, EventSource.ENVIRONMENT)
        elif not message.tool_calls:
            source = EventSource.USER if message.role == "user" else EventSource.AGENT
            add(MessageAction(content=message.text), source)
        else:
            calls = [
                {"id": c.id, "type": "function", "function": {"name": "execute_bash", "arguments": c.arguments}}
                for c in message.tool_calls
            ]
            said = {"role": "assistant", "content": message.text, "tool_calls": calls}
            response = ModelResponse(id=f"response-{message.seq}", choices=[{"message": said}])
            for call in message.tool_calls:
                action = CmdRunAction(command="x")
                action.tool_call_metadata = called[call.id] = ToolCallMetadata(
                    tool_call_id=call.id,
                    function_name="execute_bash",
                    model_response=response,
                    total_calls_in_response=len(calls),
                )
                add(action, EventSource.AGENT)
    return events


def sent(messages: Sequence[Message], window: int, memory: ConversationMemory) -> list[list[Any]]:
    """(role, first line, ids of its calls, id of the call that it answers) of every message that goes out."""
    events = to_events(messages)
    view = list(ObservationMaskingCondenser(attention_window=window).condense(View(events=list(events))))
    rows = memory.process_events(view, events[1], max_message_chars=None, vision_is_active=False)
    return [[m.role, text_of(m), [call.id for call in m.tool_calls or []], m.tool_call_id] for m in rows]


def text_of(message: Any) -> str:
    """The text without the exit code that is written below an output."""
    return "".join(part.text for part in message.content).strip().split("\n")[0].split("[")[0].strip()


def main() -> None:
    memory = ConversationMemory(AgentConfig(), prompt_manager=None)
    cases = []
    for seed in range(HISTORIES):
        source = random.Random(seed)
        words = source.choices(["u", "a", "a1", "a2", "a3"], [1, 2, 5, 3, 1], k=source.randint(0, 10))
        shape = " ".join(["s", "u", *words])
        runs = {window: sent(talk(shape), window, memory) for window in WINDOWS}
        cases.append({"talk": shape, "sent_by_window": runs})
    recorded = {"peer": "openhands-ai", "version": version("openhands-ai"), "cases": cases}
    path = Path(__file__).with_name("openhands_v0.json")
    path.write_text(json.dumps(recorded, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
