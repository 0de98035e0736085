"""The stages that work on sessions: of each, what there is to do and what does it.

A task is told a stage and a bucket, nothing else: what is left to do is looked up in the store, where the work is done.
So tasks share nothing but the store, whichever process or machine they run on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from flows.backlog import Backlog
from flows.buckets import Bucket, Slice, buckets_of, depth_for, slices
from flows.engine import Engine, Part
from flows.ids import overlap
from flows.measured import MeasureJob, measures_to_do
from flows.plan import (
    AnswerJob,
    CompactionJob,
    PointInfo,
    ScoreJob,
    answers_to_do,
    compactions_to_do,
    in_scope,
    inputs_of,
    known_points,
    probes_to_do,
    scores_to_do,
    shuffled,
    unread,
)
from flows.settled import Marks, all_marks, asks_of
from flows.shards import bits_in
from flows.store import Store
from flows.study import Study
from flows.transcripts import SessionInfo, read_parts
from flows.work.answer import answer_all
from flows.work.compact import compact_all, find
from flows.work.measure import measure_all
from flows.work.probe import make_probes
from flows.work.process import Tally, clocked, engine, open_store
from flows.work.score import score_all

Jobs = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Stage:
    """One stage."""

    key: str
    name: str
    """By what people see it; two stages can be parts of one."""
    unit: str
    """What its jobs are."""
    part: Part | None
    """What of the engine it uses: where that is a language model, the stage waits more than it works."""
    after: tuple[str, ...]
    """Stages that a session must be through with before it can be through with this one."""
    writes: tuple[str, ...]
    """Folders of the store."""
    plan: Callable[[Store, Study, Sequence[SessionInfo]], Jobs]
    """Session → what is left to do; the store shows the sessions' bucket."""
    do: Callable[[Store, Study, Slice[Any]], Tally]


def _points(store: Store, study: Study, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[SessionInfo]]:
    known = known_points(store, study, sessions)
    return {info.session_id: (info,) for info in sessions if info.session_id not in known}


def _computed(store: Store, study: Study, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[CompactionJob]]:
    """All compactions, or those of methods that ask nobody where the summariser is a language model."""
    found = compactions_to_do(store, study, known_points(store, study, sessions))
    return _of_methods(study, found, asking=False) if "summarizer" in engine(study).remote else found


def _asked(store: Store, study: Study, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[CompactionJob]]:
    found = compactions_to_do(store, study, known_points(store, study, sessions))
    return _of_methods(study, found, asking=True)


def _of_methods(
    study: Study, jobs: Mapping[str, Sequence[CompactionJob]], *, asking: bool
) -> dict[str, list[CompactionJob]]:
    asks = [method.needs != "nothing" for method in study.methods()]
    return {id: [job for job in found if asks[job.method] == asking] for id, found in jobs.items()}


def _probes(store: Store, study: Study, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[PointInfo]]:
    return probes_to_do(store, engine(study), known_points(store, study, sessions))


def _measures(store: Store, study: Study, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[MeasureJob]]:
    return measures_to_do(store, study, engine(study), sessions, known_points(store, study, sessions))


def _answers(store: Store, study: Study, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[AnswerJob]]:
    return answers_to_do(store, study, engine(study), known_points(store, study, sessions))


def _scores(store: Store, study: Study, sessions: Sequence[SessionInfo]) -> Mapping[str, Sequence[ScoreJob]]:
    parts = engine(study)
    found = scores_to_do(store, study, parts, known_points(store, study, sessions))
    return shuffled(found) if "judge" in parts.remote else found


POINTS = Stage("points", "points", "sessions", None, (), ("points",), _points, find)
COMPACT = Stage("compact", "compact", "compactions", None, ("points",), ("compactions",), _computed, compact_all)
SUMMARIZE = Stage(
    "summarize", "compact", "compactions", "summarizer", ("points",), ("compactions",), _asked, compact_all
)
PROBE = Stage("probe", "probe", "points", "prober", ("points",), ("probes",), _probes, make_probes)
MEASURE = Stage(
    "measure", "measure", "compactions", None, ("compact", "summarize", "probe"), ("needs", "measures"), _measures,
    measure_all,
)  # fmt: skip
ANSWER = Stage(
    "answer", "answer", "answers", "responder", ("compact", "summarize", "probe"), ("answers",), _answers, answer_all
)
SCORE = Stage("score", "score", "answers", "judge", ("answer",), ("scores",), _scores, score_all)
STAGES = {stage.key: stage for stage in (POINTS, COMPACT, SUMMARIZE, PROBE, MEASURE, ANSWER, SCORE)}


