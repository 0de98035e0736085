"""Scores of a slice of sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from compaction import CallsStoppedError, Message, Method
from compaction.strategies.recovery import Recovery, inner_of
from flows.config.study import Study
from flows.llm.calling_for import calling_for
from flows.pipeline.plan import ScoreJob
from flows.pipeline.tasks.measured_states import MeasuredStates
from flows.pipeline.tasks.packs import form_packs, in_packing_order, item_of, paid_packs
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
from judge import CriterionScore, Judge, JudgeCase, JudgeError, Rubric
from judge.embedded import EmbeddedJudge, EmbeddedResponder
from judge.llm import PackedJudge, PackTooLargeError, Verdict
from judge.llm.recovery import read_request
from judge.panel import MemberVerdict, PanelJudge, combine_verdicts


class _Asked(NamedTuple):
    """One answer to be judged."""

    info: SessionInfo
    job: ScoreJob
    case: JudgeCase


class _Given(NamedTuple):
    """The verdict of one judge on it."""

    judge_id: str
    status: str
    results: Sequence[CriterionScore]
    stated: Verdict | None
    """With what a model stated beside its scores."""


def score_all(task: TaskContext, work: Slice[ScoreJob], taken_on: date | None = None) -> Tally:
    """Judge a slice's answers. With a day they are anchors, and the verdicts belong to that day."""
    store, parts = task.store, task.engine
    columns: dict[str, list[Any]] = {name: [] for name in parquet_schemas.SCORES.names}
    tally = Tally()
    judged = _judge_packs if isinstance(parts.judge, PackedJudge) else _judge_answers
    for outcome in judged(task, work, "score" if taken_on is None else "anchor"):
        if outcome is None:
            tally.leave()
            continue
        asked, verdicts = outcome
        tally.add(verdicts[-1].status)
        for verdict in verdicts:
            _log(task, asked, verdict)
            _append(columns, asked, verdict, parts.judge.rubric)
    table = pa.table(columns, schema=parquet_schemas.SCORES)
    if taken_on is None:
        store.scores.write(table)
    else:
        day = pa.array([taken_on] * table.num_rows, pa.date32())
        store.anchor_scores.write(table.append_column("taken_on", day).select(parquet_schemas.ANCHOR_SCORES.names))
    return tally


_Outcomes = Iterator[tuple[_Asked, list[_Given]] | None]
"""Of each answer the verdicts on it; None where no call may be made any more."""


def _judge_answers(task: TaskContext, work: Slice[ScoreJob], stage: str) -> _Outcomes:
    """Have each answer judged for itself."""
    parts = task.engine
    known = _known_verdicts(task, work) if isinstance(parts.judge, PanelJudge) and stage == "score" else {}

    def scored(asked: _Asked) -> tuple[_Asked, list[_Given]]:
        with calling_for(stage, asked.job.answer_id):
            if isinstance(parts.judge, PanelJudge):
                return asked, _panel_verdicts(task, parts.judge, asked, known)
            return asked, [_score(parts.judge_id, parts.judge, asked.case)]

    reads_contexts = any(not isinstance(judge, EmbeddedJudge) for judge in parts.judges.values())
    cases = cases_of(task.store, task.study, parts.judge.rubric, work, reads_contexts)
    yield from task.items.map(unless_stopped(scored), cases, lambda _: 1, cached_first=True)


def _judge_packs(task: TaskContext, work: Slice[ScoreJob], stage: str) -> _Outcomes:
    """Have the answers to questions about one context judged together."""
    judge, judge_id = task.engine.judge, task.engine.judge_id
    assert isinstance(judge, PackedJudge)
    asked = cases_of(task.store, task.study, judge.rubric, in_packing_order(work))
    packs = list(form_packs(judge, asked, paid_packs(task.store)))

    def scored(pack: tuple[_Asked, ...]) -> list[tuple[_Asked, list[_Given]]]:
        return [(one, [given]) for one, given in zip(pack, _pack_verdicts(judge_id, judge, pack, stage), strict=True)]

    judged = task.items.map(unless_stopped(scored), packs, len, cached_first=True)
    for pack, outcome in zip(packs, judged, strict=True):
        yield from (None for _ in pack) if outcome is None else outcome


def _pack_verdicts(judge_id: str, judge: PackedJudge, pack: Sequence[_Asked], stage: str) -> list[_Given]:
    """The verdicts on a pack; an answer without one of use there is asked alone, a pack that is too large in halves."""
    if len(pack) == 1:
        with calling_for(stage, item_of(pack)):
            return [_score(judge_id, judge, pack[0].case)]
    try:
        with calling_for(stage, item_of(pack)):
            found = judge.score_together([asked.case for asked in pack])
    except CallsStoppedError:
        raise
    except PackTooLargeError:
        half = len(pack) // 2
        return [given for part in (pack[:half], pack[half:]) for given in _pack_verdicts(judge_id, judge, part, stage)]
    except Exception as error:  # as of a single verdict
        failed = f"the judge failed: {why(error)}"
        return [_Given(judge_id, "failed", _unscored(asked.case, failed), None) for asked in pack]
    verdicts = []
    for asked, one in zip(pack, found, strict=True):
        if isinstance(one, Verdict):
            verdicts.append(_Given(judge_id, "done", one, one))
            continue
        [given] = _pack_verdicts(judge_id, judge, [asked], stage)
        again = given.stated and replace(given.stated, asked_again=True)
        verdicts.append(given._replace(stated=again))
    return verdicts


def _log(task: TaskContext, asked: _Asked, given: _Given) -> None:
    is_failed = given.status == "failed" and given.results
    task.items.log(
        "score",
        answer_id=asked.job.answer_id,
        session_id=asked.info.session_id,
        judge_id=given.judge_id,
        judge_replicate=asked.job.judge_replicate,
        status=given.status,
        unscored=sum(result.score is None for result in given.results),
        error=event_log.unquoted_reason(given.results[0].unscored_reason) if is_failed else None,
    )


