"""Results as frames, and the session of docs/notebooks.md."""

from __future__ import annotations

import ast
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.database.ready_queries import ready_queries
from flows.reporting.notebook_charts import CHARTS, NO_MODEL
from flows.results import Results, open_results
from flows.support.errors import EvalError, StoreError, UsageError
from tests.flows.conftest import ROOT
from tests.sql.loaded import make_loaded
from tests.sql.tiny import tiny

BLOCKS = re.findall(
    r"^```(python|text)\n(.*?)^```", (ROOT / "docs" / "notebooks.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_loaded(tiny(), tmp_path_factory.mktemp("tiny")).parent


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return open_results(folder)


def last_value(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; what its last line says, as a notebook shows it."""
    *body, last = ast.parse(code).body
    exec(compile(ast.Module(body, []), "cell", "exec", dont_inherit=True), names)
    if not isinstance(last, ast.Expr):
        exec(compile(ast.Module([last], []), "cell", "exec", dont_inherit=True), names)
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval", dont_inherit=True), names)


def test_the_session_of_the_page_runs_and_shows_the_columns_that_the_page_shows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    (folder.parent / "compaction-eval-store").symlink_to(folder)
    names: dict[str, Any] = {}
    shown: Any = None
    compared = 0
    for kind, text in BLOCKS:
        if kind == "python":
            shown = last_value(text, names)
        elif isinstance(shown, pl.DataFrame):
            head = next(line for line in text.splitlines() if line.startswith("│"))
            assert [name.strip() for name in re.split("[│┆]", head)[1:-1]] == shown.columns
            compared += 1
        else:
            assert repr(shown) == text.rstrip("\n")
            compared += 1
    assert compared >= 5


def test_the_leaderboard_is_one_call(results: Results) -> None:
    found = results.leaderboard(judge="embedded")
    assert found.select("rank", "method").rows() == [(1, "keep"), (2, "cut")]
    assert results.leaderboard().height == 3
    by = results.leaderboard(judge="j1", by="task_type")
    assert set(by["task_type"]) == {"debugging", "unknown"}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_drawn_from_its_rows_and_says_who_scored(results: Results, name: str) -> None:
    vl_convert = pytest.importorskip("vl_convert")
    chart = results.chart(name, judge="embedded")
    shown = chart._repr_mimebundle_()
    assert shown["text/plain"] == repr(chart)
    spec = shown["application/vnd.vegalite.v5+json"]
    assert len(spec["data"]["values"]) == chart.frame.height > 0
    assert chart.frame["method"].unique(maintain_order=True).to_list() == ["keep", "cut"]
    picture = vl_convert.vegalite_to_svg(json.loads(json.dumps(spec)))
    assert NO_MODEL in picture
    assert NO_MODEL not in json.dumps(results.chart(name, judge="openai:grader").spec)


def test_what_no_chart_can_be_made_of_is_said(results: Results) -> None:
    with pytest.raises(UsageError, match="no chart 'nope'; there are: leaderboard, price, dimensions"):
        results.chart("nope")
    with pytest.raises(UsageError, match="nobody"):
        results.chart(judge="nobody")


def test_frames_have_utc_times_whole_numbers_and_lists(results: Results) -> None:
    sessions = results.frame("sessions")
    assert sessions.schema["started_at"] == pl.Datetime("us", "UTC")
    assert sessions["started_at"].drop_nulls().to_list() == [datetime(2026, 3, 1, 10, tzinfo=UTC)]
    assert results.frame("compactions").schema["kept"] == pl.List(pl.Int32)
    sums = results.sql("SELECT sum(n_tokens) AS n, 1.5 AS half FROM sessions")
    assert sums.schema == {"n": pl.Int64, "half": pl.Float64}
    decimal = [name for name in results.tables["name"] for kind in results.frame(name).dtypes if kind.is_decimal()]
    assert decimal == []


def test_a_frame_of_one_judge_has_no_row_of_another(results: Results) -> None:
    assert set(results.frame("leaderboard_long", judge="openai:grader")["judge_id"]) == {"j2"}
    with pytest.raises(UsageError, match="sessions has no judge_id"):
        results.frame("sessions", judge="j1")


def test_a_parameter_of_a_query_holds_for_that_call_alone(results: Results) -> None:
    assert results.query("worst_answers", judge="j1", rows=1).height == 1
    assert results.query("worst_answers").height == 4


def test_parameters_of_sql_are_values_and_no_text_of_the_query(results: Results) -> None:
    found = results.sql("SELECT $name AS name", {"name": "'; DROP TABLE scores; --"})
    assert found.rows() == [("'; DROP TABLE scores; --",)]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (
            lambda results: results.frame("leaderbord"),
            r"no table or view 'leaderbord' \(did you mean leaderboard or leaderboard_long\?\)",
        ),
        (lambda results: results.describe("scores; DROP"), "no table or view"),
        (lambda results: results.query("gap5"), r"no query 'gap5' \(did you mean gaps\?\); there are: leaderboard, "),
        (lambda results: results.query("gaps", size=3), "no parameter 'size'; its parameters: judge"),
        (lambda results: results.query("worst_answers", method="kep"), r"no method 'kep'.*did you mean keep\?"),
        (lambda results: results.leaderboard("who"), r"no judge 'who'.*embedded \(j1\), openai:grader \(j2\)"),
        (lambda results: results.sql("SELECT nothing"), "cannot be run"),
        (lambda results: results.sql("FROM read_csv('/etc/passwd')"), "cannot be run"),
        (lambda results: results.sql("DELETE FROM scores"), "cannot be run"),
    ],
)
def test_what_does_not_exist_or_is_not_allowed_is_one_sentence(results: Results, ask: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ask(results)


def test_a_slow_query_draws_nothing_into_the_output(results: Results) -> None:
    assert not results.sql("SELECT current_setting('enable_progress_bar') AS is_drawn").item()


def test_a_folder_without_results_says_how_to_make_some(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="make some with: compaction-eval run --store"):
        open_results(tmp_path)


def test_it_is_closed_by_itself(folder: Path) -> None:
    with open_results(folder / "scores.duckdb") as results:
        frame = results.frame("scores")
    assert frame.height == 26
    with pytest.raises(Exception, match=r"(?i)clos"):
        results.frame("scores")


def test_tables_and_queries_are_frames_that_say_what_there_is(results: Results) -> None:
    assert results.queries["name"].to_list() == list(ready_queries())
    tables = results.tables
    assert tables.filter(pl.col("comment").is_null()).height == 0
    assert tables.filter(pl.col("name") == "stg_answers")["is_inner"].item()
    assert results.describe("points")["column"].to_list()[:2] == ["point_id", "session_id"]


def test_the_same_calls_give_pandas_frames(results: Results) -> None:
    pytest.importorskip("pandas")
    board = results.pandas.leaderboard(judge="embedded")
    assert type(board).__module__.partition(".")[0] == "pandas"
    assert board[["rank", "method"]].to_numpy().tolist() == [[1, "keep"], [2, "cut"]]
    assert results.pandas.query("gaps").shape == results.query("gaps").shape
    assert str(results.pandas.frame("sessions")["started_at"].dt.tz) == "UTC"
    assert results.pandas.sql("SELECT $n AS n", {"n": 3})["n"].tolist() == [3]


def test_without_pandas_it_says_what_to_install(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.results.find_spec", lambda name: None)
    with pytest.raises(EvalError, match=r"pip install -c constraints.txt '\.\[pandas\]'"):
        _ = results.pandas
