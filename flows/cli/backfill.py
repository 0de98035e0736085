"""``backfill``: another judge for the answers that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.plan import print_plan
from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.choices import DEFAULT_STORE

if TYPE_CHECKING:
    from flows.execution.run import Run
    from flows.pipeline.backfill.backlog import Backlog
    from flows.pipeline.backfill.selection import Selection
    from flows.pipeline.plan import ScoreJob


@command(
    "backfill --judge openai:gpt-5.2 --plan",
    "backfill --judge anthropic:claude-sonnet-5 --method none --method empty --budget-usd 5",
    "backfill --judge openai:gpt-5.2 --since 2026-11-01 --batch",
    order=50,
)
def backfill(
    judge: Annotated[
        str,
        typer.Option(
            "--judge",
            metavar="SPEC",
            help="The judge: embedded, openai:MODEL or anthropic:MODEL.",
            autocompletion=completing.specs,
        ),
    ],
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Answers given at this date or time (UTC) or later.", show_default=False),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="This method only, as the leaderboard names it, current or not; may be repeated.",
            show_default=False,
            autocompletion=completing.methods,
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Answers given before this date or time.", show_default=False)
    ] = None,
    at_most: Annotated[
        int | None,
        typer.Option(
            "--at-most",
            metavar="N",
            min=1,
            max=10**9,
            help="So many answers, and leave the others to the next time: the newest day first, whole points.",
            show_default=False,
        ),
    ] = None,
    versions: o.Versions = "current",
    by_day: Annotated[
        bool, typer.Option("--by-day", help="Finish a day, the newest first, before the next is begun.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Say how far this judge has got, by day and method, and do nothing.")
    ] = False,
    limit: o.Limit = None,
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    rubric: o.RubricOption = None,
    protocol: o.Protocol = None,
    judge_replicates: o.JudgeReplicates = None,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch", help="Have the provider judge in batches: half the price, an answer within a day; waits for it."
        ),
    ] = False,
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait", help="With --batch: submit and leave; the same command, run again, takes what is there."
        ),
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Say what it would do and cost, and do nothing.")] = False,
    concurrency: o.Concurrency = None,
    runner: o.RunnerOption = None,
    budget_usd: o.BudgetUsd = None,
    budget_tokens: o.BudgetTokens = None,
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
    import asyncio

    from flows.cli.shared.flow_run import print_outcome, run_flow
    from flows.config.model_check import check_models
    from flows.dry_run import forecast_backfill
    from flows.execution.prefect_server import prepare
    from flows.execution.run import load_database, running
    from flows.pipeline.backfill.backlog import backlog_of
    from flows.pipeline.backfill.selection import Selection, query_values, study_of_backfill
    from flows.pipeline.engine import engine_for
    from flows.pipeline.load.tables import is_loaded
    from flows.reporting.backfill_progress import progress_of
    from flows.store.store import Store
    from flows.support.errors import DONE
    from flows.support.progress import Silent, make_report

    target = Store.open(store or DEFAULT_STORE)
    flags = {
        "judge": judge,
        "rubric": rubric,
        "protocol": protocol,
        "judge_replicates": judge_replicates,
        "concurrency": concurrency,
        "runner": runner,
        "budget_usd": budget_usd,
        "budget_tokens": budget_tokens,
        "limit": limit,
    }
    selection = Selection(since, tuple(method or ()), until, at_most, "all" if method else versions)
    effective = study_of_backfill(target, flags, study, selection.versions)
    query_values(effective, selection)
    if status:
        o.echo(progress_of(target, engine_for(effective).judge_id, selection, o.layout(as_json=as_json, more="--json")))
        raise typer.Exit(DONE)
    if plan and not batch:
        prepare(verbose)
        print_plan(asyncio.run(forecast_backfill(effective, selection, make_report(quiet or as_json))), as_json)
        raise typer.Exit(DONE)
    if not plan:
        check_models(effective)
    report = Silent() if plan else make_report(quiet or as_json)
    with (
        running(effective, report, what="plan" if plan else "backfill", is_whole_store=True) as active,
        active.logged(None if plan else log, items=log_items),
        backlog_of(target, effective, active.engine, selection, active.scope.sessions) as found,
    ):
        active.is_part = limit is not None or selection.is_narrow
        if batch and (plan or found.n_jobs):
            _in_batches(active, found.jobs(effective), plan=plan, wait=not no_wait, as_json=as_json)
        if found.n_jobs:
            flow = partial(_backfill, selection=selection, by_day=by_day, backlog=found)
            run_flow(active, flow, ephemeral=ephemeral, verbose=verbose)
        elif not is_loaded(target, effective, active.makers, is_whole_store=True):
            load_database(active)  # a backfill was killed before it got there
    print_outcome(active, quiet=quiet, as_json=as_json, nothing_to_do=not found.n_jobs)


def _in_batches(active: Run, jobs: Mapping[str, Sequence[ScoreJob]], *, plan: bool, wait: bool, as_json: bool) -> None:
    """Fill the call cache by batches. Ends the command while batches are running, or live calls would be paid twice."""
    from flows.execution.batch_prefill import judge_in_batches, plan_batches, planned, said
    from flows.store.call_journal import export_calls
    from flows.support.errors import DONE, INCOMPLETE

    if plan:
        found = plan_batches(active, active.scope.sessions, jobs)
        o.echo_json(asdict(found)) if as_json else o.echo(planned(found))
        raise typer.Exit(DONE)
    outcome = judge_in_batches(active, active.scope.sessions, jobs, wait=wait)
    active.report.say(said(outcome))
    if outcome.pending:
        export_calls(active.store, active.calls.cache)
        if as_json:
            o.echo_json({"batches": asdict(outcome), "store": active.root})
        else:
            o.echo(f"{outcome.pending:,} verdicts are under way in batches; run the same command again to take them")
        raise typer.Exit(INCOMPLETE)


async def _backfill(active: Run, selection: Selection, *, by_day: bool, backlog: Backlog) -> None:
    from flows.backfill import backfill as flow  # Prefect reads its settings when it is imported

    await flow(active.study, selection, by_day=by_day, backlog=backlog)
