"""Google's ADK 2.13.0: ``EventsCompactionConfig`` with its ``LlmEventSummarizer``.

Its session keeps every event; a compaction is an event of its own that says which range it stands for, and a range
within another is superseded. An event is a message, or the results that follow a message together; an invocation
begins at a user message. The system prompt is the agent's instruction and no event.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from compaction.model import SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.originals import cut_head
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_text
from compaction.strategies.shared.requests import instructions
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

TOOL_CHARS = 2000
"""Of the arguments of a call, and of a result, as the summariser is shown them."""
CUT_MARK = "... [truncated {} chars]"
RETENTION = 10
"""The original has no default; public configurations have 5 to 30."""
EMPTY_SUMMARY = '{"parts":[],"role":"model"}'

Event = list[Message]


@strategy(
    "adk_compaction",
    needs_model=True,
    peer="google-adk",
    peer_version="2.13.0",
    variants=({"compaction_interval": 3},),
    by_default=False,
    bites={"event_retention_size": 2},
)
def adk_compaction(
    history: History,
    *,
    event_retention_size: int = RETENTION,
    token_threshold: Positive | None = None,
    compaction_interval: Positive | None = None,
    overlap_size: int = 1,
    summary_tokens: Positive = SUMMARY_TOKENS,
    forced: bool = True,
) -> Sequence[Message]:
    """A summary by the assistant of all but the last ``event_retention_size`` events, merged with the one before.

    The cut moves back to where no result loses its call, and further to where every call is answered or never will be.
    ``token_threshold`` (the budget) is asked for only when ``forced`` is off. With ``compaction_interval`` (3 in the
    documentation) there are sliding windows instead: when so many invocations have ended since the last summary, one
    of these and of the ``overlap_size`` invocations before; summaries that overlap stay side by side, and only what
    came after them stays as it was. That is what the original would have done in the session until now, with a
    summariser's call each. Where the last summary is no shorter than what a new one would replace, nothing is done.
    """
    session = _Session(history, summary_tokens)
    if compaction_interval is not None:
        session.slide(compaction_interval, overlap_size)
    elif forced or history.count(history.messages) >= (token_threshold or history.budget):
        session.keep_last(event_retention_size)
    return session.assemble() if session.is_changed else history.messages


@dataclass(frozen=True)
class _Range:
    """A summary of the events from ``start`` to ``end``."""

    start: int
    end: int
    message: Message

    @property
    def events(self) -> range:
        return range(self.start, self.end + 1)


@dataclass
class _Session:
    history: History
    summary_tokens: int
    is_changed: bool = False
    ranges: list[_Range] = field(default_factory=list)

    def __post_init__(self) -> None:
        own = {message.seq for message in system_prompt(self.history.session)}
        self.apart = [m for m in self.history.messages if m.seq is not None and m.seq in own]
        here = {message.seq: message for message in self.history.messages if message.seq is not None}
        said = [here.get(m.seq, m) if m.seq is not None else m for m in self.history.session if m.seq not in own]
        known = {id(message) for message in said}
        made = [m for m in self.history.messages if m.seq is None and m.covers and id(m) not in known]
        self.here = {id(message) for message in self.history.messages}
        self.events = _events(said, {seq for message in made for seq in message.covers})
        self.invocations = _invocations(self.events)
        where = {seq: number for number, event in enumerate(self.events) for seq in stands_for(event)}
        for message in made:
            ends = [where[seq] for seq in (message.covers[0], message.covers[-1]) if seq in where]
            self.ranges += [_Range(min(ends), max(ends), message)] if ends else []
        self.ranges = _surviving(self.ranges)
        self.covered = {number for found in self.ranges for number in found.events}

    def keep_last(self, retention: int) -> None:
        """Summarise all events since the last summary, and that, but for the last ``retention``."""
        latest = self.ranges[-1:]
        start = latest[0].end + 1 if latest else 0
        events = self.events[start:]
        if len(events) <= retention:
            return
        end = start + (_safe_split(events, retention) if retention else len(events))
        end = self._self_contained_end(start, end, _answer_ids(self.events), self.invocations[-1])
        if start < end:
            self._summarize(start, end, latest)

    def slide(self, interval: int, overlap: int) -> None:
        """Summarise a window whenever ``interval`` invocations have ended since the last summary."""
        first: dict[int, int] = {}
        for number, invocation in enumerate(self.invocations):
            first.setdefault(invocation, number)
        starts = list(first.values())
        done = max((found.end for found in self.ranges), default=-1)
        answered: set[str] = set()
        new: list[int] = []
        for number, (start, end) in enumerate(pairwise(starts)):
            answered |= _answer_ids(self.events[start:end])
            new += [number] if end - 1 > done else []
            if len(new) < interval:
                continue
            begin = starts[max(0, new[0] - overlap)]
            closed = self._self_contained_end(begin, end, answered, self.invocations[end - 1])
            if begin < closed and self._summarize(begin, closed, ()):
                done = closed - 1
                new = [invocation for invocation in new if starts[invocation + 1] - 1 > done]

    def assemble(self) -> list[Message]:
        """The context: events that no summary stands for, and each summary where its range ends."""
        ends = {found.end: found.message for found in self.ranges}
        left = list(self.apart)
        for number, event in enumerate(self.events):
            if number in ends:
                left.append(ends[number])
            elif number not in self.covered:
                left += [message for message in event if id(message) in self.here]
        return left

    def _self_contained_end(self, start: int, end: int, answered: set[str], newest: int) -> int:
        """The end of the longest run of events from ``start`` whose calls are all answered in it, or never will be."""
        closed = _balanced_end(self.events, start, end, frozenset())
        if closed == end or (closed > start and self.invocations[closed - 1] != self.invocations[closed]):
            return closed
        dead = frozenset(
            id
            for number in range(start, end)
            if self.invocations[number] != newest
            for id in _call_ids(self.events[number]) - answered
        )
        return max(closed, _balanced_end(self.events, start, end, dead)) if dead else closed

    def _summarize(self, start: int, end: int, seed: Sequence[_Range]) -> bool:
        """Add the summary of events, and of the summary before them; False where it could not save anything."""
        first = seed[0].start if seed else start
        n_kept = len(self.ranges)
        while n_kept and self.ranges[n_kept - 1].start >= first:
            n_kept -= 1
        inside = self.ranges[n_kept:]
        saved = sum(_chars(self.events[number]) for number in range(start, end) if number not in self.covered)
        saved += sum(_chars([found.message]) for found in inside) - len(EMPTY_SUMMARY)
        if saved <= sum(_chars([found.message]) for found in self.ranges[-1:]):
            return False
        span = [found.message for found in seed] + [m for event in self.events[start:end] for m in event]
        text = self.history.summarize(self._request(span))
        made = _Range(first, end - 1, Message("assistant", text, covers=stands_for(span)))
        self.ranges[n_kept:] = [made]
        self.covered.update(made.events)
        self.is_changed = True
        return True

    def _request(self, span: Sequence[Message]) -> SummaryRequest:
        prompt = instructions(
            self.history, "adk_compaction", (), self.summary_tokens, material={"events": render_events(span)}
        )
        shown = tuple(self._shorten(message) for message in span)
        return SummaryRequest((Message("user", prompt),), shown, (), max_tokens=self.summary_tokens)

    def _shorten(self, message: Message) -> Message:
        if message.role != "tool" or len(message.text) <= TOOL_CHARS:
            return message
        return make_once(self.history.counter, with_text, message, cut_head(message.text, TOOL_CHARS, CUT_MARK))


def render_events(messages: Iterable[Message]) -> str:
    """Messages as the summariser is shown them: a line for each thought, text, call and result."""
    lines = []
    for message in messages:
        if message.role == "tool":
            result = cut_head(str({"result": message.text}), TOOL_CHARS, CUT_MARK)
            lines.append(f"Tool response from {message.tool_name}: {result}")
            continue
        author = "model" if message.seq is None else "agent" if message.role == "assistant" else "user"
        lines += [f"{author} (thought): {message.reasoning}"] if message.reasoning else []
        lines += [f"{author}: {message.text}"] if message.text else []
        for call in message.tool_calls:
            lines.append(f"{author} called tool: {call.name}({cut_head(str(call.parsed()), TOOL_CHARS, CUT_MARK)})")
    return "\n".join(lines)


def _events(messages: Iterable[Message], summarised: set[int]) -> list[Event]:
    """The messages one by one, and results that follow each other together, but not across the end of a summary."""
    events: list[Event] = []
    for message in messages:
        last = events[-1][-1] if events else None
        if last and last.role == message.role == "tool" and (last.seq in summarised) == (message.seq in summarised):
            events[-1].append(message)
        else:
            events.append([message])
    return events


def _invocations(events: Sequence[Event]) -> list[int]:
    """The number of each event's invocation."""
    numbers: list[int] = []
    for event in events:
        begins = event[0].role in ("user", "system")
        numbers.append((numbers[-1] if numbers else 0) + begins)
    return numbers


