"""Compacted contexts and probes → answers."""

from __future__ import annotations

from prefect import flow

from flows.engine import engine_for
from flows.plan import answers_to_do, batched, files_with
from flows.runtime import running
from flows.stage import Unit, fan_out
from flows.study import Study
from flows.work.answer import answer_batch


@flow(name="answer", persist_result=False)
async def answer(study: Study) -> None:
    """Ask every probe of every compacted context of its point."""
    with running(study, what="answer") as run:
        sessions = run.sessions()
        points = run.points(sessions)
        work = batched(run.groups(sessions), answers_to_do(run.store, study, engine_for(study), points))
        compactions, probes = files_with(run.store.compactions, points), files_with(run.store.probes, points)
        units = [
            Unit(
                one.key,
                one.weight,
                one.n_jobs,
                lambda one=one: run.submit(  # type: ignore[misc]
                    "responder", one.key, answer_batch, run.root, run.study, one,
                    sorted({file for info, _ in one.items for file in compactions[info.session_id]}),
                    sorted({file for info, _ in one.items for file in probes[info.session_id]}),
                ),
                run.waits("responder"),
            )
            for one in work
        ]  # fmt: skip
        await fan_out(run, "answer", "answers", units)
        run.store.answers.drop_superseded()
