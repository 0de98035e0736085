"""Options that several commands share, and how a problem becomes one sentence and an exit code."""

from __future__ import annotations

import functools
import os
import sys
import textwrap
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec

import orjson
import typer

from flows.cli.shared import completing
from flows.support.choices import DEFAULT_STORE, Format
from flows.support.terminal_text import WIDTH, without_controls

if TYPE_CHECKING:
    from flows.reporting.text_tables import Layout
    from flows.store.store import Store

P = ParamSpec("P")

LEAST_COLUMNS, MOST_COLUMNS = 60, 220
"""Of tables for reading, on a terminal."""
MOST_METHODS = 40
"""Rows of a leaderboard that are shown without ``--wide``."""

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="DIR_OR_URL",
        envvar="COMPACTION_EVAL_STORE",
        show_envvar=False,
        help="Where everything is kept: a folder, or s3://bucket/prefix (also gs, az) (default: "
        f"$COMPACTION_EVAL_STORE, else {DEFAULT_STORE})",
    ),
]
StudyOption = Annotated[
    str | None, typer.Option("--study", metavar="FILE.toml", help="A study file; flags override it.")
]


def finite(value: float | None) -> float | None:
    """Refuse NaN, which is in no range and outside of none, and what has no end."""
    if value is not None and not isfinite(value):
        raise typer.BadParameter(f"expected a number, found {value}")
    return value


FailIfWorse = Annotated[
    float | None,
    typer.Option(
        "--fail-if-worse",
        metavar="X",
        min=0.0,
        max=5.0,
        callback=finite,
        help="End with exit code 5 when a method's overall fell by more than X, beyond noise, since the last run that "
        "was asked this: see moved",
    ),
]
FailBelow = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-below",
        metavar="METHOD=X",
        help="End with exit code 5 when this method's overall is below X (0 to 5); may be repeated.",
    ),
]
Ephemeral = Annotated[bool, typer.Option("--ephemeral", help="Do without the Prefect server that is configured.")]
Log = Annotated[
    str | None, typer.Option("--log", metavar="FILE", help="Append the run's events as JSON lines; - for stderr.")
]
LogItems = Annotated[
    bool, typer.Option("--log-items", help="With --log: also one line for each compaction, probe, answer, verdict.")
]
Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Have the providers answer in batches: half the price, each answer within a day. Waits for them.",
    ),
]
NoWait = Annotated[
    bool,
    typer.Option(
        "--no-wait",
        help="Do not wait for batches: end with exit code 4; the same command, run again, goes on from there.",
    ),
]
JudgeOfStore = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="ID",
        help="One judge only, by name or the beginning of its id (default: all).",
        autocompletion=completing.judges,
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="METHOD",
        help="Compare all others with this method: the one in use, say.",
        show_default=False,
        autocompletion=completing.methods,
    ),
]
Versions = Annotated[
    Literal["current", "all"],
    typer.Option(
        "--versions",
        help="Of methods: those that the newest run of the study asks for, or all, earlier and dropped ones too.",
    ),
]
Wide = Annotated[bool, typer.Option("--wide", help="All rows and columns, as wide as they are.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Prefect's own log, and a traceback when something breaks.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print it.")]


def report_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turn an error of a command into one sentence on stderr, under ``--json`` a document too, and its exit code."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        from flows.cli.shared.failures import exit_codes

        as_json = bool(kwargs.get("as_json")) or kwargs.get("format") == "json"
        with exit_codes(verbose=bool(kwargs.get("verbose")), say=say_error if as_json else None):
            command(*args, **kwargs)

    return wrapped


def open_store(location: str | None) -> Store:
    """The store of ``--store``, which has to be there; the usual one without it. Raises StoreError."""
    from flows.store.store import Store

    return Store.open(location or DEFAULT_STORE)


def echo(text: str) -> None:
    """Print a result on stdout; on a terminal without control characters, whatever the format."""
    shown = text.rstrip("\n")
    typer.echo(without_controls(shown) if sys.stdout.isatty() else shown, color=True)  # a pipe gets every character


def layout(
    format: Format = "table",
    as_json: bool = False,
    *,
    wide: bool = False,
    most: int | None = None,
    more: str = "--format csv",
    colours: bool = False,
) -> Layout:
    """Make the layout of printed rows, as wide as ``terminal_width``.

    Args:
        format: Of ``--format``.
        as_json: Of ``--json``, which wins.
        wide: Everything, as wide as it is.
        most: Rows of a table, unless ``wide``.
        more: Option of the command that has what does not fit.
        colours: Whether rows of a group have its colour, on a terminal and without ``NO_COLOR``.
    """
    from flows.reporting.text_tables import Layout

    takes_colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Layout(
        "json" if as_json else format,
        None if wide else terminal_width(),
        None if wide else most,
        more,
        colours and takes_colours and format == "table" and not as_json,
    )


def terminal_width() -> int:
    """Columns for text on a terminal: ``COLUMNS``, else the terminal's; 60 to 220, and 100 without any.

    A pipe (``| less``, ``| grep``) has the width of the terminal that it was typed in.
    """
    given = os.environ.get("COLUMNS", "")
    if given.isdigit():
        columns = int(given)
    else:
        terminal = next((one for one in (sys.stdout, sys.stderr) if one.isatty()), None)
        columns = WIDTH if terminal is None else os.get_terminal_size(terminal.fileno()).columns
    return max(LEAST_COLUMNS, min(columns, MOST_COLUMNS))


def echo_wrapped(label: str, text: str) -> None:
    """Print a label and a text; its further lines stand below the beginning of the text."""
    wrapped = textwrap.wrap(
        text,
        terminal_width(),
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,
        break_on_hyphens=False,
    )
    echo("\n".join(wrapped))


def echo_of(store: Store, text: str, layout: Layout, *, paged: bool = False) -> None:
    """Print a result of a store; below a table for reading stands which store it is.

    On a terminal with fewer lines than a ``paged`` result, it is shown in the pager (``PAGER``).
    """
    from flows.reporting.store_line import name_store

    whole = text if layout.is_data else f"{text.rstrip(chr(10))}\n{layout.note(name_store(store))}"
    if layout.is_data or not sys.stdout.isatty():
        echo(whole)
        return
    shown = whole if layout.is_coloured else without_controls(whole)
    if paged and sys.stdin.isatty() and shown.count("\n") >= os.get_terminal_size(sys.stdout.fileno()).lines:
        from rich.pager import SystemPager

        os.environ.setdefault("LESS", "-R")  # less shows colours only so
        SystemPager().show(shown)
    else:
        typer.echo(shown.rstrip("\n"), color=True)


def echo_store(store: Store) -> None:
    """Print which store was looked at or changed."""
    from flows.reporting.store_line import name_store

    echo(name_store(store))


def echo_json(document: Any) -> None:
    """Print the one JSON document of ``--json``: rows as a list of objects, all else as an object.

    Values that JSON has no type for are texts, and numbers that are not finite are null.
    """
    echo(orjson.dumps(document, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode())


def say_error(message: str, exit_code: int) -> None:
    """Print the document of a command that fails under ``--json`` (``docs/operating.md`` has the exit codes)."""
    echo_json({"error": {"message": message, "exit_code": exit_code}})
