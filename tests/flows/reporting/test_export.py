"""Results as files: whole or not at all, with their types, and readable by others."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from flows.cli.app import app
from flows.database.arrow_batches import Batches, query_batches
from flows.database.scores_db import connect
from flows.reporting.export import FORMULA, choose_format, target_path, write_rows
from flows.store.store import STORE_FORMAT
from flows.support.errors import UsageError
from tests.flows.conftest import ROOT
from tests.sql.loaded import make_loaded
from tests.sql.tiny import tiny

HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "plain", "a=b", ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = make_loaded(tiny(), tmp_path_factory.mktemp("tiny")).parent
    (found / "store.json").write_text(json.dumps({"format": STORE_FORMAT, "tokenizer": "o200k_base"}))
    return found


@pytest.fixture(scope="module")
def connection(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(folder / "scores.duckdb") as found:
        yield found


def command(folder: Path, *args: object) -> Result:
    return CliRunner().invoke(app, [*map(str, args), "--store", str(folder)])


TYPES = """
SELECT TIMESTAMP '2026-03-01 10:00:00.5' AS at, sum(x) AS total, 1.5 AS half, [sum(x)] AS totals,
    {'tokens': [1, 2], 'name': 'a "b"'} AS made, '2 | 3' AS text, NULL::INTEGER AS nothing, x > 1 AS is_big
