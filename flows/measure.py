"""Sessions and compacted contexts → what can be measured without asking a question."""

from __future__ import annotations

from prefect import flow

from flows.measured import measures_to_do
from flows.plan import batched, files_with
from flows.runtime import running
from flows.stage import Unit, fan_out
from flows.study import Study
from flows.work.measure import measure_batch


@flow(name="measure", persist_result=False)
async def measure(study: Study) -> None:
    """Measure what every context still tells of files and facts, and what of it the session needed again."""
    with running(study, what="measure") as run:
        sessions = run.sessions()
        points = run.points(sessions)
        work = batched(run.groups(sessions), measures_to_do(run.store, study, run.engine, sessions, points))
        compactions, probes = files_with(run.store.compactions, points), files_with(run.store.probes, points)
        units = [
            Unit(
                one.key,
                one.weight,
                one.n_jobs,
                lambda one=one: run.workers.submit(  # type: ignore[misc]
                    one.key, measure_batch, run.root, run.study, one,
                    sorted({file for info, _ in one.items for file in compactions[info.session_id]}),
                    sorted({file for info, _ in one.items for file in probes.get(info.session_id, ())}),
                ),
            )
            for one in work
        ]  # fmt: skip
        await fan_out(run, "measure", "compactions", units)
        run.store.needs.drop_superseded()
        run.store.measures.drop_superseded()
