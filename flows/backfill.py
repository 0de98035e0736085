"""Answers that are there → scores of another judge. Nothing is compacted or answered, no score is touched."""

from __future__ import annotations

from prefect import flow

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import Run, running
from flows.load import load
from flows.pipeline.backfill.backlog import ALL_DAYS, Backlog, backlog_of
from flows.pipeline.backfill.selection import Selection
from flows.score import judge_backlog


@flow(name="backfill", flow_run_name=name_of_run, persist_result=False)
async def backfill(study: Study, selection: Selection, *, by_day: bool = False, backlog: Backlog | None = None) -> None:
    """Let the study's judge score the selected answers of the database that it has not scored yet.

    ``by_day``: a day is finished, the newest first, before the next is begun. ``backlog``: what has been found already.
    """
    with running(study, what="backfill", is_whole_store=True) as run:
        run.record("running")
        if backlog is None:
            with backlog_of(run.store, study, run.engine, selection, run.scope.sessions) as found:
                await backfill_all(run, found, by_day=by_day)
        else:
            await backfill_all(run, backlog, by_day=by_day)
        await load(study)


async def backfill_all(run: Run, backlog: Backlog, *, by_day: bool) -> None:
    """Score everything that was found. Beyond the budget the rest is still tried, because cached calls are free."""
    for day, number in backlog.days if by_day else ((ALL_DAYS, backlog.n_jobs),):
        if by_day:
            run.report.say(f"answers of {day}: {number:,}")
        await judge_backlog(run, backlog, day)
