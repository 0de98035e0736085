"""Loads a whole store into ``scores.duckdb``: one writer, put in place by a rename."""

from __future__ import annotations

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import load_database, running


@flow(name="load", flow_run_name=name_of_run, persist_result=False)
async def load(study: Study) -> None:
    """Make the database anew."""
    with running(study, what="load") as run:

        @task(cache_policy=NO_CACHE, persist_result=False)
        async def write_database() -> None:
            """The one writer."""
            load_database(run)

        await write_database()
