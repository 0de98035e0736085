"""Opens ``scores.duckdb`` for reading; ``flows.database.database_draft`` makes it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import duckdb

from flows.database.sql_model import (
    OFFLINE,
    checks,
    first_sentence,
    literal,
    relations,
    sql_text,
)
from flows.store.storage import display_name
from flows.support.errors import StoreError, UsageError
from flows.support.versions import VERSION

if TYPE_CHECKING:  # it imports pandas where that is installed
    import pyarrow.dataset as pads

SCHEMA_VERSION = 4
"""Raised when a command needs of a table or view what an older database has not. One that lacks a whole table or view
is known by that, and needs no raise."""

MEMORY_VARIABLE = "COMPACTION_EVAL_MEMORY"
MEMORY = "1GB"
"""Memory that DuckDB takes at most, where the variable does not say. What does not fit goes to disk: beside the
database that is made, or to the folder for temporary files. It does not depend on the machine, so that a load needs
the same everywhere."""

MEMORY_OF_A_THREAD = 400_000_000
"""Bytes of the limit for which DuckDB gets a thread: two of the default."""

TEXTS = {"messages": "message_rows", "contexts": "context_rows"}
"""Views of what stays in the files of the store, and the macro that each reads them by; contexts read messages."""


def _limit_memory(connection: duckdb.DuckDBPyConnection) -> None:
    wanted = os.environ.get(MEMORY_VARIABLE) or MEMORY
    try:
        connection.execute(f"SET memory_limit = {literal(wanted)}")
    except duckdb.Error:
        raise UsageError(f"{MEMORY_VARIABLE}={wanted}: expected a size such as 2GB or 500MB") from None
    # Each thread holds memory of its own: with 16 a load under 500 MB spills fifty times as much as with 2.
    [(threads,)] = connection.execute(
        "SELECT least(current_setting('threads'), "
        f"greatest(1, parse_formatted_bytes(current_setting('memory_limit')) // {MEMORY_OF_A_THREAD}))"
    ).fetchall()
    connection.execute(f"SET threads = {threads}")


def connect(path: Path) -> duckdb.DuckDBPyConnection:
    """Open the database for reading; the connection sees the file as it is now, whatever replaces it later.

    Queries can reach nothing but the database (and what ``show_texts`` shows): no files, no network. Times are shown in
    UTC.

    Raises:
        StoreError: there is no database yet, the file is not one, or a version of other tables and views made it.
    """
    if not path.is_file():
        has_answers = (path.parent / "answers").is_dir()
        command = "rebuild" if has_answers else "run"
        raise StoreError(
            f"no results at {display_name(path)} yet; make some with: "
            f"compaction-eval {command} --store {_store_name(path)}"
        )
    # Attached, and not opened: within a process DuckDB hands out the instance that it already has for a path, even
    # when another file has taken its place.
    connection = duckdb.connect(":memory:", config=OFFLINE)
    try:
        spill = Path(tempfile.gettempdir()) / f"compaction-eval-{uuid4().hex}"  # DuckDB makes it, and removes it
        set_up(connection, spill)
        connection.execute(f"ATTACH {literal(str(path))} AS store (READ_ONLY)")
        connection.execute("USE store")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        _check_version(connection, path)
    except duckdb.Error as error:
        connection.close()
        raise StoreError(
            f"{display_name(path)} cannot be opened as a DuckDB file: {first_sentence(error)}; "
            "`compaction-eval rebuild` makes it anew from the other files of the store"
        ) from None
    except StoreError:
        connection.close()
        raise
    return connection


def show_texts(
    connection: duckdb.DuckDBPyConnection, query: str, texts: Callable[[], Mapping[str, pads.Dataset]]
) -> None:
    """Let a query read the texts of the store, where it names one of the views of ``TEXTS``.

    Those in the file read the files by themselves, which ``connect`` does not let them; here views of the connection
    take their place. ``texts`` gives what they read by the name of its macro; of an object store it fetches it.
    """
    if not re.search(rf"\b({'|'.join(TEXTS)})\b", query, re.IGNORECASE):
        return
    for macro, rows in texts().items():
        connection.register(f"{macro}_of_store", rows)
        connection.execute(f"CREATE OR REPLACE TEMP MACRO {macro}() AS TABLE FROM {macro}_of_store")
    for name in TEXTS:
        view = sql_text("marts", name)
        connection.execute(view.replace("create view", "create or replace temp view", 1))


@contextmanager
def connect_with_files(path: Path, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database for reading, with a connection that may read and write other files, in bounded memory.

    What does not fit goes to the folder. Raises as ``connect``.
    """
    connect(path).close()
    with duckdb.connect(":memory:", config=OFFLINE) as connection:
        set_up(connection, folder)
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")  # as in ``new_database``
        connection.execute(f"ATTACH {literal(str(path))} AS store (READ_ONLY)")
        connection.execute("USE store")
        yield connection


