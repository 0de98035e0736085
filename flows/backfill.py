"""Answers that are there → scores of another judge. Nothing is compacted or answered, no score is touched."""

from __future__ import annotations

from prefect import flow

from flows.load import load
from flows.runtime import running
from flows.score import judge_all
from flows.selection import Selection, answers_to_judge
from flows.study import Study


@flow(name="backfill", persist_result=False)
async def backfill(study: Study, selection: Selection) -> None:
    """Let the study's judge score the selected answers of the database that it has not scored yet."""
    with running(study, what="backfill", is_whole_store=True) as run:
        run.record("running")
        sessions = run.sessions()
        known = {info.session_id for info in sessions}
        jobs = answers_to_judge(run.store, study, run.engine, selection)
        await judge_all(run, {session: found for session, found in jobs.items() if session in known})
        await load(study)
