"""OpenHands V0: the condensers of openhands-ai 0.62.0 that forget events.

Its history is a view of events: a message is one, and so is each call of a message; the leading system messages are
one together. Of a call the summarisers are shown what the original shows of a tool of an MCP server, because it has
classes for its own tools alone. What stays is what it would send: a call only with all of its results, a result only
with its call, and in front the system prompt and, where no user message stands there, the first one of the session.
``mask_openhands_v0`` is of the same family.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compaction.groups import declarations
from compaction.markers import Marker, headings
from compaction.model import Section, SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.openhands_events import Event, events_of
from compaction.strategies.shared.originals import cut_middle
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_text, without_reasoning
from compaction.strategies.shared.requests import instructions
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History, StrategyError
from compaction.transcript import Message

PEER = "openhands-ai"
VERSION = "0.62.0"

TOKENS_PER_ID = 8
"""Room in the answer of a summariser that puts events in order."""

GROUPS = {
    "Core Information": (
        Section("User Context", ("intent",), "What the user requires, wants and has made clear, in short."),
        Section("Completed Tasks", ("decisions",), "Tasks done so far, each with what came of it."),
        Section("Pending Tasks", ("next_steps",), "Tasks still to be done."),
        Section("Current State", ("state",), "Variables, data structures and whatever else is the state now."),
    ),
    "Code Changes": (
        Section("Files Modified", ("files",), "Files that were created or modified."),
        Section("Function Changes", ("details",), "Functions that were created or modified."),
        Section("Data Structures", (), "The main data structures in use or modified."),
        Section("Dependencies", (), "Dependencies or imports that were added or modified."),
    ),
    "Testing Status": (
        Section("Tests Written", (), "Whether there are tests for the changes: true, false or unknown."),
        Section("Tests Passing", (), "Whether all tests pass now: true, false or unknown."),
        Section("Failing Tests", (), "Names or descriptions of tests that fail."),
        Section("Error Messages", ("errors",), "The main error messages that were met."),
    ),
    "Version Control": (
        Section("Branch Created", (), "Whether a branch was made for this work: true, false or unknown."),
        Section("Branch Name", (), "The name of the branch, if known."),
        Section("Commits Made", (), "Whether there are commits: true, false or unknown."),
        Section("PR Created", (), "Whether there is a pull request: true, false or unknown."),
        Section("PR Status", (), "Whether it is a draft, open, merged, closed, or unknown."),
    ),
    "Additional Context": (
        Section("Other Relevant Context", (), "Whatever else is important and fits into none of the above."),
    ),
}
SECTIONS = tuple(section for group in GROUPS.values() for section in group)
TITLE = "# State Summary"
TRUNCATED = "\n[... Observation truncated due to length ...]\n"

_TITLES = "|".join(section.title for section in SECTIONS)
_FIELD = re.compile(
    rf"^[ \t]*(?:#+[ \t]*|\d+[.)][ \t]*)?\**({_TITLES})\**[ \t]*(?::\**[ \t]*|$)",
    re.MULTILINE | re.IGNORECASE,
)
"""A heading, in the forms in which models write one, and in that of the original's fields."""
_GROUP = re.compile(rf"\n\n## (?:{'|'.join(GROUPS)})(?=\n\n\*\*)")

MARKERS = (
    *(Marker(line, place="line", made=True) for line in (TITLE, *(f"## {group}" for group in GROUPS))),
    *headings(SECTIONS),
)


@strategy(
    "openhands_v0_recent",
    every_turn=True,
    peer=PEER,
    peer_version=VERSION,
    variants=({"max_events": 10},),
    by_default=False,
    bites={"max_events": 4},
)
def openhands_v0_recent(history: History, *, keep_first: int = 1, max_events: Positive = 100) -> Sequence[Message]:
    """The first ``keep_first`` events, and the last ones up to ``max_events`` together.

    100 is the configuration's default, the class's own is 10. Where all events fit the original shows the first ones
    twice, and where only the first ones fit all events and these twice; here everything stays.
    """
    view, first = _view(history, keep_first)
    n_last = max_events - keep_first
    if n_last <= 0 or len(view) <= max_events:
        return history.messages
    return _select_sent(history, view[:keep_first], view[-n_last:], first)


