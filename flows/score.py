"""Answers → scores, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date

from prefect import flow

from flows.anchors import anchors_to_do, record_anchors, today
from flows.backlog import ALL_DAYS, Backlog
from flows.engine import Engine
from flows.page import name_of_run
from flows.plan import ScoreJob, shuffled
from flows.runtime import Run, now, running
from flows.stage import Unit, fan_out, run_stage
from flows.study import Study
from flows.work.stages import SCORE, drop_repeated_scores, score_backlog, score_jobs


@flow(name="score", flow_run_name=name_of_run, persist_result=False)
async def score(study: Study) -> None:
    """Let the study's judge score every answer that it has not scored yet."""
    with running(study, what="score") as run:
        record_judge(run, run.engine)
        await run_stage(run, SCORE)
        await take_anchors(run)


async def take_anchors(run: Run, *, at_once: bool = False) -> None:
    """Let the study's judge score its anchors anew, where a taking is due; ``at_once``, where today has none."""
    if not run.study.anchors:
        return
    points, day = run.points(run.sessions()), today()
    jobs = anchors_to_do(run.store, run.study, run.engine, points, day, at_once=at_once)
    if jobs:
        record_anchors(run.store, run.study, run.engine, points, day)
        await judge_all(run, jobs, day)


async def judge_all(run: Run, jobs: Mapping[str, Sequence[ScoreJob]], taken_on: date | None = None) -> None:
    """Let the study's judge score these answers, by session; with a day they are anchors and it is the day's taking."""
    record_judge(run, run.engine)
    waits = run.waits("judge")
    jobs = shuffled(jobs) if waits else jobs
    units = []
    for bucket in run.buckets():
        chosen = replace(bucket, sessions=tuple(info for info in bucket.sessions if jobs.get(info.session_id)))
        work = {info.session_id: jobs[info.session_id] for info in chosen.sessions}
        if work:
            units.append(
                Unit(
                    chosen.key, chosen.weight, sum(map(len, work.values())),
                    lambda key, chosen=chosen, work=work: run.submit(  # type: ignore[misc]
                        "judge", key, score_jobs, run.root, run.study, chosen, work, taken_on
                    ),
                    waits,
                )
            )  # fmt: skip
    await fan_out(run, "score" if taken_on is None else "anchors", "answers", units)
    for bucket in run.buckets() if run.is_spread else ():
        drop_repeated_scores(run.store.within(bucket.bits), taken_on)


async def judge_backlog(run: Run, backlog: Backlog, day: str = ALL_DAYS) -> None:
    """Let the study's judge score what a backfill has found, or a day's share of it."""
    record_judge(run, run.engine)
    buckets = run.buckets()
    units = [
        Unit(
            bucket.key, float(number), number,
            lambda key, bucket=bucket: run.submit(  # type: ignore[misc]
                "judge", key, score_backlog, run.root, run.study, bucket, backlog, day
            ),
            run.waits("judge"),
        )
        for bucket, number in zip(buckets, backlog.shares(buckets, day), strict=True)
        if number
    ]  # fmt: skip
    await fan_out(run, "score", "answers", units)
    for bucket in buckets if run.is_spread else ():
        drop_repeated_scores(run.store.within(bucket.bits), None)


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
