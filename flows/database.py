"""Makes ``scores.duckdb`` from the files of ``sql/``, and opens it for reading.

The file is always made anew and put in place by a rename, because one process alone can have a DuckDB file open for
writing: whoever reads the old file goes on reading it, and the next to open finds the new one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import duckdb
import pyarrow as pa

from flows.problems import StoreProblem

LAYERS = ("macros", "schema", "staging", "intermediate", "aggregates", "marts")
"""Folders of ``sql/`` in the order of creation; a file reads only what layers before its own made."""

SEEDED = frozenset({"published_leaderboard"})
"""Tables whose rows stand in their SQL file."""

_OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""Extensions would be fetched from the network."""


def build(
    tables: Mapping[str, pa.Table | Sequence[pa.Table]],
    target: Path,
    finish: Callable[[duckdb.DuckDBPyConnection], Mapping[str, pa.Table]] | None = None,
) -> None:
    """Make the database with these rows, in place of what is at ``target``.

    Tables that are not given stay empty. Columns are matched by name; each table has to bring exactly those that
    ``schemas`` lists. Times without an offset are taken as UTC. Fails as a whole: the old file then stays. ``finish``
    sees the database before anybody else does, and gives rows that follow from it.

    Raises:
        StoreProblem: an unknown table, a missing or extra column, or a value that the table refuses, each by name.
    """
    known = schemas()
    unknown = sorted(set(tables) - (set(known) - SEEDED))
    if unknown:
        names = ", ".join(sorted(set(known) - SEEDED))
        raise StoreProblem(f"no table {', '.join(unknown)} to load into; there are: {names}")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        draft.write_bytes(_empty_database())
        with duckdb.connect(draft, config=_OFFLINE) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            for name in known:
                given = tables.get(name, ())
                for rows in [given] if isinstance(given, pa.Table) else given:
                    _insert(connection, name, rows, known[name])
            for name, rows in (finish(connection) if finish else {}).items():
                _insert(connection, name, rows, known[name])
            connection.execute("CHECKPOINT")
        _sync(draft)
        os.replace(draft, target)
        _sync(target.parent)
    finally:
        for leftover in (draft, draft.with_name(draft.name + ".wal")):
            leftover.unlink(missing_ok=True)


def connect(path: Path) -> duckdb.DuckDBPyConnection:
    """Open the database for reading; the connection sees the file as it is now, whatever replaces it later.

    Queries can reach nothing but the database: no files, no network. Times are shown in UTC.

    Raises:
        StoreProblem: there is no database yet, or the file is not one.
    """
    if not path.is_file():
        raise StoreProblem(f"no results at {path} yet; make some with: compaction-eval run --store {path.parent}")
    # Attached, and not opened: within a process DuckDB hands out the instance that it already has for a path, even
    # when another file has taken its place.
    connection = duckdb.connect(":memory:", config=_OFFLINE)
    try:
        quoted = str(path).replace("'", "''")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"ATTACH '{quoted}' AS store (READ_ONLY)")
        connection.execute("USE store")
        connection.execute("SET enable_progress_bar = false")  # it would stand in the middle of what a command prints
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except duckdb.Error as error:
        connection.close()
        raise StoreProblem(f"{path} cannot be opened as a DuckDB file: {first_sentence(error)}") from None
    return connection


@cache
def _empty_database() -> bytes:
    """The file of a database without rows: to bind every view takes two seconds, to copy the outcome none."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.duckdb"
        with duckdb.connect(path, config=_OFFLINE) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("BEGIN")  # one commit, not one a statement, of which there are hundreds
            _create(connection)
            connection.execute("COMMIT")
            connection.execute("CHECKPOINT")
        return path.read_bytes()


@cache
def schemas() -> Mapping[str, pa.Schema]:
    """The Arrow schema of every table, read off ``sql/schema``."""
    with duckdb.connect(":memory:", config=_OFFLINE) as connection:
        for name, text in _layer("schema"):
            _run(connection, f"schema/{name}.sql", text)
        return {name: connection.table(name).limit(0).to_arrow_table().schema for name, _ in _layer("schema")}


def first_sentence(error: Exception) -> str:
    """The message of a DuckDB error without the query that it repeats and without its class."""
    text = " ".join(re.split(r"\n\s*\nLINE ", str(error))[0].split())
    return re.sub(r"^[\w ]+? Error: ", "", text).rstrip(".")


def _layer(folder: str) -> Iterator[tuple[str, str]]:
    """Name and text of a folder's files, by name."""
    entries = [entry for entry in files("sql").joinpath(folder).iterdir() if entry.name.endswith(".sql")]
    for entry in sorted(entries, key=lambda entry: entry.name):
        yield entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8")


