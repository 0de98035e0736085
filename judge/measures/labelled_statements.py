"""The statements of a text, whatever form it has: prose, lists, headed sections, tables, JSON, ``key: value`` lines.

A summary may say the same under a heading, in a column, under a key or in a sentence. Here each of these becomes a
statement with the words that stand over it as its label. Contexts of many methods repeat lines; a line is read once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

MAX_LINE = 2_000
"""Characters; a longer line is data, not prose."""

MAX_JSON = 200_000
"""Characters of a JSON value that are parsed."""

_FENCE = re.compile(r"^\s*```\w*\s*$")
_HEADING = re.compile(r"(?:#{1,6}\s*|\d{1,3}[.)]\s+)?\**([A-Za-z][\w &/',-]{2,60})")
_NUMBERED_HEADING = re.compile(r"\d{1,2}[.)] .{1,76}:\**\s*\Z")
"""``7. Pending Tasks:``, as some agents' summaries have them."""

_ELEMENT = re.compile(r"\s*<([A-Za-z][\w-]{1,40})>\s*\Z")
_BULLET = re.compile(r"^\s*(?:[-*•]|\+(?!\s+`?[\w./@-]+\.\w)|\d{1,3}[.)])\s+(.*)$")
"""A plus before a file is a sign of its own: it was created."""

_RULE = re.compile(r"[\s|:=-]+\Z")
_KEY = re.compile(r"\**([A-Za-z][\w &/'-]{1,40})\**\s*:\**\s+(\S.*)\Z", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(`*_]*[A-Z0-9`/])")
_ANY = re.compile("")
_EMPTY = re.compile(r"^\(?(?:none|nothing|n/?a|empty|-)\b", re.IGNORECASE)


class LabelledStatement(NamedTuple):
    """One thing that a text says."""

    text: str
    label: str
    """Column or key above it; empty for plain prose."""


Said = tuple[LabelledStatement, ...]


@lru_cache(maxsize=512)
def statements(text: str, wanted: re.Pattern[str] = _ANY) -> tuple[tuple[str, Said], ...]:
    """The statements of each line that contains a pattern, in order, with the heading above it. Takes linear time."""
    value = _json(text)
    if value is not None:
        return (("", _said(_leaves(value, ""))),)
    found: list[tuple[str, Said]] = []
    heading = ""
    header: Sequence[str] = ()
    for line in text.split("\n"):  # not splitlines: a quoted command may hold other separators
        title, said, cells = _read_line(line, wanted)
        if said:
            found.append((heading, said))
        elif title is not None:
            heading = title
        elif cells and header:
            row = _said([LabelledStatement(", ".join(filter(None, cells)), " ".join(header))])
            found.append((heading, row))
        header = () if cells is None else header or cells
    return tuple(found)


@lru_cache(maxsize=16_384)
def _read_line(line: str, wanted: re.Pattern[str]) -> tuple[str | None, Said, Sequence[str] | None]:
    """The heading, the statements or the table cells of a line; cells are None if the line ends a table."""
    row = line.strip()
    if len(line) > MAX_LINE or not row or _FENCE.match(line):
        return None, (), () if row else None
    if row.startswith("|") and row.count("|") >= 3:
        return None, (), () if _RULE.match(row) else [cell.strip() for cell in row.strip("|").split("|")]
    title = _title(line)
    return title, _said(_of_line(line)) if title is None and wanted.search(line) else (), None


def _said(found: Iterable[LabelledStatement]) -> Said:
    return tuple(statement for statement in found if not _EMPTY.match(statement.text))


def _of_line(line: str) -> Iterator[LabelledStatement]:
    bullet = _BULLET.match(line)
    plain = (bullet[1] if bullet else line).strip()
    key = _KEY.match(plain)
    if key and not key[1].lower().startswith(("http", "note")):
        for item in key[2].split("; "):
            yield LabelledStatement(item.strip(), key[1])
    elif bullet:
        yield LabelledStatement(plain, "")
    else:
        for sentence in _SENTENCE.split(plain):
            if sentence.strip():
                yield LabelledStatement(sentence.strip(), "")


def _title(line: str) -> str | None:
    """The words of a line that is nothing but a heading."""
    element = _ELEMENT.match(line)
    if element:
        return element[1].replace("_", " ")
    plain = line.strip()
    if len(plain) > 80 or (_BULLET.match(line) and not _NUMBERED_HEADING.match(plain)):
        return None
    match = _HEADING.fullmatch(plain.rstrip(":* "))
    if match is None:
        return None
    marked = plain.startswith(("#", "**")) or plain.endswith((":", "*")) or _NUMBERED_HEADING.match(plain)
    return match[1].strip() if marked or len(match[1].split()) <= 3 else None  # "Open work" on a line of its own


def joined(heading: str, label: str) -> str:
    """A label with the heading above it."""
    return f"{heading} {label}".strip()


def _json(text: str) -> Any:
    plain = text.strip()
    fenced = re.fullmatch(r"[^`{\[]{0,300}```(?:json)?\s*([{\[].*[}\]])\s*```[^`]{0,300}", plain, re.DOTALL)
    begin = min((i for i in (plain.find("{"), plain.find("[")) if i >= 0), default=-1)
    body = fenced[1] if fenced else plain[begin:] if 0 <= begin <= 300 and plain.endswith(("}", "]")) else ""
    if not body or len(body) > MAX_JSON:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _leaves(value: Any, label: str, depth: int = 0) -> Iterator[LabelledStatement]:
    if depth > 20 or value is None or value == "":
        return
    if isinstance(value, dict):
        flat = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
        if depth and len(flat) > 1:  # a row of a list: its fields belong together
            yield LabelledStatement(", ".join(str(item) for item in flat.values()), joined(label, " ".join(flat)))
            value = {key: item for key, item in value.items() if key not in flat}
        for key, item in value.items():
            yield from _leaves(item, joined(label, str(key).replace("_", " ")), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, label, depth + 1)
    else:
        yield LabelledStatement(str(value), label)
