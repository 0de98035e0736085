"""Runs a query over files."""

from __future__ import annotations

import datetime as dt
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

from logquery.lineparser import parse_lines
from logquery.query import Node, matches
from logquery.record import Record


def load(paths: Iterable[str], errors: Optional[list] = None) -> List[Record]:
    """All records of the files, ordered by time."""
    records: List[Record] = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as handle:
            for record in parse_lines(handle, errors):
                records.append(record)
                records.sort(key=lambda r: r.time)
    return records


def select(
    records: Iterable[Record],
    node: Optional[Node],
    start: Optional[dt.datetime] = None,
    end: Optional[dt.datetime] = None,
) -> Iterator[Record]:
    """Records in [start, end) that match the query."""
    for record in records:
        if start is not None and record.time < start:
            continue
        if end is not None and record.time >= end:
            continue
        if node is None or matches(node, record):
            yield record


def count_by(records: Iterable[Record], name: str) -> List[Tuple[str, int]]:
    """How many records per value of a field, most frequent first."""
    counts: Dict[str, int] = {}
    for record in records:
        value = record.get(name)
        if value is not None:
            counts[value] = counts.get(value, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
