"""Answers → scores, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from prefect import flow

from flows.engine import Engine
from flows.plan import ScoreJob, batched, files_with, scores_to_do, shuffled
from flows.runtime import Run, now, running
from flows.stage import Unit, fan_out
from flows.study import Study
from flows.transcripts import SessionInfo
from flows.work.score import score_batch


@flow(name="score", persist_result=False)
async def score(study: Study) -> None:
    """Let the study's judge score every answer that it has not scored yet."""
    with running(study, what="score") as run:
        sessions = run.sessions()
        await judge_all(run, sessions, scores_to_do(run.store, study, run.engine, run.points(sessions)))


async def judge_all(run: Run, sessions: list[SessionInfo], jobs: Mapping[str, Sequence[ScoreJob]]) -> None:
    """Let the study's judge score these answers, by session."""
    record_judge(run, run.engine)
    work = batched(run.groups(sessions), shuffled(jobs) if run.waits("judge") else jobs)
    shards = {"compactions": run.store.compactions, "probes": run.store.probes, "answers": run.store.answers}
    files = {name: files_with(folder, jobs) for name, folder in shards.items()}
    units = [
        Unit(
            one.key,
            one.weight,
            one.n_jobs,
            lambda one=one: run.submit(  # type: ignore[misc]
                "judge", one.key, score_batch, run.root, run.study, one,
                {
                    name: sorted({file for info, _ in one.items for file in found[info.session_id]})
                    for name, found in files.items()
                },
            ),
            run.waits("judge"),
        )
        for one in work
    ]  # fmt: skip
    await fan_out(run, "score", "answers", units)
    run.store.scores.drop_superseded()


def record_judge(run: Run, engine: Engine) -> None:
    """Write the judge's version and its rubric down once; neither ever changes."""
    rubric = engine.judge.rubric
    criteria = [
        {"criterion": c.id, "dimension": c.dimension, "weight": c.weight, "question": c.question}
        for c in rubric.criteria.values()
    ]
    version = asdict(engine.judge.version)
    row = {"judge_id": engine.judge_id, **version, "created_at": now(), "criteria": criteria}
    run.store.record("judges", engine.judge_id, row)
