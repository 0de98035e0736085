"""Scores of one batch of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from flows import schemas
from flows.plan import Batch, ScoreJob
from flows.rows import probe_of
from flows.study import Study
from flows.work.process import Tally, contexts, engine, open_store, rows_by_id, why
from judge import CriterionScore, Judge, JudgeCase


def score_batch(root: str, study: Study, batch: Batch[ScoreJob], files: Mapping[str, Sequence[str]]) -> Tally:
    """Judge the answers of a batch; ``files`` names the shards of compactions, probes and answers to read."""
    store, parts = open_store(root), engine(study)
    judge_id, criteria = parts.judge_id, parts.judge.rubric.criteria
    columns: dict[str, list[Any]] = {name: [] for name in schemas.SCORES.names}
    tally = Tally()
    for info, jobs in batch.items:
        left = contexts(store, {job.compaction_id: info for job in jobs}, files["compactions"])
        probes = {
            id: probe_of(row)
            for id, row in rows_by_id(store.probes, "probe_id", (j.probe_id for j in jobs), files["probes"]).items()
        }
        answers = rows_by_id(store.answers, "answer_id", (j.answer_id for j in jobs), files["answers"])
        for job in jobs:
            probe = probes[job.probe_id]
            asked = parts.judge.rubric.asked.get(probe.probe_type, ())
            case = JudgeCase(probe, answers[job.answer_id]["text"], left[job.compaction_id], asked)
            status, verdict = _score(parts.judge, case)
            tally.add(status)
            for result in verdict:
                columns["answer_id"].append(job.answer_id)
                columns["session_id"].append(info.session_id)
                columns["judge_id"].append(judge_id)
                columns["judge_replicate"].append(job.judge_replicate)
                columns["dimension"].append(criteria[result.criterion].dimension)
                columns["criterion"].append(result.criterion)
                columns["status"].append(status)
                columns["score"].append(result.score)
                columns["unscored_reason"].append(result.unscored_reason)
                columns["reasoning"].append(result.reasoning)
    store.scores.write(pa.table(columns, schema=schemas.SCORES))
    return tally


def _score(judge: Judge, case: JudgeCase) -> tuple[str, Sequence[CriterionScore]]:
    """One entry for each criterion that was asked, whatever the judge gave."""
    try:
        given = {result.criterion: result for result in judge.score(case)}
    except Exception as error:  # whatever a judge raises costs this verdict and no other
        reason = f"the judge failed: {why(error)}"
        return "failed", [CriterionScore(criterion, None, "", reason) for criterion in case.criteria]
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
    return "done", verdict
