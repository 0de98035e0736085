"""Compacted contexts and probes → answers."""

from __future__ import annotations

from prefect import flow

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import running
from flows.execution.stage_runner import run_stage
from flows.pipeline.stages import ANSWER, NEXT_ACTION


@flow(name="answer", flow_run_name=name_of_run, persist_result=False)
async def answer(study: Study) -> None:
    """Ask every probe of every compacted context of its point.

    Where the study asks for it, the next action is then asked for, of the contexts and of the whole history.
    """
    with running(study, what="answer") as run:
        await run_stage(run, ANSWER)
        if study.next_action:
            await run_stage(run, NEXT_ACTION)
