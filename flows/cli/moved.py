"""``moved``: yesterday against today."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command


@command("moved", "moved --since 2026-11-01 --format markdown", "moved --judge embedded --worse-than 0.2", order=160)
def moved(
    since: Annotated[
        str | None,
        typer.Option(
            metavar="NIGHT|DATE",
            help="Compare with this night, or with the last one before this date or time (UTC) "
            "(default: the night before the last)",
        ),
    ] = None,
    judge: o.JudgeOfStore = None,
    worse_than: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            min=0.0,
            max=5.0,
            callback=o.finite,
            help="End with exit code 5 when a method's overall fell by more than X, beyond noise.",
        ),
    ] = None,
    store: o.StoreOption = None,
    format: o.FormatOption = "table",
    as_json: o.AsJson = False,
) -> None:
    """Print what moved between two nights, whether beyond noise, and whether the sessions or the method did it.

    A night is taken by every run that changed the leaderboard; `compaction-eval sql "FROM nights"` lists them.
    """
    from flows.reporting.night_changes import format_worse, render
    from flows.support.errors import WORSE

    target = o.open_store(store)
    layout = o.layout(format, as_json)
    shown, found = render(target.database, since, judge, layout)
    o.echo_of(target, shown, layout)
    if worse_than is not None and (worse := found.worse(worse_than)):
        said = ", ".join(format_worse(row, worse_than) for row in worse)
        print(f"worse by more than {worse_than:g}: {said}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(WORSE)
