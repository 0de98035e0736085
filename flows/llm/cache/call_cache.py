"""The call cache: every answer of a model that was paid for, and the journal of the calls.

One SQLite file, ``calls.sqlite`` in ``STORE/cache``, in WAL mode: what ``put`` and ``note`` have returned from survives
a kill of the process at any instant (``synchronous=NORMAL``; after a loss of power the last moments may be gone, the
file is whole). All threads share one connection behind a lock: with 64 threads that serves 45,000 lookups a second,
a connection a thread 12,000. What may be cached, and under which key, is the gateway's to decide.

An answer is a row with a check sum over key and content. One that cannot be read is a miss, and is replaced by the next
answer. A file that cannot be read raises StoreError with what to do about it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Self

from flows.llm.cache.claims import Owner
from flows.llm.cache.meter import CallMeter
from flows.llm.cache.records import JournalEntry, StoredCall, as_row, from_row, pack, unpack
from flows.llm.cache.spend import EXPORT, SUMS, CacheStats, PruneResult, sum_uses
from flows.llm.cache.sqlite_wal import write_ahead
from flows.support.atomic_files import folder_umask, make_folder, refuse_planted
from flows.support.errors import StoreError

__all__ = ["CacheStats", "CallCache", "JournalEntry", "PruneResult", "StoredCall"]

FILE = "calls.sqlite"
VERSION = 2
APPLICATION = 0x43455643
"""``application_id`` of the file, so that another program's database is not taken for a cache."""
BUSY_SECONDS = 60.0
"""How long a write waits for those of other processes, which take well under a millisecond each."""
LONGEST_CLAIM = 7_200.0
"""Seconds; twice what the gateway asks for. A claim of another machine that ends later is of a clock that was wrong."""
MOST_USES = 1_000
USES_SECONDS = 1.0
"""Uses of cached answers are written together, at most so many and so late: nothing was paid for them."""

_TABLES = """
create table answers (
    key text primary key not null, model text not null, stage text not null, made_at real not null, call blob not null
) strict;
create index answers_by_age on answers (made_at, model);
create table journal (
    row_id integer primary key autoincrement, call_id text not null, run_id text not null, stage text not null,
    item_id text not null, model text not null, key text not null, input_tokens integer, output_tokens integer,
    cost_usd real, cached integer not null, seconds real not null, status text not null,
    started_at text not null, error text, cached_input_tokens integer, cache_write_tokens integer
) strict;
create table exported (
    model text not null, stage text not null, cached integer not null, calls integer not null, failed integer not null,
    input_tokens integer not null, output_tokens integer not null, cost_usd real not null, unpriced integer not null,
    first_at text not null, last_at text not null, primary key (model, stage, cached)
) strict;
create table claims (
    key text primary key not null, host text not null, pid integer not null, started text not null,
    instance text not null, until real not null, sent text
) strict;
"""
_NOTE = f"insert into journal values (null{', ?' * len(fields(JournalEntry))})"  # noqa: S608 (no text of anybody's)
_UPGRADES = {
    1: "alter table journal add column cached_input_tokens integer;"
    "alter table journal add column cache_write_tokens integer;"
    "alter table claims add column sent text;"
}
"""Version of the file → what makes it the next one."""
_NOT_SENT = "update claims set sent = null where key = ? and instance = ?"
_CLAIMS = "select host, pid, started, instance, until, key, sent from claims"
_COUNT_OLD = """
select count(*), coalesce(sum(length(call)), 0) from answers
where (:limit is null or made_at < :limit) and (:model is null or model = :model)
"""
_DELETE_OLD = """
delete from answers where (:limit is null or made_at < :limit) and (:model is null or model = :model)
"""


