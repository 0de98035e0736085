"""From bytes to rows."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import BadEncoding, RowTooLong
from .sniff import Dialect, detect_dialect, detect_encoding
from .table import Table

csv.field_size_limit(sys.maxsize)


@dataclass(frozen=True)
class ReadOptions:
    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    header: bool = True
    strict: bool = False
    skip: int = 0


def decode(raw: bytes, encoding: str | None = None) -> tuple[str, str]:
    """The text of `raw`, and the encoding it was read with."""
    name = encoding or detect_encoding(raw)
    try:
        return raw.decode(name), name
    except (UnicodeDecodeError, LookupError) as error:
        raise BadEncoding(name, str(error)) from error


def split_rows(text: str, dialect: Dialect) -> Iterator[list[str]]:
    """The rows of `text`; empty lines are left out."""
    lines = text.splitlines(keepends=True)
    reader = csv.reader(
        lines, delimiter=dialect.delimiter, quotechar=dialect.quote, doublequote=True
    )
    for row in reader:
        if row:
            yield row


def level(rows: Iterator[list[str]], width: int, strict: bool, first: int = 2) -> Iterator[list[str]]:
    """Give all rows the same number of fields."""
    for number, row in enumerate(rows, start=first):
        if len(row) < width:
            row = row + [""] * (width - len(row))
        elif len(row) > width:
            if strict:
                raise RowTooLong(number, len(row), width)
            row = row[:width]
        yield row


def _names(count: int) -> list[str]:
    return [f"column{number}" for number in range(1, count + 1)]


def read_table(raw: bytes, options: ReadOptions = ReadOptions()) -> Table:
    text, encoding = decode(raw, options.encoding)
    if options.skip:
        text = "".join(text.splitlines(keepends=True)[options.skip :])
    dialect = detect_dialect(text, options.delimiter, options.quote)
    rows = split_rows(text, dialect)
    first = next(rows, None)
    if first is None:
        return Table([], [], dialect=dialect, encoding=encoding)
    if options.header:
        header = first
        body = list(level(rows, len(header), options.strict))
    else:
        header = _names(len(first))
        body = [first, *level(rows, len(header), options.strict)]
    return Table(header, body, dialect=dialect, encoding=encoding)


def read_path(path: str, options: ReadOptions = ReadOptions()) -> Table:
    """Read a file; `-` is standard input."""
    if path == "-":
        return read_table(sys.stdin.buffer.read(), options)
    return read_table(Path(path).read_bytes(), options)
