"""The page ``schema.md``, made from the comments of an empty store."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb

from flows.database.database_draft import build_database
from flows.database.ready_queries import ready_queries
from flows.database.scores_db import connect, list_relations
from flows.database.sql_model import LAYERS, checks, layer_files, opening_of, table_references
from flows.reporting.text_tables import markdown
from flows.support.plurals import quantity

_READS = re.compile(r'\b(?:from|join)\s+"?(\w+)"?', re.IGNORECASE)

_TITLES = {
    "schema": "Tables",
    "marts": "Marts: the views to ask",
    "boards": "Boards: views over marts",
    "staging": "Staging: rows with what they belong to",
    "intermediate": "Intermediate: figures of single answers",
    "aggregates": "Aggregates: sums that marts share",
}
"""Layer → its heading, in the order of the page."""

_HEAD = """\
# Schema

Every table and view of `scores.duckdb`, with its grain, its columns, and what reads it. Made from the comments in
`sql/`, which the database carries too (`duckdb_columns()`); `compaction-eval describe NAME` prints one of them. What
the figures mean: [SQL for analysts](sql.md), [statistics](statistics.md).
"""


def schema_page() -> str:
    """Every table, view, check and macro, as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.duckdb"
        build_database({}, path)
        with connect(path) as connection:
            return "\n".join([_HEAD, *_sections(connection)])


def draw_references() -> str:
    """The tables that refer to each other, as a Mermaid diagram."""
    lines = (
        f"    {other} ||--o{{ {table} : {column}"
        for table, columns in table_references().items()
        for column, other in columns.items()
    )
    return "\n".join(["erDiagram", *lines]) + "\n"


def readers() -> dict[str, list[str]]:
    """Table or view → the views and queries whose files read it, and how many checks do."""
    found: dict[str, set[str]] = {}
    n_checks: dict[str, int] = {}
    for label, text in _texts():
        code = re.sub(r"--.*", "", text)
        for name in set(_READS.findall(code)):
            if label.startswith("check "):
                n_checks[name] = n_checks.get(name, 0) + 1
            else:
                found.setdefault(name, set()).add(label)
    counted = {name: [quantity(n, "check")] for name, n in n_checks.items()}
    return {name: sorted(found.get(name, ())) + counted.get(name, []) for name in {*found, *counted}}


def _texts() -> Iterator[tuple[str, str]]:
    for layer in LAYERS[2:]:
        for name, text in layer_files(layer):
            yield f"`{name}`", text
    for name, text in checks().items():
        yield f"check {name}", text
    for query in ready_queries().values():
        yield f"the query `{query.name}`", query.sql


def _sections(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    comments = {name: comment or "" for name, _, comment in list_relations(connection)}
    columns: dict[str, list[tuple[str, str, str]]] = {}
    for name, column, kind, comment in connection.execute(
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() "
        "WHERE database_name = 'store' AND schema_name = 'main' ORDER BY table_name, column_index"
    ).fetchall():
        columns.setdefault(name, []).append((column, kind, comment or ""))
    read_by = readers()
    for layer, title in _TITLES.items():
        yield f"## {title}\n"
        for name, _ in layer_files(layer):
            yield _relation(name, comments[name], columns[name], read_by.get(name, []))
    yield "## Checks\n\nOne view per invariant, whose rows are the violations; `checks` counts them (0 = holds).\n"
    holds = {name: comments[f"check_{name}"].removeprefix("Violations of: ") for name in checks()}
    yield _table(["view", "holds"], ((f"`check_{name}`", text) for name, text in holds.items()))
    yield "## Macros\n\nWhat views call, and your own queries can.\n"
    yield _table(["macro", "is"], ((f"`{_signature(text)}`", opening_of(text)) for _, text in layer_files("macros")))


def _relation(name: str, comment: str, columns: list[tuple[str, str, str]], read_by: list[str]) -> str:
    read = f"Read by {', '.join(read_by)}." if read_by else "Read by nothing else here."
    rows = ((f"`{column}`", kind.lower(), text) for column, kind, text in columns)
    return f"### `{name}`\n\n{comment.rstrip('.')}. {read}\n\n{_table(['column', 'type', 'is'], rows)}"


def _table(names: list[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown(names, list(rows), [False] * len(names))


def _signature(text: str) -> str:
    found = re.search(r"create (?:or replace )?macro\s+(\w+\s*\([^)]*\))", text, re.IGNORECASE)
    return " ".join(found[1].split()) if found else ""
