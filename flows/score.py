"""Answers → scores, criterion by criterion."""

from __future__ import annotations

from dataclasses import asdict

from prefect import flow

from flows.models import Engine, engine_for
from flows.plan import batched, files_with, scores_to_do
from flows.runtime import Run, now, running
from flows.stage import Unit, fan_out
from flows.study import Study
from flows.work.score import score_batch


@flow(name="score", persist_result=False)
async def score(study: Study) -> None:
    """Let the study's judge score every answer that it has not scored yet."""
    with running(study, what="score") as run:
        sessions, engine = run.sessions(), engine_for(study)
        points = run.points(sessions)
        _record_judge(run, engine)
        work = batched(run.groups(sessions), scores_to_do(run.store, study, engine, points))
        shards = {"compactions": run.store.compactions, "probes": run.store.probes, "answers": run.store.answers}
        files = {name: files_with(folder, points) for name, folder in shards.items()}
        units = [
            Unit(
                one.key,
                one.weight,
                one.n_jobs,
                lambda one=one: run.workers.submit(  # type: ignore[misc]
                    one.key, score_batch, run.root, run.study, one,
                    {
                        name: sorted({file for info, _ in one.items for file in found[info.session_id]})
                        for name, found in files.items()
                    },
                ),
            )
            for one in work
        ]  # fmt: skip
        await fan_out(run, "score", "answers", units)
        run.store.scores.drop_superseded()


def _record_judge(run: Run, engine: Engine) -> None:
    """Write the judge's version and its rubric down once; neither ever changes."""
    rubric = engine.judge.rubric
    criteria = [
        {"criterion": c.id, "dimension": c.dimension, "weight": c.weight, "question": c.question}
        for c in rubric.criteria.values()
    ]
    version = asdict(engine.judge.version)
    row = {"judge_id": engine.judge_id, **version, "created_at": now(), "criteria": criteria}
    run.store.record("judges", engine.judge_id, row)
