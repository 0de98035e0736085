"""Makes ``scores.duckdb`` from the files of ``sql/``, and opens it for reading.

The file is always made anew and put in place by a rename, because one process alone can have a DuckDB file open for
writing: whoever reads the old file goes on reading it, and the next to open finds the new one.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads

from flows.database.dataset_slices import dataset_slices
from flows.database.sql_model import (
    OFFLINE,
    checks,
    comment_on,
    empty_database,
    first_sentence,
    grain_of,
    literal,
    relations,
    run_sql,
    schemas,
    sql_sha256,
    sql_text,
)
from flows.store.storage import LOCAL, Storage, display_name
from flows.support.errors import StoreError, UsageError
from flows.support.versions import VERSION

SCHEMA_VERSION = 1
"""Raised when a command needs of a table or view what an older database has not. One that lacks a whole table or view
is known by that, and needs no raise."""

MEMORY_VARIABLE = "COMPACTION_EVAL_MEMORY"
MEMORY = "1GB"
"""Memory that DuckDB takes at most, where the variable does not say. What does not fit goes to disk: beside the
database that is made, or to the folder for temporary files. It does not depend on the machine, so that a load needs
the same everywhere."""

MEMORY_OF_A_THREAD = 400_000_000
"""Bytes of the limit for which DuckDB gets a thread: two of the default."""

SEEDED = frozenset({"published_leaderboard"})
"""Tables whose rows stand in their SQL file."""

MATERIALIZED = {
    "int_answer_scores": "intermediate",
    "agg_method_pairs": "aggregates",
    "reliability": "marts",
    "retention": "marts",
}
"""View → its folder: those of which a load makes tables, in this order, because they read every score."""

BY_DIMENSION = "agg_method_pairs"
"""The one that is worked out dimension by dimension (variable ``dimension``): all at once need too much memory."""

TEXTS = {"messages": "message_rows", "contexts": "context_rows"}
"""Views of what stays in the files of the store, and the macro that each reads them by; contexts read messages."""


class DatabaseDraft:
    """A database that is being made; nobody sees it before it is whole."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        """Temporary tables and views may be made on it: they are not in the file."""

    def insert(self, name: str, rows: pa.Table | pa.RecordBatchReader) -> None:
        """Add rows to a table. Columns are matched by name; times without an offset are taken as UTC.

        Raises:
            StoreError: a missing or extra column, or a value that the table refuses, each by name.
        """
        schema, columns = schemas()[name], rows.schema.names
        missing = [column for column in schema.names if column not in columns]
        extra = [column for column in columns if column not in schema.names]
        if missing or extra:
            parts = [f"{kind} {', '.join(found)}" for kind, found in (("missing", missing), ("extra", extra)) if found]
            raise StoreError(f"table {name}: wrong columns ({'; '.join(parts)}); it has: {', '.join(schema.names)}")
        with self.registered("incoming", rows):
            self._insert(name, "FROM incoming")

    def load(self, name: str, shards: Mapping[str, pads.Dataset]) -> None:
        """Run ``sql/load/<name>.sql``: its rows go into the table of that name, or become a temporary one.

        ``shards`` are what the query may read, by name. A query for a table is run slice by slice and may not join
        one shard with another; it may give more columns than the table has.
        """
        text = sql_text("load", name)
        read = {shard: rows for shard, rows in shards.items() if re.search(rf"\b{shard}\b", text)}
        with ExitStack() as stack:
            if name not in schemas():
                for shard, rows in read.items():
                    stack.enter_context(self.registered(shard, rows))
                run_sql(self.connection, f"load/{name}.sql", f'CREATE TEMP TABLE "{name}" AS {text}')
                return
            for parts in zip_longest(*(dataset_slices(rows) for rows in read.values())):
                for shard, part in zip(read, parts, strict=True):
                    empty = pads.dataset(read[shard].schema.empty_table())
                    stack.enter_context(self.registered(shard, empty if part is None else part))
                self._insert(name, text)
                stack.close()

    def materialize(self, name: str) -> None:
        """Put a table with the rows that a view of ``MATERIALIZED`` has now in its place."""
        folder = MATERIALIZED[name]
        text = sql_text(folder, name)
        parts: list[str | None] = [None]
        if name == BY_DIMENSION:
            found = self.connection.execute("SELECT DISTINCT dimension FROM int_answer_scores ORDER BY 1").fetchall()
            parts = [dimension for (dimension,) in found]
        is_sorted = folder == "marts"  # the rows of a mart stay sorted as its view sorts them
        self.connection.execute(f"SET preserve_insertion_order = {is_sorted}")
        self.connection.execute(f"CREATE TABLE filled AS FROM {name} WITH NO DATA")
        for part in parts:
            self.connection.execute("SET VARIABLE dimension = ?", [part])
            run_sql(self.connection, f"{folder}/{name}.sql", f"INSERT INTO filled FROM {name}")
        self.connection.execute("RESET VARIABLE dimension")
        self.connection.execute(f"DROP VIEW {name}; ALTER TABLE filled RENAME TO {name}")
        self.connection.execute("SET preserve_insertion_order = false")
        comment_on(self.connection, "TABLE", {name: text})

    def check(self) -> list[tuple[str, int]]:
        """Fill the table ``checks``; returns what ``violations`` does."""
        counts = _count_violations(self.connection)
        rows = [
            {"invariant": name, "violations": counts[name], "meaning": grain_of(text)}
            for name, text in checks().items()
        ]
        self.insert("checks", pa.Table.from_pylist(rows, schema=schemas()["checks"]))
        return _broken(counts)

    @contextmanager
    def registered(self, name: str, rows: pa.Table | pa.RecordBatchReader | pads.Dataset) -> Iterator[None]:
        """Let queries read Arrow data by a name, for a while."""
        self.connection.register(name, rows)
        try:
            yield
        finally:
            self.connection.unregister(name)

    def _insert(self, name: str, query: str) -> None:
        # A text with an offset that is cast to TIMESTAMP straight away loses the offset silently.
        picked = ", ".join(
            f'CAST(CAST("{field.name}" AS TIMESTAMPTZ) AS TIMESTAMP) AS "{field.name}"'
            if pa.types.is_timestamp(field.type)
            else f'"{field.name}"'
            for field in schemas()[name]
        )
        try:
            self.connection.execute(f'INSERT INTO "{name}" BY NAME SELECT {picked} FROM (\n{query}\n)')  # noqa: S608
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise StoreError(f"table {name} refuses a row: {first_sentence(error)}") from error


@contextmanager
def new_database(target: Path, place: Storage = LOCAL) -> Iterator[DatabaseDraft]:
    """A new database with all tables and views and without rows, which takes the place of ``target`` at the end.

    Fails as a whole: when anything is raised the old file stays. What does not fit into memory lies beside it until
    then; what a killed process leaves there ends in ``.tmp…``, and goes with the next run.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    spill = draft.with_name(f"{draft.name}.spill")
    try:
        draft.write_bytes(empty_database())
        with duckdb.connect(draft, config=OFFLINE) as connection:
            _set_up(connection, spill)
            # Of Arrow data DuckDB does not know how much it is, takes it for one row and would hold it in memory as a
            # join's inner side; so a join is done as it is written, the larger side first.
            connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
            # Rows come in no order that a reader could rely on: a join does not keep it, and to keep it takes memory.
            connection.execute("SET preserve_insertion_order = false")
            yield DatabaseDraft(connection)
            connection.execute("CHECKPOINT")
        place.publish(draft, target)
    except duckdb.OutOfMemoryException as error:
        raise StoreError(f"scores.duckdb cannot be made: {first_sentence(error)}, and do the same again") from error
    finally:
        for leftover in (draft, draft.with_name(draft.name + ".wal")):
            leftover.unlink(missing_ok=True)
        shutil.rmtree(spill, ignore_errors=True)


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


