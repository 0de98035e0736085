"""The whole, in order, on one page."""

from __future__ import annotations

from prefect import flow

from flows.answer import answer
from flows.compact import compact
from flows.ingest import ingest
from flows.load import load
from flows.measure import measure
from flows.probe import probe
from flows.runtime import running
from flows.score import score
from flows.study import Study


@flow(name="evaluate", persist_result=False)
async def evaluate(study: Study) -> None:
    """From stored sessions to a leaderboard. Killed at any instant and started again, it goes on where it was."""
    with running(study) as run:
        run.record("running")
        await ingest(study)  # logs → transcripts
        await compact(study)  # transcripts → points → compacted contexts
        await probe(study)  # points → questions with proven answers
        await measure(study)  # sessions and contexts → what was needed again, and what is still told
        await answer(study)  # contexts and questions → answers
        await score(study)  # answers → scores by criterion
        await load(study)  # everything → scores.duckdb
