"""The anchors, scored anew at once: a new day of ``judge_drift``."""

from __future__ import annotations

from prefect import flow

from flows.load import load
from flows.page import name_of_run
from flows.runtime import running
from flows.score import take_anchors
from flows.study import Study


@flow(name="drift", flow_run_name=name_of_run, persist_result=False)
async def drift(study: Study) -> None:
    """Let the study's judge score its anchors, unless it has today."""
    with running(study, what="drift", is_whole_store=True) as run:
        run.record("running")
        await take_anchors(run, at_once=True)
        await load(study)
