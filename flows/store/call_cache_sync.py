"""The call cache of a store, shared between machines when the store is in an object store.

The cache is a SQLite file, so it is always on this machine: in the store's folder, or in the working folder of an
object store. For an object store, new answers are uploaded as Parquet files of ``cache/``, and answers uploaded by
other machines are read in when the cache is opened. So no machine pays twice for one answer. If a run is killed, the
next run on the same machine uploads what is not yet noted as uploaded.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from flows.llm.cache.call_cache import BUSY_SECONDS, FILE, CallCache
from flows.store.call_journal import export_calls
from flows.store.shards import Shards
from flows.store.storage import LOCAL
from flows.store.store import CACHE, Store

SHIPPED = pa.schema(
    [
        ("key", pa.string()),
        ("model", pa.string()),
        ("stage", pa.string()),
        ("made_at", pa.float64()),
        ("call", pa.binary()),
    ]
)
ROWS = 20_000
"""Most answers in one file; an answer has about a kilobyte."""
_one_at_a_time = threading.Lock()
_NOTES = (
    "create table if not exists shipped (key text primary key not null) strict, without rowid",
    "create table if not exists taken (name text primary key not null) strict",
)
_TAKE = "insert or ignore into answers (key, model, stage, made_at, call) values (?, ?, ?, ?, ?)"
_NEW = "select key, model, stage, made_at, call from answers where key not in (select key from shipped)"


def cache_folder(store: Store) -> Path:
    """Folder of the call cache on this machine."""
    return store.root / CACHE


def batches_folder(store: Store) -> Path:
    """Folder on this machine with the records of batches at providers."""
    return cache_folder(store) / "batches"


def has_cache(store: Store) -> bool:
    """Whether the store has a call cache, on this machine or uploaded by another."""
    return (cache_folder(store) / FILE).is_file() or (store.place is not LOCAL and bool(_shards(store).files()))


def open_cache(store: Store) -> CallCache:
    """Open the store's call cache, with the answers that other machines uploaded."""
    cache = CallCache(cache_folder(store))
    if store.place is not LOCAL:
        _take_shipped(store)
    return cache


def ship_calls(store: Store, cache: CallCache | None = None) -> None:
    """Upload new answers of the call cache, and the journal's rows, to the object store. The store must be locked.

    ``cache`` is the open call cache, if any. Does nothing for a store in a local folder.
    """
    if store.place is LOCAL or not (cache_folder(store) / FILE).is_file():
        return
    with _one_at_a_time, _open_notes(store) as db:
        export_calls(store, cache)
        shards, n_shipped = _shards(store), 0
        while rows := db.execute(f"{_NEW} limit {ROWS}").fetchall():
            shards.write(pa.Table.from_pylist([dict(zip(SHIPPED.names, row, strict=True)) for row in rows], SHIPPED))
            db.executemany("insert or ignore into shipped values (?)", [(row[0],) for row in rows])
            n_shipped += len(rows)
        if n_shipped:
            shards.tidy(0)


def forget_pruned(store: Store) -> None:
    """Remove from the uploaded files what was removed from the cache on this machine."""
    if store.place is LOCAL:
        return
    shards = _shards(store)
    with _open_notes(store) as db:
        left = pa.array([key for (key,) in db.execute("select key from answers")], pa.string())
    for file in shards.files():
        found = shards.read(files=[file])
        kept = found.filter(pc.is_in(found["key"], left))
        if len(kept) < len(found):
            shards.write(kept)  # under another name: it is made of the keys
            store.place.remove(file)


def _shards(store: Store) -> Shards:
    return Shards(cache_folder(store), SHIPPED, ("key",), has_failures=False, is_bucketed=False, place=store.place)


def _take_shipped(store: Store) -> None:
    shards = _shards(store)
    with _open_notes(store) as db:
        taken = {name for (name,) in db.execute("select name from taken")}
        for file in shards.files():
            if file.name in taken:
                continue
            table = shards.read(files=[file])
            rows = list(zip(*(table[name].to_pylist() for name in SHIPPED.names), strict=True))
            db.execute("begin immediate")
            db.executemany(_TAKE, rows)
            db.executemany("insert or ignore into shipped values (?)", [row[:1] for row in rows])
            db.execute("insert into taken values (?)", (file.name,))
            db.execute("commit")


@contextmanager
def _open_notes(store: Store) -> Iterator[sqlite3.Connection]:
    """A connection to the cache's file, with the tables that note what was uploaded and read in."""
    path = cache_folder(store) / FILE
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        for statement in _NOTES:
            db.execute(statement)
        yield db
