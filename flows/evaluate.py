"""The whole, in order, on one page."""

from __future__ import annotations

from prefect import flow

from flows.answer import answer
from flows.compact import compact
from flows.config.study import Study
from flows.execution.prefect_page import name_of_run, twice
from flows.execution.run import running
from flows.ingest import ingest
from flows.load import load
from flows.measure import measure
from flows.probe import probe
from flows.score import score


@flow(name="evaluate", flow_run_name=name_of_run, persist_result=False)
async def evaluate(study: Study) -> None:
    """From stored sessions to a leaderboard. Killed at any instant and started again, it goes on where it was."""
    with running(study) as run:
        run.record("running")
        report = run.report
        await twice(ingest, study, report)  # logs → transcripts
        await twice(compact, study, report)  # transcripts → points → compacted contexts
        await twice(probe, study, report)  # points → questions with proven answers
        await twice(measure, study, report)  # sessions and contexts → what was needed again, and what is still told
        await twice(answer, study, report)  # contexts and questions → answers
        await twice(score, study, report)  # answers → scores by criterion
        await twice(load, study, report)  # everything → scores.duckdb
