"""OpenHands' SDK: its condensers, on a view of events.

A call is an action, those of one assistant message are one response; a result is an observation, the leading system
messages are the one system prompt. As in the SDK's own state a view is checked as a whole when it is made and then
follows its condensations. Over a whole session (``--history prefix``) it is condensed at the earlier points too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Signature
from typing import Any, Self

from openhands.sdk.context.condenser.base import (
    CondensationRequirement,
    CondenserBase,
    NoCondensationAvailableException,
)
from openhands.sdk.context.view import View
from openhands.sdk.event.condenser import Condensation, CondensationRequest, CondensationSummaryEvent
from openhands.sdk.event.llm_convertible import ActionEvent, MessageEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.llm import Message as PeerMessage
from openhands.sdk.llm import MessageToolCall, TextContent, ThinkingBlock
from openhands.sdk.mcp.definition import MCPToolAction, MCPToolObservation
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool.schema import Action
from pydantic import PrivateAttr

from compaction.adapters.message_mapping import MappedMessage, restore_messages, role_of
from compaction.adapters.summarizer_bridge import Asking
from compaction.model import Section
from compaction.strategies import openhands_sdk as ours
from compaction.strategies.shared.openhands_events import action_class, shown_message
from compaction.strategies.shared.parts import compaction_cuts, stands_for, system_prompt
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History, StrategyError
from compaction.transcript import Message

TOKENS = SUMMARY_TOKENS

# It tells of every condensation; what comes of one is said in the outcome.
logging.getLogger("openhands").setLevel(logging.ERROR)

LARGE = 10**9
"""Tokens; the SDK takes no model with a window of less than 16,384."""

_actions: dict[str, type[Any]] = {}


class OpenHandsLLM(TestLLM):  # type: ignore[misc]
    """A model whose answers are the run's summariser's, and which counts tokens as the run does."""

    _asking: Any = PrivateAttr(default=None)
    _sizes: dict[str, int] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, asking: Asking) -> Self:
        """A model for one compaction."""
        made: Self = cls.from_messages([], max_input_tokens=LARGE)
        made._asking = asking
        return made

    def completion(self, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
        """Have the summariser answer the peer's prompt."""
        prompt = [Message(role_of(m.role), "".join(part.text for part in m.content)) for m in messages]
        text = self._asking.about(prompt)
        reply = PeerMessage(role="assistant", content=[TextContent(text=text)])
        return TestLLM.from_messages([reply]).completion(messages)

    def get_token_count(self, messages: list[Any], *args: Any, **kwargs: Any) -> int:
        """Tokens of some messages: of each part of a content alone, of the first as ``compaction.tokens`` has it.

        The header of a failed result is a part of its own, and so is each of several user messages in a row.
        """
        return sum(map(self._size, messages))

    def _size(self, message: Any) -> int:
        first, *others = [part.text for part in message.content if isinstance(part, TextContent)] or [""]
        parts = [message.reasoning_content or "", *(block.thinking for block in message.thinking_blocks), first]
        parts += [text for call in message.tool_calls or () for text in (call.name, call.arguments)]
        return sum(map(self._count, ("\n".join(filter(None, parts)), *others)))

    def _count(self, text: str) -> int:
        if text not in self._sizes:
            self._sizes[text] = self._asking.history.counter.count(text)
        return self._sizes[text]


class CondenserAgent(OpenHandsLLM):
    """The agent's model, whose window is the budget."""

    @property
    def effective_max_input_tokens(self) -> int:
        """Tokens that the context may hold: a condenser condenses where they are exceeded."""
        return LARGE if self._asking is None else int(self._asking.history.budget)


def sections(span: Sequence[Message]) -> tuple[Section, ...]:
    """The sections of our version's summary, for a summariser that is no language model."""
    tools = [call.name.lower() for message in span for call in message.tool_calls]
    if any(tracker in tool for tool in tools for tracker in ours._TRACKERS):
        return (ours.SECTIONS[0], ours.TASK_TRACKING, *ours.SECTIONS[1:])
    return ours.SECTIONS


