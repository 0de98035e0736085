"""The anchors, scored anew at once: a new day of ``judge_drift``."""

from __future__ import annotations

from prefect import flow

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import running
from flows.load import load
from flows.score import score_anchors


@flow(name="drift", flow_run_name=name_of_run, persist_result=False)
async def drift(study: Study) -> None:
    """Let the study's judge score its anchors, unless it has today."""
    with running(study, what="drift", is_whole_store=True) as run:
        run.record("running")
        await score_anchors(run, at_once=True)
        await load(study)
