"""Rows of a database, and whether they are those worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from flows.database.scores_db import connect


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(path) as connection:
        return connection.execute(sql).fetchall()


def close(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> bool:
    """Whether tables are the same, numbers to six digits."""
    return len(found) == len(expected) and all(
        len(f) == len(e)
        and all(
            math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
            if isinstance(a, int | float) and isinstance(b, int | float)
            else a == b
            for a, b in zip(f, e, strict=True)
        )
        for f, e in zip(found, expected, strict=True)
    )
