"""The stages that work on sessions: how each plans its work and does it.

A task gets a stage and a bucket and nothing else. It looks up in the store what is left to do. So tasks share only the
store, whichever process or machine they run on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from flows.config.study import Study
from flows.pipeline.anchors import takings
from flows.pipeline.backfill.backlog import Backlog
from flows.pipeline.done_marks import DoneMarks, all_marks, study_hash
from flows.pipeline.engine import Engine, Role, engine_for
from flows.pipeline.measure_plan import MeasureJob, measures_to_do
from flows.pipeline.next_action_plan import NextActionJob, next_actions_to_do
from flows.pipeline.plan import (
    AnswerJob,
    CompactionJob,
    PointInfo,
    ScoreJob,
    answers_to_do,
    compactions_to_do,
    known_points,
    probes_to_do,
    scored_answers,
    scores_to_do,
    shuffle_jobs,
)
from flows.pipeline.replay_plan import ReplayJob, replays_to_do
from flows.pipeline.scope import Scope
from flows.pipeline.tasks.answer import answer_all
from flows.pipeline.tasks.compact import compact_all, find_points_of
from flows.pipeline.tasks.measure import measure_all
from flows.pipeline.tasks.next_action import ask_next_actions
from flows.pipeline.tasks.probe import make_probes
from flows.pipeline.tasks.replay import replay_all
from flows.pipeline.tasks.score import score_all
from flows.pipeline.tasks.task_context import Tally, TaskContext, TaskTools, timed_task
from flows.sessions.buckets import Bucket, Slice, bucket_slices, buckets_of
from flows.sessions.session_parts import SessionInfo
from flows.store.shards import file_bits
from flows.store.store import Store
from flows.support.ids import overlap

Jobs = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Stage:
    """One stage."""

    key: str
    name: str
    """Name shown to people; two stages can share one."""
    unit: str
    """Noun for its jobs."""
    part: Role | None
    """Role of the engine that it uses. If that is a language model, the stage mostly waits."""
    after: tuple[str, ...]
    """Stages that must be done for a session before this one can be done for it."""
    writes: tuple[str, ...]
    """Folders of the store."""
    plan: Callable[[TaskContext, Sequence[SessionInfo]], Jobs]
    """Session → what is left to do; the store shows the sessions' bucket."""
    do: Callable[[TaskContext, Slice[Any]], Tally]


def _known(task: TaskContext, sessions: Sequence[SessionInfo]) -> dict[str, list[PointInfo]]:
    return known_points(task.store, task.study, sessions)


def _points(task: TaskContext, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[SessionInfo]]:
    known = _known(task, sessions)
    return {info.session_id: (info,) for info in sessions if info.session_id not in known}


def _local_compactions(task: TaskContext, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[CompactionJob]]:
    """All compactions, or those of methods that ask nobody where the summariser is a language model."""
    found = compactions_to_do(task.store, task.study, _known(task, sessions))
    return _of_methods(task.study, found, asking=False) if "summarizer" in task.engine.remote else found


def _model_compactions(task: TaskContext, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[CompactionJob]]:
    found = compactions_to_do(task.store, task.study, _known(task, sessions))
    return _of_methods(task.study, found, asking=True)


def _of_methods(
    study: Study, jobs: Mapping[str, Sequence[CompactionJob]], *, asking: bool
) -> dict[str, list[CompactionJob]]:
    asks = [method.needs != "nothing" for method in study.methods()]
    return {id: [job for job in found if asks[job.method] == asking] for id, found in jobs.items()}


def _probes(task: TaskContext, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[PointInfo]]:
    return probes_to_do(task.store, task.engine, _known(task, sessions))


def _measures(task: TaskContext, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[MeasureJob]]:
    return measures_to_do(task.store, task.study, task.engine, sessions, _known(task, sessions))


def _replays(task: TaskContext, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[ReplayJob]]:
    return replays_to_do(task.store, task.study, sessions, _known(task, sessions))


