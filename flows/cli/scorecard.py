"""``scorecard``: the leaderboard in short, for a pull request."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command

TOP = 12
"""Methods before the fold, where the option does not say."""


Base = Annotated[
    str | None,
    typer.Option("--base", metavar="DIR_OR_URL", help="Compare with this store, on the questions that both have."),
]
Method = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Show this method only, as the leaderboard names it; may be repeated.",
        autocompletion=completing.methods,
    ),
]
FailIfWorse = Annotated[
    float | None,
    typer.Option(
        "--fail-if-worse",
        metavar="X",
        min=0.0,
        max=5.0,
        callback=o.finite,
        help="With --base: end with exit code 5 when a method's overall is lower by more than X, beyond noise.",
    ),
]


@command(
    "scorecard > scorecard.md",
    "scorecard --store head-store --base base-store --fail-if-worse 0.2",
    "scorecard --judge embedded --method none --method mask_sweagent --fail-below mask_sweagent=3.5",
    order=110,
)
def scorecard(
    store: o.StoreOption = None,
    base: Base = None,
    judge: o.JudgeOfStore = None,
    method: Method = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="Methods to show before the fold.")] = TOP,
    fail_below: o.FailBelow = None,
    fail_if_worse: FailIfWorse = None,
    as_json: o.AsJson = False,
) -> None:
    """Print a short Markdown scorecard for a pull request: a table, how sure it is, what is missing, what moved.

    Exit code 5 when a threshold is not reached. docs/ci.md has a workflow that uses it.
    """
    from flows.reporting.scorecard import render_scorecards, scorecards
    from flows.reporting.text_tables import format_signed
    from flows.reporting.thresholds import format_missed, read_thresholds
    from flows.store.store import Store
    from flows.support.errors import WORSE, UsageError

    if fail_if_worse is not None and base is None:
        raise UsageError("--fail-if-worse: worse than what? name the other store with --base DIR")
    thresholds = read_thresholds(fail_below or ())
    found = o.open_store(store)
    before = Store.open(base).database if base else None
    cards = scorecards(found.database, base=before, judge=judge, methods=method or (), thresholds=thresholds)
    if as_json:
        o.echo_json({"scorecards": [card.as_dict() for card in cards]})
    else:
        o.echo(render_scorecards(cards, top, has_base=base is not None))
        o.echo("")
        o.echo_store(found)
    failed = [format_missed(card.verdicts) for card in cards if format_missed(card.verdicts)]
    if fail_if_worse is not None:
        failed += [
            f"{row['method']} {format_signed(row['difference'])} against the base"
            for card in cards
            for row in card.worse(fail_if_worse)
        ]
    if thresholds and not cards:
        failed.append("no answer has been scored")
    if failed:
        print(f"not reached: {'; '.join(failed)}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(WORSE)
