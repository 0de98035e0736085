"""Comparisons of a slice of sessions: which of two answers to one question a model prefers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from compaction import CallsStoppedError
from flows.config.study import Study
from flows.database.query_variables import with_variables
from flows.database.scores_db import connect
from flows.database.sql_model import sql_text
from flows.llm.calling_for import calling_for
from flows.llm.remote_model import RemoteModel
from flows.pipeline.engine import Engine
from flows.pipeline.plan import unit_statuses
from flows.pipeline.tasks.task_context import (
    SliceRows,
    Tally,
    TaskContext,
    TaskTools,
    timed_task,
    unless_stopped,
    why,
)
from flows.sessions.buckets import Bucket, Slice, bucket_slices
from flows.store import parquet_schemas
from flows.store.row_codec import probe_of
from flows.store.store import Store
from flows.support.errors import UsageError
from flows.support.ids import content_id
from judge import Probe
from judge.llm.pairs import PairJudge, PairVerdict


@dataclass(frozen=True)
class PairJob:
    """Two answers to compare, in one order."""

    comparison_id: str
    probe_id: str
    answer_a: str
    answer_b: str
    first: Literal["a", "b"]
    is_same: bool
    """Whether both are the same text: a tie that nobody is asked for."""


class _Asked(NamedTuple):
    session_id: str
    job: PairJob
    probe: Probe
    texts: Mapping[str, str]


def pair_judge(study: Study, engine: Engine) -> PairJudge:
    """The study's judge as one that compares. Raises UsageError where it is no single language model."""
    settings = None if study.judges else study.settings(study.judge)
    if settings is None:
        raise UsageError("--judge: pairs are compared by a language model, such as --judge openai:MODEL")
    return PairJudge(RemoteModel(settings, engine.gateway))


def pair_judge_id(judge: PairJudge) -> str:
    """Hash of all that changes what the judge prefers."""
    version = judge.version
    return content_id("judge", version.protocol, version.prompt_sha256, version.params)


def comparisons_to_do(
    store: Store, judge_id: str, methods: Sequence[str], at_most: int | None = None
) -> dict[str, list[PairJob]]:
    """Session → comparisons of these methods that this judge has not made, both orders of a question side by side.

    ``at_most``: so many that the model is asked for, whole questions, drawn by a hash.
    """
    with connect(store.database) as connection, with_variables(connection, {"methods": list(methods)}):
        rows = connection.execute(sql_text("queries/pairs", "to_compare")).fetchall()
    done = _done(store)
    found: dict[str, list[PairJob]] = {}
    asked = 0
    for session_id, probe_id, _, _, a, b, is_same in rows:
        jobs = [
            PairJob(id, probe_id, a, b, first, is_same)
            for first in ("a", "b")
            if (id := content_id("comparison", judge_id, a, b, first)) not in done
        ]
        wanted = 0 if is_same else len(jobs)
        if at_most is not None and asked + wanted > at_most:
            continue
        asked += wanted
        if jobs:
            found.setdefault(session_id, []).extend(jobs)
    return found


def _done(store: Store) -> set[str]:
    statuses = unit_statuses(store.comparisons, "comparison_id")
    return {id for id, status in statuses.items() if status != "failed"}


@timed_task
def compare_bucket(
    root: str, study: Study, bucket: Bucket, jobs: Mapping[str, Sequence[PairJob]], tools: TaskTools | None = None
) -> Tally:
    """Have the study's judge compare the answers of a bucket that have been chosen."""
    task = TaskContext.of_bucket(root, study, bucket.bits, tools)
    done = _done(task.store)  # a task is run again when some of it was held for batches
    jobs = {id: [job for job in of if job.comparison_id not in done] for id, of in jobs.items()}
    tally = Tally.total([_compare_all(task, work) for work in bucket_slices(bucket.sessions, jobs)])
    task.store.comparisons.drop_superseded()
    return tally


def _compare_all(task: TaskContext, work: Slice[PairJob]) -> Tally:
    judge = pair_judge(task.study, task.engine)
    judge_id, tally, rows = pair_judge_id(judge), Tally(), []

    def compared(asked: _Asked) -> tuple[_Asked, PairVerdict | str]:
        job = asked.job
        if job.is_same:
            return asked, PairVerdict("tie", "both answers are the same text")
        first, second = (job.answer_a, job.answer_b) if job.first == "a" else (job.answer_b, job.answer_a)
        with calling_for("pair", job.comparison_id):
            try:
                return asked, judge.compare(asked.probe, asked.texts[first], asked.texts[second])
            except CallsStoppedError:
                raise
            except Exception as error:  # whatever a judge raises costs this comparison and no other
                return asked, f"the judge failed: {why(error)}"

    for outcome in task.items.map(unless_stopped(compared), _cases(task.store, work), lambda _: 1, cached_first=True):
        if outcome is None:
            tally.leave()
            continue
        row = _row(*outcome, judge_id, judge.version.judge)
        tally.add(row["status"])
        task.items.log("pair", **{name: row[name] for name in ("comparison_id", "session_id", "judge_id", "status")})
        rows.append(row)
    task.store.comparisons.write(pa.Table.from_pylist(rows, schema=parquet_schemas.COMPARISONS))
    return tally


def _cases(store: Store, work: Slice[PairJob]) -> Iterator[_Asked]:
    sessions = [info.session_id for info, _ in work.items]
    probes, answers = SliceRows(store.probes, "probe_id", sessions), SliceRows(store.answers, "answer_id", sessions)
    for info, jobs in work.items:
        asked = {id: probe_of(row) for id, row in probes.rows({job.probe_id for job in jobs}).items()}
        texts = _texts(answers, (id for job in jobs for id in (job.answer_a, job.answer_b)))
        for job in jobs:
            yield _Asked(info.session_id, job, asked[job.probe_id], texts)


def _texts(answers: SliceRows, ids: Iterable[str]) -> dict[str, str]:
    return {id: row["text"] for id, row in answers.rows(set(ids)).items()}


def _row(asked: _Asked, verdict: PairVerdict | str, judge_id: str, judge: str) -> dict[str, Any]:
    job = asked.job
    row = {
        "comparison_id": job.comparison_id,
        "session_id": asked.session_id,
        "judge_id": judge_id,
        "judge": judge,
        "probe_id": job.probe_id,
        "answer_a": job.answer_a,
        "answer_b": job.answer_b,
        "first": job.first,
        "is_same": job.is_same,
    }
    if isinstance(verdict, str):
        return {**row, "status": "failed", "error": verdict}
    second = "b" if job.first == "a" else "a"
    outcome = {"first": job.first, "second": second, "tie": "tie"}[verdict.better]
    return {**row, "status": "done", "outcome": outcome, "reasoning": verdict.reasoning}
