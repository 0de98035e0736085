"""Points → probes: questions about the history, with their proven answers."""

from __future__ import annotations

from prefect import flow

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import running
from flows.execution.stage_runner import run_stage
from flows.pipeline.stages import PROBE
from judge.llm.prober import ModelProber


@flow(name="probe", flow_run_name=name_of_run, persist_result=False)
async def probe(study: Study) -> None:
    """Make the probes of every point, the same for all methods."""
    with running(study, what="probe") as run:
        await run_stage(run, PROBE)
        if isinstance(run.engine.prober, ModelProber):
            run.log.tallies["probe"].counts |= {
                f"left out: {what}": n for what, n in run.engine.prober.left_out.items()
            }