def _answers(task: TaskContext, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[AnswerJob]]:
    found = answers_to_do(task.store, task.study, task.engine, _known(task, sessions))
    return shuffle_jobs(found, task.study) if "responder" in task.engine.remote else found


def _next_actions(task: TaskContext, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[NextActionJob]]:
    return next_actions_to_do(task.store, task.study, task.engine, sessions, _known(task, sessions))


def _scores(task: TaskContext, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[ScoreJob]]:
    found = scores_to_do(task.store, task.study, task.engine, _known(task, sessions))
    return shuffle_jobs(found, task.study) if "judge" in task.engine.remote else found


POINTS = Stage("points", "points", "sessions", None, (), ("points",), _points, find_points_of)
COMPACT = Stage(
    "compact", "compact", "compactions", None, ("points",), ("compactions",), _local_compactions, compact_all
)
SUMMARIZE = Stage(
    "summarize", "compact", "compactions", "summarizer", ("points",), ("compactions",), _model_compactions, compact_all
)
PROBE = Stage("probe", "probe", "points", "prober", ("points",), ("probes",), _probes, make_probes)
MEASURE = Stage(
    "measure",
    "measure",
    "compactions",
    None,
    ("compact", "summarize", "probe"),
    ("needs", "measures"),
    _measures,
    measure_all,
)
REPLAY = Stage("replay", "replay", "sessions", None, ("compact", "summarize"), ("replays",), _replays, replay_all)
ANSWER = Stage(
    "answer", "answer", "answers", "responder", ("compact", "summarize", "probe"), ("answers",), _answers, answer_all
)
NEXT_ACTION = Stage(
    "next_action",
    "next_action",
    "points",
    "responder",
    ("compact", "summarize"),
    ("next_actions",),
    _next_actions,
    ask_next_actions,
)
SCORE = Stage("score", "score", "answers", "judge", ("answer",), ("scores",), _scores, score_all)
STAGES = {
    stage.key: stage for stage in (POINTS, COMPACT, SUMMARIZE, PROBE, MEASURE, REPLAY, ANSWER, NEXT_ACTION, SCORE)
}


def stages_of(study: Study, parts: Engine) -> list[Stage]:
    """The stages of a run of this study with this engine, in order."""
    left_out = {
        SUMMARIZE.key: "summarizer" not in parts.remote,
        REPLAY.key: not study.replay,
        NEXT_ACTION.key: not study.next_action,
    }
    return [stage for stage in STAGES.values() if not left_out.get(stage.key)]


def done_marks_of(store: Store, study: Study, stage: Stage, bits: str) -> DoneMarks:
    """The marks that a stage has left in a bucket for this study."""
    return DoneMarks(store, stage.key, bits, study_hash(study, engine_for(study)), _names(store.within(bits), stage))


def unfinished_buckets(store: Store, study: Study, stage: Stage, buckets: Sequence[Bucket]) -> list[Bucket]:
    """Find the buckets with sessions that a stage has not finished, with these sessions alone."""
    asks, names, written = study_hash(study, engine_for(study)), _names(store, stage), all_marks(store, stage.key)
    found = []
    for bucket in buckets:
        files = [name for name in names if overlap(file_bits(name), bucket.bits)]
        marks = DoneMarks(store, stage.key, bucket.bits, asks, files, written.get(bucket.bits, b"{}"))
        unsettled = marks.not_done(bucket.sessions)
        if unsettled:
            found.append(replace(bucket, sessions=tuple(unsettled)))
    return found


def _names(store: Store, stage: Stage) -> list[str]:
    return [path.name for folder in stage.writes for path in getattr(store, folder).files()]


def is_complete(scope: Scope) -> bool:
    """Whether a run would find nothing to do."""
    if scope.unread():
        return False
    buckets = buckets_of(scope.sessions, scope.depth(1))
    stages = stages_of(scope.study, engine_for(scope.study))
    return not any(unfinished_buckets(scope.store, scope.study, stage, buckets) for stage in stages)


