"""Sessions and compacted contexts → what can be measured without asking a question."""

from __future__ import annotations

from prefect import flow

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import running
from flows.execution.stage_runner import run_stage
from flows.pipeline.stages import MEASURE, REPLAY


@flow(name="measure", flow_run_name=name_of_run, persist_result=False)
async def measure(study: Study) -> None:
    """Measure which files and facts every context still tells, and which of them the session needed again.

    Where the study asks for it, sessions are then replayed call by call under every method.
    """
    with running(study, what="measure") as run:
        await run_stage(run, MEASURE)
        if study.replay:
            await run_stage(run, REPLAY)
