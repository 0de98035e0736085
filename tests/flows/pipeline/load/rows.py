"""A context as rows of the load have it, and rows of the database of a small store."""

from __future__ import annotations

from typing import Any

from flows.database.scores_db import connect
from tests.flows.small_store import SmallStore


def query(small: SmallStore, sql: str) -> list[tuple[Any, ...]]:
    with connect(small.store.database) as connection:
        return connection.execute(sql).fetchall()


def context(text: str) -> list[dict[str, Any]]:
    return [{"seq": 0}, {"seq": None, "role": "user", "text": text, "tokens": 3}]
