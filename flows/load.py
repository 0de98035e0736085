"""Everything → ``scores.duckdb``: one writer, always the whole, put in place by a rename."""

from __future__ import annotations

import pyarrow as pa
from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.runtime import current, running
from flows.study import Study
from flows.summary import summarize
from flows.tables import rebuild


@flow(name="load", persist_result=False)
async def load(study: Study) -> None:
    """Make the database anew."""
    with running(study, what="load") as run, run.report.stage("load", 1, "database") as shown:
        write_database()
        shown.advance(1)


@task(cache_policy=NO_CACHE, persist_result=False)
def write_database() -> None:
    """The one writer."""
    run = current()

    def note_outcome(tables: dict[str, pa.Table]) -> None:
        summary = summarize(run.store, run.study, run.parts(), run.sessions(), tables)
        run.record("done", summary.exit_code)

    rebuild(run.store, run.study, note_outcome)
