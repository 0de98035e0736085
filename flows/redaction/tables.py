"""Secrets in columns: tables of Markdown, of a database or of CSV, ``INSERT``, and the data of a Kubernetes secret."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = r"(?:[\w. -]{0,40}?(?:passwor[dt]|passwd|passphrase|secret|token|(?:api|access|secret|private)[ _-]?key)(?:[ _-]?hash)?|pass|pwd|psk)"  # noqa: E501
_DRESS = r"[ \t\"'`*]{0,40}"
_NAME_END = re.compile(
    rf"(?:pass(?:wor[dt]|wd|phrase)?|pwd|psk|secret|token|key)(?:[ _-]?hash)?{_DRESS}(?=[|│,;\t\r\n]|$)", re.IGNORECASE
)
_NAME_START = re.compile(rf"(?:^|[|│,;\t\n]){_DRESS}(?P<name>[\w. -]{{0,40}})$", re.IGNORECASE)
_HEADER = re.compile(r"[\"']?[A-Za-z_][\w .-]{0,40}[\"']?(?:[\t;,][ ]?[\"']?[A-Za-z_][\w .-]{0,40}[\"']?){1,60}\r?")
"""A line of names in a file of values."""
_PREFIX = re.compile(
    r"[\w./@+-]{1,120}?[:-]\d{1,7}[:-]|[ \t]*(?:\d{1,7}(?:[→:\t]|[ ]+[│|])|[-+>](?![-+]))[ \t]*|[ \t]+"
)
"""What a viewer, a diff or a list puts before a line of a table."""
_RULER = re.compile(r"[-+|:=─┼├┤╞╡═ \t\r]+")
_SEPARATORS = ("|", "│", "\t", ";", ",")
_LONGEST_LINE = 600
_ROWS = 200
"""Lines below a header that are read."""
_INSERT = re.compile(
    r"\binsert[ \t]+(?:\w+[ \t]+)?into[ \t]+[^\s(]{1,120}\s{0,20}\((?P<names>[^()]{1,1000})\)\s{0,20}values\s{0,20}(?=\()",  # noqa: E501
    re.IGNORECASE,
)
_TUPLE = re.compile(r"\((?P<cells>(?:'(?:[^'\\]|\\.|'')*+'|\"[^\"]*+\"|[^'\"()]|\([^()]*+\))*+)\)\s{0,20},?\s{0,20}")
_CELL = re.compile(r"(?:'(?:[^'\\]|\\.|'')*+'|\"[^\"]*+\"|\([^()]*+\)|[^,'\"()])+|(?<=,)(?=,)")
_SECRET_NAME = re.compile(rf"{_DRESS}{_NAME}{_DRESS}", re.IGNORECASE)
_DATA = re.compile(r"^(?P<indent>[ \t]*)(?:data|stringData):[ \t]*\r?\n", re.MULTILINE)
_ENTRY = re.compile(
    r"(?P<indent>[ \t]*)[\w.\"'-]{1,120}:[ \t]*(?P<quote>[\"']?)(?P<value>[^\s\"']*)(?P=quote)[ \t]*(?:\r?\n|$)"
)

Cell = tuple[str, int, int]
"""The name of a column, start and end of a value in it."""


def find_cells(text: str, plain: str, stems: list[int]) -> Iterator[Cell]:
    """Every cell of a column whose name says that it holds secrets, without quotes and blanks around it.

    Args:
        text: What is read.
        plain: The same without the line starts of viewers and diffs.
        stems: Where a word may begin that names a secret.
    """
    header_end = table_end = 0
    for at in stems:
        if header_end <= at < table_end or (end := _NAME_END.match(text, at)) is None:
            continue
        if start := _NAME_START.search(text[max(0, at - 80) : at]):
            name = start["name"].lstrip() + text[at : end.end()].strip(" \t\"'`*")
            cells = list(_column(text, at, end.end(), name)) if _SECRET_NAME.fullmatch(name) else []
            yield from cells
            if cells:
                header_end, table_end = _line_end(text, at), max(table_end, cells[-1][2])
    if stems and ("nsert" in text or "NSERT" in text) and (found := _INSERT.search(text)):
        yield from _find_inserted(text, found.start())
    if "kind: Secret" in text:
        yield from _find_manifest(plain)


def _column(text: str, at: int, end: int, name: str) -> Iterator[Cell]:
    start = max(text.rfind("\n", 0, at) + 1, at - _LONGEST_LINE)
    line_end = _line_end(text, end)
    before = _PREFIX.match(text, start, line_end)
    start = before.end() if before else start
    is_shown = before is not None and not before.group().isspace()
    line = text[start:line_end]
    separator = next((one for one in _SEPARATORS if one in line), None)
    if separator is None:
        return
    if separator in "\t;," and not _HEADER.fullmatch(line):
        return
    column, n_cells = line.count(separator, 0, at - start), line.count(separator)
    following = _cells(text, start, line_end, separator)[column + 1 : column + 2]
    if separator in "|│" and following:
        yield name, *following[0]
    at = line_end + 1
    for _ in range(_ROWS):
        line_end = _line_end(text, at)
        if is_shown and (other := _PREFIX.match(text, at, line_end)):
            at = other.end()
        row = text[at:line_end]
        if _RULER.fullmatch(row) is None:
            if row.count(separator) != n_cells:
                break
            yield name, *_cells(text, at, line_end, separator)[column]
        at = line_end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at, at + _LONGEST_LINE)
    return end if end >= 0 else min(len(text), at + _LONGEST_LINE)


def _cells(text: str, start: int, end: int, separator: str) -> list[tuple[int, int]]:
    spans, at = [], start
    for cell in text[start:end].split(separator):
        spans.append(_bare(text, at, at + len(cell)))
        at += len(cell) + 1
    return spans


def _bare(text: str, start: int, end: int) -> tuple[int, int]:
    value = text[start:end]
    left = len(value) - len(value.lstrip(" \t\"'`*"))
    return start + left, max(start + left, end - (len(value) - len(value.rstrip(" \t\r\"'`*"))))


def _find_inserted(text: str, at: int) -> Iterator[Cell]:
    for found in _INSERT.finditer(text, at):
        names = found["names"].split(",")
        columns = [number for number, name in enumerate(names) if _SECRET_NAME.fullmatch(name.strip())]
        at = found.end()
        while columns and (row := _TUPLE.match(text, at)):
            cells = [one.span() for one in _CELL.finditer(text, *row.span("cells"))]
            yield from ((names[n], *_bare(text, *cells[n])) for n in columns if len(cells) == len(names))
            at = row.end()


def _find_manifest(text: str) -> Iterator[Cell]:
    """Every value below ``data`` of a text with a Kubernetes secret."""
    for found in _DATA.finditer(text):
        at = found.end()
        while (entry := _ENTRY.match(text, at)) and len(entry["indent"]) > len(found["indent"]):
            yield "secret", *entry.span("value")
            at = entry.end()
