"""Contents of the Gemini API: what Gemini CLI saves with ``/chat save``, and what programs send to ``generateContent``.

Results are in turns of the user (or of the role ``function``). History compression rewrites ids: a result is paired by
its id, else with the first open call of its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.gemini._parts import CONTENT_KEYS, Turn, is_context, is_snapshot, parts_of, sort_parts
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.kinds import says_kind
from flows.sources.reading.session import SessionDraft
from flows.sources.reading.usage import make_usage, sum_counts
from flows.sources.reading.values import (
    as_dict,
    as_list,
    first_text,
    int_or_none,
    need_object,
    nested,
    objects_in,
    text_or_none,
)

NAME = "gemini_contents"
_ROLES = {"user", "model", "function", "tool", "system"}
_WRAPPERS = ("contents", "history", "messages")
_ID_KEYS = ("sessionId", "session_id", "conversation_id", "id")


def detect(head: Head) -> bool:
    """Whether there are turns: a role and a list of parts without a type."""
    return any(_is_turn(value) or _wrapped_turns(value) is not None for value in head.values(5))


def _is_turn(value: Any) -> bool:
    parts = nested(value, "parts")
    if not isinstance(parts, list) or value.get("role", "user") not in _ROLES:
        return False
    return any("type" not in part and not CONTENT_KEYS.isdisjoint(part) for part in objects_in(parts))


def _knows(value: Any) -> bool:
    """Whether a value is a turn, holds turns, or says no kind."""
    return not isinstance(value, dict) or "parts" in value or "role" in value or not says_kind(value)


def _wrapped_turns(value: Any) -> list[Any] | None:
    """The turns of an object that holds them under one of the known keys."""
    for key in _WRAPPERS:
        turns = as_list(nested(value, key))
        if any(map(_is_turn, turns[:5])):
            return turns
    return None


def read(source: Source) -> Iterator[Transcript]:
    """One session for a list of turns, each wrapper, and all turns on lines of their own together."""
    document = source.document
    if isinstance(document, list):
        if any(map(_is_turn, document[:5])):
            yield from _session(source, {}, document, source.name, 1)
            return
        for index, value in enumerate(document):
            yield from _wrapper(source, value, f"{source.name}#{index}", 1)
        return
    loose: list[tuple[int, Any, str]] = []
    for where, record in source.records():
        ref = source.name if document is not None else source.ref(where)
        if any(key in record for key in _WRAPPERS):
            yield from _wrapper(source, record, ref, where)
        else:
            loose.append((where, record, ref))
    if loose:
        yield from _build(source, {}, loose)


def _wrapper(source: Source, value: Any, ref: str, line: int) -> Iterator[Transcript]:
    turns = _wrapped_turns(value)
    if turns is None:
        turns = next((value[key] for key in _WRAPPERS if isinstance(value, dict) and key in value), None)
    if not isinstance(turns, list):
        source.quarantine(line, f"{ref}: expected an object with a list of turns", value)
        return
    yield from _session(source, value, turns, ref, line)


def _session(source: Source, about: Record, turns: list[Any], ref: str, line: int) -> Iterator[Transcript]:
    yield from _build(source, about, [(line, turn, f"{ref}#{index}") for index, turn in enumerate(turns)])


def _build(source: Source, about: Record, placed: list[tuple[int, Any, str]]) -> Iterator[Transcript]:
    reading = _Reading(source)
    reading.about(about, placed[0][2] if placed else source.name)
    for at, (line, turn, ref) in enumerate(placed):
        reading.ref, reading.follows = ref, placed[at + 1][1] if at + 1 < len(placed) else None
        source.guard(reading.take, line, turn)
    session = reading.session
    session.model = text_or_none(about.get("model")) or session.model
    session.title = text_or_none(about.get("title"))
    yield from session.build(NAME, first_text(*map(about.get, _ID_KEYS)))
    if not session.drafts and not placed:
        source.quarantine(None, "a list of no turns", about)


class _Reading:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.ref = source.name
        self.follows: Any = None
        self.open: dict[str, list[str]] = {}
        """Name of a tool → its calls that have no result, the first first."""
        self.names: dict[str, str] = {}
        """Id of an open call → its tool."""

    def about(self, about: Record, ref: str) -> None:
        """The system prompt, where the request has one."""
        for holder in (about, as_dict(about.get("config"))):
            for key in ("systemInstruction", "system_instruction"):
                if holder.get(key):
                    self.source.guard(lambda _, value: self._system(value["prompt"], ref), 1, {"prompt": holder[key]})
                    return

    def _system(self, prompt: Any, ref: str) -> None:
        text = sort_parts(parts_of(prompt)).text
        if text:
            self.session.say("system", text, ref)

    def take(self, where: int, turn: Any) -> None:
        turn = need_object(turn, "a turn")
        role = turn.get("role") or "user"
        if "parts" not in turn and "role" not in turn:
            self.session.leave_unknown(turn)
            return
        if role not in _ROLES:
            raise MalformedError(f"role is {role!r}, expected user, model, function or system")
        time = iso_time(turn.get("timestamp") or turn.get("createTime"))
        sorted_ = sort_parts(parts_of(turn.get("parts", turn.get("content"))), streamed=role == "model")
        for part in sorted_.unknown:
            self.source.quarantine(where, f"{self.ref}: a part of an unknown kind", part)
        if role == "model":
            self._model(sorted_, turn, time)
        elif role == "system":
            self.session.say("system", sorted_.text, self.ref, time)
        else:
            self._user(sorted_, time)

    def _model(self, turn: Turn, record: Record, time: str | None) -> None:
        session = self.session
        draft = session.respond(None, self.ref, time)
        draft.add_text(turn.text)
        for thought in turn.thoughts:
            draft.add_reasoning(thought)
        for call in turn.calls:
            own = session.call(draft, call.id, call.name, call.arguments)
            name = str(call.name or "")
            self.open.setdefault(name, []).append(own)
            self.names[own] = name
        self._results(turn, time)
        used = as_dict(record.get("usageMetadata"))
        output = sum_counts(int_or_none(used.get(key)) for key in ("candidatesTokenCount", "thoughtsTokenCount"))
        session.use(None, make_usage(used.get("promptTokenCount"), output, used.get("cachedContentTokenCount")))

    def _user(self, turn: Turn, time: str | None) -> None:
        self._results(turn, time)
        text = turn.text
        if turn.responses and not text:
            return
        if is_snapshot(text, _answer(self.follows)):
            # What the summary took the place of is not in the log: none of its messages left.
            self.session.compacted(summary=text, dropped=(), summary_at=len(self.session.drafts))
            return
        self.session.say("user", text, self.ref, time, typed=not is_context(text))

    def _results(self, turn: Turn, time: str | None) -> None:
        for response in turn.responses:
            own, name = text_or_none(response.id), str(response.name or "")
            if own is None or own not in self.names:
                waiting = self.open.get(name)
                own = waiting[0] if waiting else own
            if own in self.names:
                self.open[self.names[own]].remove(own)
                del self.names[own]
            self.session.result(
                own, response.text, self.ref, time, is_error=response.is_error, name=text_or_none(response.name)
            )


def _answer(turn: Any) -> str | None:
    if not isinstance(turn, dict) or turn.get("role") != "model" or not isinstance(turn.get("parts"), list):
        return None
    return sort_parts(turn["parts"], streamed=True).text


FORMAT = SourceFormat(
    NAME,
    "Gemini API contents: a JSON list of turns, an object with `contents`, `history` or `messages`, or JSON lines",
    "turns with a role of user or model and a list of `parts`",
    detect,
    read,
    order=170,
    version=3,
    knows=_knows,
    of_list=lambda turns: {"contents": turns},
)