@strategy(
    "openhands_v0_amortized", peer=PEER, peer_version=VERSION, by_default=False, bites={"max_size": 6, "keep_first": 1}
)
def openhands_v0_amortized(
    history: History, *, max_size: Positive = 100, keep_first: int = 1, forced: bool = True
) -> Sequence[Message]:
    """The first ``keep_first`` events and the last ones, half of ``max_size`` together.

    A point is a condensation request; with ``forced`` off nothing is done up to ``max_size``. The configuration's
    default is 1, the class's own is 0. The original stops with an error where there is nothing to forget.
    """
    view, first = _view(history, keep_first)
    n_last = _half(max_size, keep_first) - len(view[:keep_first])
    if len(view) <= (max_size // 2 if forced else max_size):
        return history.messages
    return _select_sent(history, view[:keep_first], view[-n_last:], first)


@strategy(
    "openhands_v0_llm_attention",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    by_default=False,
    bites={"max_size": 6, "keep_first": 1},
)
def openhands_v0_llm_attention(
    history: History, *, max_size: Positive = 100, keep_first: int = 1, forced: bool = True
) -> Sequence[Message]:
    """The first ``keep_first`` events and those that a model ranks highest, half of ``max_size`` together.

    The model puts all events in the order of how much they matter for the next step; where it names too few the newest
    fill up. A point is a condensation request; with ``forced`` off nothing is done up to ``max_size``. An answer
    that is no list of numbers, as that of the embedded engine, names none (flag ``no_ranking``); the original stops
    with an error.
    """
    view, first = _view(history, keep_first)
    n_chosen = _half(max_size, keep_first) - len(view[:keep_first])
    if not view or not (forced or len(view) > max_size):
        return history.messages
    items = "\n".join(f"<ID>{n}</ID>\n<CONTENT>{_content(event)}</CONTENT>" for n, event in enumerate(view))
    prompt = (
        Message("system", instructions(history, "openhands_v0_llm_attention", (), 0)),
        Message("user", f"<events>\n{items}\n</events>\n\nPut the identifiers in order now."),
    )
    span = tuple(without_reasoning(history, message) for message in _messages(view))
    ranked = _read_ids(history.summarize(SummaryRequest(prompt, span, (), max_tokens=TOKENS_PER_ID * len(view))))
    if ranked is None:
        history.flag("no_ranking")
    chosen = [id for id in ranked or () if id >= keep_first or id < 0][:n_chosen]
    known = set(chosen)
    newest = [number for number in range(len(view) - 1, -1, -1) if number not in known]
    known.update(newest[: n_chosen - len(chosen)])
    if known.issuperset(range(keep_first, len(view))):
        return history.messages
    return _select_sent(
        history, view[:keep_first], [e for n, e in enumerate(view) if n >= keep_first and n in known], first
    )


@strategy(
    "openhands_v0_structured",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    by_default=False,
    markers=MARKERS,
    bites={"max_size": 8, "keep_first": 1},
)
def openhands_v0_structured(
    history: History,
    *,
    max_size: Positive = 100,
    keep_first: int = 1,
    max_event_length: Positive = 10_000,
    summary_tokens: Positive = SUMMARY_TOKENS,
    forced: bool = True,
) -> Sequence[Message]:
    """The first ``keep_first`` events, a state of eighteen fields, and the last, half of ``max_size`` together.

    The state is a user message; an earlier one is updated. An event is shown with at most ``max_event_length``
    characters. A point is a condensation request; with ``forced`` off nothing is done up to ``max_size``. The fields
    are asked for as sections, in the original as the arguments of a tool; what stands before the first section is
    further context. The original goes on with empty fields where the model calls no tool.
    """
    view, first = _view(history, keep_first)
    start = next((n for n, event in enumerate(view) if _is_state(event.message)), None)
    head = view[:keep_first] if start is None else view[:start]
    earlier = [] if start is None else [view[start]]
    n_last = _half(max_size, keep_first) - min(keep_first, len(head)) - 1
    tail = view[-n_last:] if n_last else view
    gone = view[len(head) + len(earlier) : -n_last] if n_last else []
    stays = {id(message) for message in _messages([*head, *tail])}
    if not (forced or len(view) > max_size) or all(id(event.message) in stays for event in gone):
        return history.messages
    previous = earlier[0].message.text if earlier else ""
    numbered = list(enumerate(gone, len(head) + len(earlier)))
    text = history.summarize(_state_request(history, numbered, previous, max_event_length, summary_tokens))
    covers = stands_for(_messages([*earlier, *gone]))
    return _select_sent(history, head, tail, first, Message("user", write_state(text), covers=covers))


def _half(max_size: int, keep_first: int) -> int:
    """Events that stay; there has to be room behind the first ones."""
    if keep_first >= max_size // 2:
        raise StrategyError(f"keep_first ({keep_first}) must be less than max_size // 2 ({max_size // 2})")
    return max_size // 2


def _view(history: History, keep_first: int) -> tuple[list[Event], Message | None]:
    """The events that a condenser is given, and the session's first user message where it is not gone.

    That message and the system prompt are no events of the view where they only stand in front again.
    """
    messages, said = history.messages, history.session
    prompt = system_prompt(said)
    place = next((n for n, message in enumerate(said) if message.role == "user" and message.seq is not None), None)
    first = None if place is None else next((m for m in messages if m.seq == said[place].seq), None)
    if _count_said(messages) < _count_said(said) or any(map(_is_state, messages)):
        n_before = bool(prompt) + sum(max(1, len(message.tool_calls)) for message in said[len(prompt) : place])
        apart = [
            *(prompt if keep_first == 0 else ()),
            *([first] if first is not None and n_before >= keep_first else ()),
        ]
        seqs = {message.seq for message in apart}
        messages = tuple(message for message in messages if message.seq is None or message.seq not in seqs)
    return events_of(history, messages, thinking_blocks=False), first


def _count_said(messages: Sequence[Message]) -> int:
    return sum(message.seq is not None for message in messages)


@dataclass(frozen=True)
class _Halves:
    """Calls and results by position, so that none is sent without the other."""

    answers: dict[int, list[int]]
    call_of: list[int | None]

    def is_whole(self, position: int, kept: set[int]) -> bool:
        """Whether a message is neither a call that lost a result nor a result of such a call or of none that stays."""
        call = self.call_of[position]
        call = position if call is None else call
        return call in kept and kept.issuperset(self.answers.get(call, ()))


def _halves(messages: Sequence[Message]) -> _Halves:
    call_of = declarations(messages)
    answers: dict[int, list[int]] = {}
    for position, call in enumerate(call_of):
        if call is not None:
            answers.setdefault(call, []).append(position)
    return _Halves(answers, call_of)


def _select_sent(
    history: History,
    head: Sequence[Event],
    tail: Sequence[Event],
    first: Message | None,
    summary: Message | None = None,
) -> Sequence[Message]:
    """Select what is sent of the events that stay: whole pairs, and in front the system prompt and a user message."""
    messages = history.messages
    place = {id(message): position for position, message in enumerate(messages)}
    front = [*system_prompt(messages), *_messages(event for event in head if event.kind != "system")]
    kept = {place[id(message)] for message in (*front, *_messages(tail))}
    halves = _halves(messages)
    sent = [position for position in sorted(kept) if halves.is_whole(position, kept)]
    end = place[id(front[-1])] if front else -1
    left = [messages[position] for position in sent]
    if summary is not None:
        left.insert(sum(position <= end for position in sent), summary)
    if first is not None and first not in left and not _begins_with_user([*head, *tail], summary, len(head)):
        before = [position for position in sent if position < place[id(first)]]
        left.insert(len(before) if summary is None else sum(position <= end for position in before), first)
    return left


def _begins_with_user(events: Sequence[Event], summary: Message | None, offset: int) -> bool:
    """Whether a message of the user's is what follows the system prompt; a summary stands at ``offset``."""
    number = int(bool(events) and events[0].kind == "system")
    if summary is not None and number >= offset:
        return False
    return number < len(events) and events[number].kind == "message" and events[number].message.role == "user"


def _messages(events: Iterable[Event]) -> list[Message]:
    """The messages of events, each once."""
    return list({id(message): message for event in events for message in event.messages}.values())


def _content(event: Event) -> str:
    """An event as the original shows it to a model that ranks."""
    if event.call is None:
        return "\n\n".join(message.text for message in event.messages)
    called = f"```\n{event.call.name}\n```\nand arguments:\n```\n{event.call.parsed()}\n```"
    return f"I am interacting with the MCP server with name:\n{called}"


def write_event(event: Event) -> str:
    """An event as the original writes it out for a model that summarises."""
    text = event.message.text
    if event.call is not None:
        thought = f"THOUGHT: {text}\n" if event.leads and text else ""
        return f"**MCPAction**\n{thought}NAME: {event.call.name}\nARGUMENTS: {event.call.parsed()}"
    if event.kind == "observation":
        kind = "<ObservationType.MCP: 'mcp'>"
        return f"MCPObservation(content={text!r}, observation={kind}, name={event.tool_name!r}, arguments={{}})"
    if event.kind == "system":
        return f"**SystemMessageAction** (source=EventSource.AGENT)\nCONTENT: {_content(event)}"
    source = {"user": "USER", "assistant": "AGENT"}.get(event.message.role, "ENVIRONMENT")
    return f"**MessageAction** (source=EventSource.{source})\nCONTENT: {text}"


def _read_ids(text: str) -> list[int] | None:
    """The numbers of an answer ``{"ids": [3, 1, 2]}``; None where it is none."""
    try:
        found = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except (ValueError, RecursionError):
        return None
    ids = found.get("ids") if isinstance(found, dict) else None
    is_list = isinstance(ids, list) and all(isinstance(id, int) and not isinstance(id, bool) for id in ids)
    return ids if is_list else None


def _is_state(message: Message) -> bool:
    return message.seq is None and message.text.startswith(TITLE)


def _state_request(
    history: History, gone: Sequence[tuple[int, Event]], previous: str, max_chars: int, max_tokens: int
) -> SummaryRequest:
    events = "\n".join(
        f"<EVENT id={number}>\n{cut_middle(write_event(event), max_chars, TRUNCATED)}\n</EVENT>"
        for number, event in gone
    )
    earlier = cut_middle(previous or "No events summarized", max_chars, TRUNCATED)
    prompt = (
        Message("system", instructions(history, "openhands_v0_structured", SECTIONS, max_tokens)),
        Message(
            "user", f"<PREVIOUS SUMMARY>\n{earlier}\n</PREVIOUS SUMMARY>\n\n<events>\n{events}\n</events>\n\nWrite."
        ),
    )
    span = tuple(_shown(history, message, max_chars) for message in _messages(e for _, e in gone))
    return SummaryRequest(prompt, span, SECTIONS, _as_sections(previous[:max_chars]), max_tokens)


def _shown(history: History, message: Message, max_chars: int) -> Message:
    said = without_reasoning(history, message)
    if len(said.text) <= max_chars:
        return said
    return make_once(history.counter, with_text, said, cut_middle(said.text, max_chars, TRUNCATED))


def write_state(text: str) -> str:
    """A summary in sections as the original writes its fields."""
    opening, bodies = _read_fields(text)
    *_, last = SECTIONS
    bodies[last.title] = "\n".join(part for part in (opening, bodies[last.title]) if part)
    blocks = [TITLE]
    for group, sections in GROUPS.items():
        blocks += [f"## {group}", *(f"**{section.title}**: {bodies[section.title]}" for section in sections)]
    return "\n\n".join(blocks)


def _as_sections(state: str) -> str:
    """A state's fields as sections again, for a summariser that is no language model."""
    _, bodies = _read_fields(_GROUP.sub("", state))
    return "\n\n".join(f"## {title}\n{body}" for title, body in bodies.items() if body)


def _read_fields(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the first field, and what stands in each, by title."""
    opening, *found = _FIELD.split(text)
    bodies = {section.title: "" for section in SECTIONS}
    titles = {title.lower(): title for title in bodies}
    for name, body in zip(found[::2], found[1::2], strict=True):
        title = titles[name.lower()]
        bodies[title] = "\n".join(part for part in (bodies[title], body.strip()) if part)
    return opening.strip(), bodies