def stages_of(parts: Engine) -> list[Stage]:
    """The stages that a run goes through."""
    return [stage for stage in STAGES.values() if stage is not SUMMARIZE or "summarizer" in parts.remote]


def marks_of(store: Store, study: Study, stage: Stage, bits: str) -> Marks:
    """The marks that a stage has left in a bucket for this study."""
    return Marks(store, stage.key, bits, asks_of(study, engine(study)), _names(store.within(bits), stage))


def left_in(store: Store, study: Study, stage: Stage, buckets: Sequence[Bucket]) -> list[Bucket]:
    """The buckets that have sessions with which the stage is not known to be through, with these alone."""
    asks, names, written = asks_of(study, engine(study)), _names(store, stage), all_marks(store, stage.key)
    found = []
    for bucket in buckets:
        files = [name for name in names if overlap(bits_in(name), bucket.bits)]
        marks = Marks(store, stage.key, bucket.bits, asks, files, written.get(bucket.bits, b"{}"))
        unsettled = marks.unsettled(bucket.sessions)
        if unsettled:
            found.append(replace(bucket, sessions=tuple(unsettled)))
    return found


def _names(store: Store, stage: Stage) -> list[str]:
    return [path.name for folder in stage.writes for path in getattr(store, folder).files()]


def is_complete(store: Store, study: Study) -> bool:
    """Whether a run of this study would find nothing to do."""
    inputs, parts = inputs_of(study), read_parts(store)
    if unread(parts, inputs, study):
        return False
    depth = depth_for(store, sum(info.n_tokens for part in parts for info in part.sessions), 1)
    buckets = buckets_of(in_scope(parts, study, study.limit), depth)
    return not any(left_in(store, study, stage, buckets) for stage in stages_of(engine(study)))


@clocked
def work_bucket(root: str, study: Study, bucket: Bucket, key: str) -> Tally:
    """Do what a stage has left to do in a bucket, and mark the sessions that it is through with."""
    stage, store = STAGES[key], open_store(root).within(bucket.bits)
    jobs = stage.plan(store, study, bucket.sessions)
    tally = Tally.total([stage.do(store, study, work) for work in slices(bucket.sessions, jobs)])
    if not study.on_cluster:
        _drop_repeated(store, stage)
    _mark(store, study, stage, bucket)
    return tally


def mend_bucket(root: str, study: Study, bucket: Bucket, key: str) -> None:
    """Take out what stands twice, in the place of a cluster's workers: they only ever add files.

    Two of them can be at one bucket, where one was believed dead; of two that remove, each could keep what the other
    one removes.
    """
    stage, store = STAGES[key], open_store(root).within(bucket.bits)
    if _drop_repeated(store, stage):
        _mark(store, study, stage, bucket)


def _drop_repeated(store: Store, stage: Stage) -> int:
    return sum(getattr(store, name).drop_superseded() for name in stage.writes)


def _mark(store: Store, study: Study, stage: Stage, bucket: Bucket) -> None:
    left = stage.plan(store, study, bucket.sessions)
    through = [info for info in bucket.sessions if not left.get(info.session_id)]
    for before in stages_of(engine(study)):
        if before.key in stage.after:
            marked = marks_of(store, study, before, bucket.bits).unsettled(through)
            behind = {info.session_id for info in marked}
            through = [info for info in through if info.session_id not in behind]
    marks_of(store, study, stage, bucket.bits).settle(through)


@clocked
def score_jobs(root: str, study: Study, bucket: Bucket, jobs: Jobs, taken_on: date | None) -> Tally:
    """Judge answers of a bucket that have been chosen; with a day they are anchors and it is the day's taking."""
    store = open_store(root).within(bucket.bits)
    tally = Tally.total([score_all(store, study, work, taken_on) for work in slices(bucket.sessions, jobs)])
    if not study.on_cluster:
        drop_repeated_scores(store, taken_on)
    return tally


@clocked
def score_backlog(root: str, study: Study, bucket: Bucket, backlog: Backlog, day: str) -> Tally:
    """Judge what a backfill has found in a bucket, of a day."""
    store = open_store(root).within(bucket.bits)
    jobs = backlog.jobs(study, bucket.bits, day)
    if "judge" in engine(study).remote:
        jobs = shuffled(jobs)
    tally = Tally.total([score_all(store, study, work) for work in slices(bucket.sessions, jobs)])
    if not study.on_cluster:
        drop_repeated_scores(store, None)
    return tally


def drop_repeated_scores(store: Store, taken_on: date | None) -> None:
    """Take out what ``score_jobs`` has left twice; of a cluster's work the run itself does it (``mend_bucket``)."""
    (store.scores if taken_on is None else store.anchor_scores).drop_superseded()
