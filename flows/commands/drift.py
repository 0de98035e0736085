"""``drift``: whether the same judge still gives the same answers the same scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from flows.anchors import anchors_to_do, today
from flows.commands import completing
from flows.commands import options as o
from flows.commands.backfill import study_of_backfill
from flows.commands.run import carry_out, finish
from flows.drift_report import report
from flows.models.check import check_models
from flows.problems import UsageProblem
from flows.progress import Report, make_report
from flows.runtime import Run, running
from flows.store import Store
from flows.study import DEFAULT_STORE


@o.reporting
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
    target = Store.open(store or DEFAULT_STORE)
    name = judge
    if now:
        _take(
            target,
            {
                "judge": judge, "concurrency": concurrency, "runner": runner, "budget_usd": budget_usd,
                "budget_tokens": budget_tokens,
            },
            anchors,
            make_report(quiet or as_json),
            ephemeral=ephemeral, verbose=verbose, log=log, log_items=log_items,
        )  # fmt: skip
        name = None
    o.echo(report(target.database, name, "json" if as_json else format))


def _take(
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
    study = study_of_backfill(store, flags, None)
    study = study if anchors is None else replace(study, anchors=anchors)
    if not study.anchors:
        raise UsageProblem("the store's last run has no anchors; say how many to draw with --anchors N")
    check_models(study)
    with running(study, report, what="drift", is_whole_store=True) as active, active.logged(log, items=log_items):
        sessions = active.sessions()
        if not any(anchors_to_do(store, study, active.engine, active.points(sessions), today(), at_once=True).values()):
            report.say("nothing to do: the anchors have been scored today")
            return
        carry_out(active, _drift, ephemeral=ephemeral, verbose=verbose)
    if active.stopped:
        finish(active, quiet=False, as_json=False, nothing_to_do=False)


async def _drift(active: Run) -> None:
    from flows.drift import drift as flow  # noqa: PLC0415 (Prefect reads its settings when it is imported)

    await flow(active.study)
