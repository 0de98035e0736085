"""Transcripts → compaction points → what every method leaves at every point."""

from __future__ import annotations

from prefect import flow

from flows.plan import method_rows
from flows.runtime import running
from flows.stage import run_stage
from flows.study import Study
from flows.work.stages import COMPACT, POINTS, SUMMARIZE


@flow(name="compact", persist_result=False)
async def compact(study: Study) -> None:
    """Find the points of every session and compact at each of them with every method."""
    with running(study, what="compact") as run:
        await run_stage(run, POINTS)
        for row in method_rows(study):
            run.store.record("methods", row["method_id"], {**row, "last_run_at": run.started_at}, replace=True)
        await run_stage(run, COMPACT)
        if run.waits("summarizer"):
            await run_stage(run, SUMMARIZE)