class CallCache:
    """Answers, journal and claims of one store. Safe for threads and processes; not to be carried across a fork."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.meter = CallMeter()
        """What this process's calls come to."""
        self._lock = threading.Lock()
        self._owner = Owner.this()
        self._claimed: set[str] = set()
        self._uses: list[tuple[Any, ...]] = []
        self._uses_since = 0.0
        self._closed = False
        try:
            make_folder(folder.parent)
            with folder_umask(folder.parent):  # not every command that asks a model holds the store
                folder.mkdir(exist_ok=True)
                refuse_planted(self.path)
                self._db = sqlite3.connect(
                    self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=32
                )
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise StoreError(f"call cache {self.path}: cannot be opened: {reason}") from None
        try:
            self._set_up()
        except (StoreError, sqlite3.Error) as error:
            self._db.close()
            raise error if isinstance(error, StoreError) else self._problem(error) from None

    def get(self, key: str) -> StoredCall | None:
        """The answer under a key; None when there is none, or none that can be read."""
        try:
            with self._lock:
                row = self._db.execute("select call from answers where key = ?", (key,)).fetchone()
        except sqlite3.DatabaseError as error:
            raise self._problem(error) from None
        return None if row is None else unpack(key, row[0])

    def get_many(self, keys: Sequence[str]) -> dict[str, StoredCall]:
        """The answers under some keys; keys without a readable answer are left out."""
        with self._reading() as db:
            rows = db.execute(
                "select key, call from answers where key in (select value from json_each(?))", (json.dumps(list(keys)),)
            ).fetchall()
        found = ((key, unpack(key, packed)) for key, packed in rows)
        return {key: call for key, call in found if call is not None}

    def put(self, key: str, call: StoredCall, entry: JournalEntry) -> None:
        """Keep an answer and note the call, both or neither; gives the claim on the key back."""
        packed = pack(key, call)
        with self._writing() as db:
            db.execute(
                "insert or replace into answers (key, model, stage, made_at, call) values (?, ?, ?, ?, ?)",
                (key, entry.model, entry.stage, time.time(), packed),
            )
            db.execute(_NOTE, as_row(entry))
            if key in self._claimed:
                db.execute("delete from claims where key = ?", (key,))
        self._claimed.discard(key)
        self.meter.note(entry)

    def note(self, entry: JournalEntry) -> None:
        """Journal an entry. A use of a cached answer is written with the next ones; everything else at once."""
        self.meter.note(entry)
        if not entry.cached:
            with self._writing() as db:
                db.execute(_NOTE, as_row(entry))
                if entry.key in self._claimed:
                    db.execute(_NOT_SENT, (entry.key, self._owner.instance))
            return
        with self._lock:
            if not self._uses:
                self._uses_since = time.monotonic()
            self._uses.append(as_row(entry))
            due = len(self._uses) >= MOST_USES or time.monotonic() - self._uses_since >= USES_SECONDS
        if due:
            self.flush()

    def claim(self, key: str, seconds: float) -> bool:
        """Whether the caller is to make this call, for so many seconds at most; claiming again begins them anew.

        False while another living owner is at it, and when the answer has arrived in the meantime: look again. An owner
        whose process is gone loses its claim at once where that can be seen (same machine), else after its time.
        """
        here = self._owner
        with self._writing() as db:
            now = time.time()
            answer = db.execute("select call from answers where key = ?", (key,)).fetchone()
            if answer is not None and unpack(key, answer[0]) is not None:
                return False
            row = db.execute(f"{_CLAIMS} where key = ?", (key,)).fetchone()
            if row is not None:
                if self._is_held(row, now):
                    return False
                _book_sent(db, row)
            db.execute(
                "insert or replace into claims (host, pid, started, instance, key, until) values (?, ?, ?, ?, ?, ?)",
                (*astuple(here), key, now + seconds),
            )
            self._claimed.add(key)
        return True

    def mark_sent(self, entry: JournalEntry) -> None:
        """Write down that a call is now sent, with the estimate of what it will cost; for a key that is claimed.

        Any later word on the call takes this back. Where none comes, because the process was killed, the entry goes
        into the journal when the cache is opened next, or the call is claimed.
        """
        with self._writing() as db:
            sent = json.dumps(as_row(entry))
            db.execute(
                "update claims set sent = ? where key = ? and instance = ?", (sent, entry.key, self._owner.instance)
            )

    def _is_held(self, row: tuple[Any, ...], now: float) -> bool:
        """Whether a claim is that of another living owner."""
        other, until = Owner(*row[:4]), row[4]
        # Whether one of another machine lives cannot be seen, and the clock may have gone back since.
        is_sound = other.host == self._owner.host or until <= now + LONGEST_CLAIM
        return other != self._owner and until > now and is_sound and not other.is_dead(self._owner)

    def _book_unread(self) -> None:
        """Put calls into the journal that a killed process has sent and not read."""
        if self._db.execute("select 1 from claims where sent is not null").fetchone() is None:
            return
        with self._writing() as db:
            now = time.time()
            for row in db.execute(f"{_CLAIMS} where sent is not null").fetchall():
                if Owner(*row[:4]) != self._owner and not self._is_held(row, now):
                    _book_sent(db, row)

    def release(self, key: str) -> None:
        """Give a claim back without an answer; nothing happens when there is none."""
        if key not in self._claimed:
            return
        with self._writing() as db:
            db.execute("delete from claims where key = ? and instance = ?", (key, self._owner.instance))
        self._claimed.discard(key)

    def journal_after(self, row_id: int, limit: int = 100_000) -> list[tuple[int, JournalEntry]]:
        """The entries after a row, oldest first, with their rows. Rows are given out in the order of writing, once."""
        with self._reading() as db:
            rows = db.execute(
                "select * from journal where row_id > ? order by row_id limit ?", (row_id, limit)
            ).fetchall()
        return [(row[0], from_row(row[1:])) for row in rows]

    def forget_journal(self, up_to_row_id: int) -> int:
        """Remove entries that were stored elsewhere, and how many; their sums stay for ``stats``."""
        with self._writing() as db:
            db.execute(EXPORT, (up_to_row_id,))
            return db.execute("delete from journal where row_id <= ?", (up_to_row_id,)).rowcount

    def stats(self) -> CacheStats:
        """Statistics of the cache, and of all calls since it was made, those of other processes and runs included."""
        self.flush()
        with self._reading() as db:
            number, oldest, newest = db.execute("select count(*), min(made_at), max(made_at) from answers").fetchone()
            models = dict(db.execute("select model, count(*) from answers group by model order by model").fetchall())
            sums = db.execute(SUMS).fetchall()
        return CacheStats(number, self._bytes(), oldest, newest, models, sum_uses(sums))

    def prune(
        self, older_than: float | None = None, model: str | None = None, everything: bool = False, dry_run: bool = False
    ) -> PruneResult:
        """Remove answers made more than ``older_than`` days ago, of one model (its spec), or all; both narrow together.

        The journal stays. The file gives its space back, for which it is rewritten: nothing else may use the cache.
        """
        if older_than is None and model is None and not everything:
            raise ValueError("prune: nothing says what is to be removed")
        before = self._bytes()
        limit = None if older_than is None else time.time() - older_than * 86_400
        given = {"limit": limit, "model": model}
        with self._writing() as db:
            number, size = db.execute(_COUNT_OLD, given).fetchone()
            left = db.execute("select count(*) from answers").fetchone()[0] - number
            if dry_run:
                return PruneResult(number, size, left, 0)
            db.execute(_DELETE_OLD, given)
            db.execute("delete from claims where until < ?", (time.time(),))
        with self._reading() as db:
            with suppress(sqlite3.OperationalError):  # no room for the copy: what was freed is used for new answers
                db.execute("vacuum")
            db.execute("pragma wal_checkpoint(truncate)").fetchall()
        return PruneResult(number, size, left, max(0, before - self._bytes()))

    def flush(self) -> None:
        """Write the uses that are still held back."""
        if self._uses:
            with self._writing():
                pass

    def close(self) -> None:
        """Write pending uses, return all claims, close the file. Closing again does nothing."""
        if self._closed:
            return
        try:
            if self._uses or self._claimed:
                with self._writing() as db:
                    db.execute("delete from claims where instance = ?", (self._owner.instance,))
        finally:
            self._closed = True
            with self._lock:
                self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._db
        except sqlite3.DatabaseError as error:
            raise self._problem(error) from None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; the uses that are held back go with it."""
        db = self._db
        try:
            with self._lock:
                db.execute("begin immediate")
                try:
                    if self._uses:
                        db.executemany(_NOTE, self._uses)
                    yield db
                    db.execute("commit")
                except BaseException:
                    if db.in_transaction:
                        db.execute("rollback")
                    raise
                self._uses.clear()
        except sqlite3.DatabaseError as error:
            raise self._problem(error) from None

    def _set_up(self) -> None:
        """Check that the file is a call cache, and make the tables of a new one."""
        db = self._db
        # In this order: tables and version of a new file become visible together.
        if not db.execute("select count(*) from sqlite_schema").fetchone()[0]:
            self._make_tables()
        if db.execute("pragma application_id").fetchone()[0] != APPLICATION:
            raise StoreError(f"call cache {self.path}: this is another program's database; move it away")
        version = self._upgrade()
        if version != VERSION:
            raise StoreError(
                f"call cache {self.path} has version {version}, this version of compaction-eval reads {VERSION}: "
                f"{'update it' if version > VERSION else 'move the file away'}, or name another store with --store"
            )
        self._book_unread()
        db.execute("pragma synchronous = normal")
        db.execute("pragma cache_size = -16000")
        db.execute("pragma journal_size_limit = 67108864")

    def _upgrade(self) -> int:
        """The version of the file, which is the newest for one that an earlier program made."""
        version: int = self._db.execute("pragma user_version").fetchone()[0]
        if version not in _UPGRADES:
            return version
        with self._writing() as db:
            version = db.execute("pragma user_version").fetchone()[0]  # another process may have been faster
            while version in _UPGRADES:
                for statement in _UPGRADES[version].split(";")[:-1]:
                    db.execute(statement)
                version += 1
            db.execute(f"pragma user_version = {version}")
        return version

    def _make_tables(self) -> None:
        write_ahead(self._db, BUSY_SECONDS)
        with self._writing() as db:
            if db.execute("select count(*) from sqlite_schema").fetchone()[0]:
                return  # another process was faster
            for statement in _TABLES.split(";")[:-1]:
                db.execute(statement)
            db.execute(f"pragma application_id = {APPLICATION}")
            db.execute(f"pragma user_version = {VERSION}")

    def _bytes(self) -> int:
        sizes = 0
        for path in (self.path, self.path.with_name(f"{FILE}-wal")):
            with suppress(OSError):
                sizes += path.stat().st_size
        return sizes

    def _problem(self, error: sqlite3.Error) -> StoreError:
        """Make an error that tells the user what to do about a database error."""
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF  # without the details of the extended code
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return StoreError(
                f"call cache {self.path} is damaged ({error}): move {FILE}, {FILE}-wal and {FILE}-shm away to go on "
                "with an empty one (its answers are paid for again), or save what can be read first: "
                f"sqlite3 {FILE} .recover | sqlite3 saved.sqlite"
            )
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreError(
                f"call cache {self.path}: another process has held it for {BUSY_SECONDS:.0f} seconds; "
                "wait until it has ended"
            )
        return StoreError(f"call cache {self.path}: cannot be used: {error}; check disk space and permissions")


def _book_sent(db: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    """Put what a claim says was sent into the journal, and remove the claim."""
    *_, key, sent = row
    if sent is not None:
        db.execute(_NOTE, json.loads(sent))
    db.execute("delete from claims where key = ?", (key,))
