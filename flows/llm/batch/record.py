"""The record of submitted batches and their results, which outlives every process.

One SQLite file. A batch is written down as ``intent`` before it is submitted, as ``submitted`` with the provider's id
after, and as ``ended`` together with all of its results, each in one durable transaction. A request is in at most one
batch; it goes when its answer is in the call cache. A lock of the operating system keeps two processes from
submitting the same requests, or from taking the same results, at the same time; it is gone when its holder is.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from compaction.model import ModelRequest
from flows.llm.batch.protocol import BatchLine, Intent
from flows.llm.cache.sqlite_wal import write_ahead
from flows.llm.clients.transport import CallFault
from flows.llm.settings import ModelSettings
from flows.support.atomic_files import open_in_place, refuse_planted
from flows.support.errors import StoreError

BUSY_SECONDS = 60.0
"""How long to wait for another process that writes."""

RequestState = Literal["pending", "result", "unusable", "unserved"]
"""``pending``: in a batch that has not ended. ``result``: the answer is here, and not yet in the call cache.
``unusable``: the model's answer cannot be used; a live call is made for it. ``unserved``: the model was not asked."""

CHUNK = 500
"""Keys of one query: below SQLite's limit of variables in every version."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (
  marker TEXT PRIMARY KEY, settings TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('intent', 'submitted', 'ended')),
  batch_id TEXT, size INTEGER NOT NULL, run_id TEXT NOT NULL, stage TEXT NOT NULL, created REAL NOT NULL, absent REAL,
  ended REAL, reason TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS requests (
  key TEXT PRIMARY KEY, marker TEXT NOT NULL REFERENCES batches (marker), item_id TEXT NOT NULL, state TEXT NOT NULL
  CHECK (state IN ('pending', 'result', 'unusable', 'unserved')), reason TEXT NOT NULL DEFAULT '', body BLOB,
  journaled INTEGER NOT NULL DEFAULT 0, max_tokens INTEGER NOT NULL, is_json INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_of_batch ON requests (marker);
"""


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One batch as it is written down."""

    marker: str
    settings: ModelSettings
    state: Literal["intent", "submitted", "ended"]
    batch_id: str | None
    size: int
    run_id: str
    """Of the run that submitted it."""
    stage: str
    created: float
    """Seconds since 1970."""
    ended: float | None
    """Seconds since 1970, when its results were taken over."""
    reason: str

    @property
    def intent(self) -> Intent:
        """The facts to find the batch at the provider."""
        return Intent(self.marker, self.created, self.size)

    @property
    def started_at(self) -> str:
        """The time of submission, ISO, UTC."""
        return datetime.fromtimestamp(self.created, UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Result:
    """A result of one request that is not in the call cache yet."""

    marker: str
    item_id: str
    outline: ModelRequest
    """Of the request, what is needed to read the answer by."""
    line: BatchLine
    journaled: bool
    """Whether its cost is in the journal already."""


class BatchStore:
    """The record of all batches of a store. Safe to use from several threads and processes."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            refuse_planted(folder / "batches.sqlite")
            self._db = sqlite3.connect(
                folder / "batches.sqlite", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            write_ahead(self._db, BUSY_SECONDS)
            # FULL: a submitted batch is money, and a transaction here is rare.
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise StoreError(f"{folder}: the record of batches cannot be opened: {reason}") from None
        self.folder = folder
        self._mutex = threading.RLock()

    def close(self) -> None:
        """Close the file."""
        with self._mutex:
            self._db.close()

    @contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the right to submit batches and to take results; ``waiting`` is called once if another has it."""
        try:
            lock = open_in_place(self.folder / ".lock")
        except OSError as error:
            raise StoreError(f"{self.folder}: batches cannot be submitted: {error.strerror}") from None
        with lock as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def add_intent(
        self,
        intent: Intent,
        settings: ModelSettings,
        items: Sequence[tuple[str, str, ModelRequest]],
        run_id: str,
        stage: str,
    ) -> None:
        """Write down that a batch of requests is about to be submitted: of each its key, item and outline."""
        with self._transaction() as db:
            db.execute(
                "INSERT INTO batches (marker, settings, state, size, run_id, stage, created) VALUES (?,?,?,?,?,?,?)",
                (intent.marker, json.dumps(asdict(settings)), "intent", intent.size, run_id, stage, intent.created),
            )
            # Only what no batch has an answer to can be here: left over from one that ended without.
            db.executemany(
                "INSERT INTO requests (key, marker, item_id, state, max_tokens, is_json) VALUES (?,?,?,'pending',?,?) "
                "ON CONFLICT (key) DO UPDATE SET marker=excluded.marker, item_id=excluded.item_id, state='pending', "
                "reason='' WHERE state='unserved'",
                [
                    (key, intent.marker, item_id, outline.max_tokens, outline.schema is not None)
                    for key, item_id, outline in items
                ],
            )

    def mark_submitted(self, marker: str, batch_id: str) -> None:
        """Write down the provider's id of a batch that it has taken."""
        with self._transaction() as db:
            db.execute("UPDATE batches SET state='submitted', batch_id=? WHERE marker=?", (batch_id, marker))

    def mark_absent(self, marker: str, now: float) -> float:
        """Seconds since the first time that a batch was looked for and not found, in whatever process."""
        with self._transaction() as db:
            db.execute("UPDATE batches SET absent=coalesce(absent, ?) WHERE marker=?", (now, marker))
            first: float = db.execute("SELECT absent FROM batches WHERE marker=?", (marker,)).fetchone()[0]
        return max(0.0, now - first)

    def release(self, marker: str) -> None:
        """Forget a batch that was certainly not taken: its requests can be submitted again."""
        with self._transaction() as db:
            db.execute("DELETE FROM requests WHERE marker=?", (marker,))
            db.execute("DELETE FROM batches WHERE marker=?", (marker,))

    def end(self, marker: str, lines: Iterable[BatchLine], reason: str) -> None:
        """Record the end of a batch with all its results; requests without a result are ``unserved``."""
        with self._transaction() as db:
            for line in lines:
                if line.served:
                    state, why = "result", ""
                    fault = [] if line.fault is None else [line.fault.kind, str(line.fault)]
                    packed = zlib.compress(json.dumps([line.body, *fault]).encode())
                else:
                    state, why, packed = "unserved", str(line.fault or reason), None
                db.execute(
                    "UPDATE requests SET state=?, reason=?, body=? WHERE key=? AND marker=? AND state='pending'",
                    (state, why, packed, line.key, marker),
                )
            db.execute(
                "UPDATE requests SET state='unserved', reason=? WHERE marker=? AND state='pending'",
                (reason or "the batch gave no result for it", marker),
            )
            db.execute(
                "UPDATE batches SET state='ended', ended=?, reason=? WHERE marker=?", (time.time(), reason, marker)
            )

    def settle(self, kept: Sequence[str], unusable: Sequence[tuple[str, str]], journaled: Sequence[str]) -> None:
        """Write down what became of results: now in the call cache, ``(key, reason)``, or only in the journal yet."""
        with self._transaction() as db:
            db.executemany("DELETE FROM requests WHERE key=?", [(key,) for key in kept])
            db.executemany(
                "UPDATE requests SET state='unusable', reason=?, body=NULL, journaled=1 WHERE key=?",
                [(reason, key) for key, reason in unusable],
            )
            db.executemany("UPDATE requests SET journaled=1 WHERE key=?", [(key,) for key in journaled])

    def batches(self, *states: str) -> list[BatchRecord]:
        """Batches in one of the states, oldest first."""
        marks = ",".join("?" * len(states))
        rows = self._rows(
            "SELECT marker, settings, state, batch_id, size, run_id, stage, created, ended, reason FROM batches "  # noqa: S608
            f"WHERE state IN ({marks}) ORDER BY created, marker",
            states,
        )
        return [BatchRecord(row[0], ModelSettings(**json.loads(row[1])), *row[2:]) for row in rows]

    def known_ids(self) -> set[str]:
        """The provider's ids of all batches on record."""
        return {row[0] for row in self._rows("SELECT batch_id FROM batches WHERE batch_id IS NOT NULL")}

    def keys(self, marker: str, *states: RequestState) -> list[str]:
        """The keys of a batch that are in one of the states."""
        marks = ",".join("?" * len(states))
        rows = self._rows(f"SELECT key FROM requests WHERE marker=? AND state IN ({marks})", (marker, *states))  # noqa: S608
        return [row[0] for row in rows]

    def states(self, keys: Sequence[str]) -> dict[str, tuple[str, str]]:
        """State (a ``RequestState``) and reason of every key that is on record."""
        return {row[0]: (row[1], row[2]) for row in self._among("SELECT key, state, reason FROM requests", keys)}

    def under_way(self) -> list[str]:
        """Keys that are in a batch which has not ended, or whose result is not in the call cache yet."""
        return [row[0] for row in self._rows("SELECT key FROM requests WHERE state IN ('pending', 'result')")]

    def items_under_way(self) -> list[str]:
        """Items of the calls that are under way."""
        return [row[0] for row in self._rows("SELECT item_id FROM requests WHERE state IN ('pending', 'result')")]

    def results(self, keys: Sequence[str]) -> dict[str, Result]:
        """The results for keys that are not in the call cache yet."""
        rows = self._among(
            "SELECT key, marker, item_id, max_tokens, is_json, body, journaled FROM requests",
            keys,
            "AND state='result'",
        )
        return {
            key: Result(
                marker, item_id, ModelRequest((), most, {} if is_json else None), _line(key, body), bool(journaled)
            )
            for key, marker, item_id, most, is_json, body, journaled in rows
        }

    def to_journal(self) -> list[str]:
        """Markers of batches with a result whose cost is not in the journal."""
        return [
            row[0] for row in self._rows("SELECT DISTINCT marker FROM requests WHERE state='result' AND journaled=0")
        ]

    def unjournaled(self, marker: str) -> list[str]:
        """Keys of a batch with a result whose cost is not in the journal."""
        query = "SELECT key FROM requests WHERE marker=? AND state='result' AND journaled=0"
        return [row[0] for row in self._rows(query, (marker,))]

    def _among(self, select: str, keys: Sequence[str], more: str = "") -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), CHUNK):
            part = list(keys[start : start + CHUNK])
            yield from self._rows(f"{select} WHERE key IN ({','.join('?' * len(part))}) {more}", part)

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._mutex:
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._mutex:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")


def calls_under_way(folder: Path) -> frozenset[str]:
    """Keys of all calls that are in batches, or have come back and are not in the cache yet."""
    if not folder.is_dir():
        return frozenset()
    with closing(BatchStore(folder)) as store:
        return frozenset(store.under_way())


def _line(key: str, packed: bytes) -> BatchLine:
    body, *fault = json.loads(zlib.decompress(packed))
    return BatchLine(key, body, CallFault(fault[0], fault[1]) if fault else None)
