"""The files that ``query``, ``export`` and ``sql`` write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from compaction.closest import did_you_mean
from flows.cli.shared import options as o
from flows.database.arrow_batches import query_batches
from flows.database.query_limits import query_limits
from flows.database.scores_db import INNER, TEXTS, connect, list_relations, show_texts
from flows.reporting.export import ExportedFile, choose_format, refuse_to_overwrite, target_path, write_rows
from flows.store.store import Store
from flows.support.choices import FileFormat
from flows.support.errors import UsageError
from flows.support.plurals import quantity


def export_targets(names: Sequence[str], output: Path, format: FileFormat, force: bool) -> list[Path]:
    """The file of each name. Raises UsageError where there is none to write, or one is written twice."""
    if not names:
        raise UsageError("say what to export: names of tables and views, --query NAME, or --all")
    doubled = [name for name in names if names.count(name) > 1]
    if doubled:
        raise UsageError(f"{doubled[0]} would be written twice: a view and a query of that name, or one repeated")
    targets = [target_path(output, name, format, len(names) == 1) for name in names]
    if not force:
        refuse_to_overwrite(targets)
    return targets


def write_query(store: Store, text: str, output: Path, force: bool, seconds: float | None) -> ExportedFile:
    """Write the answer of a user's own query to a file; it may take so many seconds."""
    with connect(store.database) as connection:
        show_texts(connection, text, store.texts)
        with query_limits(connection, seconds):
            return write_answer(connection, "the answer", text, output, force)


def write_answer(
    connection: duckdb.DuckDBPyConnection, name: str, text: str, output: Path, force: bool
) -> ExportedFile:
    """Write the answer of a query to a file, and return the file."""
    target = target_path(output, name, choose_format(output, None), alone=True)
    if not force:
        refuse_to_overwrite([target])
    return write_rows(name, query_batches(connection, text), target, choose_format(target, None))


def print_exported(store: Store, files: Sequence[ExportedFile], *, as_json: bool) -> None:
    """Print the exported files, and their store."""
    if as_json:
        rows = [
            {"relation": one.relation, "path": str(one.path), "rows": one.rows, "bytes": one.n_bytes} for one in files
        ]
        o.echo_json(rows)
        return
    for one in files:
        o.echo(f"{one.path}: {quantity(one.rows, 'row')}, {one.n_bytes:,} bytes")
    o.echo_store(store)


def relations_of(connection: duckdb.DuckDBPyConnection, names: Sequence[str], every: bool) -> list[str]:
    """The named tables and views, and every other one that is not an inner one or of texts where all are wanted."""
    known = [name for name, _, _ in list_relations(connection)]
    for name in names:
        if name not in known:
            raise UsageError(
                f"no table or view {name!r} in this store{did_you_mean(name, known)}; compaction-eval export --all "
                "writes those that there are"
            )
    wanted = (name for name in known if every and name not in TEXTS and not name.startswith(INNER))
    return list(dict.fromkeys([*names, *wanted]))
