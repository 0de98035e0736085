"""The journal of model calls, from the call cache's SQLite file to the store's Parquet files.

A call is written down there the moment it has been paid for, so that nothing is lost when a run is killed. Here the
rows become shards of ``calls/``, and leave the journal. Killed in between, the same rows are written again: the table
takes each call once.
"""

from __future__ import annotations

from dataclasses import asdict

import duckdb
import pyarrow as pa

from flows import schemas
from flows.models.cache import FILE, CallCache
from flows.store import CACHE, Store


def export_calls(store: Store, cache: CallCache | None = None) -> int:
    """Move the journal's rows into a shard; how many. Without an open cache the store's own is opened."""
    opened = cache
    if opened is None:
        if not (store.root / CACHE / FILE).is_file():
            return 0
        opened = CallCache(store.root / CACHE)
    try:
        opened.flush()
        found = opened.journal_after(0)
        if found:
            rows = [asdict(entry) for _, entry in found]
            store.calls.write(pa.Table.from_pylist(rows, schema=schemas.CALLS))
            opened.forget_journal(found[-1][0])
        return len(found)
    finally:
        if cache is None:
            opened.close()


def mean_seconds(store: Store) -> dict[tuple[str, str], float]:
    """Stage and model → mean seconds of the calls that the store knows of."""
    with duckdb.connect() as connection:
        connection.register("calls", store.calls.dataset())
        rows = connection.execute(
            "SELECT stage, model, avg(seconds) FROM calls WHERE NOT cached AND status = 'done' GROUP BY ALL"
        ).fetchall()
    return {(stage, model): seconds for stage, model, seconds in rows}
