"""Format rows of the store: tables for reading, Markdown, CSV, JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import orjson
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.support.choices import Format
from flows.support.errors import UsageError
from flows.support.plurals import quantity
from flows.support.terminal_text import WIDTH, without_controls

if TYPE_CHECKING:
    import duckdb

CELL_WIDTH = 60
"""Characters after which a cell of a table without a width is broken; the other formats show all of it."""

MISSING = "–"

TEXT_WIDTH = 24
"""Columns that a text has at least, as far as it needs them: names tell rows apart."""


@dataclass(frozen=True)
class Rows:
    """The answer to a query."""

    names: list[str]
    values: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries by column name."""
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


def format_signed(value: float | None) -> str:
    """A difference with its sign; without a sign where it rounds to 0."""
    if value is None:
        return MISSING
    text = f"{round(value, 9):+.2f}"
    return "0.00" if float(text) == 0 else text


def format_p(p: float | None) -> str:
    """A p-value for reading."""
    if p is None:
        return MISSING
    return "<.001" if p < 0.001 else f"{p:.3f}"


def rounded(value: float) -> float:
    """Round off the last digits, which vary because DuckDB's threads add in any order."""
    return round(value, 9)


def plain_cell(value: Any) -> str:
    """A value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return without_controls(str(value))


@dataclass(frozen=True, slots=True)
class Layout:
    """The format and the size of rows in the output."""

    format: Format = "table"
    """``table`` and ``markdown`` are for reading; ``csv`` and ``json`` have every column and row."""
    width: int | None = WIDTH
    """Columns of the terminal; None: tables are as wide as their content."""
    most: int | None = None
    """Rows of a table that are shown; None: all."""
    more: str = "--format csv"
    """Option that has what does not fit."""
    is_coloured: bool = False
    """Whether rows of a group have its colour; control characters of texts are then written out here."""

    @property
    def is_data(self) -> bool:
        """Whether the layout is for programs."""
        return self.format in ("csv", "json")

    def table(
        self, names: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool], groups: Sequence[str] = ()
    ) -> str:
        """Render a table; columns and rows that do not fit are left out, and counted below. Rows may have a group."""
        if self.format == "markdown":
            return markdown(names, [[" ".join(cell.split()) for cell in row] for row in cells if any(row)], numeric)
        rows = cells if self.most is None else cells[: self.most]
        if self.is_coloured:
            rows = [[without_controls(cell) for cell in row] for row in rows]
        widths = _fit(names, rows, numeric, self.width)
        left = [
            quantity(number, noun)
            for number, noun in ((len(names) - len(widths), "more column"), (len(cells) - len(rows), "more row"))
            if number
        ]
        note = f"{' and '.join(left)}: {self.more}\n" if left else ""
        styles = [""] * len(rows)
        if self.is_coloured:
            known = list(dict.fromkeys(filter(None, groups)))
            styles = [COLOURS[known.index(of) % len(COLOURS)] if of else "" for of in groups[: len(rows)]] or styles
        return _draw(names, rows, numeric, widths, styles, roomy=self.width is None) + note

    def note(self, text: str) -> str:
        """A text below a table."""
        shown = without_controls(text) if self.is_coloured else text
        return f"{text}\n" if self.format == "markdown" else _render(Text(shown), self.width or WIDTH)

    def section(
        self,
        names: Sequence[str],
        cells: Sequence[Sequence[str]],
        numeric: Sequence[bool],
        note: str,
        groups: Sequence[str] = (),
    ) -> str:
        """A table and what is said of it."""
        between = "\n" if self.format == "markdown" else ""
        return self.table(names, cells, numeric, groups) + between + self.note(note)


COLOURS = ("green", "cyan", "blue", "magenta", "yellow", "red")
"""Of the groups of a table, one after the other."""

FOR_READING = Layout()
"""Tables of ``WIDTH`` columns."""
AS_WIDE_AS_IT_IS = Layout(width=None)


def _fit(names: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool], width: int | None) -> list[int]:
    """The widths of the columns that fit, from the left; the first two always do."""
    natural, least = [], []
    for i, (name, is_number) in enumerate(zip(names, numeric, strict=True)):
        longest = max((cell_len(line) for row in cells for line in row[i].split("\n")), default=0)
        natural.append(max(1, cell_len(name), longest if is_number else min(longest, CELL_WIDTH)))
        pieces = max(map(cell_len, _pieces(name)), default=0)
        least.append(max(pieces, longest) if is_number else max(pieces, min(longest, TEXT_WIDTH)))
    if width is None:
        return natural
    least[0] = min(least[0], max(TEXT_WIDTH, width // 3))
    n = len(names)
    while n > 2 and sum(least[:n]) + n - 1 > width:
        n -= 1
    found, room = least[:n], width - sum(least[:n]) - (n - 1)
    for i in sorted(range(n), key=lambda i: (not numeric[i], i)):  # heads of figures first: they need little
        more = max(0, min(natural[i] - found[i], room))
        found[i] += more
        room -= more
    return found


def _draw(
    names: Sequence[str],
    cells: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    widths: Sequence[int],
    styles: Sequence[str],
    *,
    roomy: bool,
) -> str:
    gap = 1 if roomy else 0
    table = Table(box=box.SIMPLE_HEAD, padding=(0, gap), pad_edge=False, show_edge=False)
    for name, is_number, width in zip(names, numeric, widths, strict=False):
        head = name if cell_len(name) <= width else "\n".join(_pieces(name))
        table.add_column(Text(head), justify="right" if is_number else "left", overflow="fold", width=width)
    for (first, *rest), style in zip(cells, styles, strict=True):
        table.add_row(
            Text(first if roomy else _breakable(first, widths[0])), *map(Text, rest[: len(widths) - 1]), style=style
        )
    return _render(table, sum(widths) + (1 + 2 * gap) * len(widths), is_coloured=any(styles))


def _pieces(name: str) -> list[str]:
    """The parts of a column's name, between which it may be broken."""
    return re.findall(r"[^\s_/-]+[_/-]?|[_/-]", name)


def _render(drawing: Text | Table, width: int, *, is_coloured: bool = False) -> str:
    out = io.StringIO()
    colours: Literal["standard"] | None = "standard" if is_coloured else None
    Console(
        file=out,
        width=width,
        color_system=colours,
        force_terminal=is_coloured,
        no_color=False,
        highlight=False,
        legacy_windows=False,
    ).print(drawing)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


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


def _breakable(name: str, width: int) -> str:
    """A long name with spaces where it may be broken, so that it is not broken within a word."""
    return name if cell_len(name) <= width else re.sub(r",(?=\S)", ", ", name.replace("(", " (", 1))
