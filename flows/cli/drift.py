"""``drift``: whether the same judge still gives the same answers the same scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.choices import DEFAULT_STORE

if TYPE_CHECKING:
    from flows.execution.run import Run
    from flows.store.store import Store
    from flows.support.progress import Report


@command(
    "drift",
    "drift --now --anchors 50",
    "drift --format csv > drift.csv",
    order=180,
)
def drift(
    now: Annotated[
        bool, typer.Option("--now", help="First score the anchors anew, unless today has been done.")
    ] = False,
    anchors: o.Anchors = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="ID|SPEC",
            help="One judge only, by name or id; with --now the judge to ask: embedded, openai:MODEL or "
            "anthropic:MODEL (default: that of the last run)",
            show_default=False,
            autocompletion=completing.judges,
        ),
    ] = None,
    store: o.StoreOption = None,
    concurrency: o.Concurrency = None,
    runner: o.RunnerOption = None,
    budget_usd: o.BudgetUsd = None,
    budget_tokens: o.BudgetTokens = None,
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
    from flows.reporting.judge_drift import report
    from flows.store.store import Store
    from flows.support.progress import make_report

    target = Store.open(store or DEFAULT_STORE)
    name = judge
    if now:
        _take_anchors(
            target,
            {
                "judge": judge,
                "concurrency": concurrency,
                "runner": runner,
                "budget_usd": budget_usd,
                "budget_tokens": budget_tokens,
            },
            anchors,
            make_report(quiet or as_json),
            ephemeral=ephemeral,
            verbose=verbose,
            log=log,
            log_items=log_items,
        )
        name = None
    layout = o.layout(format, as_json)
    o.echo_of(target, report(target.database, name, layout), layout)


def _take_anchors(
    store: Store,
    flags: dict[str, object],
    anchors: int | None,
    report: Report,
    *,
    ephemeral: bool,
    verbose: bool,
    log: str | None,
    log_items: bool,
) -> None:
    from flows.cli.shared.flow_run import print_outcome, run_flow
    from flows.config.model_check import check_models
    from flows.execution.run import running
    from flows.pipeline.anchors import anchors_to_do, today
    from flows.pipeline.backfill.selection import study_of_backfill
    from flows.support.errors import UsageError

    study = study_of_backfill(store, flags, None)
    study = study if anchors is None else replace(study, anchors=anchors)
    if not study.anchors:
        raise UsageError("the store's last run has no anchors; say how many to draw with --anchors N")
    check_models(study)
    with running(study, report, what="drift", is_whole_store=True) as active, active.logged(log, items=log_items):
        if not any(anchors_to_do(store, study, active.engine, active.scope.points(), today(), at_once=True).values()):
            report.say("nothing to do: the anchors have been scored today")
            return
        run_flow(active, _drift, ephemeral=ephemeral, verbose=verbose)
    if active.stopped:
        print_outcome(active, quiet=False, as_json=False, nothing_to_do=False)


async def _drift(active: Run) -> None:
    from flows.drift import drift as flow  # Prefect reads its settings when it is imported

    await flow(active.study)
