"""The model of ``sql/``: its layers, tables and checks, and a database of them without rows."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import duckdb
import pyarrow as pa

from flows.support.errors import StoreError
from flows.support.machine_cache import kept

LAYERS = ("macros", "schema", "staging", "intermediate", "aggregates", "marts", "boards")
"""Folders of ``sql/`` in the order of creation; a file reads only what layers before its own made, and what a
load makes tables of (``flows.database.database_draft.MATERIALIZED``)."""

SCHEMAS = {
    "raw": ("schema",),
    "staging": ("staging", "intermediate", "aggregates"),
    "marts": ("marts", "boards"),
    "checks": ("checks",),
}
"""Schema of a database → the layers of which it has views, for tools that show a tree."""

Kind = Literal["TABLE", "VIEW"]

OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""Extensions would be fetched from the network."""


def sql_text(folder: str, name: str) -> str:
    """The query ``sql/<folder>/<name>.sql``."""
    return files("sql").joinpath(folder, f"{name}.sql").read_text(encoding="utf-8")


@cache
def sql_sha256() -> str:
    """Hash of all SQL behind a database's content and views."""
    digest = hashlib.sha256()
    texts = [(folder, layer_files(folder)) for folder in (*LAYERS, "load")]
    for folder, files_of_folder in (*texts, ("checks", checks().items())):
        for name, text in files_of_folder:
            digest.update(f"{folder}/{name}\0{text}\0".encode())
    digest.update(repr(_common_columns()).encode())
    return digest.hexdigest()


@cache
def relations() -> frozenset[str]:
    """Every table and view that ``sql/`` makes."""
    names = (name for folder in LAYERS if folder != "macros" for name, _ in layer_files(folder))
    return frozenset([*names, *(f"check_{name}" for name in checks())])


@cache
def empty_database() -> bytes:
    """The file of a database without rows. It is kept: to bind every view takes a core two seconds, to copy it none."""
    made_by = sql_sha256() + duckdb.__version__ + Path(__file__).read_text(encoding="utf-8")
    return kept("empty.duckdb", hashlib.sha256(made_by.encode()).hexdigest(), _empty_database)


def _empty_database() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.duckdb"
        with duckdb.connect(path, config=OFFLINE) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("BEGIN")  # one commit, not one a statement, of which there are hundreds
            _create(connection)
            connection.execute("COMMIT")
            connection.execute("CHECKPOINT")
        return path.read_bytes()


@cache
def schemas() -> Mapping[str, pa.Schema]:
    """The Arrow schema of every table, read off ``sql/schema``."""
    with duckdb.connect(":memory:", config=OFFLINE) as connection:
        for name, text in layer_files("schema"):
            run_sql(connection, f"schema/{name}.sql", text)
        return {name: connection.table(name).limit(0).to_arrow_table().schema for name, _ in layer_files("schema")}


@cache
def table_keys() -> Mapping[str, Mapping[str, str]]:
    """Read ``sql/schema/keys.toml``: the columns of each table's key."""
    return _toml("schema", "keys.toml")


@cache
def table_references() -> Mapping[str, Mapping[str, str]]:
    """Read ``sql/schema/references.toml``: table → its columns, and the table that each of them leads to."""
    return _toml("schema", "references.toml")


@cache
def checks() -> Mapping[str, str]:
    """Invariant → the query whose rows are its violations, under a comment that says what holds; by name."""
    found = dict(layer_files("checks"))
    for name, said in table_keys().items():
        key, table = said["key"], said.get("table", name)
        holds = said.get("holds", f"{key} {'identify' if ',' in key else 'identifies'} a row of {table}")
        query = f"SELECT {key}, count(*) AS n_rows\nFROM {table}\nGROUP BY {key}\nHAVING count(*) > 1"
        found[f"unique_{name}"] = f"-- {holds}.\n{query}"
    references = "\nUNION ALL\n".join(
        f"SELECT '{table}' AS table_name, {table}.{table_keys()[table]['key'].split(',')[0]} AS id, "
        f"'{other}.{column}' AS missing_from, {table}.{column} AS missing\n"
        f"FROM {table} ANTI JOIN {other} ON {table}.{column} = {other}.{column}"
        for table, columns in table_references().items()
        for column, other in columns.items()
    )
    found["orphan_rows"] = f"-- Every row's references lead to a row of the table that they name.\n{references}"
    return dict(sorted(found.items()))


OUT_OF_MEMORY = "it needs more memory than it may take: set COMPACTION_EVAL_MEMORY to more, such as 4GB"


def first_sentence(error: Exception) -> str:
    """The message of a DuckDB error without the query that it repeats and without its class.

    Arrow hands on DuckDB's errors as its own, so they are known by their text.
    """
    if isinstance(error, MemoryError) or "Out of Memory Error" in str(error):
        return OUT_OF_MEMORY
    if "INTERRUPT Error" in str(error):
        return "it took longer than --timeout allows"
    text = " ".join(re.split(r"\n\s*\nLINE ", str(error))[0].split())
    return re.sub(r"^[\w ]+? Error: ", "", text).rstrip(".")


