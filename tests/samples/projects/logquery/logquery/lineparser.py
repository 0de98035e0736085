"""Turns text lines into records."""

from __future__ import annotations

import datetime as dt
import re
from typing import Dict, Iterable, Iterator, Optional

from logquery.record import Record

LEVELS = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL")


class BadLine(ValueError):
    """The line is not in the format."""


def parse_time(text: str) -> dt.datetime:
    """ISO time with optional fraction and zone; without a zone it is UTC."""
    for pattern in (
        "%Y-%m-%dT%H:%M:%S.%f%z",
        "%Y-%m-%dT%H:%M:%S%z",
        "%Y-%m-%dT%H:%M:%S.%f",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M",
    ):
        try:
            parsed = dt.datetime.strptime(text, pattern)
        except ValueError:
            continue
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=dt.timezone.utc)
    raise BadLine(f"not a time: {text!r}")


def parse_fields(text: str) -> Dict[str, str]:
    """The key=value pairs of a line; a value in quotes may hold blanks."""
    fields: Dict[str, str] = {}
    for key, value in re.compile(r'(\w[\w.]*)=("[^"]*"|\S+)').findall(text):
        fields[key] = value.strip('"')
    return fields


def parse_line(line: str) -> Record:
    line = line.rstrip("\n")
    parts = line.split(" ", 3)
    if len(parts) < 3:
        raise BadLine(f"too short: {line[:60]!r}")
    time = parse_time(parts[0])
    level = parts[1].upper()
    if level not in LEVELS:
        raise BadLine(f"unknown level: {parts[1]!r}")
    fields = parse_fields(parts[3]) if len(parts) > 3 else {}
    return Record(time, level.lower(), parts[2], fields, line)


def parse_lines(lines: Iterable[str], errors: Optional[list] = None) -> Iterator[Record]:
    """Records of the lines; a bad line goes to `errors` (line number, message) or is skipped."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield parse_line(line)
        except BadLine as error:
            if errors is not None:
                errors.append((number, str(error)))
