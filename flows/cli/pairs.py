"""``pairs``: methods side by side, answer against answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from flows.cli.plan import print_plan
from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.cli.shared.study_options import Given, takes_study

if TYPE_CHECKING:
    from flows.config.study import Study
    from flows.execution.run import Run
    from flows.pipeline.tasks.compare import PairJob
    from flows.store.store import Store


@command(
    "pairs mask_sweagent head_tail --judge openai:gpt-5.2 --plan",
    "pairs mask_sweagent head_tail codex_local --judge openai:gpt-5.2 --at-most 400 --budget-usd 5",
    order=82,
)
@takes_study("judge", "store", "study", "concurrency", "budget_usd", "budget_tokens")
def pairs(
    given: Given,
    methods: Annotated[
        list[str],
        typer.Argument(
            metavar="A B…",
            help="Two methods or more, as the leaderboard calls them.",
            autocompletion=completing.methods,
        ),
    ],
    at_most: Annotated[
        int | None,
        typer.Option("--at-most", metavar="N", min=2, max=10**9, help="So many comparisons, whole questions by lot."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say how many comparisons there are, cost, and decide; and do nothing.")
    ] = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Let a model say which of two methods' answers to a question is better, in both orders; a tie is allowed.

    For methods whose scores lie close together. The judge sees the question, the true answer and the two answers, and
    neither contexts nor methods. Verdicts stay in the store and are paid once; it can be stopped and goes on where it
    was. docs/judge.md explains every figure.
    """
    from flows.config.model_check import check_models
    from flows.execution.run import load_database, running
    from flows.execution.stage_executor import PlainCalls
    from flows.pipeline.backfill.selection import study_of_backfill
    from flows.pipeline.engine import engine_for
    from flows.pipeline.load.tables import is_loaded
    from flows.pipeline.tasks.compare import comparisons_to_do, pair_judge, pair_judge_id
    from flows.store.store import Store
    from flows.support.progress import make_report

    target = Store.open(given.store)
    study = study_of_backfill(target, {**given.changes, "judges": None, "pack": False}, given.path)
    chosen = _chosen(study, methods)
    judge = pair_judge(study, engine_for(study))
    judge_id = pair_judge_id(judge)
    if plan:
        _say_plan(target, study, chosen, comparisons_to_do(target, judge_id, chosen, at_most), as_json)
    check_models(study)
    report = make_report(quiet or as_json)
    with running(study, report, "pairs", is_whole_store=True, executor=PlainCalls()) as active:
        active.is_part = True
        jobs = comparisons_to_do(target, judge_id, chosen, at_most)
        if jobs:
            _compare(active, jobs)
        if jobs or not is_loaded(target, study, active.makers, is_whole_store=True):
            load_database(active)
    _print(active, target, judge_id, judge.version.judge, chosen, as_json)


def _compare(active: Run, jobs: Mapping[str, Sequence[PairJob]]) -> None:
    import asyncio

    from flows.execution.pair_comparisons import compare_pairs
    from flows.support.errors import BROKEN

    active.record("running")
    try:
        asyncio.run(compare_pairs(active, jobs))
    except BaseException:
        active.record("failed", BROKEN)
        raise


def _chosen(study: Study, methods: Sequence[str]) -> list[str]:
    from compaction.closest import closest_or_all
    from flows.support.errors import UsageError

    names = [method.name for method in study.methods()]
    for name in methods:
        if name not in names:
            raise UsageError(f"the store has no results of {name!r}{closest_or_all(name, names)}")
    found = sorted(set(methods))
    if len(found) < 2:
        raise UsageError("pairs: name two methods or more")
    return found


def _say_plan(
    store: Store, study: Study, methods: Sequence[str], jobs: Mapping[str, Sequence[PairJob]], as_json: bool
) -> NoReturn:
    import asyncio

    from flows.database.scores_db import connect
    from flows.dry_run import forecast_pairs
    from flows.reporting.pairs import decisive_numbers, format_decisive
    from flows.support.progress import Silent

    found = asyncio.run(forecast_pairs(study, jobs, Silent()))
    with connect(store.database) as connection:
        decisive = decisive_numbers(connection, methods)
    same = sum(job.is_same for of in jobs.values() for job in of)
    if as_json:
        o.echo_json({**found.as_dict(), "same_answers": same, "decides": decisive, "store": store.name})
        raise typer.Exit
    for sentence in format_decisive(decisive):
        o.echo(sentence)
    o.echo(f"comparisons of one text with itself, ties that cost nothing: {same:,}")
    print_plan(found, store, as_json=False)
    raise typer.Exit


def _print(active: Run, store: Store, judge_id: str, judge: str, methods: Sequence[str], as_json: bool) -> NoReturn:
    from flows.database.scores_db import connect
    from flows.execution.pair_comparisons import STAGE
    from flows.reporting.pairs import format_pairs, pair_figures
    from flows.support.errors import DONE, INCOMPLETE, STOPPED

    tally = active.log.tallies.get(STAGE)
    failed, stopped = tally.failed if tally else 0, active.stopped
    layout = o.layout(as_json=as_json, more="--json")
    with connect(store.database) as connection:
        figures = pair_figures(connection, judge_id, methods)
        if as_json:
            content: dict[str, Any] = {**figures, "judge": judge, "failed": failed, "stopped": stopped}
            o.echo_json({**content, "store": store.name})
        else:
            o.echo(format_pairs(connection, figures, judge, layout))
            if failed:
                o.echo(f"{failed:,} comparisons failed (table comparisons says why); the same command asks them again")
            if stopped:
                o.echo(stopped)
            o.echo_store(store)
    raise typer.Exit(STOPPED if stopped else INCOMPLETE if failed else DONE)
