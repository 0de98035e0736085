"""The databases of ``tests.sql.tiny`` as a load leaves them: what the commands show first are tables, not views."""

from __future__ import annotations

from pathlib import Path

import duckdb

from flows.database.database_draft import MATERIALIZED, DatabaseDraft
from tests.sql.tiny import Rows, make


def make_loaded(rows: Rows, folder: Path, **how: bool) -> Path:
    """The database of ``make``; who reads it often, as the commands do, is spared half of the time."""
    path = make(rows, folder, **how)
    with duckdb.connect(path) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name in MATERIALIZED:
            DatabaseDraft(connection).materialize(name)
    return path