def _create(connection: duckdb.DuckDBPyConnection) -> None:
    for folder in LAYERS:
        for name, text in _layer(folder):
            _run(connection, f"{folder}/{name}.sql", text)
            if folder not in ("macros", "schema"):
                _comment(connection, "VIEW", name, _grain(text))
    checks = dict(_layer("checks"))
    for name, text in checks.items():
        _run(connection, f"checks/{name}.sql", f'CREATE VIEW "check_{name}" AS\n{text}')
        _comment(connection, "VIEW", f"check_{name}", f"Violations of: {_grain(text)}")
    counts = "\nUNION ALL ".join(
        f"SELECT '{name}' AS invariant, (FROM \"check_{name}\" SELECT count(*)) AS violations, "
        f"{_literal(_grain(text))} AS meaning"
        for name, text in checks.items()
    )
    _run(connection, "checks", f"CREATE VIEW checks AS\n{counts}")
    _comment(connection, "VIEW", "checks", "One row per invariant; the rows behind its count are in check_<invariant>")
    _comment(connection, "COLUMN", "checks.invariant", "Name of the invariant, and of its file in sql/checks")
    _comment(connection, "COLUMN", "checks.violations", "Rows that break it; 0 = holds")
    _comment(connection, "COLUMN", "checks.meaning", "What holds")


def _run(connection: duckdb.DuckDBPyConnection, origin: str, text: str) -> None:
    try:
        connection.execute(text)
    except duckdb.Error as error:
        raise StoreProblem(f"sql/{origin} cannot be run: {first_sentence(error)}") from error


def _grain(text: str) -> str:
    """The first paragraph of the comment that opens an SQL file."""
    lines = []
    for line in text.splitlines():
        words = line.removeprefix("--").strip()
        if not line.startswith("--") or not words:
            break
        lines.append(words)
    return " ".join(lines).rstrip(".")


def _comment(connection: duckdb.DuckDBPyConnection, kind: str, name: str, text: str) -> None:
    connection.execute(f"COMMENT ON {kind} {name} IS {_literal(text)}")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _insert(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table, schema: pa.Schema) -> None:
    missing = [column for column in schema.names if column not in rows.column_names]
    extra = [column for column in rows.column_names if column not in schema.names]
    if missing or extra:
        parts = [f"{kind} {', '.join(found)}" for kind, found in (("missing", missing), ("extra", extra)) if found]
        raise StoreProblem(f"table {name}: wrong columns ({'; '.join(parts)}); it has: {', '.join(schema.names)}")
    # A text with an offset that is cast to TIMESTAMP straight away loses the offset silently.
    picked = ", ".join(
        f'CAST(CAST("{field.name}" AS TIMESTAMPTZ) AS TIMESTAMP) AS "{field.name}"'
        if pa.types.is_timestamp(field.type)
        else f'"{field.name}"'
        for field in schema
    )
    connection.register("incoming", rows)
    try:
        connection.execute(f'INSERT INTO "{name}" BY NAME SELECT {picked} FROM incoming')  # noqa: S608 (names of the DDL)
    except duckdb.Error as error:
        raise StoreProblem(f"table {name} refuses a row: {first_sentence(error)}") from error
    finally:
        connection.unregister("incoming")


def _sync(path: Path) -> None:
    """Make sure that a file, or a folder's entry for it, survives a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
