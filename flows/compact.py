"""Transcripts → compaction points → what every method leaves at every point."""

from __future__ import annotations

from prefect import flow

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import running
from flows.execution.stage_runner import run_stage
from flows.pipeline.plan import method_rows
from flows.pipeline.stages import COMPACT, POINTS, SUMMARIZE
from flows.support.clock import later_than


@flow(name="compact", flow_run_name=name_of_run, persist_result=False)
async def compact(study: Study) -> None:
    """Find the points of every session and compact at each of them with every method."""
    with running(study, what="compact") as run:
        await run_stage(run, POINTS)
        rows = method_rows(study)
        mine = {row["method_id"] for row in rows}
        earlier = (row["last_run_at"] for row in run.store.records("methods") if row["method_id"] not in mine)
        last_run_at = later_than(run.started_at, earlier)
        for row in rows:
            run.store.record("methods", row["method_id"], {**row, "last_run_at": last_run_at}, replace=True)
        await run_stage(run, COMPACT)
        if run.waits("summarizer"):
            await run_stage(run, SUMMARIZE)