FROM range(3) AS t (x) GROUP BY x ORDER BY x
"""


def test_parquet_keeps_types_and_times_are_in_utc(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    done = write_rows("types", query_batches(connection, TYPES), tmp_path / "types.parquet", "parquet")
    found = pyarrow.parquet.read_table(done.path)
    assert (done.rows, done.n_bytes) == (3, done.path.stat().st_size)
    assert {field.name: str(field.type) for field in found.schema} == {
        "at": "timestamp[us, tz=UTC]",
        "total": "int64",
        "half": "double",
        "totals": "list<element: int64>",
        "made": "struct<tokens: list<element: int32>, name: string>",
        "text": "string",
        "nothing": "int32",
        "is_big": "bool",
    }
    assert found.to_pylist()[2] == {
        "at": datetime(2026, 3, 1, 10, 0, 0, 500_000, UTC),
        "total": 2,
        "half": 1.5,
        "totals": [2],
        "made": {"tokens": [1, 2], "name": 'a "b"'},
        "text": "2 | 3",
        "nothing": None,
        "is_big": True,
    }


def test_csv_has_lists_and_structs_as_json_text(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    done = write_rows("types", query_batches(connection, TYPES), tmp_path / "types.csv", "csv")
    with done.path.open(newline="", encoding="utf-8") as file:
        *_, row = csv.DictReader(file)
    assert row == {
        "at": "2026-03-01T10:00:00.500000Z",
        "total": "2",
        "half": "1.5",
        "totals": "[2]",
        "made": '{"tokens":[1,2],"name":"a \\"b\\""}',
        "text": "2 | 3",
        "nothing": "",
        "is_big": "true",
    }


def test_json_is_one_array(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    query = f"SELECT *, CAST('nan' AS DOUBLE) AS odd FROM ({TYPES})"
    found = json.loads(
        write_rows("types", query_batches(connection, query), tmp_path / "t.json", "json").path.read_text()
    )
    assert len(found) == 3
    assert found[0] == {
        "at": "2026-03-01T10:00:00.500000Z",
        "total": 0,
        "half": 1.5,
        "totals": [0],
        "made": {"tokens": [1, 2], "name": 'a "b"'},
        "text": "2 | 3",
        "nothing": None,
        "is_big": False,
        "odd": None,
    }


def test_markdown_is_a_table_whatever_is_in_a_cell(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    query = r"SELECT 'a|b\' || chr(10) || 'c' AS text, 1.0 / 3 AS number"
    done = write_rows("cells", query_batches(connection, query), tmp_path / "cells.md", "markdown")
    assert done.path.read_text() == "| text | number |\n| --- | ---: |\n| a\\|b\\\\ c | 0.333333 |\n"


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "markdown"])
def test_no_rows_are_a_file_too(connection: duckdb.DuckDBPyConnection, tmp_path: Path, format: Any) -> None:
    done = write_rows("none", query_batches(connection, "FROM quarantine WHERE false"), tmp_path / "none", format)
    assert done.rows == 0
    assert "reason" in done.path.read_bytes().decode(errors="replace") or done.path.read_text() == "[]\n"


def test_csv_of_a_table_reads_back_as_the_table(folder: Path, tmp_path: Path) -> None:
    assert command(folder, "export", "scores", "--output", tmp_path / "scores.csv").exit_code == 0
    with connect(folder / "scores.duckdb") as store, duckdb.connect() as other:
        expected = store.execute("SELECT answer_id, criterion, score, unscored_reason FROM scores").fetchall()
        query = f"SELECT answer_id, criterion, score, unscored_reason FROM '{tmp_path / 'scores.csv'}'"
        assert other.execute(query).fetchall() == expected


def hostile() -> Batches:
    schema = pa.schema([("text", pa.string()), ("number", pa.int64())])
    return Batches(schema, iter([pa.RecordBatch.from_arrays([HOSTILE, [-1] * len(HOSTILE)], schema=schema)]))


@pytest.mark.parametrize(("safe", "mark"), [(False, ""), (True, "'")])
def test_a_text_is_kept_from_being_a_formula_when_that_is_asked_for(tmp_path: Path, safe: bool, mark: str) -> None:
    """By default a file says exactly what the store says."""
    done = write_rows("hostile", hostile(), tmp_path / "x.csv", "csv", spreadsheet_safe=safe)
    with done.path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [text for text, _ in rows] == [mark + text for text in HOSTILE[:6]] + HOSTILE[6:]
    assert {number for _, number in rows} == {"-1"}
    assert FORMULA


def test_a_file_is_replaced_when_it_is_complete_and_not_before(tmp_path: Path) -> None:
    target = tmp_path / "old.csv"
    target.write_text("old")
    schema = pa.schema([("n", pa.int64())])

    def breaking() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_arrays([[1]], schema=schema)
        assert target.read_text() == "old"
        raise UsageError("the disk of the database is gone")

    with pytest.raises(UsageError, match="is gone"):
        write_rows("broken", Batches(schema, breaking()), target, "csv")
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert target.read_text() == "old"


def test_a_query_that_stops_on_the_way_is_one_sentence(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    query = "SELECT CAST(IF(x < 200000, '1', 'oops') AS INTEGER) AS n FROM range(200001) AS t (x)"
    with pytest.raises(UsageError, match="oops"):
        write_rows("stops", query_batches(connection, query), tmp_path / "x.parquet", "parquet")
    assert list(tmp_path.iterdir()) == []


def test_two_columns_of_a_name_are_told_apart(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    done = write_rows(
        "twice", query_batches(connection, "SELECT 1 AS n, 2 AS n, 3 AS n_2"), tmp_path / "x.json", "json"
    )
    assert json.loads(done.path.read_text()) == [{"n": 1, "n_2": 2, "n_2_2": 3}]


def test_json_of_many_batches_is_one_array(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    query = "SELECT x, 'line' || chr(10) || x AS text FROM range(120000) AS t (x)"
    found = json.loads(
        write_rows("many", query_batches(connection, query), tmp_path / "x.json", "json").path.read_text()
    )
    assert found == [{"x": x, "text": f"line\n{x}"} for x in range(120_000)]


def test_a_number_beyond_64_bits_is_told_and_not_rounded(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UsageError, match="does not fit into 64 bits"):
        query_batches(connection, "SELECT 9223372036854775807::HUGEINT + 1 AS n").table()


def test_the_command_writes_what_is_named_and_says_how_much(folder: Path, tmp_path: Path) -> None:
    done = command(
        folder, "export", "leaderboard", "answers", "--query", "gaps", "--output", tmp_path / "out", "--json"
    )
    assert done.exit_code == 0, done.output
    found = {row["relation"]: (Path(row["path"]).name, row["rows"]) for row in json.loads(done.stdout)}
    assert found == {
        "leaderboard": ("leaderboard.parquet", 3),
        "answers": ("answers.parquet", 7),
        "gaps": ("gaps.parquet", 7),
    }
    again = command(folder, "export", "answers", "--output", tmp_path / "out")
    assert (again.exit_code, "--force replaces it" in again.output) == (2, True)
    assert command(folder, "export", "answers", "--output", tmp_path / "out", "--force").exit_code == 0


def test_all_are_the_tables_and_views_that_one_asks(folder: Path, tmp_path: Path) -> None:
    assert command(folder, "export", "--all", "--format", "json", "--output", tmp_path).exit_code == 0
    found = {path.stem for path in tmp_path.iterdir()}
    assert {"scores", "leaderboard", "paired_differences", "checks", "published_leaderboard"} <= found
    assert not [name for name in found if name.startswith(("stg_", "int_", "agg_", "check_"))]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["leaderbord"], "did you mean leaderboard or leaderboard_long?"),
        ([], "say what to export"),
        (["scores", "answers", "--output", "x.csv"], "several relations need a folder"),
        (["scores", "--output", "x.csv", "--format", "json"], "differ"),
        (["scores", "--spreadsheet-safe"], "--spreadsheet-safe is for CSV"),
        (["scores", "--judge", "j1"], "--judge is for --query"),
        (["leaderboard", "--query", "leaderboard"], "would be written twice"),
        (["--query", "gaps", "--judge", "who"], "there are: embedded (j1), openai:grader (j2)"),
    ],
)
def test_what_cannot_be_exported_is_bad_usage(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(folder, "export", *args)
    assert (done.exit_code, said in done.output) == (2, True), done.output
    assert list(tmp_path.iterdir()) == []


def test_the_answer_of_an_own_query_goes_into_a_file(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine.parquet"
    done = command(folder, "sql", "SELECT count(*) AS n FROM scores", "--output", target)
    assert done.stdout.startswith(f"{target}: 1 row, ")
    assert pyarrow.parquet.read_table(target).to_pylist() == [{"n": 26}]


def test_a_ready_query_is_listed_shown_run_and_written(folder: Path, tmp_path: Path) -> None:
    listed = json.loads(command_without_store("query", "--json").stdout)
    assert [row["number"] for row in listed] == list(range(1, 12))
    assert command_without_store("query", "gaps", "--show").stdout.startswith("-- Gaps: ")
    brief, wide = (command(folder, "query", "sure_differences", *more).stdout for more in ((), ("--wide",)))
    assert "judge_id" not in brief
    assert "judge_id" in wide
    assert len(re.findall(r"-?\d\.\d{3,}", brief)) < len(re.findall(r"-?\d\.\d{3,}", wide))
    shown = command(folder, "query", "weakest", "--judge", "j1")
    assert shown.stdout.startswith("Weakest dimension: what does every method lose first?\n")
    assert "artifact_trail" in shown.stdout
    rows = json.loads(command(folder, "query", "10", "--set", "rows=1", "--set", "method=cut", "--json").stdout)
    assert [(row["judge_id"], row["answer_id"]) for row in rows] == [("j1", "B/q2")]
    target = tmp_path / "gaps.csv"
    assert command(folder, "query", "gaps", "--output", target, "--judge", "j2").exit_code == 0
    assert {row["judge_id"] for row in csv.DictReader(target.open())} == {"j2"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["w"], "no query 'w'"),
        (["gaps", "--set", "size=1"], "no parameter 'size'; its parameters: judge"),
        (["gaps", "--set", "judge"], "wants NAME=VALUE"),
        (["worst_answers", "--set", "rows=many"], "Could not convert string 'many'"),
    ],
)
def test_a_wrong_parameter_is_bad_usage(folder: Path, args: list[str], said: str) -> None:
    done = command(folder, "query", *args)
    assert (done.exit_code, said in done.output) == (2, True), done.output


def command_without_store(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


def test_a_file_name_says_the_format_and_a_folder_does_not(tmp_path: Path) -> None:
    assert choose_format(Path("a.MD"), None) == "markdown"
    assert choose_format(Path("a"), None) == "parquet"
    odd = tmp_path / "folder.csv"
    odd.mkdir()
    assert target_path(odd, "scores", choose_format(odd, "json"), alone=True) == odd / "scores.json"
    shutil.rmtree(odd)
    for name in ("x.toml", "x.xlsx", "results.v2", "x.cvs"):
        for wanted in (None, "csv"):
            with pytest.raises(UsageError, match=r"expected \.parquet, \.csv, \.json, \.md, or a folder"):
                choose_format(Path(name), wanted)


def on_terminal(folder: Path, *args: object) -> str:
    """What the command prints on a terminal."""
    ours, its = pty.openpty()
    line = [sys.executable, "-m", "flows", *map(str, args), "--store", str(folder)]
    with subprocess.Popen(line, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=its) as process:
        os.close(its)
        said = b""
        with suppress(OSError):  # the terminal is gone with the process
            while part := os.read(ours, 1 << 16):
                said += part
    os.close(ours)
    assert process.returncode == 0
    return said.decode().replace("\r\n", "\n")


def test_a_terminal_shows_the_first_rows_of_a_query_and_says_what_has_all_and_other_outputs_have_all(
    folder: Path,
) -> None:
    query = ("sql", "SELECT x AS only FROM range(1500) AS t (x) ORDER BY x")
    shown = on_terminal(folder, *query).splitlines()
    assert shown[-3].strip() == "999"
    assert shown[-2] == "the first 1,000 rows; --output FILE, a pipe, --format csv and --json have all"
    for said in (command(folder, *query).stdout, on_terminal(folder, *query, "--format", "csv")):
        assert {"1000", "1499"} <= set(said.split())
    assert on_terminal(folder, "sql", "FROM range(3)").splitlines()[-2] == "3 rows"


def test_a_query_in_csv_keeps_its_escape_sequences_but_on_a_terminal(folder: Path) -> None:
    query = ("sql", "SELECT chr(27) || '[31mred' || chr(155) AS text", "--format", "csv")
    assert command(folder, *query).stdout == "text\n\x1b[31mred\x9b\n"
    assert on_terminal(folder, *query) == "text\n\\x1b[31mred\\x9b\n"


SLOW = "SELECT count(DISTINCT a.range * b.range) FROM range(200000) AS a, range(200000) AS b"


def test_a_query_ends_when_its_time_is_over(folder: Path, tmp_path: Path) -> None:
    for more in ((), ("--output", tmp_path / "a.csv")):
        began = time.monotonic()
        done = command(folder, "sql", SLOW, "--timeout", 0.5, *more)
        assert (done.exit_code, time.monotonic() - began < 20) == (2, True)
        assert done.stderr.endswith(": it took longer than --timeout allows\n")
    assert list(tmp_path.iterdir()) == []
    assert command(folder, "sql", "SELECT 1 AS a", "--timeout", 60).exit_code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say what a process has")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT length(repeat('x', 1_500_000_000))",
        "SELECT repeat('x', 1_000_000) FROM range(500)",
        "SELECT list(x::VARCHAR || repeat('y', 100)) FROM range(5_000_000) AS t (x)",
    ],
)
def test_a_query_takes_no_more_memory_than_it_may_and_says_what_to_set(
    folder: Path, tmp_path: Path, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    monkeypatch.setenv("COMPACTION_EVAL_MEMORY", "100MB")
    for more in ((), ("--output", tmp_path / "a.csv")):
        done = command(folder, "sql", query, *more)
        assert (done.exit_code, done.stderr.count("\n"), "set COMPACTION_EVAL_MEMORY to more" in done.stderr) == (
            2,
            1,
            True,
        ), done.stderr
    assert list(tmp_path.iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    monkeypatch.delenv("COMPACTION_EVAL_MEMORY")
    assert command(folder, "sql", "SELECT length(repeat('x', 300_000_000)) AS n").exit_code == 0


def test_what_a_query_has_to_put_on_disk_is_not_in_the_folder_where_it_runs(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    (tmp_path / "spill").mkdir()
    monkeypatch.setenv("COMPACTION_EVAL_MEMORY", "100MB")
    rows = "SELECT x, md5(x::VARCHAR) AS y FROM range(3_000_000) AS t (x) ORDER BY y"
    with connect(folder / "scores.duckdb") as found:
        reader = found.sql(rows).to_arrow_reader(1_000)
        reader.read_next_batch()
        [spill] = (tmp_path / "spill").iterdir()
        assert spill.name.startswith("compaction-eval-")
        del reader
    assert [path.name for path in tmp_path.rglob("*")] == ["spill"]


def test_escape_sequences_of_a_transcript_do_not_reach_the_terminal(folder: Path) -> None:
    shown = command(folder, "sql", "SELECT chr(27) || '[31mred' || chr(7) AS text")
    assert "\\x1b[31mred\\x07" in shown.stdout
    assert "\x1b" not in shown.stdout
