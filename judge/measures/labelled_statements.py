"""The statements of a text, whatever form it has: prose, lists, headed sections, tables, JSON, ``key: value`` lines.

A summary may say the same under a heading, in a column, under a key or in a sentence. Here each of these becomes a
statement with the words that stand over it as its label.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

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
_EMPTY = re.compile(r"^\(?(?:none|nothing|n/?a|empty|-)\b", re.IGNORECASE)


class LabelledStatement(NamedTuple):
    """One thing that a text says."""

    text: str
    label: str
    """Heading, column or key above it; empty for plain prose."""

    @property
    def whole(self) -> str:
        """The text after its label."""
        return f"{self.label}: {self.text}" if self.label else self.text


class _Line(NamedTuple):
    """What one line is, and what it says."""

    kind: Literal["blank", "skipped", "row", "title", "said"]
    said: tuple[LabelledStatement, ...] = ()
    """Of a title its words. Of a row its cells, and as label the same as the head of a table."""


@lru_cache(maxsize=2_048)
def statements(text: str) -> tuple[LabelledStatement, ...]:
    """The statements in order. Takes time linear in the text."""
    value = _json(text)
    if value is not None:
        return tuple(_said(_leaves(value, "")))
    found: list[LabelledStatement] = []
    heading = ""
    header: str | None = None
    for line in text.split("\n"):  # not splitlines: a quoted command may hold other separators
        read = _read_line(line)
        if read.kind == "row":
            if header is None:
                header = read.said[0].label
            else:
                found += _said([LabelledStatement(read.said[0].text, _joined(heading, header))])
        elif read.kind != "skipped":
            header = None
            if read.kind == "title":
                heading = read.said[0].text
            elif heading:
                found += (LabelledStatement(one.text, _joined(heading, one.label)) for one in read.said)
            else:
                found += read.said
    return tuple(found)


@lru_cache(maxsize=16_384)
def _read_line(line: str) -> _Line:
    """Reads one line; contexts of many methods repeat lines."""
    row = line.strip()
    if not row:
        return _Line("blank")
    if len(line) > MAX_LINE or _FENCE.match(line):
        return _Line("skipped")
    if row.startswith("|") and row.count("|") >= 3:
        if _RULE.match(row):
            return _Line("skipped")
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        return _Line("row", (LabelledStatement(", ".join(filter(None, cells)), " ".join(cells)),))
    title = _title(line)
    if title is not None:
        return _Line("title", (LabelledStatement(title, ""),))
    return _Line("said", tuple(_said(_of_line(line))))


def _said(found: Iterable[LabelledStatement]) -> Iterator[LabelledStatement]:
    return (statement for statement in found if not _EMPTY.match(statement.text))


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


def _joined(heading: str, label: str) -> str:
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
            yield LabelledStatement(", ".join(str(item) for item in flat.values()), _joined(label, " ".join(flat)))
            value = {key: item for key, item in value.items() if key not in flat}
        for key, item in value.items():
            yield from _leaves(item, _joined(label, str(key).replace("_", " ")), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, label, depth + 1)
    else:
        yield LabelledStatement(str(value), label)