def build_database(tables: Mapping[str, pa.Table | Sequence[pa.Table]], target: Path) -> None:
    """Make the database with these rows, in place of what is at ``target``.

    Tables that are not given stay empty; each table has to bring exactly the columns that ``schemas`` lists, as
    ``Draft.insert`` takes them. Fails as a whole: the old file then stays.

    Raises:
        StoreError: an unknown table, a missing or extra column, or a value that the table refuses, each by name.
    """
    known = schemas()
    unknown = sorted(set(tables) - (set(known) - SEEDED))
    if unknown:
        names = ", ".join(sorted(set(known) - SEEDED))
        raise StoreError(f"no table {', '.join(unknown)} to load into; there are: {names}")
    with new_database(target) as draft:
        for name, given in {"store_info": store_info(), **tables}.items():
            for rows in [given] if isinstance(given, pa.Table) else given:
                draft.insert(name, rows)


def store_info(**known: Any) -> pa.Table:
    """The row that says what made a database; ``known`` are its columns about the store and the study."""
    row = {
        "schema_version": SCHEMA_VERSION,
        "sql_sha256": sql_sha256(),
        "made_by": VERSION,
        "made_at": datetime.now(UTC).replace(tzinfo=None),
        **known,
    }
    return pa.Table.from_pylist([row], schema=schemas()["store_info"])


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
        _set_up(connection, spill)
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


