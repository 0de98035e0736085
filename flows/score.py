"""Answers → scores, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date

from prefect import flow

from flows.anchors import anchors_to_do, record_anchors, today
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
        await take_anchors(run, sessions)


async def take_anchors(run: Run, sessions: list[SessionInfo], *, at_once: bool = False) -> None:
    """Let the study's judge score its anchors anew, where a taking is due; ``at_once``, where today has none."""
    points, day = run.points(sessions), today()
    jobs = anchors_to_do(run.store, run.study, run.engine, points, day, at_once=at_once)
    if jobs:
        record_anchors(run.store, run.study, run.engine, points, day)
        await judge_all(run, sessions, jobs, day)


async def judge_all(
    run: Run, sessions: list[SessionInfo], jobs: Mapping[str, Sequence[ScoreJob]], taken_on: date | None = None
) -> None:
    """Let the study's judge score these answers, by session; with a day they are anchors and it is the day's taking."""
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
                taken_on,
            ),
            run.waits("judge"),
        )
        for one in work
    ]  # fmt: skip
    await fan_out(run, "score" if taken_on is None else "anchors", "answers", units)
    (run.store.scores if taken_on is None else run.store.anchor_scores).drop_superseded()


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
