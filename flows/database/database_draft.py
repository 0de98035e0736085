"""Makes ``scores.duckdb`` from the files of ``sql/``.

The file is always made anew and put in place by a rename, because one process alone can have a DuckDB file open for
writing: whoever reads the old file goes on reading it, and the next to open finds the new one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
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
from flows.database.scores_db import SCHEMA_VERSION, broken_checks, count_violations, set_up
from flows.database.sql_model import (
    OFFLINE,
    checks,
    comment_on,
    empty_database,
    first_sentence,
    grain_of,
    literal,
    run_sql,
    schemas,
    sql_sha256,
    sql_text,
)
from flows.store.storage import LOCAL, Storage
from flows.support.errors import StoreError
from flows.support.versions import VERSION

SEEDED = frozenset({"published_leaderboard"})
"""Tables whose rows stand in their SQL file."""

MATERIALIZED = {
    "int_answer_scores": "intermediate",
    "agg_session_scores": "aggregates",
    "agg_cycle_scores": "aggregates",
    "agg_method_pairs": "aggregates",
    "agg_shared_probes": "aggregates",
    "agg_probe_budgets": "aggregates",
    "agg_splits": "aggregates",
    "leaderboard": "marts",
    "leaderboard_long": "marts",
    "against_baseline": "marts",
    "rank_intervals": "marts",
    "reliability": "marts",
    "retention": "marts",
    "pareto": "marts",
    "tokens_per_task": "marts",
    "replay_cost": "marts",
    "compression": "marts",
    "fact_survival": "marts",
    "coverage": "marts",
    "coverage_by_judge": "marts",
    "judge_agreement": "marts",
    "judge_remarks": "boards",
    "fronts": "boards",
}
"""View → its folder: those of which a load makes tables, in this order, each after those that it reads.

They are what reads every score, and what the page and the commands show first: whoever opens a store waits for none.
"""

BY_DIMENSION = "agg_method_pairs"
"""The one that is worked out some dimensions at a time (variable ``dimensions``): all at once need too much memory."""

ROWS_AT_ONCE = 50_000
"""Rows of the dimensions of one time, unless one alone has more. A small store has all at once: it is planned once."""

CLUSTERED = {"int_answer_scores": "session_id"}
"""View → the column by which its table is sorted, so that who asks for one session reads a small part of it."""


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
        file = f"{folder}/{name}.sql"
        is_sorted = folder in ("marts", "boards")  # their rows stay sorted as the view sorts them
        self.connection.execute(f"SET preserve_insertion_order = {is_sorted}")
        if name == BY_DIMENSION:
            self.connection.execute(f"CREATE TABLE filled AS FROM {name} WITH NO DATA")
            for dimensions in self._dimensions():
                self.connection.execute("SET VARIABLE dimensions = ?", [dimensions])
                run_sql(self.connection, file, f"INSERT INTO filled FROM {name}")
            self.connection.execute("RESET VARIABLE dimensions")
        else:
            order = f" ORDER BY {CLUSTERED[name]}" if name in CLUSTERED else ""
            run_sql(self.connection, file, f"CREATE TABLE filled AS FROM {name}{order}")
        self.connection.execute("SET preserve_insertion_order = false")
        self.connection.execute(f"BEGIN; DROP VIEW {name}; ALTER TABLE filled RENAME TO {name}")
        comment_on(self.connection, "TABLE", {name: text})
        self.connection.execute("COMMIT")  # one, not one a comment: each waits for the disk

    def _dimensions(self) -> Iterator[list[str]]:
        """Give the dimensions that have scores, in groups of at most ``ROWS_AT_ONCE`` rows or of one."""
        group: list[str] = []
        n_rows = 0
        for dimension, number in self.connection.execute(
            "SELECT dimension, count(*) FROM int_answer_scores GROUP BY 1 ORDER BY 1"
        ).fetchall():
            if group and n_rows + number > ROWS_AT_ONCE:
                yield group
                group, n_rows = [], 0
            group.append(dimension)
            n_rows += number
        if group:
            yield group

    def check(self) -> list[tuple[str, int]]:
        """Fill the table ``checks``; returns what ``violations`` does."""
        counts = count_violations(self.connection)
        rows = [
            {"invariant": name, "violations": counts[name], "meaning": grain_of(text)}
            for name, text in checks().items()
        ]
        self.insert("checks", pa.Table.from_pylist(rows, schema=schemas()["checks"]))
        return broken_checks(counts)

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
            set_up(connection, spill)
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


def build_database(tables: Mapping[str, pa.Table | Sequence[pa.Table]], target: Path) -> None:
    """Make the database with these rows, and replace the file at ``target``.

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
