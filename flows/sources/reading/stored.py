"""Sessions of an agent's SQLite file: which are read, one by one, and what a damaged file leaves of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import MalformedError, Source
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.database import DamagedError, Database, Select
from flows.sources.reading.decode import loads_line
from flows.support.clock import utc_time

_OF_SQLITE = re.compile(r"[\d-]{10} [\d:.]+")


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in the list of a database."""

    id: str
    is_root: bool
    """Whether no other session started it."""
    updated: float
    """When it was written to last, in any unit."""
    table: str = ""
    """The table that has it, where there are several."""


def read_each(
    source: Source,
    name: str,
    list_sessions: Callable[[Database], Iterator[StoredSession]],
    read_one: Callable[[Source, Database, StoredSession], list[Transcript]],
) -> Iterator[Transcript]:
    """The sessions one by one, those of sub-agents too; a damaged one is passed over. Where one is wanted, that one.

    Args:
        source: The database.
        name: Name of the format.
        list_sessions: Gives the sessions; of two with one id the later one counts.
        read_one: Reads one session. What it gives is empty when nothing was said.
    """
    assert source.database is not None
    found: dict[str, StoredSession] = {}
    broken, damaged = "", 0
    try:
        for session in list_sessions(source.database):
            found[session.id] = session
    except DamagedError as error:
        broken = str(error)
    sessions = list(found.values())
    for session in sessions if source.input.only is None else _find(sessions, source.input.only, name):
        try:
            transcripts = read_one(source, source.database, session)
        except DamagedError as error:
            damaged, broken = damaged + 1, str(error)
            continue
        yield from transcripts
        if transcripts and source.input.only is not None:
            break
    if broken:
        left_out = f"{damaged:,} of the {len(sessions):,} sessions found in it are left out"
        source.quarantine(None, f"the database cannot be read whole ({broken}): {left_out}")


def _find(sessions: Sequence[StoredSession], only: str, name: str) -> Sequence[StoredSession]:
    """The session of an id; without one those that are no sub-agent's, the newest first."""
    if only:
        named = [session for session in sessions if session.id == only.removeprefix(f"{name}-")]
        if not named:
            raise MalformedError(f"no session {only!r} among {len(sessions):,}")
        return named
    return sorted((one for one in sessions if one.is_root), key=lambda one: one.updated, reverse=True)


def number(value: Any) -> float:
    """The value if it is a number, else 0."""
    return value if isinstance(value, (int, float)) else 0


def sql_time(value: Any) -> str | None:
    """A time of a column as ISO 8601: SQLite's own form is in UTC, without a sign that says so."""
    text = iso_time(value)
    return text.replace(" ", "T") + "Z" if text and _OF_SQLITE.fullmatch(text) else text


def seconds(value: Any) -> float:
    """The seconds since the epoch of such a time, 0 where it is none."""
    time = utc_time(sql_time(value))
    return time.replace(tzinfo=UTC).timestamp() if time else 0


def columns(select: Select, table: str, wanted: Sequence[str], as_blob: Sequence[str] = ()) -> str:
    """The columns for a ``select``; null in the place of those that an older version's table has not."""
    known = {name for (name,) in select("select name from pragma_table_info(?)", table)}
    names = (f"cast({name} as blob)" if name in as_blob else name for name in wanted)
    return ", ".join(shown if name in known else "null" for name, shown in zip(wanted, names, strict=True))


def decode_value(data: Any) -> Any:
    """The JSON value of a column, which is read as a blob.

    Raises:
        MalformedError: There is none in it.
    """
    values, reason, _ = loads_line(data, at_most=1)
    if reason or not values:
        raise MalformedError(reason or "nothing in it")
    return values[0]


def shown(data: Any) -> str:
    """The beginning of a column for people, when it cannot be read."""
    return data[:4_000].decode("utf-8", "replace") if isinstance(data, bytes) else str(data)
