"""The result of a user's own query on the store, as text."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb

from flows.database.query_limits import query_limits
from flows.database.scores_db import connect, show_texts
from flows.database.sql_model import first_sentence
from flows.reporting.text_tables import AS_WIDE_AS_IT_IS, Layout, Rows, fetch_rows, is_numeric, plain_cell, render_rows
from flows.store.store import Store
from flows.support.errors import UsageError
from flows.support.plurals import quantity


def render_query(
    path: Path,
    sql: str,
    layout: Layout = AS_WIDE_AS_IT_IS,
    variables: Mapping[str, str] | None = None,
    store: Store | None = None,
    seconds: float | None = None,
    *,
    brief: bool = False,
) -> str:
    """The result of a query on the store. The query can read the store's tables and views, and nothing else.

    Args:
        path: The database.
        sql: The query.
        layout: Of the result. Tables and Markdown show its ``most`` rows; CSV and JSON have all.
        variables: Are set for it: ``getvariable('name')``.
        store: Needed by the views of texts.
        seconds: How long it may take.
        brief: Leave ids out of a table, and give its numbers two decimals.

    Raises:
        StoreError: there is no database yet.
        UsageError: the query cannot be run.
    """
    with connect(path) as connection:
        for name, value in (variables or {}).items():
            connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
        return render_answer(connection, sql, layout, store, seconds, brief=brief)


def run_query(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    most: int | None = None,
    store: Store | None = None,
    seconds: float | None = None,
) -> Rows:
    """The rows of a user's own query, all or the first ``most``.

    Raises:
        UsageError: the query cannot be run.
    """
    try:
        if store is not None:
            show_texts(connection, sql, store.texts)  # before the limits: Arrow sets a gigabyte aside, and takes little
        with query_limits(connection, seconds):
            return fetch_rows(connection, sql, most)
    except duckdb.Error as error:
        raise UsageError(f"the query cannot be run: {first_sentence(error)}") from None


def render_answer(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    layout: Layout = AS_WIDE_AS_IT_IS,
    store: Store | None = None,
    seconds: float | None = None,
    *,
    brief: bool = False,
) -> str:
    """The same on an open connection.

    Raises:
        UsageError: the query cannot be run.
    """
    shown = None if layout.is_data else layout.most
    rows = run_query(connection, sql, None if shown is None else shown + 1, store, seconds)
    if layout.is_data:
        return render_rows(rows, layout.format)
    if brief and layout.format == "table":
        rows = _without_ids(rows)
        cells = [[_brief_cell(value) for value in row] for row in rows.values[:shown]]
    else:
        cells = [[plain_cell(value) for value in row] for row in rows.values[:shown]]
    numeric = [is_numeric([row[i] for row in rows.values]) for i in range(len(rows.names))]
    rest = ""
    if len(rows.values) > len(cells):
        rest = f"the first {len(cells):,} rows; --output FILE, a pipe, --format csv and --json have all\n"
    if layout.format == "table":
        rest = rest or f"{quantity(len(cells), 'row')}\n"
    return layout.table(rows.names, cells, numeric) + rest


def _without_ids(rows: Rows) -> Rows:
    kept = [number for number, name in enumerate(rows.names) if not name.endswith("_id")]
    return Rows([rows.names[number] for number in kept], [tuple(row[number] for number in kept) for row in rows.values])


def _brief_cell(value: Any) -> str:
    """A value as the text of a cell: two decimals, none from a thousand on, one digit of what would be 0.00."""
    if not isinstance(value, float) or not isfinite(value):
        return plain_cell(value)
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1g}" if 0 < abs(value) < 0.005 else f"{value:.2f}"
