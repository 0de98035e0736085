"""From rows to bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .errors import BadEncoding
from .sniff import Dialect
from .table import Table


@dataclass(frozen=True)
class WriteOptions:
    dialect: Dialect = Dialect()
    encoding: str = "utf-8"
    quote_all: bool = False
    header: bool = True
    bom: bool = False


def needs_quotes(field: str, dialect: Dialect) -> bool:
    return dialect.delimiter in field or dialect.quote in field or "\n" in field


def format_field(field: str, dialect: Dialect, quote_all: bool = False) -> str:
    if quote_all or needs_quotes(field, dialect):
        doubled = field.replace(dialect.quote, dialect.quote * 2)
        return f"{dialect.quote}{doubled}{dialect.quote}"
    return field


def format_row(row: list[str], options: WriteOptions) -> str:
    dialect = options.dialect
    if row == [""]:
        # an empty line would be left out by every reader
        return dialect.quote * 2
    return dialect.delimiter.join(
        format_field(field, dialect, options.quote_all) for field in row
    )


def format_rows(rows: Iterable[list[str]], options: WriteOptions) -> str:
    return "".join(format_row(row, options) + "\n" for row in rows)


def write_table(table: Table, options: WriteOptions = WriteOptions()) -> bytes:
    text = ""
    if options.header and table.header:
        text = format_rows([table.header], options)
    text += format_rows(table.rows, options)
    if options.bom:
        text = "\ufeff" + text
    try:
        return text.encode(options.encoding)
    except (UnicodeEncodeError, LookupError) as error:
        raise BadEncoding(options.encoding, str(error)) from error


def write_path(table: Table, path: str, options: WriteOptions = WriteOptions()) -> None:
    data = write_table(table, options)
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        Path(path).write_bytes(data)
