"""SQLite files that several processes open, and make, at the same time."""

from __future__ import annotations

import sqlite3
import time


def write_ahead(connection: sqlite3.Connection, seconds: float) -> None:
    """Have a database keep a write-ahead log, so that readers and a writer do not wait for each other.

    SQLite refuses at once, without its own waiting, where another process is just making the same change.

    Args:
        connection: Outside of a transaction.
        seconds: How long to try.

    Raises:
        sqlite3.OperationalError: another process has held the database all that time.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection.execute("pragma journal_mode = wal").fetchall()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
