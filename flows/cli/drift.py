"""``drift``: whether the same judge still gives the same answers the same scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.cli.shared.study_options import Given, takes_study

if TYPE_CHECKING:
    from flows.config.study import Study
    from flows.execution.run import Run
    from flows.store.store import Store


@command("drift", "drift --now --anchors 50", "drift --format csv > drift.csv", order=180)
@takes_study("anchors", "store", "concurrency", "runner", "budget_usd", "budget_tokens")
def drift(
    given: Given,
    now: Annotated[
        bool, typer.Option("--now", help="First score the anchors anew, unless today has been done.")
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="ID|SPEC",
            help="One judge only, by name or id; with --now the judge to ask: embedded, openai:MODEL or "
            "anthropic:MODEL (default: that of the last run)",
            autocompletion=completing.judges,
        ),
    ] = None,
    log: o.Log = None,
    log_items: o.LogItems = False,
    ephemeral: o.Ephemeral = False,
    format: o.FormatOption = "table",
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Print how far the judge's scores of the anchors have moved since it first gave them.

    Anchors are a fixed set of answers: `anchors = N` in a study, or `run --anchors N`, draws them once, and every run
    on a new day has the same version of the judge score them anew, past the call cache.
    """
    from flows.cli.shared.flow_run import print_outcome, run_flow
    from flows.execution.run import running
    from flows.pipeline.anchors import anchors_to_do, today
    from flows.reporting.judge_drift import report as report_drift
    from flows.store.store import Store
    from flows.support.progress import make_report

    target = Store.open(given.store)
    name = judge
    if now:
        study = _study_of_anchors(target, given.changes | ({"judge": judge} if judge else {}))
        report = make_report(quiet or as_json)
        with running(study, report, what="drift", is_whole_store=True) as active, active.logged(log, items=log_items):
            if not any(
                anchors_to_do(target, study, active.engine, active.scope.points(), today(), at_once=True).values()
            ):
                report.say("nothing to do: the anchors have been scored today")
            else:
                run_flow(active, _drift, ephemeral=ephemeral, verbose=verbose)
        if active.stopped:
            print_outcome(active, quiet=False, as_json=False, nothing_to_do=False)
        name = None
    layout = o.layout(format, as_json)
    o.echo_of(target, report_drift(target.database, name, layout), layout)


def _study_of_anchors(store: Store, flags: Mapping[str, object]) -> Study:
    """The study of the store's results with the given options. Raises UsageError where nobody says how many anchors."""
    from flows.config.model_check import check_models
    from flows.pipeline.backfill.selection import study_of_backfill
    from flows.support.errors import UsageError

    study = study_of_backfill(store, flags, None)
    if not study.anchors:
        raise UsageError("the store's last run has no anchors; say how many to draw with --anchors N")
    check_models(study)
    return study


async def _drift(active: Run) -> None:
    from flows.drift import drift as flow  # Prefect reads its settings when it is imported

    await flow(active.study)
