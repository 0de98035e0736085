"""Nights: what the leaderboard was after each run that changed it, kept so that yesterday can be set against today.

A night is one Parquet file in ``STORE/nights``: the figures of every judge, method and dimension, and the sums of those
sessions alone that were not as the night before. So a store grows by what changed, any night can be put together again
from the files up to it, and a run that changed nothing writes none. Nights are numbered within a study key; the clock
is only shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from flows import schemas
from flows.database import schemas as table_schemas
from flows.store import Store


class TakeNight(Protocol):
    """Takes the night of a database that is not published yet.

    No ``Callable[[DuckDBPyConnection], …]``: what ``typing`` remembers of it outlives DuckDB at the end of the process,
    which then complains of leaks on stderr.
    """

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> Mapping[str, pa.Table]:
        """The rows of the night, by table; none where all is as it was."""
        ...


TOLD = "told.json"
SAME_SUM = 1e-9
"""Sums that differ by less are the same: the order in which threads add up decides the last digits."""


def night_tables(store: Store, study_key: str) -> dict[str, pa.Table]:
    """The tables ``night_figures`` and ``night_sums`` of a study, from the files."""
    found = store.nights.dataset().to_table(filter=pads.field("study_key") == study_key)
    return _split(found)


def take_night(store: Store, study_key: str, run_id: str, engine: str, methods: Mapping[str, str]) -> TakeNight:
    """A function of the new database that writes the night, and gives its rows, where something is not as before.

    Args:
        store: Where the night is written.
        study_key: Which nights it is one of.
        run_id: The run that takes it.
        engine: What asked and answered, by name and version.
        methods: Id → name of the study's methods. A method whose parameters were changed under its name goes on under
            it; what had the name before is told apart by its id.
    """

    def take(connection: duckdb.DuckDBPyConnection) -> Mapping[str, pa.Table]:
        connection.execute("SET VARIABLE engine = $engine", {"engine": engine})
        names = _latest(store, methods)
        connection.register("latest_methods", pa.table({"method_id": list(names), "name": list(names.values())}))
        connection.execute(_NAMED)
        connection.unregister("latest_methods")
        connection.execute(_CHANGES)
        if connection.execute(_IS_NEW).fetchall() != [(True,)]:
            return {}
        made = connection.sql(_NIGHT).to_arrow_table()
        now = datetime.now(UTC).replace(tzinfo=None)
        constant = {"study_key": study_key, "taken_at": now, "run_id": run_id, "engine": engine}
        for name, value in constant.items():
            made = made.append_column(name, pa.repeat(pa.scalar(value, schemas.NIGHTS.field(name).type), len(made)))
        made = made.select(schemas.NIGHTS.names).cast(schemas.NIGHTS)
        store.nights.write(made)
        return _split(made)

    return take


def _latest(store: Store, methods: Mapping[str, str]) -> dict[str, str]:
    """Id → name of the method that was run last under each name, the study's own before all others."""
    by_name = {row["method"]: row["method_id"] for row in sorted(store.records("methods"), key=_last_run)}
    by_name |= {name: method_id for method_id, name in methods.items()}
    return {method_id: name for name, method_id in by_name.items()}


def _last_run(row: Mapping[str, str]) -> str:
    return row["last_run_at"]


def told_night(store: Store, study_key: str) -> int | None:
    """The last night of a study whose outcome was told to somebody; None before the first."""
    found = _told(store).get(study_key)
    return found if isinstance(found, int) else None


def note_told(store: Store, study_key: str, night: int) -> None:
    """Note that the outcome up to a night has been told, so that the next comparison begins there."""
    content = {**_told(store), study_key: night}
    store.place.write(store.nights.folder / TOLD, json.dumps(content, indent=2).encode())


def _told(store: Store) -> dict[str, object]:
    try:
        found = json.loads(store.place.read(store.nights.folder / TOLD) or b"{}")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _split(rows: pa.Table) -> dict[str, pa.Table]:
    of_session = pc.is_valid(rows["session_id"])
    wanted = {"night_figures": pc.invert(of_session), "night_sums": of_session}
    return {name: rows.filter(mask).select(table_schemas()[name].names) for name, mask in wanted.items()}


_NAMED = """
CREATE TEMP TABLE night_methods AS
SELECT method_id, coalesce(latest_methods.name, stg_methods.method) AS method
FROM stg_methods LEFT JOIN latest_methods USING (method_id)
"""

_CHANGES = f"""
CREATE TEMP TABLE night_changes AS
WITH before AS (
    SELECT
        judge_id, method, dimension, session_id, arg_max(content_sha256, night) AS content_sha256,
        arg_max(score_sum, night) AS score_sum, arg_max(n_answers, night) AS n_answers
    FROM night_sums
    GROUP BY ALL
    HAVING arg_max(n_answers, night) > 0
),
now AS (
    SELECT judge_id, method, dimension, session_id, content_sha256, score_sum, agg_session_scores.n_answers
    FROM agg_session_scores
    JOIN sessions USING (session_id)
    JOIN night_methods USING (method_id)
)
SELECT
    judge_id, method, dimension, session_id,
    coalesce(now.content_sha256, before.content_sha256) AS content_sha256,
    coalesce(now.score_sum, 0) AS score_sum,
    coalesce(now.n_answers, 0) AS n_answers
FROM now FULL JOIN before USING (judge_id, method, dimension, session_id)
WHERE now.n_answers IS DISTINCT FROM before.n_answers
    OR now.content_sha256 IS DISTINCT FROM before.content_sha256
    OR abs(now.score_sum - before.score_sum) > {SAME_SUM}
"""  # noqa: S608 (a number of our own)

_IS_NEW = """
WITH before AS (
    SELECT DISTINCT judge_id, method, method_id, engine
    FROM night_figures
    WHERE night = (SELECT max(night) FROM night_figures)
),
now AS (
    SELECT DISTINCT judge_id, method, method_id, getvariable('engine') AS engine
    FROM agg_session_scores JOIN night_methods USING (method_id)
)
SELECT
    EXISTS (FROM night_changes) OR EXISTS (FROM now EXCEPT FROM before) OR EXISTS (FROM before EXCEPT FROM now)
"""

_NIGHT = """
WITH night AS (SELECT coalesce(max(night), 0) + 1 AS night FROM night_figures)
SELECT
    night.night, long.judge_id, coalesce(long.judge, long.judge_id) AS judge, long.method_id, night_methods.method,
    long.dimension, long.mean, long.std_error, long.n_sessions,
    CASE WHEN long.dimension = 'overall' THEN leaderboard.rank END AS rank, long.n_answers,
    NULL AS session_id, NULL AS content_sha256, NULL AS score_sum
FROM leaderboard_long AS long
CROSS JOIN night
JOIN night_methods ON long.method_id = night_methods.method_id
LEFT JOIN leaderboard ON long.judge_id = leaderboard.judge_id AND long.method_id = leaderboard.method_id
UNION ALL BY NAME
SELECT night.night, night_changes.* FROM night_changes CROSS JOIN night
"""
