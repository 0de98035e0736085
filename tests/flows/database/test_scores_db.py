"""The database is made from the SQL files, refuses what does not fit by name, and is replaced as a whole."""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pyarrow as pa
import pytest

from flows.database import database_draft
from flows.database.database_draft import BY_DIMENSION, DatabaseDraft, build_database
from flows.database.scores_db import connect
from flows.database.sql_model import schemas
from flows.support.errors import StoreError
from tests.sql.tiny import CRITERIA, arrow, make, session, tiny


def loaded(path: Path, **tables: pa.Table | list[pa.Table]) -> Path:
    build_database(tables, path)
    return path


def test_rows_come_back_whatever_the_order_of_their_columns(tmp_path: Path) -> None:
    rows = arrow({"criteria": CRITERIA})["criteria"]
    path = loaded(tmp_path / "db", criteria=rows.select(rows.column_names[::-1]))
    with connect(path) as connection:
        assert connection.sql("FROM criteria").to_arrow_table().to_pylist() == CRITERIA


def test_several_shards_of_a_table_are_all_loaded(tmp_path: Path) -> None:
    shards = [arrow({"criteria": [row]})["criteria"] for row in CRITERIA]
    with connect(loaded(tmp_path / "db", criteria=shards)) as connection:
        assert connection.execute("SELECT count(*) FROM criteria").fetchone() == (len(CRITERIA),)


@pytest.mark.parametrize(
    "started_at",
    [
        pa.array(["2026-01-01T03:00:00+02:00"]),
        pa.array(["2026-01-01T01:00:00Z"]),
        pa.array(["2026-01-01 01:00:00"]),
        pa.array([datetime.datetime(2026, 1, 1, 1)]),
        pa.array([datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.UTC)]),
    ],
    ids=["offset", "Z", "bare text", "bare time", "time with zone"],
)
def test_times_become_utc(tmp_path: Path, started_at: pa.Array) -> None:
    rows = arrow({"sessions": [session("s1")]})["sessions"]
    rows = rows.set_column(rows.column_names.index("started_at"), "started_at", started_at)
    with connect(loaded(tmp_path / "db", sessions=rows)) as connection:
        assert connection.execute("SELECT started_at FROM sessions").fetchone() == (datetime.datetime(2026, 1, 1, 1),)


def test_a_column_without_any_value_may_have_no_type(tmp_path: Path) -> None:
    rows = pa.Table.from_pylist([{**dict.fromkeys(schemas()["sessions"].names), **session("s1")}])
    assert rows.schema.field("title").type == pa.null()
    with connect(loaded(tmp_path / "db", sessions=rows)) as connection:
        assert connection.execute("SELECT session_id, title FROM sessions").fetchall() == [("s1", None)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns(["weight"]), r"table criteria: wrong columns \(missing weight\); it has: rubric"),
        (lambda t: t.append_column("color", pa.array(["red"] * 4)), r"table criteria: wrong columns \(extra color\)"),
        (lambda t: t.set_column(3, "weight", pa.array([0.0] * 4)), r"table criteria refuses a row: CHECK .*weight"),
        (lambda t: t.set_column(3, "weight", pa.array(["x"] * 4)), r"table criteria refuses a row: .*'x'.* weight"),
        (lambda t: t.set_column(0, "rubric", pa.nulls(4, pa.string())), r"criteria refuses a row: NOT NULL .*rubric"),
    ],
    ids=["missing", "extra", "check", "type", "null"],
)
def test_rows_that_do_not_fit_are_refused_by_name_and_the_old_file_stays(tmp_path: Path, change, message) -> None:  # type: ignore[no-untyped-def]
    rows = arrow({"criteria": CRITERIA})["criteria"]
    path = loaded(tmp_path / "db", criteria=rows)
    with pytest.raises(StoreError, match=message):
        build_database({"criteria": change(rows)}, path)
    with connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM criteria").fetchone() == (4,)
    assert [entry.name for entry in tmp_path.iterdir()] == ["db"]


@pytest.mark.parametrize("name", ["nonsense", "published_leaderboard"])
def test_a_table_that_cannot_be_loaded_into_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match=rf"no table {name} to load into; there are: anchor_scores, .* verdicts"):
        build_database({name: pa.table({"a": [1]})}, tmp_path / "db")


def test_a_reader_keeps_the_old_file_and_the_next_one_sees_the_new(tmp_path: Path) -> None:
    rows = arrow({"criteria": CRITERIA})["criteria"]
    path = loaded(tmp_path / "db", criteria=rows)
    count = "SELECT count(*) FROM criteria"
    with connect(path) as old:
        assert old.execute(count).fetchone() == (4,)
        build_database({"criteria": rows.slice(0, 1)}, path)
        with connect(path) as new:
            assert new.execute(count).fetchone() == (1,)
            assert old.execute(count).fetchone() == (4,)


@pytest.mark.slow
def test_another_process_can_read_while_the_file_is_replaced(tmp_path: Path) -> None:
    rows = arrow({"criteria": CRITERIA})["criteria"]
    path = loaded(tmp_path / "a 'quoted' db", criteria=rows)
    script = f"import duckdb; print(duckdb.connect({str(path)!r}, read_only=True).execute('FROM criteria').fetchall())"
    with connect(path):
        build_database({"criteria": rows}, path)
        out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.count("tiny@1") == 4


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM criteria",
        "CREATE TABLE t (a INT)",
        "COPY criteria TO 'out.csv'",
        "FROM read_csv('/etc/hosts')",
        "ATTACH 'other.duckdb'",
        "SET enable_external_access = true",
    ],
)
def test_a_connection_changes_nothing_and_reaches_no_file(tmp_path: Path, sql: str) -> None:
    with connect(loaded(tmp_path / "db")) as connection, pytest.raises(duckdb.Error):
        connection.execute(sql)


def test_a_store_without_results_says_how_to_get_some(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no results at .*scores.duckdb yet; make some with: compaction-eval run"):
        connect(tmp_path / "scores.duckdb")
    (tmp_path / "answers").mkdir()
    with pytest.raises(StoreError, match=r"make some with: compaction-eval rebuild"):
        connect(tmp_path / "scores.duckdb")


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.duckdb"
    path.write_text("something else, and long enough to be looked at " * 100)
    with pytest.raises(StoreError, match=r"scores.duckdb cannot be opened as a DuckDB file: "):
        connect(path)


@pytest.mark.parametrize(("rows", "times"), [(1, 4), (10, 3), (1_000, 1)])
def test_pairs_are_those_of_the_view_however_many_dimensions_are_worked_out_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, times: int
) -> None:
    """The tiny store has 6, 2, 6 and 6 rows of its dimensions."""
    monkeypatch.setattr(database_draft, "ROWS_AT_ONCE", rows)
    inserts = Mock(side_effect=database_draft.run_sql)
    monkeypatch.setattr(database_draft, "run_sql", inserts)
    with duckdb.connect(make(tiny(), tmp_path)) as connection:
        query = f"FROM {BY_DIMENSION} ORDER BY ALL"
        before = connection.execute(query).fetchall()
        DatabaseDraft(connection).materialize(BY_DIMENSION)
        assert connection.execute(query).fetchall() == before != []
    assert inserts.call_count == times
