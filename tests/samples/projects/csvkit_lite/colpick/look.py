"""Tables for people: aligned columns."""

from __future__ import annotations

import unicodedata

from .table import Table
from .types import Kind, column_kind

VISIBLE = {"\n": "␤", "\r": "␍", "\t": "␉"}


def width(text: str) -> int:
    """How many cells a terminal needs for `text`."""
    cells = 0
    for character in text:
        if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
            continue
        cells += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return cells


def visible(text: str) -> str:
    """Control characters as symbols, so that a row stays a line."""
    shown = []
    for character in text:
        if character in VISIBLE:
            shown.append(VISIBLE[character])
        elif unicodedata.category(character) in ("Cc", "Zl", "Zp"):
            shown.append("�")
        else:
            shown.append(character)
    return "".join(shown)


def shorten(text: str, limit: int) -> str:
    if width(text) <= limit:
        return text
    kept = ""
    for character in text:
        if width(kept + character) > limit - 1:
            break
        kept += character
    return kept + "…"


def pad(text: str, cells: int, right: bool = False) -> str:
    space = " " * max(0, cells - width(text))
    return space + text if right else text + space


def look(table: Table, max_width: int = 30, max_rows: int | None = None) -> str:
    rows = table.rows if max_rows is None else table.rows[:max_rows]
    shown = [[shorten(visible(field), max_width) for field in row] for row in rows]
    header = [shorten(visible(name), max_width) for name in table.header]
    numeric = [
        column_kind(row[index] for row in rows) in (Kind.INTEGER, Kind.DECIMAL)
        for index in range(len(header))
    ]
    widths = [
        max([width(header[index]), *(width(row[index]) for row in shown)])
        for index in range(len(header))
    ]
    lines = [" | ".join(pad(name, cells) for name, cells in zip(header, widths))]
    lines.append("-+-".join("-" * cells for cells in widths))
    for row in shown:
        lines.append(
            " | ".join(pad(field, cells, num) for field, cells, num in zip(row, widths, numeric))
        )
    left = len(table.rows) - len(rows)
    if left:
        lines.append(f"({left} more rows)")
    return "\n".join(line.rstrip() for line in lines) + "\n"
