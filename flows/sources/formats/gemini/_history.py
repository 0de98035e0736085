"""The history of a Gemini CLI session, whose log rewrites messages, replaces them and takes them back.

A message is written again in full whenever it changes. ``$set.messages`` replaces the model's history by other
messages: after a compression, after old results were masked, after a turn that was taken back. Here every message is
kept; what left the history is recorded as compactions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flows.sources.formats.gemini._parts import (
    ACKNOWLEDGED,
    is_context,
    is_snapshot,
    parts_of,
    read_response,
    sort_parts,
)
from flows.sources.reading.base import Record
from flows.sources.reading.decode import dumps
from flows.sources.reading.values import nested, objects_in, text_or_none


@dataclass(eq=False)
class Entry:
    """One message: its latest record, and where it was met first."""

    own: str | None
    record: Record
    where: int
    ref: str
    is_rewound: bool = False

    @property
    def kind(self) -> Any:
        """``user``, ``gemini``, or what is for the screen."""
        return self.record.get("type")


@dataclass
class HistoryChange:
    """A replacement of the history after its first ``at`` messages."""

    at: int
    summary: str | None
    before: list[Entry]
    """Messages that stand before the summary."""
    dropped: list[Entry] | None
    masked: list[tuple[Entry, str, str]]
    """Message, id of its call, and the text that replaces the result."""
    tokens: Any = None


@dataclass
class GeminiHistory:
    """The messages in the order of their first appearance."""

    order: list[Entry] = field(default_factory=list)
    live: dict[str, Entry] = field(default_factory=dict)
    """The messages of the model's history by id."""
    changes: list[HistoryChange] = field(default_factory=list)
    snapshots: dict[str, HistoryChange] = field(default_factory=dict)
    """Id of a summary → what it is known to have changed, until the replacement that it is for comes."""
    told: set[str] = field(default_factory=set)
    """Ids of the summaries, and of the answers to them, that are done; the texts of those without an id."""
    acknowledged: int = 0
    """Answers to a summary that Gemini CLI wrote itself."""
    tokens: Any = None
    """Prompt tokens of the latest response."""

    def put(self, record: Record, where: int, ref: str) -> bool:
        """Adds a message or a new version of a known one; returns whether it is new."""
        own = _own(record)
        if record.get("type") == "user" and is_snapshot(text := text_of_content(record)):
            if (own or text) not in self.told:
                before = list(self.live.values())
                # Where no more than the machine was spoken of before, what left is not in this log.
                is_start = all(is_context(text_of_content(e.record)) for e in before if e.kind in ("user", "gemini"))
                stays = before if is_start else []
                change = HistoryChange(len(self.order), text, stays, [] if is_start else None, [], self.tokens)
                self.snapshots.setdefault(own or text, change)
                return True
            return False
        known = self.live.get(own) if own is not None else None
        if known is not None:
            known.record = {**known.record, **record}
        else:
            entry = Entry(own, dict(record), where, ref)
            self.order.append(entry)
            if own is not None:
                self.live[own] = entry
        self.tokens = nested(record, "tokens", "input") or self.tokens
        return known is None

    def update(self, own: Any, changes: Record) -> bool:
        """Changes some fields of a message; returns whether the message is known."""
        entry = self.live.get(own) if isinstance(own, str) else None
        if entry is None:
            return False
        for key, value in changes.items():
            held = entry.record.get(key)
            merges = isinstance(held, dict) and isinstance(value, dict)
            entry.record[key] = dict(held or {}, **value) if merges else value
        return True

    def rewind(self, own: Any) -> bool:
        """Takes back a message and all after it; returns whether the message is known."""
        ids = list(self.live)
        if own not in self.live:
            return False
        for gone in ids[ids.index(own) :]:
            self.live.pop(gone).is_rewound = True
        return True

    def replace(self, messages: list[Any], where: int, ref: str) -> None:
        """Replaces the model's history by other messages."""
        incoming = [message for message in messages if isinstance(message, dict)]
        if not self.order and not self.snapshots:
            for index, message in enumerate(incoming):
                self.put(message, where, f"{ref}#{index}")
            return
        named = {own for message in incoming if (own := _own(message)) is not None}
        gone = {own: e for own, e in self.live.items() if own not in named and e.kind in ("user", "gemini")}
        alike: dict[tuple[str, str, str], list[str]] = {}
        for own, old in reversed(gone.items()):
            alike.setdefault(_likeness(old.record), []).append(own)
        at, live = len(self.order), dict[str, Entry]()
        summary: str | None = None
        before: list[Entry] = []
        masked: list[tuple[Entry, str, str]] = []
        entry: Entry | None
        for index, message in enumerate(incoming):
            own_id = _own(message)
            text = text_of_content(message) if message.get("type") == "user" else None
            following = incoming[index + 1] if index + 1 < len(incoming) else {}
            entry = self.live.get(own_id) if own_id is not None else None
            if entry is None and text is not None and is_snapshot(text, text_of_content(following)):
                if (own_id or text) not in self.told:
                    self.told.add(own_id or text)
                    self.snapshots.pop(own_id or text, None)
                    summary, before = text, list(live.values())
                continue
            if entry is None and index and self._answers(message, incoming[index - 1]):
                continue
            if entry is None and gone and (same := alike.get(_likeness(message))):
                entry = gone.pop(same.pop())
            if entry is None:
                entry = Entry(own_id, dict(message), where, f"{ref}#{index}")
                self.order.append(entry)
            else:
                masked += [(entry, *one) for one in _masked_results(entry.record, message)]
            live[own_id or f"{ref}#{index}"] = entry
        on_screen = {own: e for own, e in self.live.items() if e.kind not in ("user", "gemini") and own not in live}
        self.live = {**live, **on_screen}
        if summary is not None or gone or masked:
            self.changes.append(HistoryChange(at, summary, before, list(gone.values()), masked, self.tokens))

    def _answers(self, message: Record, before: Record) -> bool:
        """Whether a message is the answer to a summary that Gemini CLI wrote itself."""
        if (_own(before) or text_of_content(before)) not in self.told:
            return False
        if text_of_content(message).strip() != ACKNOWLEDGED:
            return False
        name = _own(message) or f"answer to {_own(before)}"
        if name not in self.told:
            self.told.add(name)
            self.acknowledged += 1
        return True

    def finish(self) -> None:
        """Adds the summaries without a replacement to the changes."""
        self.changes = sorted([*self.changes, *self.snapshots.values()], key=lambda change: change.at)


