"""The model calls of an Inspect sample, out of its events.

Every call has its whole prompt, inline or as ranges in a pool of messages. Messages get numbers, so that prompts can
be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from flows.sources.formats.inspect._messages import Attachments, visible_text
from flows.sources.reading.base import BAD_CONTENT, MalformedError, Record, kind_of
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.decode import dumps
from flows.sources.reading.values import as_dict, as_list, first_text, need_list, need_object, nested, text_or_none

MOST_REPEATED = 500_000_000
"""Messages over the prompts of all calls of a sample: 20,000 turns, each with all before. Takes some seconds."""
_DEEPEST = 50


@dataclass
class ModelCall:
    """One call of a model."""

    prompt: list[int]
    answer: int | None
    ref: str
    time: str | None
    role: str | None
    agent: str | None
    """Name of the innermost agent, sub-task or tool that made it."""
    is_scorer: bool
    usage: Any
    model: str | None
    other_answers: int = 0


@dataclass
class Compaction:
    """Inspect's own note that it compacted a conversation."""

    kind: str | None
    role: str | None
    tokens_before: Any
    trigger: str | None


@dataclass
class Table:
    """Messages by number."""

    attachments: Attachments
    messages: list[Record] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    changed: int = 0
    """Later versions of a message that say something else; the first one counts."""
    _by_id: dict[str, int] = field(default_factory=dict)
    _by_digest: dict[bytes, int] = field(default_factory=dict)
    _versions: set[tuple[int, str]] = field(default_factory=set)

    def number(self, message: Any) -> int:
        """The number of a message, the same for every copy of it.

        By its id, or by what it says: older logs (2024) have no ids, and a pool holds equal messages once, under the
        id of the first.

        Raises:
            MalformedError: It is no message.
        """
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise MalformedError(f"a message is {kind_of(message)}, expected an object with a role")
        own = text_or_none(message.get("id"))
        found = self._by_id.get(own) if own is not None else None
        if found is not None:
            if self.messages[found] is not message and self.messages[found] != message:
                self._compare(found, message)
            return found
        number = self._by_digest.setdefault(self._digest(message), len(self.messages))
        if number == len(self.messages):
            self.messages.append(message)
        if own is not None:
            self._by_id[own] = number
        return number

    def text(self, number: int) -> str:
        """The text of a message."""
        if number not in self.texts:
            self.texts[number] = self.text_of(self.messages[number])
        return self.texts[number]

    def text_of(self, message: Record) -> str:
        """The text of a message that may have another version."""
        try:
            return visible_text(message, self.attachments)
        except BAD_CONTENT:
            return ""

    def role(self, number: int) -> str:
        """The role of a message."""
        role: str = self.messages[number]["role"]
        return role

    def _digest(self, message: Record) -> bytes:
        kept = [message.get(key) for key in ("role", "content", "tool_calls", "tool_call_id")]
        said = dumps(self.attachments.within(kept))
        return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=16).digest()

    def _compare(self, number: int, message: Record) -> None:
        text = self.text_of(message)
        if text != self.text(number) and (number, text) not in self._versions:
            self._versions.add((number, text))
            self.changed += 1


