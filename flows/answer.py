"""Compacted contexts and probes → answers."""

from __future__ import annotations

from prefect import flow

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import running
from flows.execution.stage_runner import run_stage
from flows.pipeline.stages import ANSWER


@flow(name="answer", flow_run_name=name_of_run, persist_result=False)
async def answer(study: Study) -> None:
    """Ask every probe of every compacted context of its point."""
    with running(study, what="answer") as run:
        await run_stage(run, ANSWER)
