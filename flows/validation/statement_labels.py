"""A person's grades of statements of a store (``view --statements``) beside the embedded engine's figures for them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import duckdb

from flows.reporting.reader_agreement import Pair
from flows.support.errors import UsageError
from flows.validation.label_file import OF_STATEMENTS
from judge.given_files import read_given

MOST_BYTES = 50_000_000
"""Of a file of grades."""
COLUMNS = (*OF_STATEMENTS, "support")

_FOUND = """
SELECT id, method, support
FROM (SELECT DISTINCT unnest($ids) AS id)
JOIN statement_states AS states
    ON compaction_id = split_part(id, ':', 1)
    AND probe_id = split_part(id, ':', 2)
    AND position = try_cast(split_part(id, ':', 3) AS INTEGER)
JOIN compactions USING (compaction_id)
JOIN stg_methods USING (method_id)
WHERE support IS NOT NULL
"""


def pair_grades(path: Path, connection: duckdb.DuckDBPyConnection) -> list[Pair]:
    """Pair each grade with the support that the engine found in the same context. Raises UsageError."""
    try:
        rows = list(csv.reader(read_given(path, MOST_BYTES).decode().splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not rows or tuple(rows[0]) != COLUMNS:
        raise UsageError(f"{path}, line 1: expected the columns {', '.join(COLUMNS)}; `view --statements` writes them")
    known = {
        id: (method, support)
        for id, method, support in connection.execute(
            _FOUND, {"ids": [row[1] for row in rows[1:] if row[1:]]}
        ).fetchall()
    }
    return [_pair(f"{path}, line {number}", row, known) for number, row in enumerate(rows[1:], 2) if row]


def _pair(where: str, row: list[str], known: Mapping[str, tuple[str, float]]) -> Pair:
    try:
        kind, id, grade = row
        support = float(grade)
    except ValueError:
        raise UsageError(f"{where}: expected a kind, an id and a grade from 0 to 1") from None
    if not 0 <= support <= 1:
        raise UsageError(f"{where}: expected a grade from 0 to 1, found {grade}")
    if id not in known:
        raise UsageError(f"{where}: this store has no such statement; name its own with --store")
    method, found = known[id]
    return Pair(method, kind, support, found)