@timed_task
def work_bucket(root: str, study: Study, bucket: Bucket, key: str, tools: TaskTools | None = None) -> Tally:
    """Do a stage's remaining work in a bucket, and mark the finished sessions."""
    stage, task = STAGES[key], TaskContext.of_bucket(root, study, bucket.bits, tools)
    jobs = stage.plan(task, bucket.sessions)
    tally = Tally.total([stage.do(task, work) for work in bucket_slices(bucket.sessions, jobs)])
    if not study.on_cluster:
        _drop_repeated(task.store, stage)
    _mark(task, stage, bucket)
    return tally


def drop_repeated_rows(root: str, study: Study, bucket: Bucket, key: str) -> None:
    """Remove duplicate rows of a bucket after a stage on a cluster, whose workers only add files.

    Two workers can work on one bucket, if one was believed dead. If both removed rows, each could keep a row that the
    other removes.
    """
    stage, task = STAGES[key], TaskContext.of_bucket(root, study, bucket.bits)
    if _drop_repeated(task.store, stage):
        _mark(task, stage, bucket)


def _drop_repeated(store: Store, stage: Stage) -> int:
    return sum(getattr(store, name).drop_superseded() for name in stage.writes)


def _mark(task: TaskContext, stage: Stage, bucket: Bucket) -> None:
    left = stage.plan(task, bucket.sessions)
    through = [info for info in bucket.sessions if not left.get(info.session_id)]
    for before in stages_of(task.study, task.engine):
        if before.key in stage.after:
            marked = done_marks_of(task.store, task.study, before, bucket.bits).not_done(through)
            behind = {info.session_id for info in marked}
            through = [info for info in through if info.session_id not in behind]
    done_marks_of(task.store, task.study, stage, bucket.bits).mark(through)


@timed_task
def score_jobs(
    root: str, study: Study, bucket: Bucket, jobs: Jobs, taken_on: date | None, tools: TaskTools | None = None
) -> Tally:
    """Judge answers of a bucket that have been chosen; with a day they are anchors and it is the day's taking."""
    task = TaskContext.of_bucket(root, study, bucket.bits, tools)
    jobs = _unscored(task, jobs, taken_on)
    tally = Tally.total([score_all(task, work, taken_on) for work in bucket_slices(bucket.sessions, jobs)])
    if not study.on_cluster:
        drop_repeated_scores(task.store, taken_on)
    return tally


@timed_task
def score_backlog(
    root: str, study: Study, bucket: Bucket, backlog: Backlog, day: str, tools: TaskTools | None = None
) -> Tally:
    """Judge the answers that a backfill has found in a bucket, for one day."""
    task = TaskContext.of_bucket(root, study, bucket.bits, tools)
    jobs = _unscored(task, backlog.jobs(study, bucket.bits, day), None)
    if "judge" in task.engine.remote:
        jobs = shuffle_jobs(jobs, study)
    tally = Tally.total([score_all(task, work) for work in bucket_slices(bucket.sessions, jobs)])
    if not study.on_cluster:
        drop_repeated_scores(task.store, None)
    return tally


def _unscored(task: TaskContext, jobs: Jobs, taken_on: date | None) -> dict[str, list[ScoreJob]]:
    """The jobs that are not done yet: a task is run again when some of it was held for batches."""
    if taken_on is None:
        scored = scored_answers(task.store, task.engine.judge_id)
        return {
            id: [job for job in of if (job.answer_id, job.judge_replicate) not in scored] for id, of in jobs.items()
        }
    taken = takings(task.store, task.engine.judge_id).get(taken_on, set())
    return {id: [job for job in of if job.answer_id not in taken] for id, of in jobs.items()}


def drop_repeated_scores(store: Store, taken_on: date | None) -> None:
    """Remove duplicate scores. After work on a cluster the run itself does this (``drop_repeated_rows``)."""
    (store.scores if taken_on is None else store.anchor_scores).drop_superseded()
