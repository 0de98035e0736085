"""Records what OpenHands' SDK does with the same histories: views, legal cuts, condensations, summariser input.

Run from the project's folder, in an environment with openhands-sdk==1.58.0 (Python 3.12), hypothesis and this project::

    python -m tests.compaction.golden.record_openhands_sdk
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from typing import Any

from compaction.points import legal_cuts
from compaction.transcript import Message
from tests.compaction.histories import build, digest, packed, random_words, varied

warnings.filterwarnings("ignore")
os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
logging.disable(logging.CRITICAL)

from openhands.sdk.context.condenser import LLMSummarizingCondenser  # noqa: E402
from openhands.sdk.context.condenser.base import NoCondensationAvailableException  # noqa: E402
from openhands.sdk.context.condenser.llm_summarizing_condenser import Reason  # noqa: E402
from openhands.sdk.context.view import View  # noqa: E402
from openhands.sdk.event.base import LLMConvertibleEvent  # noqa: E402
from openhands.sdk.event.condenser import (  # noqa: E402
    Condensation,
    CondensationRequest,
    CondensationSummaryEvent,
)
from openhands.sdk.event.llm_convertible import (  # noqa: E402
    ActionEvent,
    MessageEvent,
    ObservationEvent,
    SystemPromptEvent,
)
from openhands.sdk.llm import Message as PeerMessage  # noqa: E402
from openhands.sdk.llm import MessageToolCall, TextContent, ThinkingBlock  # noqa: E402
from openhands.sdk.mcp.definition import MCPToolAction, MCPToolObservation  # noqa: E402
from openhands.sdk.testing import TestLLM  # noqa: E402
from openhands.sdk.tool.schema import Action  # noqa: E402

CASES = 40
EXTRA = (
    [],
    ["system"],
    ["user"],
    ["system", "system", "user", *["call1", "result"] * 6],
    ["system", "user", *["thoughtful_call", "result", "call2", "result", "result"] * 5],
    ["user", "giant", *["call1", "result"] * 8, "user", "text"],
    ["system", "user", "thoughtful_call", "result", *["call1", "result"] * 12],
    ["system", "user", *["text", "user"] * 14],
    ["system", "user", "reused_call", "result", "reused_call", "result", *["call1", "result", "text"] * 5],
)
ENDLESS = 10**9
"""More tokens than any history has."""

ACTIONS: dict[str, type[Action]] = {}
PROMPTS: list[str] = []


def cost(text: str) -> int:
    return -(-len(text) // 4)


class Scripted(TestLLM):
    """Answers from a script, remembers what it was shown, and counts a quarter of the characters of each part."""

    def completion(self, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
        PROMPTS.append(messages[1].content[0].text)
        return super().completion(messages, *args, **kwargs)

    def get_token_count(self, messages: list[Any], *args: Any, **kwargs: Any) -> int:
        return sum(
            sum(cost(part.text) for part in m.content)
            + sum(cost(f"{call.name}\n{call.arguments}") for call in m.tool_calls or [])
            + sum(cost(block.thinking) for block in m.thinking_blocks)
            + cost(m.reasoning_content or "")
            for m in messages
        )


def contents(text: str) -> list[TextContent]:
    return [TextContent(text=text)] if text else []


def action_for(name: str) -> Action:
    if name.startswith("mcp__"):
        return MCPToolAction(data={})
    camel = "".join(part.title() for part in name.split("_")) + "Action"
    return ACTIONS.setdefault(camel, type(camel, (Action,), {"__module__": __name__}))()


def to_events(messages: Sequence[Message], thinking: bool) -> list[tuple[int, Any]]:
    """(position of the message, event) of the same history."""
    lead = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
    prompt = "\n\n".join(m.text for m in messages[:lead])
    found: list[tuple[int, Any]] = []
    if lead:
        found.append((0, SystemPromptEvent(system_prompt=TextContent(text=prompt), tools=[])))
    names: dict[str, str] = {}
    for i, m in enumerate(messages[lead:], lead):
        names.update((call.id, call.name) for call in m.tool_calls)
        thought: dict[str, Any] = {}
        if m.reasoning:
            block = ThinkingBlock(thinking=m.reasoning)
            thought = {"thinking_blocks": [block]} if thinking else {"reasoning_content": m.reasoning}
        if m.role == "tool":
            seen = MCPToolObservation(content=[TextContent(text=m.text)], is_error=m.is_error, tool_name="tool")
            name, id = names.get(m.tool_call_id or "", ""), m.tool_call_id or ""
            found.append((i, ObservationEvent(observation=seen, tool_name=name, tool_call_id=id, action_id="a")))
        elif not m.tool_calls:
            source: Any = {"user": "user", "assistant": "agent", "system": "environment"}[m.role]
            said = PeerMessage(role=m.role, content=contents(m.text), **thought)
            found.append((i, MessageEvent(llm_message=said, source=source)))
        for n, call in enumerate(m.tool_calls):
            wire = MessageToolCall(id=call.id, name=call.name, arguments=call.arguments, origin="completion")
            event = ActionEvent(
                thought=contents(m.text) if n == 0 else [],
                **(thought if n == 0 else {}),
                action=action_for(call.name),
                tool_name=call.name,
                tool_call_id=call.id,
                llm_response_id=f"response-{i}",
                tool_call=wire,
            )
            found.append((i, event))
    return found


def settings(tokens: int) -> list[dict[str, Any]]:
    """Our parameters, and the answers of the summariser."""
    half = max(1, tokens // 2)
    return [
        {"params": {}},
        {"params": {"max_size": 80, "keep_first": 4}},
        {"params": {"max_size": 10}},
        {"params": {"max_size": 10, "forced": False}},
        {"params": {"max_size": 12, "keep_first": 0, "minimum_progress": 0.4}},
        {"params": {"max_tokens": half, "forced": False}},
        {"params": {"max_tokens": half, "max_size": 12, "keep_first": 1}},
        {"params": {"max_size": 10, "thinking_blocks": False}},
        {"params": {"max_size": 10}, "answers": ["fail", "ok"]},
        {"params": {"hard_context_reset_context_scaling": 0.5}, "answers": ["fail", "fail", "fail", "ok"]},
        {"params": {"hard_context_reset_max_retries": 2}, "answers": ["fail"] * 4},
        {"params": {"max_size": 10, "forced": False}, "answers": ["fail"]},
        {"params": {"max_size": 10}, "answers": ["blank"]},
        {"params": {"max_size": 10}, "cut": True},
        {"params": {"max_size": 80, "keep_first": 4}, "cut": True},
        {"params": {"max_tokens": half, "forced": False}, "cut": True},
    ]


def answer(kind: str, number: int) -> Any:
    if kind == "fail":
        return RuntimeError("overloaded")
    text = "" if kind == "blank" else f"SUMMARY {number} " + "s" * 600
    return PeerMessage(role="assistant", content=[TextContent(text=text)])


def run(messages: Sequence[Message], setting: dict[str, Any]) -> dict[str, Any]:
    params = dict(setting["params"])
    forced, thinking = params.pop("forced", True), params.pop("thinking_blocks", True)
    params.setdefault("max_tokens", ENDLESS)
    legal = legal_cuts(tuple(messages))
    cut = next((i for i in range(len(messages) // 2, len(messages)) if legal[i]), None) if "cut" in setting else None
    answers = setting.get("answers", ["ok"] * 3)
    PROMPTS.clear()
    llm = Scripted.from_messages([answer(kind, number) for number, kind in enumerate(answers, 1)])
    agent_llm = Scripted.from_messages([], max_input_tokens=ENDLESS)
    condenser = LLMSummarizingCondenser(llm=llm, **params)
    events = to_events(messages, thinking)
    at = {event.id: i for i, event in events}
    view = View()
    outcome = "unchanged"
    for part in [events] if cut is None else [[e for e in events if e[0] < cut], [e for e in events if e[0] >= cut]]:
        # As in ConversationState: a view is enforced as a whole, and then kept up to date event by event.
        said = [*view.events, *(event for _, event in part)]
        view = View.from_events(said)
        if forced and Reason.TOKENS not in condenser.get_condensation_reasons(view, agent_llm):
            view.append_event(CondensationRequest())
        try:
            result = condenser.condense(view, agent_llm=agent_llm)
        except NoCondensationAvailableException:
            outcome = "none available"
            break
        except ValueError:  # a request for an empty view
            outcome = "crashed"
            break
        if isinstance(result, Condensation):
            view.append_event(result)
            outcome = "condensed"
        else:
            view = View(events=said)
            outcome = "failed softly" if PROMPTS and "fail" in answers else outcome
    left: list[Any] = []
    for event in view.events:
        if isinstance(event, CondensationSummaryEvent):
            left.append(digest(event.summary))
        elif isinstance(event, SystemPromptEvent):
            left += range(sum(1 for _ in takewhile(lambda m: m.role == "system", messages)))
        elif not left or left[-1] != at[event.id]:
            left.append(at[event.id])
    shown = [digest(prompt[: prompt.rindex("</EVENT>") + len("</EVENT>")]) for prompt in PROMPTS]
    return {
        **setting,
        "cut": cut,
        "outcome": outcome,
        "left": packed(left) if outcome == "condensed" else [],
        "shown": shown,
    }


def case(words: list[str]) -> dict[str, Any]:
    messages = varied(build(words))
    llm = Scripted.from_messages([])
    views = []
    tokens = [0] * len(messages)
    for thinking in (True, False):
        events = to_events(messages, thinking)
        at = {event.id: i for i, event in events}
        view = View.from_events([event for _, event in events])
        views.append(
            {"view": packed([at[e.id] for e in view.events]), "legal": packed(sorted(view.manipulation_indices))}
        )
    for i in range(len(messages)):
        own = [event for at, event in events if at == i]
        tokens[i] = llm.get_token_count(LLMConvertibleEvent.events_to_messages(own))
    runs = [run(messages, setting) for setting in settings(sum(tokens))]
    return {"words": words, "tokens": tokens, "views": views, "runs": runs}


def main() -> None:
    shapes = [*map(list, EXTRA), *(random_words(seed) for seed in range(CASES))]
    recorded = {
        "peer": "openhands-sdk",
        "version": version("openhands-sdk"),
        "cases": [case(words) for words in shapes],
    }
    path = Path(__file__).with_name("openhands_sdk.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
