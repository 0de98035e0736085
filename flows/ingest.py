"""Logs → transcripts: read what is new or has changed, then bring the parts into agreement."""

from __future__ import annotations

from prefect import flow

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import running
from flows.execution.stage_runner import Unit, fan_out
from flows.pipeline.plan import input_batches
from flows.pipeline.tasks.ingest import ingest_batch
from flows.sessions.deduplicate import deduplicate


@flow(name="ingest", flow_run_name=name_of_run, persist_result=False)
async def ingest(study: Study) -> None:
    """Take up the study's sources. An input that is in the store as it is now is not read again."""
    with running(study, what="ingest") as run:
        for _ in range(2):  # once more where a copy has to come back, because what it was folded into has changed
            parts = run.scope.parts
            generation = 1 + max((part.generation for part in parts), default=0)
            todo = run.scope.unread()
            if not todo:
                deduplicate(run.store)  # a moment's work, but where it broke off before
                run.scope.reread()
                break
            units = [
                Unit(
                    f"inputs-{generation}-{index}",
                    float(sum(input.size for input in group)),
                    len(group),
                    lambda key, group=group, generation=generation: run.workers.submit(  # type: ignore[misc]
                        key, ingest_batch, run.root, run.study, group, generation
                    ),
                )
                for index, group in enumerate(input_batches(todo, run.n_workers))
            ]
            await fan_out(run, "ingest", "inputs", units)
            with run.log.timed("settle") as time:
                time.unit = "sessions"
                deduplicate(run.store)
            run.scope.reread()