class SampleEvents:
    """The events of a sample, in order."""

    def __init__(self, sample: Record, table: Table, where: str) -> None:
        self.table = table
        self.where = where
        self.problems: dict[tuple[str, str], Any] = {}
        """(reason, how it begins) → what cannot be used, once however often it is repeated."""
        self.tool_times: dict[str, str] = {}
        self.began: str | None = None
        self._spans: dict[str, tuple[str | None, str, str | None]] = {}
        self._open_scorers = 0
        self._repeated = 0
        self._pool = [self._pooled(message) for message in as_list(nested(sample, "events_data", "messages"))]
        self._has_gaps = None in self._pool

    def _pooled(self, message: Any) -> int | None:
        try:
            return self.table.number(message)
        except BAD_CONTENT as error:
            self._problem(str(error), message)
            return None

    def _problem(self, reason: str, value: Any) -> None:
        self.problems.setdefault((reason, dumps(value)[:200]), value)

    def walk(self, events: Any, path: str = "events", depth: int = 0, agent: str | None = None) -> Iterator[Any]:
        """The calls and compactions; ``problems`` has what cannot be used."""
        for index, event in enumerate(as_list(events)):
            ref = f"{path}.{index}"
            try:
                found = self._take(event, ref, agent)
            except BAD_CONTENT as error:
                self._problem(f"{ref}: {error}", event)
                continue
            if found is not None:
                yield found
            nested = event.get("events")
            if nested and depth < _DEEPEST:  # before spans, what a sub-task or tool did stood inside its event
                name = first_text(event.get("agent"), event.get("name"), agent)
                yield from self.walk(nested, ref, depth + 1, name)

    def _take(self, event: Any, ref: str, agent: str | None) -> ModelCall | Compaction | None:
        event = need_object(event, "an event")
        kind = event.get("event")
        self.began = self.began or iso_time(event.get("timestamp"))
        if kind == "model":
            return self._call(event, ref, agent)
        if kind == "compaction":
            what, trigger = text_or_none(event.get("type")), text_or_none(nested(event, "metadata", "trigger"))
            return Compaction(what, text_or_none(event.get("role")), event.get("tokens_before"), trigger or what)
        if kind == "span_begin":
            self._spans[str(event.get("id"))] = (
                text_or_none(event.get("parent_id")),
                str(event.get("type")),
                text_or_none(event.get("name")),
            )
        elif kind == "step" and event.get("type") == "scorer":
            self._open_scorers = max(0, self._open_scorers + (1 if event.get("action") == "begin" else -1))
        elif kind == "tool":
            time = iso_time(event.get("completed") or event.get("timestamp"))
            if time:
                self.tool_times[str(event.get("id"))] = time
        return None

    def _call(self, event: Record, ref: str, agent: str | None) -> ModelCall:
        name, is_scorer = self._place(event.get("span_id"))
        output = as_dict(event.get("output"))
        choices = output.get("choices")
        answers = [choice.get("message") for choice in choices if isinstance(choice, dict)] if choices else []
        prompt = self._prompt(event)
        answer = self._pooled(answers[0]) if answers else None
        return ModelCall(
            prompt=prompt,
            answer=answer,
            ref=f"{self.where}#{ref}",
            time=iso_time(event.get("completed") or event.get("timestamp")),
            role=text_or_none(event.get("role")),
            agent=name or agent,
            is_scorer=is_scorer or self._open_scorers > 0,
            usage=output.get("usage"),
            model=first_text(output.get("model"), event.get("model")),
            other_answers=max(0, len(answers) - 1),
        )

    def _prompt(self, event: Record) -> list[int]:
        inline, ranges = event.get("input"), event.get("input_refs")
        if inline or not ranges:
            inline = need_list(inline, "the input of a model event")
            return [number for message in inline if (number := self._pooled(message)) is not None]
        prompt: list[int | None] = []
        for first, end in ranges:
            if first < 0 or end < first:
                raise MalformedError(f"a range of messages from {first} to {end}")
            prompt += self._pool[first:end]
            self._repeated += min(end, len(self._pool)) - first
            if self._repeated > MOST_REPEATED:
                raise MalformedError(f"prompts of more than {MOST_REPEATED:,} messages in all: not read further")
        return [number for number in prompt if number is not None] if self._has_gaps else cast("list[int]", prompt)

    def conversation(self, messages: list[Any]) -> list[tuple[int, int, Record]]:
        """(number, position, message) of every message of a sample; ``problems`` has what is no message."""
        found: list[tuple[int, int, Record]] = []
        for index, message in enumerate(messages):
            try:
                found.append((self.table.number(message), index, message))
            except BAD_CONTENT as error:
                self._problem(f"message {index}: {error}", message)
        return found

    def _place(self, span: Any) -> tuple[str | None, bool]:
        """The name of the innermost agent around a call, and whether a scorer is around it."""
        name: str | None = None
        for _ in range(_DEEPEST):
            parent, kind, own = self._spans.get(str(span), (None, "", None))
            if kind in ("scorer", "scorers"):
                return own, True
            if name is None and kind in ("agent", "tool", "subtask", "handoff"):
                name = own
            if parent is None:
                break
            span = parent
        return name, False