def fill(asking: Asking, signature: Signature, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a condenser's further argument: a model."""
    return {"llm": OpenHandsLLM.of(asking)}


def prepared(name: str, value: Any, asking: Asking) -> Any:
    """A parameter as the peer takes it."""
    return value


def run(
    condenser: Any, history: History, asking: Asking, *, forced: bool = True, thinking_blocks: bool = True
) -> Sequence[Message]:
    """Compact a history.

    ``forced``: where the condenser would not condense, or only if it can, it gets a condensation request.
    ``thinking_blocks``: reasoning is what Anthropic's models call thinking.
    """
    if not isinstance(condenser, CondenserBase):
        raise StrategyError(f"{type(condenser).__name__} is no condenser of openhands.sdk")
    if history.messages == history.previous:
        return history.messages
    session = _Session(history, thinking_blocks)
    asking.forms = session.forms
    agent = CondenserAgent.of(asking)
    done, changed = 0, False
    for end in compaction_cuts(history, 0):
        session.say(done, end)
        done = end
        changed = session.condense(condenser, agent, asking, forced) or changed
    return restore_messages(history.messages, session.found()) if changed else history.messages


class _Session:
    """A history as events, and what a condenser has left of it so far."""

    def __init__(self, history: History, thinking_blocks: bool) -> None:
        self._history = history
        self._thinking = thinking_blocks
        self._events: list[tuple[int, Any]] = []
        """Position of the message (the last one of the system prompt), event."""
        self._at: dict[str, tuple[int, int]] = {}
        """Id of an event → position of the message, number of the call."""
        self._standing: dict[str, tuple[int, ...]] = {}
        """Id of an event → positions of all messages that it is or stands for."""
        self._left: list[Any] = []
        self._viewed: list[Any] = []
        self._lead = len(system_prompt(history.messages))
        self._write()

    def say(self, start: int, end: int) -> None:
        """Add the events of the messages between two positions to the remaining events."""
        self._left += [event for position, event in self._events if start <= position < end]

    def condense(self, condenser: Any, agent: CondenserAgent, asking: Asking, forced: bool) -> bool:
        """Condense the remaining events, and return whether that changed them.

        Raises SummaryError when it failed for lack of a summary.
        """
        view = View.from_events(self._left)
        if forced and condenser.handles_condensation_requests() and not _must(condenser, view, agent):
            view.append_event(CondensationRequest())
        known = [event.id for event in view.events]
        self._viewed = list(view.events)
        asking.failed, earlier = None, asking.failed
        try:
            result = condenser.condense(view, agent_llm=agent)
        except NoCondensationAvailableException as error:
            if asking.failed is not None:
                raise asking.failed from error
            asking.failed = earlier
            return False
        if isinstance(result, Condensation):
            view.append_event(result)
            if result.has_summary_metadata:
                gone = {p for id in result.forgotten_event_ids for p in self._standing.get(id, ())}
                self._standing[result.summary_event.id] = tuple(sorted(gone))
        else:
            if asking.failed is not None:
                raise asking.failed
            if known == [event.id for event in result.events]:
                asking.failed = earlier
                return False
            view = result
        asking.failed = asking.failed or earlier
        self._left = list(view.events)
        return True

    def found(self) -> list[MappedMessage]:
        """Convert the remaining events back to messages."""
        kept: dict[int, list[int]] = {}
        for event in self._left:
            if event.id in self._at:
                position, number = self._at[event.id]
                kept.setdefault(position, []).append(number)
        found: list[MappedMessage] = []
        seen: set[int] = set()
        for event in self._left:
            if event.id not in self._at:
                found.append(MappedMessage(self._new(event), covers=self._standing.get(event.id)))
                continue
            position, _ = self._at[event.id]
            if position in seen:
                continue
            seen.add(position)
            if isinstance(event, SystemPromptEvent):
                found += [MappedMessage(self._history.messages[p], p) for p in range(self._lead)]
            else:
                found.append(MappedMessage(self._part(position, kept[position]), position))
        return found

    def forms(self) -> list[tuple[str, int, Message]]:
        """List the prompt text of each event in the view that is being condensed."""
        found = []
        for number, event in enumerate(self._viewed):
            if event.id in self._at:
                position = self._at[event.id][0]
                message = self._history.messages[position]
            else:
                position, message = -2 - number, self._new(event)
            found.append((str(event), position, shown_message(self._history, message, None, whole=False)))
        return found

    def _new(self, event: Any) -> Message:
        """The message of an event that a condenser made."""
        said = event.to_llm_message()
        text = "".join(part.text for part in said.content if isinstance(part, TextContent))
        covers = stands_for(self._history.messages[position] for position in self._standing.get(event.id, ()))
        return Message(role_of(said.role), text, covers=covers)

    def _part(self, position: int, numbers: Sequence[int]) -> Message:
        """The message of some actions: all of it, or without the calls that were forgotten."""
        message = self._history.messages[position]
        if len(numbers) >= len(message.tool_calls):
            return message
        calls = tuple(message.tool_calls[number] for number in numbers)
        return replace(message, tool_calls=calls, text=message.text if 0 in numbers else "", tokens=None)

    def _write(self) -> None:
        messages = self._history.messages
        if self._lead:
            text = "\n\n".join(message.text for message in messages[: self._lead])
            self._add(self._lead - 1, SystemPromptEvent(system_prompt=TextContent(text=text), tools=[]))
            self._standing[self._events[0][1].id] = tuple(range(self._lead))
        names: dict[str, str] = {}
        for position, message in enumerate(messages[self._lead :], self._lead):
            names.update((call.id, call.name) for call in message.tool_calls)
            if message.role == "tool":
                self._add(position, _observation(message, names.get(message.tool_call_id or "", "")))
            elif message.seq is None and message.covers and message.role == "user":
                self._add(position, CondensationSummaryEvent(summary=message.text))
            elif not message.tool_calls:
                self._add(position, self._said(message))
            for number, _ in enumerate(message.tool_calls):
                self._add(position, self._action(message, number, position), number)

    def _add(self, position: int, event: Any, number: int = 0) -> None:
        self._events.append((position, event))
        self._at[event.id] = (position, number)
        self._standing[event.id] = (position,)

    def _said(self, message: Message) -> Any:
        source: Any = {"user": "user", "assistant": "agent"}.get(message.role, "environment")
        said = PeerMessage(role=message.role, content=_texts(message.text), **self._thought(message))
        return MessageEvent(llm_message=said, source=source)

    def _action(self, message: Message, number: int, position: int) -> Any:
        call = message.tool_calls[number]
        leading = {"thought": _texts(message.text), **self._thought(message)} if number == 0 else {"thought": []}
        return ActionEvent(
            **leading,
            action=_action_of(call.name),
            tool_name=call.name,
            tool_call_id=call.id,
            llm_response_id=f"response-{position}",
            tool_call=MessageToolCall(id=call.id, name=call.name, arguments=call.arguments, origin="completion"),
        )

    def _thought(self, message: Message) -> dict[str, Any]:
        if not message.reasoning:
            return {}
        blocks = {"thinking_blocks": [ThinkingBlock(thinking=message.reasoning)]}
        return blocks if self._thinking else {"reasoning_content": message.reasoning}


def _must(condenser: Any, view: Any, agent: CondenserAgent) -> bool:
    """Whether the condenser is going to condense without being asked to, and cannot do without."""
    if hasattr(condenser, "condensers"):
        return any(_must(one, view, agent) for one in condenser.condensers)
    asked = getattr(condenser, "condensation_requirement", None)
    return asked is not None and asked(view, agent_llm=agent) is CondensationRequirement.HARD


def _observation(message: Message, name: str) -> Any:
    seen = MCPToolObservation(
        content=[TextContent(text=message.text)], is_error=message.is_error, tool_name=message.tool_name or name
    )
    id = message.tool_call_id or ""
    return ObservationEvent(observation=seen, tool_name=message.tool_name or name, tool_call_id=id, action_id=id)


def _texts(text: str) -> list[Any]:
    return [TextContent(text=text)] if text else []


def _action_of(tool: str) -> Any:
    """An action of the class that the tool's actions have by the SDK's convention; its fields are not looked at."""
    name = action_class(tool)
    if name == "MCPToolAction":
        return MCPToolAction(data={})
    return _actions.setdefault(name, type(name, (Action,), {"__module__": __name__}))()
