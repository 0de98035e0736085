"""Nights: the leaderboard after each run that changed it, kept to compare one night with the next.

A night is one Parquet file in ``STORE/nights``. It has the figures of every judge, method and dimension, and the sums
of the sessions that changed since the night before. So a store grows only by changes, and any night can be rebuilt from
the files up to it. A run that changed nothing writes no night. Nights are numbered within a study key; their times are
only for display.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from operator import itemgetter
from typing import Protocol

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from flows.database.sql_model import schemas as table_schemas
from flows.database.sql_model import sql_text
from flows.store import parquet_schemas
from flows.store.store import Store
from flows.support.atomic_files import folder_umask


class TakeNight(Protocol):
    """Takes the night of a database that is not published yet.

    No ``Callable[[DuckDBPyConnection], …]``: what ``typing`` remembers of it outlives DuckDB at the end of the process,
    which then complains of leaks on stderr.
    """

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> Mapping[str, pa.Table]:
        """The rows of the night, by table; none where all is as it was."""


REPORTED_FILE = "told.json"
"""File with the night last reported for each study, judge and method."""

ReportedNights = Mapping[str, Mapping[str, int]]
"""Judge version → method → the night last reported."""


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
        _make_temporary(connection, "night_methods")
        connection.unregister("latest_methods")
        _make_temporary(connection, "night_changes")
        _make_temporary(connection, "night_open")
        if connection.execute(sql_text("queries/nights", "is_new")).fetchall() != [(True,)]:
            return {}
        made = connection.sql(sql_text("queries/nights", "night")).to_arrow_table()
        now = datetime.now(UTC).replace(tzinfo=None)
        constant = {"study_key": study_key, "taken_at": now, "run_id": run_id, "engine": engine}
        for name, value in constant.items():
            made = made.append_column(
                name, pa.repeat(pa.scalar(value, parquet_schemas.NIGHTS.field(name).type), len(made))
            )
        made = made.select(parquet_schemas.NIGHTS.names).cast(parquet_schemas.NIGHTS)
        store.nights.write(made)
        return _split(made)

    return take


def _make_temporary(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    connection.execute(f'CREATE TEMP TABLE "{name}" AS {sql_text("queries/nights", name)}')


def _latest(store: Store, methods: Mapping[str, str]) -> dict[str, str]:
    """Id → name of the method that was run last under each name, the study's own before all others."""
    by_name = {
        row["method"]: row["method_id"] for row in sorted(store.records("methods"), key=itemgetter("last_run_at"))
    }
    by_name |= {name: method_id for method_id, name in methods.items()}
    return {method_id: name for name, method_id in by_name.items()}


def reported_nights(store: Store, study_key: str) -> ReportedNights:
    """The night last reported for each judge and method of a study; empty before the first report."""
    found = _read_reported(store).get(study_key)
    return found if isinstance(found, dict) else {}


def note_reported(store: Store, study_key: str, told: ReportedNights) -> None:
    """Note the nights that were reported, where the next comparison begins. Other judges and methods stay."""
    before = reported_nights(store, study_key)
    merged = {judge: {**before.get(judge, {}), **told.get(judge, {})} for judge in (*before, *told)}
    if merged == before:
        return
    content = {**_read_reported(store), study_key: merged}
    with folder_umask(store.root):  # a run tells when it has given the store back
        store.place.write(store.nights.folder / REPORTED_FILE, json.dumps(content, indent=2).encode())


def _read_reported(store: Store) -> dict[str, object]:
    try:
        found = json.loads(store.place.read(store.nights.folder / REPORTED_FILE) or b"{}")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _split(rows: pa.Table) -> dict[str, pa.Table]:
    of_session = pc.is_valid(rows["session_id"])
    wanted = {"night_figures": pc.invert(of_session), "night_sums": of_session}
    return {name: rows.filter(mask).select(table_schemas()[name].names) for name, mask in wanted.items()}