def write_text_views(draft: DatabaseDraft, folders: Mapping[str, Path], elsewhere: str | None = None) -> None:
    """Let the views of ``TEXTS`` in the file read the folders by themselves, for whoever opens it in DuckDB.

    A folder without a file stays empty. Of an object store ``elsewhere`` is what they say instead.
    """
    for macro, folder in folders.items():
        if elsewhere is not None:
            text = sql_text("macros", macro).replace("create macro", "create or replace macro", 1)
            text = text.replace("where false", f"where error({literal(elsewhere)}) is null")
        elif any(folder.glob("*.parquet")):
            files = literal(str(folder.absolute() / "*.parquet"))
            text = f"CREATE OR REPLACE MACRO {macro}() AS TABLE FROM read_parquet({files}, union_by_name = true)"
        else:
            continue
        run_sql(draft.connection, f"macros/{macro}.sql", text)


@contextmanager
def connect_with_files(path: Path, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database for reading, with a connection that may read and write other files, in bounded memory.

    What does not fit goes to the folder. Raises as ``connect``.
    """
    connect(path).close()
    with duckdb.connect(":memory:", config=OFFLINE) as connection:
        _set_up(connection, folder)
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")  # as in ``new_database``
        connection.execute(f"ATTACH {literal(str(path))} AS store (READ_ONLY)")
        connection.execute("USE store")
        yield connection


def _set_up(connection: duckdb.DuckDBPyConnection, spill: Path) -> None:
    """Times in UTC, bounded memory with the rest in a folder, and no progress bar in what a command prints."""
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
    return _broken(_count_violations(connection))


def _count_violations(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Every check with its number of violations: a query a check, because DuckDB plans memory for all that one asks."""
    found: dict[str, int] = {}
    for name in checks():
        [(found[name],)] = connection.execute(f'SELECT count(*) FROM "check_{name}"').fetchall()  # noqa: S608 (our own)
    return found


def _broken(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((name, n) for name, n in counts.items() if n), key=lambda found: (-found[1], found[0]))


def _check_version(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a database that lacks what this version's commands ask for, or that they cannot know."""
    again = f"make it anew with: compaction-eval rebuild --store {_store_name(path)}"
    rows = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'store' UNION ALL "
        "SELECT view_name FROM duckdb_views() WHERE database_name = 'store'"
    ).fetchall()
    found = {name for (name,) in rows}
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