def _append(columns: dict[str, list[Any]], asked: _Asked, given: _Given, rubric: Rubric) -> None:
    stated = given.stated
    for result in given.results:
        columns["answer_id"].append(asked.job.answer_id)
        columns["session_id"].append(asked.info.session_id)
        columns["judge_id"].append(given.judge_id)
        columns["judge_replicate"].append(asked.job.judge_replicate)
        columns["dimension"].append(rubric.criteria[result.criterion].dimension)
        columns["criterion"].append(result.criterion)
        columns["status"].append(given.status)
        columns["score"].append(result.score)
        columns["unscored_reason"].append(result.unscored_reason)
        columns["reasoning"].append(result.reasoning)
        columns["stated_overall"].append(stated.stated_overall if stated else None)
        columns["stated_dimensions"].append(json.dumps(dict(stated.stated_dimensions)) if stated else None)
        columns["asked_again"].append(stated.asked_again if stated else None)


_Verdicts = Mapping[tuple[str, str, int], Sequence[CriterionScore]]
"""Answer, judge and judge replicate → the scores that are in the store."""


def _known_verdicts(task: TaskContext, work: Slice[ScoreJob]) -> _Verdicts:
    """The verdicts of a panel's members that are in the store: nobody is asked for them again."""
    is_wanted = (
        pc.field("session_id").isin([info.session_id for info, _ in work.items])
        & pc.field("judge_id").isin(list(task.engine.judges))
        & (pc.field("status") == "done")
    )
    names = ["answer_id", "judge_id", "judge_replicate", "criterion", "score", "unscored_reason"]
    found: dict[tuple[str, str, int], list[CriterionScore]] = {}
    for row in task.store.scores.dataset().to_table(columns=names, filter=is_wanted).to_pylist():
        result = CriterionScore(row["criterion"], row["score"], "", row["unscored_reason"])
        found.setdefault((row["answer_id"], row["judge_id"], row["judge_replicate"]), []).append(result)
    return found


def _panel_verdicts(task: TaskContext, panel: PanelJudge, asked: _Asked, known: _Verdicts) -> list[_Given]:
    """The verdicts of the members that had to be asked, and at the end the panel's."""
    case, given = asked.case, []
    summary_by = _summary_model(task, asked.job)
    members, stop = [], None
    for judge_id, member in panel.members.items():
        name = member.version.judge
        if not panel.takes_part(member, summary_by):
            members.append(MemberVerdict(name, is_own=True))
            continue
        results = known.get((asked.job.answer_id, judge_id, case.replicate))
        failed = None
        if results is None:
            try:
                one = _score(judge_id, member, case)
            except CallsStoppedError as error:  # the other members' calls are still made, or go into the same batch
                stop = error
                continue
            given.append(one)
            results = one.results
            failed = (results[0].unscored_reason if results else "no result") if one.status == "failed" else None
        members.append(MemberVerdict(name, results, failed=failed))
    if stop is not None:
        raise stop
    try:
        status, combined = "done", combine_verdicts(panel.rule, case.criteria, members)
    except JudgeError as error:
        status, combined = "failed", _unscored(case, str(error))
    return [*given, _Given(task.engine.judge_id, status, combined, None)]


def _summary_model(task: TaskContext, job: ScoreJob) -> str | None:
    """The model that wrote the summary behind an answer; None where none did."""
    writes = job.method is None or bool((method := task.methods[job.method]).needs_model or method.provider)
    return task.engine.summarizes.model if task.engine.summarizes and writes else None


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
            answer = answers[job.answer_id]
            context = contexts.get(job.compaction_id, ())
            if job.compaction_id in contexts:
                context = _context_of_answer(
                    None if job.method is None else methods[job.method],
                    context,
                    probe.question,
                    answer["fetches"] or (),
                    lambda info=info, job=job: session(store, info).messages[: job.cut_seq],  # type: ignore[misc]
                )
            asked = rubric.asked.get(probe.probe_type, ())
            is_quoted = answer["responder"] == EmbeddedResponder.name
            told = states.of(job.compaction_id, probe, job.probe_id) if is_quoted else None
            case = JudgeCase(probe, answer["text"], context, asked, told, job.judge_replicate)
            yield _Asked(info, job, case)


def _context_of_answer(
    method: Method | None,
    context: tuple[Message, ...],
    question: str,
    fetches: Sequence[str],
    said: Callable[[], tuple[Message, ...]],
) -> tuple[Message, ...]:
    """The context with what was fetched for the question, by the method itself or by the requests of the answer."""
    if method is not None:
        context, _ = recalled(inner_of(method), context, question, said)
    if not fetches:
        return context
    recovery = Recovery(context, said())
    for text in fetches:
        if (request := read_request(text)) is not None:
            recovery.fetch(request)
    return recovery.context()


def _score(judge_id: str, judge: Judge, case: JudgeCase) -> _Given:
    """One entry for each criterion that was asked, whatever the judge gave."""
    try:
        whole = judge.score(case)
        given = {result.criterion: result for result in whole}
    except CallsStoppedError:
        raise
    except Exception as error:  # whatever a judge raises costs this verdict and no other
        return _Given(judge_id, "failed", _unscored(case, f"the judge failed: {why(error)}"), None)
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
    return _Given(judge_id, "done", verdict, whole if isinstance(whole, Verdict) else None)


def _unscored(case: JudgeCase, reason: str) -> list[CriterionScore]:
    return [CriterionScore(criterion, None, "", reason) for criterion in case.criteria]
