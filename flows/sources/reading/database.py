"""SQLite files of agents, read while the agent may have them open and write to them."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from flows.sources.reading import unpacking

MAGIC = b"SQLite format 3\0"
_WAIT = 5.0
"""Seconds to wait for a writer."""
_MAY_PASS = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM}
_SETTINGS = (
    "pragma trusted_schema = off",
    "pragma cell_size_check = on",
    # Without it SQLite reads nothing of a file that is cut off. Nothing can be written: the file is opened to be read.
    "pragma writable_schema = on",
)
Select = Callable[..., Iterator[tuple[Any, ...]]]


class DamagedError(ValueError):
    """Rows that cannot be read; the message says why, in SQLite's words."""


class Database:
    """A SQLite file. It is opened for each snapshot, never copied, and never locked against its writer."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def tables(self) -> dict[str, str]:
        """Its tables: name → the statement that made it, which has the names of its columns."""
        with self.snapshot() as select:
            return {name: sql or "" for name, sql in select("select name, sql from sqlite_master where type = 'table'")}

    @contextmanager
    def snapshot(self) -> Iterator[Select]:
        """A function that gives the rows of a query; all that it is asked inside comes from one state of the file.

        Raises:
            DamagedError: The rows cannot be read.
            OSError: They cannot be read now; trying again may help.
        """
        try:
            connection = sqlite3.connect(self._address(), uri=True, timeout=_WAIT, isolation_level=None)
            with closing(connection):
                connection.text_factory = lambda data: data.decode("utf-8", "replace")
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, unpacking.LONGEST_VALUE)
                for setting in _SETTINGS:
                    connection.execute(setting)
                connection.execute("begin")
                yield lambda query, *values: connection.execute(query, values)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _MAY_PASS:
                raise OSError(errno.EAGAIN, str(error)) from None
            raise DamagedError(str(error)) from None

    def _address(self) -> str:
        """What SQLite is asked to open.

        Without a log or an index beside the file nobody has it open: read as it is, no file is made beside it.
        """
        real = os.path.realpath(self.path)
        is_resting = not any(os.path.exists(real + ending) for ending in ("-wal", "-shm", "-journal"))
        return f"{Path(real).as_uri()}?mode=ro{'&immutable=1' if is_resting else ''}"


def unwritten(path: Path) -> tuple[int, int]:
    """Bytes and time (nanoseconds since the epoch) of the log beside a SQLite file: what was written since is there."""
    try:
        found = os.stat(f"{os.path.realpath(path)}-wal")
    except OSError:
        return 0, 0
    return (found.st_size, found.st_mtime_ns) if found.st_size else (0, 0)