def _surviving(ranges: Sequence[_Range]) -> list[_Range]:
    """Leave out ranges within another, and of equal ones all but the latest; the order stays."""
    kept: set[int] = set()
    furthest = -1
    for number, found in sorted(enumerate(ranges), key=lambda item: (item[1].start, -item[1].end, -item[0])):
        if found.end > furthest:
            kept.add(number)
            furthest = found.end
    return [found for number, found in enumerate(ranges) if number in kept]


def _call_ids(event: Event) -> set[str]:
    return {call.id for message in event for call in message.tool_calls if call.id}


def _answer_ids(events: Iterable[Event]) -> set[str]:
    return {m.tool_call_id for event in events for m in event if m.role == "tool" and m.tool_call_id}


def _balanced_end(events: Sequence[Event], start: int, end: int, dead: frozenset[str]) -> int:
    """The end of the longest run of events from ``start`` after which no call is open."""
    closed, open_ids = start, set[str]()
    for number in range(start, end):
        open_ids -= _answer_ids(events[number : number + 1])
        open_ids |= _call_ids(events[number]) - dead
        closed = closed if open_ids else number + 1
    return closed


def _safe_split(events: Sequence[Event], retention: int) -> int:
    """Count the events to summarise, so that no result that stays loses its call."""
    unmatched: set[str] = set()
    for number in range(len(events) - 1, -1, -1):
        unmatched |= _answer_ids(events[number : number + 1])
        unmatched -= _call_ids(events[number])
        if not unmatched and number <= len(events) - retention:
            return number
    return 0


def _chars(event: Event) -> int:
    """Characters of an event's content as JSON: the measure of the original."""
    parts: list[dict[str, Any]] = []
    for message in event:
        if message.role == "tool":
            response = {"id": message.tool_call_id, "name": message.tool_name, "response": {"result": message.text}}
            parts.append({"function_response": {k: v for k, v in response.items() if v is not None}})
            continue
        parts += [{"text": message.reasoning, "thought": True}] if message.reasoning else []
        parts += [{"text": message.text}] if message.text else []
        parts += [{"function_call": {"id": c.id, "args": c.parsed(), "name": c.name}} for c in message.tool_calls]
    role = "model" if event[0].role == "assistant" else "user"
    return len(json.dumps({"parts": parts, "role": role}, ensure_ascii=False, separators=(",", ":"))) if parts else 0
