"""Contents of the Gemini API: files of Gemini CLI's ``/chat save``, and requests to ``generateContent``.

Results are in turns of the user (or of the role ``function``). History compression rewrites ids: a result is paired by
its id, else with the first open call of its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.gemini._parts import CONTENT_KEYS
from flows.sources.formats.gemini._turns import ROLES, Turns
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.kinds import says_kind
from flows.sources.reading.values import as_list, first_text, nested, objects_in, text_or_none

NAME = "gemini_contents"
_WRAPPERS = ("contents", "history", "messages")
_ID_KEYS = ("sessionId", "session_id", "conversation_id", "id")


def detect(head: Head) -> bool:
    """Whether there are turns: a role and a list of parts without a type."""
    return any(_is_turn(value) or _wrapped_turns(value) is not None for value in head.values(5))


def _is_turn(value: Any) -> bool:
    parts = nested(value, "parts")
    if not isinstance(parts, list) or value.get("role", "user") not in ROLES:
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
    reading = Turns(source)
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