def text_of_content(message: Record) -> str:
    """The visible text of a message, empty when it has none of the known shapes."""
    try:
        return sort_parts(parts_of(message.get("content")), streamed=message.get("type") == "gemini").text
    except ValueError:
        return ""


def calls_of(record: Record) -> list[Record]:
    """The calls that a message holds together with their results."""
    return objects_in(record.get("toolCalls"))


def result_of(call: Record) -> tuple[str, bool] | None:
    """The text of a call's result and whether it failed; None while there is none."""
    parts = parts_of(call.get("result"))
    if not parts:
        return None
    turn = sort_parts(parts)
    texts = [response.text for response in turn.responses]
    failed = any(response.is_error for response in turn.responses) or call.get("status") == "error"
    return "\n".join(filter(None, [*texts, turn.text])), failed


def _own(record: Record) -> str | None:
    return text_or_none(record.get("id"))


def _likeness(record: Record) -> tuple[str, str, str]:
    """The key that identifies a message whose id has changed."""
    names = [call.get("id") for call in calls_of(record)]
    return str(record.get("type")), text_of_content(record), dumps(names)


def _masked_results(old: Record, new: Record) -> list[tuple[str, str]]:
    """The calls whose result has changed, with the new text."""
    before = {call.get("id"): dumps(call.get("result")) for call in calls_of(old) if isinstance(call.get("id"), str)}
    found = []
    for call in calls_of(new):
        own = call.get("id")
        if isinstance(own, str) and own in before and before[own] not in ("null", "[]", dumps(call.get("result"))):
            responses = objects_in([nested(part, "functionResponse") for part in parts_of(call.get("result"))])
            mine = [part for part in responses if part.get("id") in (own, None)]
            if mine:
                found.append((own, read_response(mine[0]).text))
    return found
