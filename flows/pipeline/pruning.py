"""Nights that are no longer wanted, taken out of a store.

Only the nights are a record of time: what else a store holds is what the newest results are made of, or was paid for.
Of each judge × method some nights stay whatever is asked, because a comparison of today needs them: the last one, the
one before it that was whole, and the one that was told last. So ``moved`` and ``--fail-if-worse`` say the same
afterwards, and only the trend (the view ``nights``) begins later.

Each file is replaced by a part of itself, first without figures, then without the sums that later ones replace. So a
store is whole at every moment, and a prune that was killed is finished by the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import duckdb
import pyarrow as pa

from flows.pipeline.load.nights import reported_nights
from flows.store.store import Store
from flows.support.errors import UsageError

MOST = 1_000_000
"""Most nights or days that may be asked for."""

FIRST_KEPT = """
CREATE TEMP TABLE first_kept AS
WITH figures AS (
    SELECT study_key, judge_id, method, night, any_value(taken_at) AS taken_at,
        coalesce(bool_or(is_open), false) AS is_open
    FROM nights WHERE session_id IS NULL GROUP BY ALL
), taken AS (
    SELECT study_key, night, max(taken_at) AS taken_at,
        row_number() OVER (PARTITION BY study_key ORDER BY night DESC) AS place
    FROM figures GROUP BY study_key, night
), asked AS (
    SELECT study_key, max(night) AS last,
        coalesce(max(night) FILTER (place >= $nights OR taken_at <= $since), min(night)) AS first
    FROM taken GROUP BY study_key
)
SELECT study_key, judge_id, method, least(
    any_value(asked.first),
    max(told.night),
    coalesce(
        max(figures.night) FILTER (figures.night < last AND NOT is_open),
        max(figures.night) FILTER (figures.night < last)
    )
) AS first
FROM figures JOIN asked USING (study_key) LEFT JOIN told USING (study_key, judge_id, method)
GROUP BY study_key, judge_id, method
"""
"""The first night that stays, by study, judge and method. The night asked for is the one that held on that day."""
LAST_SUMS = """
CREATE TEMP TABLE last_sums AS
SELECT study_key, judge_id, method, dimension, session_id, max(night) AS last
FROM nights JOIN first_kept USING (study_key, judge_id, method)
WHERE session_id IS NOT NULL AND night <= first GROUP BY ALL
"""
"""Of each sum the night whose row holds in the first night that stays."""
LEFT_OF_FIGURES = """
SELECT found.* FROM found LEFT JOIN first_kept USING (study_key, judge_id, method)
WHERE session_id IS NOT NULL OR night >= coalesce(first, 0)
"""
LEFT_OF_SUMS = """
SELECT found.* FROM found LEFT JOIN last_sums USING (study_key, judge_id, method, dimension, session_id)
WHERE found.session_id IS NULL OR night >= coalesce(last, 0)
"""


@dataclass(frozen=True)
class Keep:
    """How far back nights stay: a number of them, or of days."""

    number: int
    unit: str

    @classmethod
    def parse(cls, text: str) -> Keep:
        """``30-nights`` or ``90-days``. Raises UsageError."""
        number, _, unit = text.partition("-")
        if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= MOST and len(number) < 9):
            unit = ""
        if unit not in ("nights", "days"):
            raise UsageError(f"--keep: expected 30-nights or 90-days, 1 to {MOST:,} of them, found {text!r}")
        return cls(int(number), unit)


@dataclass(frozen=True)
class Pruned:
    """What goes, or went."""

    nights: int
    """Nights of which no figure is left."""
    rows: int
    bytes: int
    nights_left: int


def find_prunable(store: Store, keep: Keep) -> Pruned:
    """What a prune would take out; nothing is changed. The bytes are by the share of rows, as files are compressed."""
    with _selecting(store, keep) as connection:
        return _count(store, connection)


def prune_nights(store: Store, keep: Keep) -> Pruned:
    """Take nights out of a locked store."""
    with _selecting(store, keep) as connection:
        found = _count(store, connection)
        before = _bytes(store)
        for query in (LEFT_OF_FIGURES, LEFT_OF_SUMS):
            store.nights.rewrite(lambda rows, query=query: _left(connection, query, rows))  # type: ignore[misc]
    return Pruned(found.nights, found.rows, before - _bytes(store), found.nights_left)


@contextmanager
def _selecting(store: Store, keep: Keep) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that knows which rows stay."""
    days = timedelta(days=keep.number)
    now = datetime.now(UTC).replace(tzinfo=None)
    since = max(now - days, datetime(1970, 1, 2)) if keep.unit == "days" and days < timedelta(days=20_000) else None
    nights = store.nights.read()
    told = [
        {"study_key": study, "judge_id": judge, "method": method, "night": night}
        for study in nights["study_key"].unique().to_pylist()
        for judge, methods in reported_nights(store, study).items()
        for method, night in methods.items()
    ]
    columns = [("study_key", pa.string()), ("judge_id", pa.string()), ("method", pa.string()), ("night", pa.int32())]
    with duckdb.connect() as connection:
        connection.register("nights", nights)
        connection.register("told", pa.Table.from_pylist(told, pa.schema(columns)))
        limit = keep.number if keep.unit == "nights" else None
        connection.execute(FIRST_KEPT, {"nights": limit, "since": since})
        connection.execute(LAST_SUMS)
        yield connection


def _left(connection: duckdb.DuckDBPyConnection, query: str, rows: pa.Table) -> pa.Table:
    connection.register("found", rows)
    return connection.sql(query).to_arrow_table().cast(rows.schema)


def _count(store: Store, connection: duckdb.DuckDBPyConnection) -> Pruned:
    rows = store.nights.read()
    connection.register("kept", _left(connection, LEFT_OF_SUMS, _left(connection, LEFT_OF_FIGURES, rows)))
    [(n_left, nights_left)] = connection.execute(
        "SELECT count(*), count(DISTINCT (study_key, night)) FILTER (session_id IS NULL) FROM kept"
    ).fetchall()
    [(nights,)] = connection.execute(
        "SELECT count(DISTINCT (study_key, night)) FILTER (session_id IS NULL) FROM nights"
    ).fetchall()
    gone = rows.num_rows - n_left
    return Pruned(nights - nights_left, gone, _bytes(store) * gone // max(rows.num_rows, 1), nights_left)


def _bytes(store: Store) -> int:
    return sum(one.size for one in store.place.list_files(store.nights.folder))
