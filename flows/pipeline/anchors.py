"""Anchors: answers that are drawn once, and that the judge is asked about anew day after day, so that its drift shows.

A study with ``anchors = N`` has a set of its own in ``STORE/anchors``, in a fixed order: a smaller N takes the first of
it, a larger one adds to it. Each taking has the day as its number, which goes into the key of the call cache: another
day's verdict is really asked for, and a run that is started again on the same day pays for nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flows.config.study import Study
from flows.pipeline.engine import Engine, engine_for
from flows.pipeline.plan import AnswerJob, PointInfo, ScoreJob, expected_answers, unit_statuses
from flows.pipeline.sampling import HIGH, LOW, Candidate, draw_candidates
from flows.pipeline.scope import Scope
from flows.store.store import Store

SEED = "anchors"


def today() -> date:
    """The day in UTC."""
    return datetime.now(UTC).date()


def replicate_of(day: date) -> int:
    """The number that stands for a day's taking where a judge's repetitions are numbered: 20261121."""
    return int(f"{day:%Y%m%d}")


def is_due(scope: Scope) -> bool:
    """Whether a run would score anchors today, of answers that are there already."""
    study = scope.study
    if not study.anchors:
        return False
    return any(anchors_to_do(scope.store, study, engine_for(study), scope.points(), today()).values())


def anchors_to_do(
    store: Store,
    study: Study,
    engine: Engine,
    points: Mapping[str, Sequence[PointInfo]],
    day: date,
    *,
    at_once: bool = False,
) -> dict[str, list[ScoreJob]]:
    """Session → anchors that this judge has to score on this day; none where the last taking is too young.

    A taking that was begun on the same day is gone on with. ``at_once`` does not ask how old the last one is.
    """
    if not study.anchors:
        return {}
    taken = takings(store, engine.judge_id)
    last = max((taking for taking in taken if taking <= day), default=None)  # a clock may have been ahead
    if last is not None and last != day and not at_once and (day - last).days < study.anchor_days:
        return {}
    answered = _anchor_jobs(store, study, engine, points)
    found: dict[str, list[ScoreJob]] = {}
    for answer_id in _choose_anchors(store, study, engine, answered):
        if answer_id in answered and answer_id not in taken.get(day, ()):
            session, job = answered[answer_id]
            found.setdefault(session, []).append(
                ScoreJob(answer_id, job.compaction_id, job.probe_id, replicate_of(day), job.method, job.cut_seq)
            )
    return found


def record_anchors(
    store: Store, study: Study, engine: Engine, points: Mapping[str, Sequence[PointInfo]], day: date
) -> None:
    """Write down which answers are the study's anchors, once they are drawn."""
    known = _stored_anchors(store, study)
    names = {row["answer_id"] for row in known}
    chosen = _choose_anchors(store, study, engine, _anchor_jobs(store, study, engine, points))
    added = [{"answer_id": answer_id, "drawn_on": str(day)} for answer_id in chosen if answer_id not in names]
    if added:
        store.record("anchors", study.study_key, {"answers": [*known, *added]}, replace=True)


def _stored_anchors(store: Store, study: Study) -> list[dict[str, Any]]:
    path = store.root / "anchors" / f"{study.study_key}.json"
    content = store.place.read(path)
    return list(json.loads(content)["answers"]) if content is not None else []


def takings(store: Store, judge_id: str) -> dict[date, set[str]]:
    """Map each day to the anchors that this judge scored on it."""
    table = store.anchor_scores.read(["answer_id", "judge_id", "taken_on", "status"])
    table = table.filter(pc.and_(pc.equal(table["judge_id"], judge_id), pc.equal(table["status"], "done")))
    found: dict[date, set[str]] = {}
    for answer_id, day in zip(table["answer_id"].to_pylist(), table["taken_on"].to_pylist(), strict=True):
        found.setdefault(day, set()).add(answer_id)
    return found


def _anchor_jobs(
    store: Store, study: Study, engine: Engine, points: Mapping[str, Sequence[PointInfo]]
) -> dict[str, tuple[str, AnswerJob]]:
    done = {id for id, status in unit_statuses(store.answers, "answer_id").items() if status == "done"}
    return {
        job.answer_id: (session, job)
        for session, jobs in expected_answers(store, study, engine, points).items()
        for job in jobs
        if job.answer_id in done
    }


def _choose_anchors(
    store: Store, study: Study, engine: Engine, answered: Mapping[str, tuple[str, AnswerJob]]
) -> list[str]:
    """The anchors of the study: those that are written down, and drawn ones where it asks for more."""
    known = [row["answer_id"] for row in _stored_anchors(store, study)][: study.anchors]
    wanted = study.anchors - len(known)
    if wanted <= 0:
        return known
    scores = _mean_scores(store, engine.judge_id)
    types = _probe_types(store)
    left = sorted(set(answered) - set(known))
    candidates = [
        Candidate(
            id,
            str(answered[id][1].method),
            types[answered[id][1].probe_id],
            scores.get(id, (LOW + HIGH) / 2),
            answered[id][0],
        )
        for id in left
        if id in scores or not scores  # a plan has no scores
    ]
    return [*known, *sorted(draw_candidates(candidates, wanted, SEED))] if candidates else known


def _mean_scores(store: Store, judge_id: str) -> dict[str, float]:
    """Answer → mean of the criterion scores that this judge gave it."""
    table = store.scores.read(["answer_id", "judge_id", "score"])
    table = table.filter(pc.and_(pc.equal(table["judge_id"], judge_id), pc.is_valid(table["score"])))
    means: pa.Table = table.group_by("answer_id").aggregate([("score", "mean")])
    return dict(zip(means["answer_id"].to_pylist(), means["score_mean"].to_pylist(), strict=True))


def _probe_types(store: Store) -> dict[str, str]:
    table = store.probes.read(["probe_id", "probe_type"])
    return dict(zip(table["probe_id"].to_pylist(), table["probe_type"].to_pylist(), strict=True))
