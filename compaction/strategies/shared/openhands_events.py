"""A history as OpenHands' SDK 1.58.0 sees it: a view of events, where it may be cut, and how an event is written out.

An assistant message with tool calls is one action a call, all of one response; a tool result is an observation. The
leading system messages together are the one system prompt that the SDK has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from compaction.strategies.shared.parts import make_once, system_prompt
from compaction.strategy import History
from compaction.tokens import TokenCounter
from compaction.transcript import Message, ToolCall

EventKind = Literal["system", "message", "summary", "action", "observation"]

PREVIEW = 500
"""Characters of a text that an event shows (``N_CHAR_PREVIEW``); of a message or summary three less, and dots."""

ERROR_HEADER = "[An error occurred during execution.]\n"
CLIPPED = (
    "<response clipped><NOTE>Due to the max output limit, only part of the full response has been shown to you.</NOTE>"
)
"""What stands in the middle of an event that a hard reset shortens; a fixed text of the original."""

_SOURCES = {"user": "user", "assistant": "agent", "system": "environment"}
_WORDS = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One event, with its message."""

    kind: EventKind
    message: Message
    tokens: int
    call: ToolCall | None = None
    """The call of an action."""
    leads: bool = True
    """Whether it has the text and the thinking of its message: of parallel actions only the first has."""
    thinks: bool = False
    """Whether it has thinking blocks."""
    tool_name: str = ""
    before: tuple[Message, ...] = ()
    """The other system messages in front of the last one."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages that the event replaces."""
        return (*self.before, self.message)


def events_of(history: History, messages: Sequence[Message], thinking_blocks: bool) -> list[Event]:
    """The events of some messages. With ``thinking_blocks``, reasoning counts as Anthropic's thinking blocks."""
    prompt = system_prompt(messages)
    events: list[Event] = []
    if prompt:
        events.append(Event("system", prompt[-1], history.count(prompt), before=prompt[:-1]))
    names: dict[str, str] = {}
    for message in messages[len(prompt) :]:
        tokens = history.count((message,))
        thinks = thinking_blocks and bool(message.reasoning)
        if message.tool_calls:
            events += _actions(message, tokens, thinks, history.counter)
            names.update((call.id, call.name) for call in message.tool_calls)
        elif message.role == "tool":
            name = message.tool_name or names.get(message.tool_call_id or "", "")
            tokens += history.counter.count(ERROR_HEADER) if message.is_error else 0
            events.append(Event("observation", message, tokens, tool_name=name))
        elif message.seq is None and message.covers:
            events.append(Event("summary", message, tokens))
        else:
            events.append(Event("message", message, tokens, thinks=thinks and message.role == "assistant"))
    return events


def _actions(message: Message, tokens: int, thinks: bool, counter: TokenCounter) -> list[Event]:
    first, *others = message.tool_calls
    shares = [counter.count(f"{call.name}\n{call.arguments}") for call in others]
    found = [Event("action", message, max(tokens - sum(shares), 0), first, thinks=thinks)]
    return found + [
        Event("action", message, share, call, leads=False) for call, share in zip(others, shares, strict=True)
    ]


def view_of(events: Sequence[Event]) -> list[Event]:
    """The events without those that break what the SDK requires of a view; these are never sent.

    A second result of a call, actions without results, results without actions, what is left of a batch, and what is
    left of a run of tools that began with thinking: until nothing more has to go.
    """
    loop_of = _tool_loops(events)
    view = list(events)
    while (
        gone := _repeated_actions(view)
        or _partial_batches(view)
        or _unmatched_events(view)
        or _partial_loops(view, loop_of)
    ):
        view = [event for event in view if event not in gone]
    return view


def legal_cuts(view: Sequence[Event]) -> list[int]:
    """The positions at which a view may be cut: the SDK's manipulation indices, ascending."""
    legal = [True] * (len(view) + 1)
    pending: set[str] = set()
    in_loop = False
    for position, event in enumerate(view):
        if event.kind == "action" and event.call is not None:
            legal[position] &= event.leads
            pending.add(event.call.id)
        elif event.kind == "observation":
            pending.discard(event.message.tool_call_id or "")
        if event.kind in ("action", "observation"):
            in_loop = in_loop or event.thinks
            legal[position] &= event.thinks or not in_loop
        else:
            in_loop = False
        legal[position + 1] &= not pending
    return [position for position, is_legal in enumerate(legal) if is_legal]


def _repeated_actions(view: Sequence[Event]) -> set[Event]:
    seen: set[str | None] = set()
    gone: set[Event] = set()
    for event in view:
        if event.kind == "observation":
            if event.message.tool_call_id in seen:
                gone.add(event)
            seen.add(event.message.tool_call_id)
    return gone


