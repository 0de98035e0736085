"""What the commands do with tables."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass

from .errors import ColpickError
from .table import Table
from .types import Kind, column_kind, is_empty, sort_key


def cut(table: Table, columns: str | None = None, drop: str | None = None) -> Table:
    """Only some columns, or all but some."""
    if columns is not None and drop is not None:
        raise ColpickError("either the columns to keep or the columns to drop, not both")
    if drop is not None:
        return table.select(table.without(drop))
    if columns is not None:
        return table.select(table.indexes(columns))
    return table


def grep(
    table: Table,
    pattern: str,
    columns: str | None = None,
    ignore_case: bool = False,
    invert: bool = False,
) -> Table:
    """Rows in which one of the columns matches."""
    try:
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise ColpickError(f"bad pattern {pattern!r}: {error}") from error
    indexes = table.indexes(columns) if columns else list(range(len(table.header)))

    def keep(row: list[str]) -> bool:
        found = any(compiled.search(row[index]) for index in indexes)
        return found != invert

    return table.where(keep)


def sort(table: Table, columns: str, reverse: bool = False, as_text: bool = False) -> Table:
    """Sort by columns, each by its own kind. Equal rows keep their order."""
    rows = list(table.rows)
    for index in reversed(table.indexes(columns)):
        kind = Kind.TEXT if as_text else column_kind(row[index] for row in rows)
        filled = [row for row in rows if not is_empty(row[index])]
        empty = [row for row in rows if is_empty(row[index])]
        filled.sort(key=lambda row: sort_key(row[index], kind), reverse=reverse)
        rows = filled + empty
    return table.like(table.header, rows)


def join(left: Table, right: Table, column: str, how: str = "inner") -> Table:
    """Put together the rows of two tables that agree in one column."""
    if how not in ("inner", "left", "outer"):
        raise ColpickError(f"unknown kind of join {how!r}")
    left_index, right_index = left.index(column), right.index(column)
    others = [index for index in range(len(right.header)) if index != right_index]
    taken = set(left.header)
    names = []
    for index in others:
        name = right.header[index]
        while name in taken:
            name += "_2"
        taken.add(name)
        names.append(name)

    by_key: defaultdict[str, list[list[str]]] = defaultdict(list)
    for row in right:
        by_key[row[right_index]].append([row[index] for index in others])

    rows: list[list[str]] = []
    used: set[str] = set()
    for row in left:
        key = row[left_index]
        matches = by_key.get(key)
        if matches:
            used.add(key)
            rows.extend(row + match for match in matches)
        elif how in ("left", "outer"):
            rows.append(row + [""] * len(others))
    if how == "outer":
        for key, matches in by_key.items():
            if key in used:
                continue
            for match in matches:
                blank = [""] * len(left.header)
                blank[left_index] = key
                rows.append(blank + match)
    return left.like(left.header + names, rows)


@dataclass(frozen=True)
class ColumnStat:
    name: str
    kind: Kind
    filled: int
    empty: int
    distinct: int
    smallest: str = ""
    largest: str = ""
    mean: str = ""
    most_common: str = ""


def stat(table: Table) -> list[ColumnStat]:
    """A few numbers for each column."""
    found = []
    for index, name in enumerate(table.header):
        values = table.column(index)
        filled = [value for value in values if not is_empty(value)]
        kind = column_kind(values)
        smallest = largest = mean = ""
        if filled:
            ordered = sorted(filled, key=lambda value: sort_key(value, kind))
            smallest, largest = ordered[0], ordered[-1]
            if kind in (Kind.INTEGER, Kind.DECIMAL):
                mean = f"{statistics.fmean(float(value.replace('_', '')) for value in filled):.6g}"
        top = Counter(filled).most_common(1)
        found.append(
            ColumnStat(
                name=name,
                kind=kind,
                filled=len(filled),
                empty=len(values) - len(filled),
                distinct=len(set(filled)),
                smallest=smallest,
                largest=largest,
                mean=mean,
                most_common=f"{top[0][0]} ({top[0][1]})" if top else "",
            )
        )
    return found


def stat_table(table: Table) -> Table:
    names = "name kind filled empty distinct smallest largest mean most_common".split()
    rows = [
        [str(getattr(s, n).value if n == "kind" else getattr(s, n)) for n in names]
        for s in stat(table)
    ]
    return table.like(names, rows)
