"""Format rows of the store: tables for reading, Markdown, CSV, JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import orjson
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.support.choices import Format
from flows.support.errors import UsageError
from flows.support.terminal_text import without_controls

WIDTH = 100
"""Columns of a terminal that tables and notes fit in."""

CELL_WIDTH = 60
"""Characters after which a cell of a table without a width is broken; the other formats show all of it."""

MISSING = "–"

_NAME_WIDTH = 36


@dataclass(frozen=True)
class Rows:
    """The answer to a query."""

    names: list[str]
    values: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """Each row by the names of its columns."""
        return [dict(zip(self.names, row, strict=True)) for row in self.values]


def fetch_rows(connection: duckdb.DuckDBPyConnection, sql: str, most: int | None = None, /, **values: Any) -> Rows:
    """Run a query, and take all of its rows or ``most``; ``values`` are its parameters, written ``$name`` in it."""
    connection.execute(sql, values or None)
    names = [column[0] for column in connection.description or ()]
    if not names:
        return Rows(names, [])
    return Rows(names, connection.fetchall() if most is None else connection.fetchmany(most))


def rows_of_judge(rows: Rows, judge: str | None) -> Rows:
    """The rows of one judge, by its name or the beginning of its id; all without one.

    Raises:
        UsageError: no row is of such a judge.
    """
    if judge is None:
        return rows
    at, named = rows.names.index("judge_id"), rows.names.index("judge")
    found = [row for row in rows.values if row[named] == judge] or [
        row for row in rows.values if row[at].startswith(judge)
    ]
    if not found:
        known = ", ".join(dict.fromkeys(f"{row[named]} ({row[at]})" for row in rows.values)) or "none"
        raise UsageError(f"no scores of a judge {judge!r} in this store; judges with scores: {known}")
    return Rows(rows.names, found)


def is_numeric(column: Sequence[Any]) -> bool:
    """Whether a column has numbers and nothing but numbers; NULL does not count."""
    found = [value for value in column if value is not None]
    return bool(found) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in found)


def two_decimals(value: float | None) -> str:
    """A score with two digits after the point."""
    return MISSING if value is None else f"{rounded(value):.2f}"


def rounded(value: float) -> float:
    """The value without its last digits, which depend on the order in which DuckDB's threads add up."""
    return round(value, 9)


def plain_cell(value: Any) -> str:
    """A value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return without_controls(str(value))


def render_text(drawing: Text | Table, width: int) -> str:
    """A text or table as lines of at most ``width`` columns."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, highlight=False, legacy_windows=False).print(drawing)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def render_table(
    names: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool], width: int | None
) -> str:
    """A table drawn with lines; without ``width`` it is as wide as its content."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1 if width is None else 0), pad_edge=False, show_edge=False)
    for name, is_number in zip(names, numeric, strict=True):
        table.add_column(
            Text(name),
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=is_number,
            max_width=CELL_WIDTH if width is None else None,
        )
    for first, *rest in cells:
        table.add_row(Text(first if width is None else _breakable(first)), *map(Text, rest))
    return render_text(table, width or (CELL_WIDTH + 3) * max(1, len(names)))


def markdown(names: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """A table in Markdown."""
    rule = ["---:" if is_number else "---" for is_number in numeric]
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in cells]
    return "".join(f"| {' | '.join(row)} |\n" for row in [list(names), rule, *escaped])


def render_rows(rows: Rows, format: Format) -> str:
    """The rows as JSON, or else as CSV, with full precision."""
    if format == "json":
        return orjson.dumps(rows.dicts(), default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.names)
    writer.writerows(rows.values)
    return out.getvalue()


def _breakable(name: str) -> str:
    """A long name with spaces where it may be broken, so that it is not broken within a word."""
    return name if len(name) <= _NAME_WIDTH else re.sub(r",(?=\S)", ", ", name.replace("(", " (", 1))
