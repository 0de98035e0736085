"""``sql`` without a query: statements that are piped in, and a shell on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from flows.cli.shared.sql_shell import SqlShell, statements
from flows.database.scores_db import connect
from flows.reporting.text_tables import Layout
from flows.store.store import STORE_FORMAT, Store
from tests.flows.conftest import ROOT, Command
from tests.sql.tiny import make, tiny


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = make(tiny(), tmp_path_factory.mktemp("tiny")).parent
    (found / "store.json").write_text(json.dumps({"format": STORE_FORMAT, "tokenizer": "o200k_base"}))
    return found


@pytest.fixture
def piped(store: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "flows", "sql", "--store", str(store), *options]
        return subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("SELECT 1; SELECT 2;\n", ["SELECT 1;", "SELECT 2;"]),
        ("SELECT\n 1\n;\n\n.tables\nSELECT 2", ["SELECT\n 1\n;", ".tables", "SELECT 2"]),
        ("SELECT 'a;\nb';\n", ["SELECT 'a;\nb';"]),
        ("selec 1;\nSELECT 2;", ["selec 1;", "SELECT 2;"]),
        ("SELECT 'open", ["SELECT 'open"]),
    ],
)
def test_lines_become_statements(typed: str, found: list[str]) -> None:
    assert list(statements(iter(typed.splitlines(keepends=True)))) == found


def test_what_is_piped_in_is_answered_in_its_order(piped: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Variables stay set."""
    done = piped("SET VARIABLE a = 41;\nSELECT getvariable('a') + 1 AS answer;\n.exit\nSELECT 'not reached'", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout[done.stdout.index("[", 2) :]) == [{"answer": 42}]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("SELECT 7 AS a;\nselec 1;\nSELECT 8 AS a;", 'error: the query cannot be run: syntax error at or near "selec"'),
        ("SELECT 7 AS a;\nDELETE FROM scores;", "error: the query cannot be run: "),
        ("SELECT 7 AS a;\n.schema leaderbord", "error: no table or view leaderbord (did you mean leaderboard"),
        ("SELECT 7 AS a;\n.tabels", "error: .tabels: expected one of .tables, .schema NAME"),
    ],
)
def test_the_first_that_fails_ends_it_with_one_sentence(
    piped: Callable[..., subprocess.CompletedProcess[str]], typed: str, said: str
) -> None:
    done = piped(typed)
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1
    assert "7" in done.stdout
    assert "8" not in done.stdout


def test_dot_commands_show_tables_columns_and_queries(piped: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    shown = piped(".tables\n.schema lost_statements\n.queries\n.help\n").stdout
    for word in ("answers_side_by_side", "needed_at", "worst_answers", ".schema NAME"):
        assert word in shown
    assert "stg_answers" not in shown


def test_names_and_dot_commands_complete(store: Path) -> None:
    with connect(store / "scores.duckdb") as connection:
        shell = SqlShell(Store.open(str(store)), connection, Layout())
        assert shell.completions("FROM lost_", "lost_") == ["lost_statements"]
        assert "overall_of_dimensions" in shell.completions("SELECT overall_", "overall_")
        assert shell.completions(".sch", ".sch") == [".schema"]
        assert shell.completions(".schema pare", "pare") == ["pareto"]


def test_a_file_wants_one_query(command: Command, store: Path) -> None:
    done = command("sql", "--store", store, "--output", "a.csv")
    assert done.exit_code == 2
    assert "--output is for the answer of one query" in done.stderr


TAKE_TERMINAL = "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])"
"""Of a new session the terminal that it opens first is its own, whose Ctrl-C reaches it."""


@pytest.fixture
def terminal(store: Path, tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A shell on a terminal, whose history is in ``tmp_path``."""
    ours, its = pty.openpty()
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "dumb"}
    command = [sys.executable, "-c", TAKE_TERMINAL, sys.executable, "-m", "flows", "sql", "--store", str(store)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=its, stdout=its, stderr=its, start_new_session=True
    )
    os.close(its)
    yield ours, process
    process.kill()
    process.wait()
    os.close(ours)


def wait_for(terminal: int, *words: str) -> str:
    """What it shows until these words have come one after the other, within a minute."""
    shown = ""
    wanted = re.compile(".*".join(map(re.escape, words)), re.DOTALL)
    end = time.monotonic() + 60
    while not wanted.search(shown) and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65536).decode()
    assert wanted.search(shown), shown
    return shown


def wait_for_work(process: subprocess.Popen[bytes]) -> None:
    """Wait until it has worked for a second: a terminal shows what is typed before anybody reads it."""
    seconds = psutil.Process(process.pid).cpu_times
    begun, end = seconds().user, time.monotonic() + 60
    while seconds().user < begun + 1:
        assert time.monotonic() < end, "the statement has not begun"
        time.sleep(0.05)


def test_on_a_terminal_errors_and_ctrl_c_end_a_statement_and_not_the_shell(
    terminal: tuple[int, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    screen, process = terminal
    wait_for(screen, "sql> ")
    os.write(screen, b"selec 1;\n")
    wait_for(screen, "error: the query cannot be run", "sql> ")
    os.write(screen, b"SELECT count(*) FROM range(100000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3;\n")
    wait_for_work(process)
    os.write(screen, b"\x03")
    wait_for(screen, "error: the query was stopped")
    os.write(screen, b"SELECT 6 * 7 AS answer;\n")
    wait_for(screen, "1 row")
    os.write(screen, b".exit\n")
    assert process.wait(60) == 0
    history = tmp_path / "compaction-eval" / "sql_history"
    assert "SELECT 6 * 7 AS answer;" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0
