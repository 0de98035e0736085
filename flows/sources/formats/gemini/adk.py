"""Sessions of Google's Agent Development Kit: events with contents of the Gemini API, as JSON or in its SQLite files.

A compaction is an event with the summary of a span of time; summaries of other spans stay beside it. A rewind is an
event that takes back all from the first event of an invocation on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.gemini._parts import camel, parts_of, sort_parts
from flows.sources.formats.gemini._turns import Turns
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.database import Database
from flows.sources.reading.session import BOOKKEEPING, REWOUND, MessageDraft
from flows.sources.reading.stored import StoredSession, columns, decode_value, read_each, seconds, shown, sql_time
from flows.sources.reading.values import as_dict, as_list, need_object, text_or_none

NAME = "adk"
_LIST = "select rowid, id, update_time from sessions order by rowid"
_EVENTS = """
select event.rowid, {} from events as event
join sessions as session using (app_name, user_id) where session.rowid = ? and session.id = event.session_id
order by event.timestamp, event.rowid
"""
_JSON = ("event_data", "content", "usage_metadata")
_COLUMNS = (*_JSON, "author", "invocation_id", "timestamp")


def detect(head: Head) -> bool:
    """Whether the file has the tables, a session or an event of ADK."""
    events = head.tables.get("events", "")
    if "invocation_id" in events and "app_name" in head.tables.get("sessions", ""):
        return True
    return any(_is_event(value) or _is_session(value) for value in head.values(5))


def _is_event(value: Any) -> bool:
    found = camel(as_dict(value))
    return {"author", "invocationId", "actions"} <= found.keys() and isinstance(found["actions"], dict)


def _is_session(value: Any) -> bool:
    found = camel(as_dict(value))
    return {"appName", "userId"} <= found.keys() and isinstance(found.get("events"), list)


def read(source: Source) -> Iterator[Transcript]:
    """The sessions, one by one; events that stand in none are one together."""
    if source.database is not None:
        yield from read_each(source, NAME, _list_sessions, _read_session)
        return
    loose = _Reading(source)
    for where, ref, value in source.values(1):
        if not _is_session(value):
            loose.add(where, ref, value)
            continue
        reading = _Reading(source)
        for index, event in enumerate(value["events"]):
            reading.add(where, f"{ref}#{index}", event)
        yield from reading.build(text_or_none(value.get("id")))
    if loose.spans or loose.turns.session.left_out:
        yield from loose.build(None)


def _list_sessions(database: Database) -> Iterator[StoredSession]:
    with database.snapshot() as select:
        met: Counter[str] = Counter()
        for row, own, updated in select(_LIST):
            met[str(own)] += 1  # ids are an app's and a user's own
            name = str(own) if met[str(own)] == 1 else f"{own}-{met[str(own)]}"
            yield StoredSession(name, True, seconds(updated), str(row))


def _read_session(source: Source, database: Database, listed: StoredSession) -> list[Transcript]:
    reading = _Reading(source)
    with database.snapshot() as select:
        query = _EVENTS.format(columns(select, "events", _COLUMNS, _JSON))
        for number, *values in select(query, int(listed.table)):
            row = dict(zip(_COLUMNS, values, strict=True))
            ref = f"{source.name}#{number}"
            with source.setting_aside(None, ref, shown(row["event_data"] or row["content"])):
                held = {name: decode_value(row[name]) for name in _JSON if row[name] is not None}
                older = {"author": row["author"], "invocation_id": row["invocation_id"], "actions": {}}
                event = held.get("event_data", {**held, **older, "timestamp": sql_time(row["timestamp"])})
                reading.add(None, ref, event)
    return reading.build(listed.id)


@dataclass
class _Span:
    """A summary and the span of time that it replaces."""

    start: float
    end: float
    text: str
    at: int
    """Messages of the session before it."""


class _Reading:
    def __init__(self, source: Source) -> None:
        self.turns = Turns(source)
        self.spans: list[tuple[float, MessageDraft]] = []
        """Each message with the time of its event."""
        self.begins: dict[str, int] = {}
        """Invocation → how many messages there were before its first event."""
        self.summaries: list[_Span] = []

    def add(self, where: int | None, ref: str, event: Any) -> None:
        """Takes an event; one that cannot be used is set aside."""
        source = self.turns.source
        with source.setting_aside(where, ref, event):
            self._take(where, ref, camel(need_object(event, "an event")))

    def _take(self, where: int | None, ref: str, event: Record) -> None:
        session = self.turns.session
        before = len(session.drafts)
        actions, time = camel(as_dict(event.get("actions"))), seconds(event.get("timestamp"))
        invocation = text_or_none(event.get("invocationId"))
        if invocation is not None:
            self.begins.setdefault(invocation, before)
        rewound = text_or_none(actions.get("rewindBeforeInvocationId"))
        if rewound is not None and rewound in self.begins:
            self._rewind(self.begins[rewound])
        elif isinstance(actions.get("compaction"), dict):
            self._compact(camel(actions["compaction"]))
        elif event.get("partial") is True or not isinstance(event.get("content"), dict):
            session.leave_out(BOOKKEEPING)
        else:
            content = event["content"]
            parts = [_without_nulls(part) for part in as_list(content.get("parts"))]
            self.turns.ref = ref
            used = camel(as_dict(event.get("usageMetadata")))
            turn = {"role": content.get("role"), "parts": parts, "timestamp": event.get("timestamp")}
            self.turns.take(where, {**turn, "usageMetadata": used})
            session.model = text_or_none(event.get("modelVersion")) or session.model
        self.spans += [(time, draft) for draft in session.drafts[before:]]

    def _rewind(self, to: int) -> None:
        self.turns.session.take_back(to, REWOUND)
        self.turns.session.leave_out(BOOKKEEPING)
        del self.spans[to:]
        self.summaries = [one for one in self.summaries if one.at <= to]

    def _compact(self, compaction: Record) -> None:
        """The messages of the span leave; summaries of spans within it do, too."""
        session = self.turns.session
        start, end = seconds(compaction.get("startTimestamp")), seconds(compaction.get("endTimestamp"))
        text = sort_parts(parts_of(compaction.get("compactedContent"))).text
        self.summaries = [one for one in self.summaries if not start <= one.start <= one.end <= end]
        self.summaries.append(_Span(start, end, text, len(session.drafts)))
        self.summaries.sort(key=lambda one: one.end)
        kept = [time for time, _ in self.spans if not any(one.start <= time <= one.end for one in self.summaries)]
        session.compacted(
            summary="\n".join(one.text for one in self.summaries),
            dropped=[draft for time, draft in self.spans if start <= time <= end] if end else None,
            summary_at=sum(time < end for time in kept),
        )

    def build(self, native: str | None) -> list[Transcript]:
        """Builds the session."""
        return self.turns.session.build(NAME, native)


def _without_nulls(part: Any) -> Any:
    return {key: value for key, value in part.items() if value is not None} if isinstance(part, dict) else part


FORMAT = SourceFormat(
    NAME,
    "sessions of Google's Agent Development Kit: a session or events as JSON, or its SQLite files",
    "events with `invocationId`, `author` and `actions`; the tables `events` and `sessions` with `app_name`",
    detect,
    read,
    order=118,
    shared_suffixes=(".db",),
)
