"""opencode's database: all sessions of a machine in one SQLite file, which opencode may be writing to.

opencode 1 has them in ``session``, ``message`` and ``part``; what is in ``data`` is what ``opencode export`` prints,
but for the ids, which are columns. opencode 2 copies them into ``session_v2`` and ``session_message``, leaves the old
rows, and writes to the new tables only (packages/core/src/session/sql.ts). No other table is read: some have
credentials in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.opencode._reading import FORKED_FROM, Placed, Reading
from flows.sources.formats.opencode._version2 import SWITCHES, Reading2, as_exported
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.database import Database, Select
from flows.sources.reading.session import BOOKKEEPING
from flows.sources.reading.stored import StoredSession, decode_value, number, read_each, shown
from flows.sources.reading.values import need_object

NAME = "opencode_db"
OTHER_TABLES = "row of the other version's tables"
_VERSION_1, _VERSION_2 = {"session", "message", "part"}, {"session_v2", "session_message"}
_LIST = "select id, parent_id, time_updated from {} order by rowid"
_COUNT = "select count(*) from {} where session_id = ?"
_SESSION = "select title, directory, parent_id, {}, time_created, time_updated from {} where id = ?"
_ORIGIN = "fork_session_id"
"""The column with the session that one was forked from; opencode 1 has none."""
_MESSAGES = "select id, cast(data as blob) from message where session_id = ? order by time_created, id"
_PARTS = """
select part.message_id, part.id, cast(part.data as blob) from message join part on part.message_id = message.id
where message.session_id = ? order by part.id
"""
_MESSAGES_2 = "select id, type, cast(data as blob) from session_message where session_id = ? order by seq"


def detect(head: Head) -> bool:
    """Whether the file is a database with the tables of one of the two versions."""
    return any(version <= set(head.tables) for version in (_VERSION_1, _VERSION_2))


def read(source: Source) -> Iterator[Transcript]:
    """The sessions one by one, those of sub-agents too; a damaged one is passed over."""
    return read_each(source, NAME, _list_sessions, _read_session)


def _list_sessions(database: Database) -> Iterator[StoredSession]:
    """Yield each session; one in both tables comes again, from the newer table."""
    for table in [table for table in ("session", "session_v2") if table in database.tables]:
        with database.snapshot() as select:
            for own, parent, updated in select(_LIST.format(table)):
                yield StoredSession(own, not parent, number(updated), table)


def _read_session(source: Source, database: Database, session: StoredSession) -> list[Transcript]:
    with database.snapshot() as select:
        info = _describe(select, database, session)
        is_new = session.table == "session_v2"
        others = _count(select, database, "message" if is_new else "session_message", session.id)
        placed = _messages_2(source, select, session.id) if is_new else _messages_1(source, select, session.id)
    if not is_new and others and not placed:
        with database.snapshot() as select:  # previews of version 2 had its messages under the old sessions
            placed, others, is_new = _messages_2(source, select, session.id), 0, True
    reading = (Reading2 if is_new else Reading)(source, info, NAME)
    reading.session.leave_out(OTHER_TABLES, count=others)
    reading.session.leave_out(BOOKKEEPING, count=sum(message is None for _, message, _ in placed))
    return reading.read([one for one in placed if one[1] is not None])


def _describe(select: Select, database: Database, session: StoredSession) -> Record:
    column = _ORIGIN if _ORIGIN in database.tables[session.table] else "null"
    query = _SESSION.format(column, session.table)
    for title, directory, parent, origin, created, updated in select(query, session.id):
        ties = {"parentID": parent, FORKED_FROM: origin}
        time = {"created": created, "updated": updated}
        return {"id": session.id, "title": title, "directory": directory, **ties, "time": time}
    return {"id": session.id}  # removed since it was listed


def _count(select: Select, database: Database, table: str, session: str) -> int:
    if table not in database.tables:
        return 0
    return sum(count for (count,) in select(_COUNT.format(table), session))


def _messages_1(source: Source, select: Select, session: str) -> list[Placed]:
    placed: list[Placed] = []
    parts: dict[str, list[Record]] = {}
    for own, data in select(_MESSAGES, session):
        ref = f"{source.name}#{own}"
        with source.setting_aside(None, ref, shown(data)):
            info = {**_decode(data), "id": own, "sessionID": session}
            parts[own] = []
            placed.append((None, {"info": info, "parts": parts[own]}, ref))
    for message, own, data in select(_PARTS, session):
        with source.setting_aside(None, f"{source.name}#{own}", shown(data)):
            part = {**_decode(data), "id": own, "sessionID": session, "messageID": message}
            parts.get(message, []).append(part)
    return placed


def _messages_2(source: Source, select: Select, session: str) -> list[Placed]:
    """The messages of version 2; None in the place of those that the model was not given."""
    placed: list[Placed] = []
    for own, kind, data in select(_MESSAGES_2, session):
        ref = f"{source.name}#{own}"
        with source.setting_aside(None, ref, shown(data)):
            message = None if kind in SWITCHES else as_exported(own, kind, _decode(data))
            placed.append((None, message, ref))
    return placed


def _decode(data: Any) -> Record:
    return need_object(decode_value(data), "data")


FORMAT = SourceFormat(
    NAME,
    "opencode's database (`opencode.db`), read while opencode has it open",
    "a SQLite file with the tables `session`, `message` and `part`, or `session_v2` and `session_message`",
    detect,
    read,
    order=132,
    suffixes=(),
    shared_suffixes=(".db",),
    version=2,
)
