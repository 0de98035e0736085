"""Reads the data that the pages of ``view`` ask for from the newest database of a store.

Sessions come as packs (``flows.reporting.html.detail``) that also say which session they are of.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeVar

import duckdb

from compaction import Transcript
from flows.database.query_variables import with_variables
from flows.database.ready_queries import ready_queries
from flows.database.scores_db import INNER, connect, list_relations
from flows.database.sql_model import sql_text
from flows.reporting.html.detail import Pack, PointReader, PointRows, message_item
from flows.reporting.html.figures import Figures, Row, load_figures
from flows.reporting.html.formats import format_short
from flows.reporting.html.page import live_page
from flows.reporting.html.visible import MOST_CHARS_READ, show_invisible
from flows.reporting.query_result import run_query
from flows.reporting.text_tables import Rows, fetch_rows, plain_cell
from flows.sessions.session_parts import SessionInfo, load_session, read_parts
from flows.store.store import Store
from flows.support.errors import EvalError

MOST_ROWS = 1_000
"""Rows of a query, and sessions of a method, that a page shows."""
MOST_SECONDS = 30.0
"""How long a query of the reader's own may take."""
MOST_IN_LIST = 240
"""Characters of a message in the list of a history; opened, it is asked for in full."""
MOST_OPENED = 2_000_000
"""Characters of a message that was opened."""
MOST_EXACT = 2**53
"""The largest whole number that a script knows exactly; larger ones are shown as texts."""
MOST_KEPT = 4
"""Sessions, and points, that stay in memory, since the next click is mostly on the same one."""
NIGHTS = "FROM nights ORDER BY 1 DESC"


Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass
class OpenDatabase:
    """A database as it was when it was opened, and what was made of it since."""

    connection: duckdb.DuckDBPyConnection
    stamp: tuple[int, int, int]
    store: Store
    figures: dict[str, Figures] = field(default_factory=dict)
    pages: dict[str, bytes] = field(default_factory=dict)
    transcripts: dict[str, Transcript] = field(default_factory=dict)
    points: dict[tuple[str, str], list[Row]] = field(default_factory=dict)
    """Judge and session → the session's points; the last ones that were asked for, as in all of these."""
    rows: dict[tuple[str, str], PointRows] = field(default_factory=dict)
    """Judge and point → the rows of the point."""

    @cached_property
    def infos(self) -> dict[str, SessionInfo]:
        """The metadata of each stored session by its id."""
        return {info.session_id: info for part in read_parts(self.store) for info in part.sessions}

    def figures_of(self, judge: str) -> Figures:
        """The figures of a judge by name or id; blank is the one with the most scored answers."""
        if judge not in self.figures:
            found = load_figures(self.connection, judge or None, sessions=False)
            self.figures[judge] = self.figures[found.judge["judge_id"]] = found  # by its id the page asks from then on
        return self.figures[judge]

    def transcript(self, info: SessionInfo) -> Transcript:
        """The messages of a session."""
        return _remembered(self.transcripts, info.session_id, lambda: load_session(self.store, info))

    def points_of(self, figures: Figures, session: str) -> list[Row]:
        """The points of a session with a scored question."""
        values = {"judge_id": figures.judge["judge_id"], "session_id": session}

        def read() -> list[Row]:
            with with_variables(self.connection, values):
                rows = fetch_rows(self.connection, sql_text("queries/report", "session_points")).dicts()
            return [{**row, "session_id": session} for row in rows]

        return _remembered(self.points, (values["judge_id"], session), read)

    def rows_of(self, figures: Figures, point: str) -> PointRows:
        """All rows of a point."""
        reader = PointReader(self.connection, self.store, figures, [point])
        return _remembered(self.rows, (figures.judge["judge_id"], point), lambda: reader.rows_of(point))


def _remembered(kept: dict[Key, Value], key: Key, make: Callable[[], Value]) -> Value:
    """The value of a key, from the last ``MOST_KEPT`` that were asked for or made anew."""
    found = kept.pop(key) if key in kept else make()
    kept[key] = found  # the last one is the newest
    while len(kept) > MOST_KEPT:
        del kept[next(iter(kept))]
    return found


