"""Moves the journal of model calls from the call cache's SQLite file to the store's Parquet files.

A call enters the journal as soon as it is paid for, so that nothing is lost when a run is killed. This module writes
the rows to ``calls/`` and removes them from the journal. After a kill in between, the same rows are written again; the
table ``calls`` takes each call once.
"""

from __future__ import annotations

from dataclasses import asdict

import duckdb
import pyarrow as pa

from flows.llm.cache.call_cache import FILE, CallCache
from flows.store import parquet_schemas
from flows.store.store import CACHE, Store


def export_calls(store: Store, cache: CallCache | None = None) -> int:
    """Move the journal's rows into a Parquet file; returns their number. Opens the store's cache if none is given."""
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
            store.calls.write(pa.Table.from_pylist(rows, schema=parquet_schemas.CALLS))
            opened.forget_journal(found[-1][0])
        return len(found)
    finally:
        if cache is None:
            opened.close()


def mean_seconds(store: Store) -> dict[tuple[str, str], float]:
    """(stage, model) → mean seconds of the store's calls that were sent and answered."""
    with duckdb.connect() as connection:
        connection.register("calls", store.calls.dataset())
        rows = connection.execute(
            "SELECT stage, model, avg(seconds) FROM calls WHERE NOT cached AND status = 'done' GROUP BY ALL"
        ).fetchall()
    return {(stage, model): seconds for stage, model, seconds in rows}