def _partial_batches(view: Sequence[Event]) -> set[Event]:
    sizes: dict[int, int] = {}
    for event in view:
        if event.kind == "action":
            sizes[id(event.message)] = sizes.get(id(event.message), 0) + 1
    return {e for e in view if e.kind == "action" and sizes[id(e.message)] < len(e.message.tool_calls)}


def _unmatched_events(view: Sequence[Event]) -> set[Event]:
    asked = {event.call.id for event in view if event.call is not None}
    answered = {event.message.tool_call_id for event in view if event.kind == "observation"}
    return {
        event
        for event in view
        if (event.call is not None and event.call.id not in answered)
        or (event.kind == "observation" and event.message.tool_call_id not in asked)
    }


def _tool_loops(events: Sequence[Event]) -> dict[Event, list[Event]]:
    """The run of tools that began with thinking, for each event of one."""
    found: dict[Event, list[Event]] = {}
    loop: list[Event] | None = None
    for event in events:
        if event.kind == "action" and event.thinks:
            loop = []
        elif event.kind not in ("action", "observation"):
            loop = None
        if loop is not None:
            loop.append(event)
            found[event] = loop
    return found


def _partial_loops(view: Sequence[Event], loop_of: dict[Event, list[Event]]) -> set[Event]:
    here = set(view)
    partial = {id(loop) for event, loop in loop_of.items() if event not in here}
    return {event for event in view if event in loop_of and id(loop_of[event]) in partial}


def event_text(event: Event, *, whole: bool = False) -> str:
    """An event as the summariser is shown it: the SDK's display form, or with ``whole`` all of it.

    The display form of an action has its thought and its class; neither arguments nor, for tools of an MCP server,
    the tool's name.
    """
    text = event.message.text
    if event.kind == "system":
        joined = "\n\n".join(message.text for message in event.messages)
        return f"SystemPromptEvent (agent)\n  System: {_cut(joined, whole)}\n  Tools: 0 available"
    if event.call is not None:
        thought = _cut(text, whole) if event.leads else ""
        shown = f"ActionEvent (agent)\n  Thought: {thought}\n  Action: {action_class(event.call.name)}"
        return f"{shown}\n  Tool: {event.call.name}\n  Arguments: {event.call.arguments}" if whole else shown
    if event.kind == "observation":
        result = _cut(_result(event.message), whole)
        return f"ObservationEvent (environment)\n  Tool: {event.tool_name}\n  Result: {result}"
    if event.kind == "summary":
        return f"CondensationSummaryEvent (environment)\n  user: {_preview(text, whole)}"
    header = f"MessageEvent ({_SOURCES[event.message.role]})\n  {event.message.role}: "
    if not text:
        return f"{header}[no text content]"
    return header + _preview(text, whole) + (" [Thinking blocks: 1]" if event.thinks else "")


def clip_text(text: str, max_chars: int | None) -> str:
    """A longer text with its middle replaced by a notice; the notice alone, cut, where not even that fits."""
    if not max_chars or len(text) <= max_chars:
        return text
    room = max_chars - len(CLIPPED)
    if room <= 0:
        return CLIPPED[:max_chars]
    return text[: room - room // 2] + CLIPPED + text[len(text) - room // 2 :]


def action_class(tool: str) -> str:
    """Name of the class of a tool's actions by the SDK's own convention: ``file_editor`` → ``FileEditorAction``."""
    if tool.startswith("mcp__"):
        return "MCPToolAction"
    return "".join(word[:1].upper() + word[1:] for word in _WORDS.split(tool)) + "Action"


def shown_message(history: History, message: Message, max_chars: int | None, *, whole: bool) -> Message:
    """Reduce a message to the written form of its events."""
    return make_once(history.counter, _shown, message, max_chars, whole)


def _shown(message: Message, max_chars: int | None, whole: bool) -> Message:
    calls = message.tool_calls if whole else tuple(replace(call, arguments="{}") for call in message.tool_calls)
    text = _result(message) if message.role == "tool" else message.text
    if not whole:
        text = _cut(text, whole) if message.tool_calls or message.role == "tool" else _preview(text, whole)
    return replace(message, text=clip_text(text, max_chars), reasoning="", tool_calls=calls, tokens=None)


def _result(message: Message) -> str:
    return ERROR_HEADER + message.text if message.is_error else message.text


def _cut(text: str, whole: bool) -> str:
    return text if whole or len(text) <= PREVIEW else text[:PREVIEW] + "..."


def _preview(text: str, whole: bool) -> str:
    return text if whole or len(text) <= PREVIEW else text[: PREVIEW - 3] + "..."
