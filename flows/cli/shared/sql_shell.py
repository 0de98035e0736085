"""The shell of ``sql``: statements on a store, read-only, one after the other."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from compaction.closest import did_you_mean
from flows.cli.shared import options as o
from flows.database.ready_queries import ready_queries
from flows.database.scores_db import INNER, connect, list_relations
from flows.reporting.query_result import render_answer
from flows.reporting.text_tables import Layout
from flows.store.store import Store
from flows.support.atomic_files import OWNERS_FILE, make_folder
from flows.support.errors import EvalError, UsageError

if TYPE_CHECKING:
    from types import FrameType

COMMANDS = {
    ".tables": "tables and views, without the inner ones",
    ".schema NAME": "columns of a table or view",
    ".queries": "ready queries; compaction-eval query NAME runs one",
    ".help": "this list",
    ".exit": "leave, as Ctrl-D does",
}
MOST_LINES = 1_000
"""Lines of the history that are kept."""


def run_shell(store: Store, layout: Layout, seconds: float | None) -> None:
    """Read statements and dot commands from a terminal, or from what is piped in, until they end.

    On a terminal an error is told and the shell goes on. Each statement may take so many seconds.

    Raises:
        UsageError: something that was piped in cannot be run.
        StoreError: there is no database yet.
    """
    with connect(store.database) as connection:
        shell = SqlShell(store, connection, layout, seconds)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            with suppress(EOFError):
                for text in statements(iter(sys.stdin.readline, "")):
                    shell.run(text)
            return
        o.echo_store(store)
        o.echo("Statements end with ; and Tab completes names. .help lists commands, .exit leaves.")
        with _line_editing(shell):
            _converse(shell)


class SqlShell:
    """Statements and dot commands on one connection, so that variables stay set."""

    def __init__(
        self, store: Store, connection: duckdb.DuckDBPyConnection, layout: Layout, seconds: float | None = None
    ) -> None:
        self._store = store
        self._connection = connection
        self._layout = layout
        self._seconds = seconds
        self._relations = list_relations(connection)
        columns = connection.execute(
            "SELECT DISTINCT column_name FROM duckdb_columns() WHERE database_name = 'store' AND NOT internal"
        ).fetchall()
        self._names = sorted({name for name, _, _ in self._relations} | {name for (name,) in columns})

    def run(self, text: str) -> None:
        """Print the answer of one statement or dot command. Raises UsageError, and EOFError for ``.exit``."""
        if text.startswith("."):
            self._command(text.rstrip(";").split())
            return
        with _interruptible(self._connection) as stopped:
            try:
                answer = render_answer(self._connection, text, self._layout, self._store, self._seconds)
            except UsageError:
                if stopped:
                    raise UsageError("the query was stopped") from None
                raise
        o.echo(answer)

    def completions(self, line: str, word: str) -> list[str]:
        """What a word of a line can become: a command, a table or view behind .schema, else any name of the store."""
        if line.startswith(".schema "):
            known = [name for name, _, _ in self._relations]
        elif line.startswith("."):
            known = [command.split()[0] for command in COMMANDS]
        else:
            known = self._names
        return [name for name in known if name.startswith(word.lower())]

    def _command(self, words: list[str]) -> None:
        name, arguments = words[0], words[1:]
        if name == ".exit":
            raise EOFError
        if name == ".tables":
            shown = [row for row in self._relations if not row[0].startswith(INNER)]
            self._print(["name", "kind", "what it is"], [[name, kind, said or ""] for name, kind, said in shown])
        elif name == ".queries":
            self._print(["query", "question"], [[one.name, one.question] for one in ready_queries().values()])
        elif name == ".help":
            self._print(["command", "what it shows"], [[command, said] for command, said in COMMANDS.items()])
        elif name == ".schema" and len(arguments) == 1:
            self._print_schema(arguments[0].lower())
        else:
            raise UsageError(f"{' '.join(words)}: expected one of {', '.join(COMMANDS)}")

    def _print_schema(self, relation: str) -> None:
        known = [name for name, _, _ in self._relations]
        if relation not in known:
            raise UsageError(f"no table or view {relation}{did_you_mean(relation, known)}")
        found = self._connection.execute(
            "SELECT column_name, data_type, coalesce(comment, '') FROM duckdb_columns() "
            "WHERE database_name = 'store' AND schema_name = 'main' AND table_name = ? ORDER BY column_index",
            [relation],
        ).fetchall()
        self._print(["column", "type", "what it is"], [list(row) for row in found])

    def _print(self, names: list[str], rows: list[list[str]]) -> None:
        layout = Layout("markdown" if self._layout.format == "markdown" else "table", self._layout.width)
        o.echo(layout.table(names, rows, [False] * len(names)))


def statements(lines: Iterator[str]) -> Iterator[str]:
    """The statements and dot commands of lines. The last statement needs no semicolon."""
    text = ""
    for line in lines:
        text += line
        if not text.strip():
            text = ""
        elif text.lstrip().startswith("."):
            yield text.strip()
            text = ""
        elif line.rstrip().endswith(";") and (whole := split_statements(text)):
            yield from whole
            text = ""
    if text.strip():
        yield from split_statements(text) or [text.strip()]


def split_statements(text: str) -> list[str]:
    """The statements of a text; none where a quoted text or a comment goes on. What cannot be read stays whole."""
    try:
        return [found.query.strip() for found in duckdb.extract_statements(text)]
    except duckdb.Error as error:
        return [] if "unterminated" in str(error) else [text.strip()]


def _converse(shell: SqlShell) -> None:
    """Ask for statements until Ctrl-D or ``.exit``. Ctrl-C drops what was typed."""

    def ask() -> Iterator[str]:
        with suppress(EOFError):
            while True:
                yield input("sql> ") + "\n"

    while True:
        try:
            for text in statements(ask()):
                try:
                    shell.run(text)
                except EvalError as problem:
                    o.echo(f"error: {problem}")
        except KeyboardInterrupt:
            o.echo("")
            continue
        except EOFError:
            pass
        return


@contextmanager
def _interruptible(connection: duckdb.DuckDBPyConnection) -> Iterator[list[int]]:
    """Ctrl-C ends the query meanwhile, and is noted in the list that is given."""
    stopped: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        connection.interrupt()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _line_editing(shell: SqlShell) -> Iterator[None]:
    """History and completion of what is typed, where Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return

    def complete(word: str, number: int) -> str | None:
        found = shell.completions(readline.get_line_buffer().lstrip(), word)
        return found[number] if number < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n,()=<>+-*/;'\"")
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    history = _history_file()
    with suppress(OSError):
        readline.read_history_file(history)
    try:
        yield
    finally:
        readline.set_history_length(MOST_LINES)
        with suppress(OSError):
            make_folder(history.parent)
            os.close(os.open(history, os.O_WRONLY | os.O_CREAT, OWNERS_FILE))
            readline.write_history_file(history)


def _history_file() -> Path:
    """In the user's folder for what programs remember: what was typed is nobody else's to read."""
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "compaction-eval" / "sql_history"
