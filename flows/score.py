"""Answers → scores, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date

from prefect import flow

from flows.config.study import Study
from flows.execution.prefect_page import name_of_run
from flows.execution.run import Run, running
from flows.execution.stage_runner import Unit, fan_out, run_stage
from flows.pipeline.anchors import anchors_to_do, record_anchors, today
from flows.pipeline.backfill.backlog import ALL_DAYS, Backlog
from flows.pipeline.engine import Engine
from flows.pipeline.plan import ScoreJob, shuffle_jobs
from flows.pipeline.stages import SCORE, drop_repeated_scores, score_backlog, score_jobs
from flows.store.call_journal import export_calls
from flows.support.clock import now
from judge.llm import PackedJudge


@flow(name="score", flow_run_name=name_of_run, persist_result=False)
async def score(study: Study) -> None:
    """Let the study's judge score every answer that it has not scored yet."""
    with running(study, what="score") as run:
        record_judge(run, run.engine)
        await run_stage(run, SCORE)
        await score_anchors(run)


async def score_anchors(run: Run, *, at_once: bool = False) -> None:
    """Let the study's judge score its anchors again if that is due; with ``at_once``, if it was not done today."""
    if not run.study.anchors:
        return
    points, day = run.scope.points(), today()
    jobs = anchors_to_do(run.store, run.study, run.engine, points, day, at_once=at_once)
    if jobs:
        record_anchors(run.store, run.study, run.engine, points, day)
        await judge_all(run, jobs, day)


async def judge_all(run: Run, jobs: Mapping[str, Sequence[ScoreJob]], taken_on: date | None = None) -> None:
    """Let the study's judge score these answers, by session. With ``taken_on`` they are the anchors of that day."""
    record_judge(run, run.engine)
    waits = run.waits("judge")
    jobs = shuffle_jobs(jobs, run.study) if waits else jobs
    units = []
    for bucket in run.scope.buckets():
        chosen = replace(bucket, sessions=tuple(info for info in bucket.sessions if jobs.get(info.session_id)))
        work = {info.session_id: jobs[info.session_id] for info in chosen.sessions}
        if work:
            units.append(
                Unit(
                    chosen.key,
                    chosen.weight,
                    sum(map(len, work.values())),
                    lambda key, chosen=chosen, work=work: run.submit(  # type: ignore[misc]
                        "judge", key, score_jobs, run.root, run.study, chosen, work, taken_on
                    ),
                    waits,
                )
            )
    await fan_out(run, "score" if taken_on is None else "anchors", "answers", units)
    for bucket in run.scope.buckets() if run.study.on_cluster else ():
        drop_repeated_scores(run.store.within(bucket.bits), taken_on)


async def judge_backlog(run: Run, backlog: Backlog, day: str = ALL_DAYS) -> None:
    """Let the study's judge score what a backfill has found, or a day's share of it."""
    record_judge(run, run.engine)
    buckets = run.scope.buckets()
    units = [
        Unit(
            bucket.key,
            float(number),
            number,
            lambda key, bucket=bucket: run.submit(  # type: ignore[misc]
                "judge", key, score_backlog, run.root, run.study, bucket, backlog, day
            ),
            run.waits("judge"),
        )
        for bucket, number in zip(buckets, backlog.shares(buckets, day), strict=True)
        if number
    ]
    await fan_out(run, "score", "answers", units)
    for bucket in buckets if run.study.on_cluster else ():
        drop_repeated_scores(run.store.within(bucket.bits), None)


def record_judge(run: Run, engine: Engine) -> None:
    """Record the judge's version and its rubric, once; of a panel the members' too. None of it ever changes."""
    rubric = engine.judge.rubric
    criteria = [
        {"criterion": c.id, "dimension": c.dimension, "weight": c.weight, "question": c.question}
        for c in rubric.criteria.values()
    ]
    for judge_id, judge in {**engine.judges, engine.judge_id: engine.judge}.items():
        row = {"judge_id": judge_id, **asdict(judge.version), "created_at": now(), "criteria": criteria}
        run.store.record("judges", judge_id, row)
    if isinstance(engine.judge, PackedJudge):  # which packs are paid for is known from the calls of earlier runs
        export_calls(run.store, run.calls.cache)
