"""Scores of a slice of sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple

import pyarrow as pa

from compaction import CallsStoppedError
from flows.config.study import Study
from flows.llm.calling_for import calling_for
from flows.pipeline.plan import ScoreJob
from flows.pipeline.tasks.measured_states import MeasuredStates
from flows.pipeline.tasks.task_context import (
    Contexts,
    SliceRows,
    Tally,
    TaskContext,
    recalled,
    session,
    unless_stopped,
    why,
)
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo
from flows.store import parquet_schemas
from flows.store.row_codec import probe_of
from flows.store.store import Store
from flows.support import event_log
from judge import CriterionScore, Judge, JudgeCase, Rubric
from judge.embedded import EmbeddedJudge, EmbeddedResponder
from judge.llm import Verdict


class _Asked(NamedTuple):
    """One answer to be judged."""

    info: SessionInfo
    job: ScoreJob
    case: JudgeCase


def score_all(task: TaskContext, work: Slice[ScoreJob], taken_on: date | None = None) -> Tally:
    """Judge a slice's answers. With a day they are anchors, and the verdicts belong to that day."""
    store, parts = task.store, task.engine
    columns: dict[str, list[Any]] = {name: [] for name in parquet_schemas.SCORES.names}
    tally = Tally()

    def scored(asked: _Asked) -> tuple[_Asked, str, Sequence[CriterionScore], Verdict | None]:
        with calling_for("score" if taken_on is None else "anchor", asked.job.answer_id):
            return asked, *_score(parts.judge, asked.case)

    reads_contexts = not isinstance(parts.judge, EmbeddedJudge)
    cases = cases_of(store, task.study, parts.judge.rubric, work, reads_contexts)
    for outcome in task.items.map(unless_stopped(scored), cases, lambda _: 1, cached_first=True):
        if outcome is None:
            tally.leave()
            continue
        asked, status, verdict, stated = outcome
        tally.add(status)
        task.items.log(
            "score",
            answer_id=asked.job.answer_id,
            session_id=asked.info.session_id,
            judge_id=parts.judge_id,
            judge_replicate=asked.job.judge_replicate,
            status=status,
            unscored=sum(result.score is None for result in verdict),
            error=event_log.unquoted_reason(verdict[0].unscored_reason) if status == "failed" and verdict else None,
        )
        for result in verdict:
            columns["answer_id"].append(asked.job.answer_id)
            columns["session_id"].append(asked.info.session_id)
            columns["judge_id"].append(parts.judge_id)
            columns["judge_replicate"].append(asked.job.judge_replicate)
            columns["dimension"].append(parts.judge.rubric.criteria[result.criterion].dimension)
            columns["criterion"].append(result.criterion)
            columns["status"].append(status)
            columns["score"].append(result.score)
            columns["unscored_reason"].append(result.unscored_reason)
            columns["reasoning"].append(result.reasoning)
            columns["stated_overall"].append(stated.stated_overall if stated else None)
            columns["stated_dimensions"].append(json.dumps(dict(stated.stated_dimensions)) if stated else None)
            columns["asked_again"].append(stated.asked_again if stated else None)
    table = pa.table(columns, schema=parquet_schemas.SCORES)
    if taken_on is None:
        store.scores.write(table)
    else:
        day = pa.array([taken_on] * table.num_rows, pa.date32())
        store.anchor_scores.write(table.append_column("taken_on", day).select(parquet_schemas.ANCHOR_SCORES.names))
    return tally


def cases_of(
    store: Store, study: Study, rubric: Rubric, work: Slice[ScoreJob], reads_contexts: bool = True
) -> Iterator[_Asked]:
    """Yield the judge's case for every job. The context is the one that the question was answered in, fetches included.

    For a judge that does not read them the contexts are empty.
    """
    methods = study.methods()
    sessions = [info.session_id for info, _ in work.items]
    left, asked_probes = Contexts(store, sessions), SliceRows(store.probes, "probe_id", sessions)
    given = SliceRows(store.answers, "answer_id", sessions)
    states = MeasuredStates(store, sessions)
    for info, jobs in work.items:
        contexts = left.of(info, (job.compaction_id for job in jobs if reads_contexts))
        rows = asked_probes.rows({job.probe_id for job in jobs})
        probes = {id: probe_of(row) for id, row in rows.items()}
        answers = given.rows({job.answer_id for job in jobs})
        for job in jobs:
            probe = probes[job.probe_id]
            context = contexts.get(job.compaction_id, ())
            if context and job.method is not None:
                context, _ = recalled(
                    methods[job.method],
                    context,
                    probe.question,
                    lambda info=info, job=job: session(store, info).messages[: job.cut_seq],  # type: ignore[misc]
                )
            asked = rubric.asked.get(probe.probe_type, ())
            answer = answers[job.answer_id]
            is_quoted = answer["responder"] == EmbeddedResponder.name
            told = states.of(job.compaction_id, probe, job.probe_id) if is_quoted else None
            case = JudgeCase(probe, answer["text"], context, asked, told, job.judge_replicate)
            yield _Asked(info, job, case)


def _score(judge: Judge, case: JudgeCase) -> tuple[str, Sequence[CriterionScore], Verdict | None]:
    """One entry for each criterion that was asked, whatever the judge gave, and what a model stated beside."""
    try:
        whole = judge.score(case)
        given = {result.criterion: result for result in whole}
    except CallsStoppedError:
        raise
    except Exception as error:  # whatever a judge raises costs this verdict and no other
        reason = f"the judge failed: {why(error)}"
        return "failed", [CriterionScore(criterion, None, "", reason) for criterion in case.criteria], None
    verdict = []
    for criterion in case.criteria:
        result = given.get(criterion)
        if result is None:
            result = CriterionScore(criterion, None, "", "the judge gave no result for this criterion")
        elif result.score is None and not result.unscored_reason:
            result = CriterionScore(criterion, None, result.reasoning, "the judge gave no score and no reason")
        elif result.score is not None and not 0 <= result.score <= 5:
            result = CriterionScore(criterion, None, result.reasoning, f"the judge gave {result.score}, outside of 0–5")
        verdict.append(result)
    return "done", verdict, whole if isinstance(whole, Verdict) else None