def layer_files(folder: str) -> Iterator[tuple[str, str]]:
    """Name and text of the files of a folder of ``sql/``, by name."""
    entries = [entry for entry in files("sql").joinpath(folder).iterdir() if entry.name.endswith(".sql")]
    for entry in sorted(entries, key=lambda entry: entry.name):
        yield entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8")


def _create(connection: duckdb.DuckDBPyConnection) -> None:
    made: dict[str, dict[str, str]] = {folder: dict(layer_files(folder)) for folder in LAYERS}
    for folder, texts in made.items():
        for name, text in texts.items():
            run_sql(connection, f"{folder}/{name}.sql", text)
    views = {name: text for folder in LAYERS[2:] for name, text in made[folder].items()}
    for name, text in checks().items():
        run_sql(connection, f"checks/{name}.sql", f'CREATE VIEW "check_{name}" AS\n{text}')
        views[f"check_{name}"] = f"-- Violations of: {grain_of(text)}"
    comment_on(connection, "TABLE", made["schema"])
    comment_on(connection, "VIEW", views)
    made["checks"] = {name: text for name, text in views.items() if name.startswith("check_")}
    for schema, folders in SCHEMAS.items():
        relations = {name: text for folder in folders for name, text in made[folder].items()}
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(";".join(f'CREATE VIEW {schema}."{name}" AS FROM main."{name}"' for name in relations))
        comment_on(connection, "VIEW", relations, schema)


def run_sql(connection: duckdb.DuckDBPyConnection, origin: str, text: str) -> None:
    """Run SQL of a file; StoreError names the file, as ``origin`` below ``sql/``."""
    try:
        connection.execute(text)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise StoreError(f"sql/{origin} cannot be run: {first_sentence(error)}") from error


def opening_of(text: str) -> str:
    """The first paragraph of the comment that opens an SQL file."""
    lines = []
    for line in text.splitlines():
        words = line.removeprefix("--").strip()
        if not line.startswith("--") or not words:
            break
        lines.append(words)
    return " ".join(lines)


def grain_of(text: str) -> str:
    """The opening comment without its full stop."""
    return opening_of(text).rstrip(".")


def comment_on(
    connection: duckdb.DuckDBPyConnection, kind: Kind, made: Mapping[str, str], schema: str = "main"
) -> None:
    """Put the comments of SQL files on their tables or views, by name, and on the columns."""
    if kind == "TABLE":  # ``duckdb_columns`` would bind the views that read a table which has just been made
        columns = {name: connection.table(f'{schema}."{name}"').columns for name in made}
    else:
        found = connection.execute(
            "SELECT table_name, list(column_name) FROM duckdb_columns() WHERE schema_name = ? GROUP BY ALL", [schema]
        )
        columns = dict(found.fetchall())
    wanted = {f'{kind} {schema}."{name}"': grain_of(text) for name, text in made.items()}
    own = {name: column_comments(text) for name, text in made.items()}
    said = {name: {**_common_columns(), **own.get(_whole_of(text), {}), **own[name]} for name, text in made.items()}
    wanted |= {
        f'COLUMN {schema}."{name}"."{column}"': said[name].get(column, "") for name in made for column in columns[name]
    }
    connection.execute(";".join(f"COMMENT ON {what} IS {literal(text)}" for what, text in wanted.items() if text))


def _whole_of(text: str) -> str:
    """The relation whose columns a view takes over entirely (``select * … from``), with their comments."""
    found = re.search(r"^select \*.*\n(?:--.*\n)*from (\w+)", text, re.MULTILINE)
    return found[1] if found else ""


def column_comments(text: str) -> dict[str, str]:
    """Read the comment of each column in an SQL file: behind its line, and on the lines below that are comments alone.

    The line of a table's column begins with the column's name, that of a view's ends with it.
    """
    place = 0 if "\ncreate table " in text else -1
    found: dict[str, str] = {}
    column = ""
    for line in text.splitlines():
        code, is_noted, said = (part.strip() for part in line.partition("--"))
        if code:
            words = code.rstrip(",").split()
            column = words[place].rpartition(".")[2].strip('")') if is_noted else ""
        if column and is_noted:
            found[column] = f"{found[column]} {said}" if column in found else said
        elif not is_noted:
            column = ""
    return found


@cache
def _common_columns() -> Mapping[str, str]:
    """Column → what it means wherever the file of a table or view says nothing else of it."""
    return _toml("columns.toml")


def _toml(*place: str) -> dict[str, Any]:
    return tomllib.loads(files("sql").joinpath(*place).read_text(encoding="utf-8"))


def literal(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("'", "''") + "'"
