"""``backfill``: another judge for the answers that are there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from flows.cli.plan import print_plan
from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.cli.shared.study_options import Given, takes_study
from flows.config.study_keys import JUDGE_KEYS

if TYPE_CHECKING:
    from flows.config.study import Study
    from flows.execution.run import Run
    from flows.pipeline.backfill.backlog import Backlog
    from flows.pipeline.backfill.selection import Selection
    from flows.reporting.text_tables import Layout
    from flows.store.store import Store
    from flows.support.progress import Report


Judge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="SPEC",
        help="The judge: embedded, openai:MODEL, anthropic:MODEL, or file (file:NAME) to answer by hand; or name a "
        "panel with --judges.",
        autocompletion=completing.specs,
    ),
]
Since = Annotated[str | None, typer.Option(metavar="DATE", help="Answers given at this date or time (UTC) or later.")]
Method = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="This method only, as the leaderboard names it, current or not; may be repeated.",
        autocompletion=completing.methods,
    ),
]
Until = Annotated[str | None, typer.Option(metavar="DATE", help="Answers given before this date or time.")]
AtMost = Annotated[
    int | None,
    typer.Option(
        "--at-most",
        metavar="N",
        min=1,
        max=10**9,
        help="So many answers, and leave the others to the next time: the newest day first, whole points.",
    ),
]
ByDay = Annotated[bool, typer.Option("--by-day", help="Finish a day, the newest first, before the next is begun.")]
Status = Annotated[
    bool, typer.Option("--status", help="Say how far this judge has got, by day and method, and do nothing.")
]


@command(
    "backfill --judge openai:gpt-5.2 --plan",
    "backfill --judge anthropic:claude-sonnet-5 --method none --method empty --budget-usd 5",
    "backfill --judge openai:gpt-5.2 --since 2026-11-01 --batch",
    "backfill --judges openai:gpt-5.2,anthropic:claude-sonnet-5 --panel-rule median --plan",
    order=50,
)
@takes_study("store", "study", *(key for key in JUDGE_KEYS if key != "judge"), "limit")
def backfill(
    given: Given,
    judge: Judge = None,
    since: Since = None,
    method: Method = None,
    until: Until = None,
    at_most: AtMost = None,
    versions: o.Versions = "current",
    by_day: ByDay = False,
    status: Status = False,
    batch: o.Batch = False,
    no_wait: o.NoWait = False,
    plan: Annotated[bool, typer.Option("--plan", help="Say what it would do and cost, and do nothing.")] = False,
    log: o.Log = None,
    log_items: o.LogItems = False,
    ephemeral: o.Ephemeral = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Score the answers that a store has with another judge, or another version of one.

    Nothing is compacted or answered again, and no score that is there is touched. It can be stopped and goes on where
    it was. Answers of earlier versions of a method, and of methods that the study has dropped, are left out unless they
    are asked for.
    """
    from flows.cli.shared.flow_run import print_outcome, run_flow
    from flows.config.model_check import check_models
    from flows.execution.batch_rounds import Batching
    from flows.execution.prefect_server import prepare
    from flows.execution.run import load_database, running
    from flows.pipeline.backfill.backlog import backlog_of
    from flows.pipeline.backfill.selection import Selection, query_values, study_of_backfill
    from flows.pipeline.engine import engine_for
    from flows.pipeline.load.tables import is_loaded
    from flows.store.store import Store
    from flows.support.errors import UsageError
    from flows.support.progress import make_report

    if judge is None and "judges" not in given.flags:
        raise UsageError("--judge: name the judge, such as --judge openai:MODEL, or a panel with --judges")
    target = Store.open(given.store)
    flags = {**given.changes, "judge": judge}
    selection = Selection(since, tuple(method or ()), until, at_most, "all" if method else versions)
    effective = study_of_backfill(target, flags, given.path, selection.versions)
    query_values(effective, selection)
    if status:
        _say_progress(target, effective, selection, o.layout(as_json=as_json, more="--json"))
    if batch and "judge" not in engine_for(effective).remote:
        raise UsageError("--batch: the embedded judge asks nobody; name a model with --judge")
    report = make_report(quiet or as_json)
    if plan:
        prepare(verbose)
        _say_plan(target, effective, selection, report, as_json)
    check_models(effective)
    batching = Batching(submit=batch, wait=not no_wait)
    with (
        running(effective, report, what="backfill", is_whole_store=True, batching=batching) as active,
        active.logged(log, items=log_items),
        backlog_of(target, effective, active.engine, selection, active.scope.sessions) as found,
    ):
        active.is_part = "limit" in given.flags or selection.is_narrow
        if found.n_jobs:
            flow = partial(_backfill, selection=selection, by_day=by_day, backlog=found)
            run_flow(active, flow, ephemeral=ephemeral, verbose=verbose)
        elif not is_loaded(target, effective, active.makers, is_whole_store=True):
            load_database(active)  # a backfill was killed before it got there
    print_outcome(active, quiet=quiet, as_json=as_json, nothing_to_do=not found.n_jobs)


def _say_progress(store: Store, study: Study, selection: Selection, layout: Layout) -> NoReturn:
    from flows.pipeline.engine import engine_for
    from flows.reporting.backfill_progress import progress_of

    o.echo_of(store, progress_of(store, engine_for(study).judge_id, selection, layout), layout)
    raise typer.Exit


def _say_plan(store: Store, study: Study, selection: Selection, report: Report, as_json: bool) -> NoReturn:
    import asyncio

    from flows.dry_run import forecast_backfill

    print_plan(asyncio.run(forecast_backfill(study, selection, report)), store, as_json)
    raise typer.Exit


async def _backfill(active: Run, selection: Selection, *, by_day: bool, backlog: Backlog) -> None:
    from flows.backfill import backfill as flow  # Prefect reads its settings when it is imported

    await flow(active.study, selection, by_day=by_day, backlog=backlog)
