"""Limits of a query that a user wrote: how long it takes, and what memory."""

from __future__ import annotations

import re
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from flows.database.sql_model import OUT_OF_MEMORY
from flows.support.errors import UsageError

MEMORY_FACTOR = 1.5
"""What the process may take for a query, as a multiple of DuckDB's own limit, which leaves out long texts and rows that
are handed over. Where DuckDB keeps to its limit by putting rows on disk, this one must not be in the way."""


@contextmanager
def query_limits(connection: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """Interrupt the connection's queries after so many seconds, and bound the memory that this process takes meanwhile.

    Raises:
        UsageError: the memory does not suffice.
    """
    timer = threading.Timer(seconds or 0, connection.interrupt)
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        with _bounded_memory(connection):
            yield
    except MemoryError:
        raise UsageError(f"the query cannot be run: {OUT_OF_MEMORY}") from None
    finally:
        timer.cancel()


@contextmanager
def _bounded_memory(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let the process take a multiple of the connection's limit beyond what it has, where the system tells that."""
    [(limit,)] = connection.execute("SELECT parse_formatted_bytes(current_setting('memory_limit'))").fetchall()
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with suppress(OSError):
        held = re.search(r"VmData:\s*(\d+) kB", Path("/proc/self/status").read_text())
        wanted = (int(held[1]) << 10 if held else 0) + int(MEMORY_FACTOR * limit)
        if held and (before[0] == resource.RLIM_INFINITY or wanted < before[0]):
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
