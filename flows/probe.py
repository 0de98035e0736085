"""Points → probes: questions about the history, with their proven answers."""

from __future__ import annotations

from prefect import flow

from flows.engine import engine_for
from flows.plan import batched, probes_to_do
from flows.runtime import running
from flows.stage import Unit, fan_out
from flows.study import Study
from flows.work.probe import probe_batch
from judge.llm.prober import ModelProber


@flow(name="probe", persist_result=False)
async def probe(study: Study) -> None:
    """Make the probes of every point, the same for all methods."""
    with running(study, what="probe") as run:
        sessions = run.sessions()
        work = batched(run.groups(sessions), probes_to_do(run.store, engine_for(study), run.points(sessions)))
        units = [
            Unit(
                one.key,
                one.weight,
                one.n_jobs,
                lambda one=one: run.submit("prober", one.key, probe_batch, run.root, run.study, one),  # type: ignore[misc]
                run.waits("prober"),
            )
            for one in work
        ]
        await fan_out(run, "probe", "points", units)
        if isinstance(run.engine.prober, ModelProber):
            run.tallies["probe"].counts |= {f"left out: {what}": n for what, n in run.engine.prober.left_out.items()}
        run.store.probes.drop_superseded()