def set_up(connection: duckdb.DuckDBPyConnection, spill: Path) -> None:
    """Set times in UTC, bounded memory with the rest in a folder, and no progress bar in a command's output."""
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET temp_directory = {literal(str(spill))}")
    _limit_memory(connection)
    # In a notebook without ipywidgets the bar is off and DuckDB refuses every change of the setting, this one too.
    row = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    if row and row[0]:
        connection.execute("SET enable_progress_bar = false")


def _store_name(path: Path) -> str:
    """The store of a database, as it is given with ``--store``."""
    name = display_name(path)
    return str(path.parent) if name == str(path) else name.rpartition("/")[0]


def is_sound(path: Path) -> bool:
    """Whether there is a database that opens; of its blocks only the catalogue is looked at."""
    try:
        connect(path).close()
    except StoreError:
        return False
    return True


def violations(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int]]:
    """The checks that do not hold, by name, each with its number of violations; the most first.

    They are asked anew. The table ``checks`` has what they said when the database was made.
    """
    return broken_checks(count_violations(connection))


def count_violations(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Every check with its number of violations: a query a check, because DuckDB plans memory for all that one asks."""
    found: dict[str, int] = {}
    for name in checks():
        [(found[name],)] = connection.execute(f'SELECT count(*) FROM "check_{name}"').fetchall()  # noqa: S608 (our own)
    return found


def broken_checks(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The checks with violations, the most first."""
    return sorted(((name, n) for name, n in counts.items() if n), key=lambda found: (-found[1], found[0]))


INNER = ("stg_", "int_", "agg_", "check_")
"""Beginnings of the names of the views that other views are made of."""


def list_relations(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str | None]]:
    """Every table and view of a store by name: its name, ``table`` or ``view``, and its comment."""
    return connection.execute(
        "SELECT table_name, 'table', comment FROM duckdb_tables() "
        "WHERE database_name = 'store' AND schema_name = 'main' UNION ALL "
        "SELECT view_name, 'view', comment FROM duckdb_views() "
        "WHERE database_name = 'store' AND schema_name = 'main' AND NOT internal ORDER BY 1"
    ).fetchall()


def _check_version(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a database that lacks what this version's commands ask for, or that they cannot know."""
    again = f"make it anew with: compaction-eval rebuild --store {_store_name(path)}"
    found = {name for name, _, _ in list_relations(connection)}
    if "store_info" not in found:
        raise StoreError(f"{display_name(path)} was made by an earlier version of compaction-eval; {again}")
    rows = connection.execute("SELECT made_by, schema_version FROM store_info").fetchall()
    [(by, version)] = rows or [("of another version", 0)]
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{display_name(path)} was made by compaction-eval {by}, which is newer than this one ({VERSION}); "
            f"update it, or {again}"
        )
    missing = sorted(relations() - found)
    if version < SCHEMA_VERSION or missing:
        lacks = f" and lacks the table or view {missing[0]}" if missing else ""
        raise StoreError(
            f"{display_name(path)} was made by compaction-eval {by}{lacks}, and this is {VERSION}; {again}"
        )
