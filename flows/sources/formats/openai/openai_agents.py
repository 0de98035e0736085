"""Sessions that OpenAI's Agents SDK stores in SQLite: items of the Responses API, a row each.

A session with branches (``AdvancedSQLiteSession``) has the rows of all of them; the branch that was written to last
is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, Source, SourceFormat
from flows.sources.reading.database import Database, Select
from flows.sources.reading.responses import Items
from flows.sources.reading.session import REWOUND, SessionDraft
from flows.sources.reading.stored import StoredSession, decode_value, read_each, seconds, shown, sql_time
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import need_object

NAME = "openai_agents"
_LIST = "select session_id, updated_at from agent_sessions order by rowid"
_ITEMS = """
select id, cast(message_data as blob), created_at from agent_messages where session_id = ? order by id
"""
_BRANCHES = "select message_id, branch_id from message_structure where session_id = ? order by id"
_USED = "select input_tokens, output_tokens from turn_usage where session_id = ? order by id"


def detect(head: Head) -> bool:
    """Whether the file has the tables of the SDK."""
    return "agent_sessions" in head.tables and "message_data" in head.tables.get("agent_messages", "")


def read(source: Source) -> Iterator[Transcript]:
    """The sessions of the database, one by one."""
    return read_each(source, NAME, _list_sessions, _read_session)


def _list_sessions(database: Database) -> Iterator[StoredSession]:
    with database.snapshot() as select:
        for own, updated in select(_LIST):
            yield StoredSession(str(own), True, seconds(updated))


def _read_session(source: Source, database: Database, listed: StoredSession) -> list[Transcript]:
    session = SessionDraft(source)
    items = Items(session)
    with database.snapshot() as select:
        left = _left_rows(select, database.tables, listed.id)
        for number, data, created in select(_ITEMS, listed.id):
            ref, start = f"{source.name}#{number}", len(session.drafts)
            if number in left:
                items.end_response()
            with source.setting_aside(None, ref, shown(data)):
                items.take(need_object(decode_value(data), "an item"), ref, sql_time(created))
            if number in left:
                items.end_response()
                session.take_back(start, REWOUND)
        if "turn_usage" in database.tables:
            for used in select(_USED, listed.id):
                session.use(None, make_usage(*used))
    return session.build(NAME, listed.id)


def _left_rows(select: Select, tables: Mapping[str, str], own: str) -> set[Any]:
    """The rows of a session that only other branches have than the one that was written to last."""
    if "message_structure" not in tables:
        return set()
    rows = list(select(_BRANCHES, own))
    return {row for row, _ in rows} - {row for row, branch in rows if branch == rows[-1][1]}


FORMAT = SourceFormat(
    NAME,
    "sessions that OpenAI's Agents SDK stores in SQLite (`SQLiteSession`, `SQLAlchemySession`)",
    "the tables `agent_sessions` and `agent_messages` with `message_data`",
    detect,
    read,
    order=116,
    shared_suffixes=(".db", ".sqlite", ".sqlite3"),
)