class LiveStore:
    """A store as the pages ask for it. One question is answered at a time, and all of them only read.

    The reader's own queries do not hold up the others: they have a connection of their own, one after the other.

    Args:
        store: The store.
        judge: A judge's name or the beginning of its id, of whom the figures are where the page names none.
        language: ``en`` or ``zh``.
    """

    def __init__(self, store: Store, judge: str | None = None, language: str = "en") -> None:
        self._store, self._judge, self._language = store, judge or "", language
        self._lock, self._query_lock = threading.Lock(), threading.Lock()
        self._opened: OpenDatabase | None = None

    @contextmanager
    def reading(self, judge: str = "") -> Iterator[tuple[OpenDatabase, Figures]]:
        """The newest database and a judge's figures, while nobody else asks it. Raises UsageError, StoreError."""
        with self._lock:
            opened = self._open()
            yield opened, opened.figures_of(judge or self._judge)

    def prepare(self) -> None:
        """Make the page ahead of the browser, and read what the first click needs of all sessions ahead of that."""
        with suppress(EvalError):  # the page says it
            self.page()
        read_parts(self._store)
        self._store.compactions.dataset()

    def page(self, judge: str = "") -> bytes:
        """Make the page of a judge. Raises UsageError where nothing is scored, StoreError without a database."""
        with self.reading(judge) as (opened, figures):
            judge_id = figures.judge["judge_id"]
            if judge_id not in opened.pages:
                opened.pages[judge_id] = live_page(self._store, figures, self._language)
            return opened.pages[judge_id]

    def sessions(self, judge: str, method: str, other: str, find: str) -> Row:
        """The sessions of a method with its means there beside another's, ``MOST_ROWS`` at most."""
        with self.reading(judge) as (opened, figures):
            values = {"judge_id": figures.judge["judge_id"], "method": method, "other": other, "find": find}
            with with_variables(opened.connection, values):
                found = fetch_rows(opened.connection, sql_text("queries/report", "method_sessions"), MOST_ROWS).dicts()
        rows = [{**_session(row), "mean": row["mean"], "other_mean": row["other_mean"]} for row in found]
        return {"sessions": rows, "n_sessions": found[0]["n_sessions"] if found else 0}

    def session(self, judge: str, session: str) -> Row | None:
        """A session's points with their questions and scores; None for an unknown one."""
        with self.reading(judge) as (opened, figures):
            points = opened.points_of(figures, session)
            if not points:
                return None
            pack = Pack(session, Transcript(session, ()))
            reader = PointReader(opened.connection, self._store, figures, [row["point_id"] for row in points])
            reader.questions(pack, points)
            return {**pack.body(), "session": _session(points[0])}

    def timeline(self, judge: str, session: str) -> Row | None:
        """What a session is over time; None for an unknown one, or one whose messages are gone."""
        with self.reading(judge) as (opened, figures):
            points = opened.points_of(figures, session)
            if not points or session not in opened.infos:
                return None
            pack = Pack(session, opened.transcript(opened.infos[session]))
            PointReader(opened.connection, self._store, figures, []).over_time(pack)
            return {**pack.body(), "session": _session(points[0]), "cycles": [row["cycle"] for row in points]}

    def point(self, judge: str, session: str, cycle: int, contexts: Collection[int]) -> Row | None:
        """One point, with the contexts of the methods at these places of the leaderboard.

        None for an unknown one, or one of a session whose messages are gone.
        """
        with self.reading(judge) as (opened, figures):
            points = opened.points_of(figures, session)
            found = next((row for row in points if row["cycle"] == cycle), None)
            if found is None or session not in opened.infos:
                return None
            pack = Pack(session, opened.transcript(opened.infos[session]))
            point = found["point_id"]
            rows = {point: opened.rows_of(figures, point)}
            reader = PointReader(opened.connection, self._store, figures, [], MOST_IN_LIST, contexts, rows)
            if not reader.add(pack, point, opened.infos[session]):
                return None
            cycles = [row["cycle"] for row in points]
            return {**pack.body(), "session": _session(found), "cycles": cycles}

    def message(self, session: str, seq: int) -> Row | None:
        """One message of a history in full; None for an unknown one."""
        with self._lock:
            opened = self._open()
            if session not in opened.infos:
                return None
            messages = opened.transcript(opened.infos[session]).messages
            if not 0 <= seq < len(messages):
                return None
            pack = Pack(session, Transcript(session, ()))
            pack.messages.append(message_item(pack.texts, messages[seq], MOST_OPENED))
            return pack.body()

    def query(self, sql: str) -> Row:
        """The rows of a reader's own query, ``MOST_ROWS`` at most, as text.

        It has a connection of its own: what it leaves there is gone with it. Raises UsageError where it cannot be run.
        """
        with self._query_lock, connect(self._store.database) as connection:
            begun = time.perf_counter()
            rows = run_query(connection, sql, MOST_ROWS + 1, self._store, MOST_SECONDS)
            return _result(rows, time.perf_counter() - begun)

    def nights(self) -> Row:
        """The nights of the store, the last one first."""
        with self._lock:
            begun = time.perf_counter()
            rows = fetch_rows(self._open().connection, NIGHTS, MOST_ROWS + 1)
            return _result(rows, time.perf_counter() - begun)

    def relations(self) -> Row:
        """List the tables and views with their comments, and the ready queries."""
        with self._lock:
            found = list_relations(self._open().connection)
        return {
            "relations": [[name, comment or ""] for name, _, comment in found if not name.startswith(INNER)],
            "queries": [[query.title, query.question, query.sql] for query in ready_queries().values()],
        }

    def _open(self) -> OpenDatabase:
        """The database, opened anew where another one has taken its place."""
        path = self._store.database
        seen = path.stat() if path.is_file() else None
        stamp = (seen.st_ino, seen.st_mtime_ns, seen.st_size) if seen else (0, 0, 0)
        if self._opened is None or self._opened.stamp != stamp:
            connection = connect(path)
            if self._opened is not None:
                self._opened.connection.close()
            self._opened = OpenDatabase(connection, stamp, self._store)
        return self._opened


def _result(rows: Rows, seconds: float) -> Row:
    shown = [[_cell(value) for value in row] for row in rows.values[:MOST_ROWS]]
    return {"names": rows.names, "rows": shown, "has_more": len(rows.values) > MOST_ROWS, "seconds": seconds}


def _session(row: Row) -> dict[str, Any]:
    return {
        "id": row["session_id"],
        "title": format_short(row["title"] or row["session_id"]),
        "format": row["source_format"],
        "work": show_invisible(row["task_type"] or "–"),
        "n_points": row.get("n_points"),
    }


def _cell(value: Any) -> Any:
    """A value as JSON can say it and a table shows it."""
    if isinstance(value, Decimal):
        return float(value)
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) <= MOST_EXACT):
        return value
    return show_invisible(plain_cell(value))[:MOST_CHARS_READ]
