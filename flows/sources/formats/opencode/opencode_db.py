"""opencode's database: all sessions of a machine in one SQLite file, which opencode may be writing to.

opencode 1 has them in ``session``, ``message`` and ``part``; what is in ``data`` is what ``opencode export`` prints,
but for the ids, which are columns. opencode 2 copies them into ``session_v2`` and ``session_message``, leaves the old
rows, and writes to the new tables only (packages/core/src/session/sql.ts). No other table is read: some have
credentials in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.opencode._reading import Placed, Reading
from flows.sources.formats.opencode._version2 import SWITCHES, Reading2, as_exported
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.database import DamagedError, Database, Select
from flows.sources.reading.decode import loads_line
from flows.sources.reading.session import BOOKKEEPING
from flows.sources.reading.values import need_object

NAME = "opencode_db"
OTHER_TABLES = "row of the other version's tables"
_VERSION_1, _VERSION_2 = {"session", "message", "part"}, {"session_v2", "session_message"}
_LIST = "select id, parent_id, time_updated from {} order by rowid"
_COUNT = "select count(*) from {} where session_id = ?"
_SESSION = "select title, directory, parent_id, time_created, time_updated from {} where id = ?"
_MESSAGES = "select id, cast(data as blob) from message where session_id = ? order by time_created, id"
_PARTS = """
select part.message_id, part.id, cast(part.data as blob) from message join part on part.message_id = message.id
where message.session_id = ? order by part.id
"""
_MESSAGES_2 = "select id, type, cast(data as blob) from session_message where session_id = ? order by seq"


@dataclass(frozen=True, slots=True)
class _Session:
    id: str
    table: str
    is_root: bool
    updated: Any


def detect(head: Head) -> bool:
    """Whether it is a database with the tables of one of the two versions."""
    return any(version <= set(head.tables) for version in (_VERSION_1, _VERSION_2))


def read(source: Source) -> Iterator[Transcript]:
    """The sessions one by one, those of sub-agents too; a damaged one is passed over."""
    assert source.database is not None
    sessions, broken = _list_sessions(source.database)
    damaged = 0
    for session in sessions if source.input.only is None else _find(sessions, source.input.only):
        try:
            found = _read_session(source, source.database, session)
        except DamagedError as error:
            damaged, broken = damaged + 1, str(error)
            continue
        yield from found
        if found and source.input.only is not None:
            break
    if broken:
        left_out = f"{damaged:,} of the {len(sessions):,} sessions found in it are left out"
        source.quarantine(None, f"the database cannot be read whole ({broken}): {left_out}")


def _list_sessions(database: Database) -> tuple[list[_Session], str]:
    """Each session, in the newer of the tables that have it, and why the list is not whole."""
    found: dict[str, _Session] = {}
    try:
        for table in [table for table in ("session", "session_v2") if table in database.tables]:
            with database.snapshot() as select:
                for own, parent, updated in select(_LIST.format(table)):
                    found[own] = _Session(own, table, not parent, updated)
    except DamagedError as error:
        return list(found.values()), str(error)
    return list(found.values()), ""


def _find(sessions: list[_Session], only: str) -> list[_Session]:
    """The session of an id; without one those that are no sub-agent's, the newest first."""
    if only:
        named = [session for session in sessions if session.id == only.removeprefix(f"{NAME}-")]
        if not named:
            raise MalformedError(f"no session {only!r} among {len(sessions):,}")
        return named
    return sorted((one for one in sessions if one.is_root), key=lambda one: _number(one.updated), reverse=True)


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) else 0


def _read_session(source: Source, database: Database, session: _Session) -> list[Transcript]:
    with database.snapshot() as select:
        info = _describe(select, session)
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


def _describe(select: Select, session: _Session) -> Record:
    for title, directory, parent, created, updated in select(_SESSION.format(session.table), session.id):
        time = {"created": created, "updated": updated}
        return {"id": session.id, "title": title, "directory": directory, "parentID": parent, "time": time}
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
        with source.setting_aside(None, ref, _shown(data)):
            info = {**_decode(data), "id": own, "sessionID": session}
            parts[own] = []
            placed.append((None, {"info": info, "parts": parts[own]}, ref))
    for message, own, data in select(_PARTS, session):
        with source.setting_aside(None, f"{source.name}#{own}", _shown(data)):
            part = {**_decode(data), "id": own, "sessionID": session, "messageID": message}
            parts.get(message, []).append(part)
    return placed


def _messages_2(source: Source, select: Select, session: str) -> list[Placed]:
    """The messages of version 2; None in the place of those that the model was not given."""
    placed: list[Placed] = []
    for own, kind, data in select(_MESSAGES_2, session):
        ref = f"{source.name}#{own}"
        with source.setting_aside(None, ref, _shown(data)):
            message = None if kind in SWITCHES else as_exported(own, kind, _decode(data))
            placed.append((None, message, ref))
    return placed


def _decode(data: Any) -> Record:
    values, reason, _ = loads_line(data, at_most=1)
    if reason or not values:
        raise MalformedError(reason or "nothing in it")
    return need_object(values[0], "data")


def _shown(data: Any) -> str:
    return data[:4_000].decode("utf-8", "replace") if isinstance(data, bytes) else str(data)


FORMAT = SourceFormat(
    NAME,
    "opencode's database (`opencode.db`), read while opencode has it open",
    "a SQLite file with the tables `session`, `message` and `part`, or `session_v2` and `session_message`",
    detect,
    read,
    order=132,
    suffixes=(),
    shared_suffixes=(".db",),
)
