"""The call cache of a store, wherever the store is.

The cache is a SQLite file, and so always on this machine: in the store's folder, or in the working folder of an object
store. There what is new in it is shipped as Parquet files of ``cache/``, and what other machines have shipped is taken
in when it is opened, so that no machine pays for what another has paid for. Killed in between, what is not noted as
shipped is shipped again, by the next run on the same machine.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from flows.journal import export_calls
from flows.models.cache import BUSY_SECONDS, FILE, CallCache
from flows.places import HERE
from flows.shards import Shards
from flows.store import CACHE, Store

SHIPPED = pa.schema(
    [("key", pa.string()), ("model", pa.string()), ("stage", pa.string()), ("made_at", pa.float64()),
     ("call", pa.binary())]
)  # fmt: skip
ROWS = 20_000
"""Answers of one file at most, of about a kilobyte each."""
_one_at_a_time = threading.Lock()
_NOTES = (
    "create table if not exists shipped (key text primary key not null) strict, without rowid",
    "create table if not exists taken (name text primary key not null) strict",
)
_TAKE = "insert or ignore into answers (key, model, stage, made_at, call) values (?, ?, ?, ?, ?)"
_NEW = "select key, model, stage, made_at, call from answers where key not in (select key from shipped)"


def cache_folder(store: Store) -> Path:
    """Where the call cache is on this machine."""
    return store.root / CACHE


def batches_folder(store: Store) -> Path:
    """Where what is under way at a provider is noted, on this machine."""
    return cache_folder(store) / "batches"


def has_cache(store: Store) -> bool:
    """Whether the store has a call cache, here or shipped by another machine."""
    return (cache_folder(store) / FILE).is_file() or (store.place is not HERE and bool(_shards(store).files()))


def open_cache(store: Store) -> CallCache:
    """The store's call cache, with what other machines have shipped."""
    cache = CallCache(cache_folder(store))
    if store.place is not HERE:
        _take_in(store)
    return cache


def ship(store: Store, cache: CallCache | None = None) -> None:
    """Bring what is new in the call cache, and in its journal, to where the store is; it is locked for writing.

    ``cache`` is the open one, if there is one. Of a store in a folder there is nothing to do.
    """
    if store.place is HERE or not (cache_folder(store) / FILE).is_file():
        return
    with _one_at_a_time, _noting(store) as db:
        export_calls(store, cache)
        shards, n_shipped = _shards(store), 0
        while rows := db.execute(f"{_NEW} limit {ROWS}").fetchall():
            shards.write(pa.Table.from_pylist([dict(zip(SHIPPED.names, row, strict=True)) for row in rows], SHIPPED))
            db.executemany("insert or ignore into shipped values (?)", [(row[0],) for row in rows])
            n_shipped += len(rows)
        if n_shipped:
            shards.tidy(0)


def forget_pruned(store: Store) -> None:
    """Take out of the shipped files what has been removed from the cache on this machine."""
    if store.place is HERE:
        return
    shards = _shards(store)
    with _noting(store) as db:
        left = pa.array([key for (key,) in db.execute("select key from answers")], pa.string())
    for file in shards.files():
        found = shards.read(files=[file])
        kept = found.filter(pc.is_in(found["key"], left))
        if len(kept) < len(found):
            shards.write(kept)  # under another name: it is made of the keys
            store.place.remove(file)


def _shards(store: Store) -> Shards:
    return Shards(cache_folder(store), SHIPPED, ("key",), has_failures=False, is_bucketed=False, place=store.place)


def _take_in(store: Store) -> None:
    shards = _shards(store)
    with _noting(store) as db:
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
def _noting(store: Store) -> Iterator[sqlite3.Connection]:
    """The cache's file with the notes of what has been shipped."""
    path = cache_folder(store) / FILE
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        for statement in _NOTES:
            db.execute(statement)
        yield db
