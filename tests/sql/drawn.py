"""Studies drawn from the model that the components of variance assume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from flows.database.scores_db import connect
from tests.sql.tiny import CRITERIA, Rows, answer, compaction, judge, make, method, point, probe, scores, session

LEVELS = ("session", "method_session", "question", "method_question", "compaction", "answer", "judge")


@dataclass(frozen=True)
class Model:
    """Variances of the components (points²), and how much there is of everything."""

    session: float = 0.03
    method_session: float = 0.01
    question: float = 0.04
    method_question: float = 0.02
    compaction: float = 0.025
    compaction_shared: float = 0.015
    answer: float = 0.02
    judge: float = 0.01
    methods: int = 3
    sessions: int = 6
    points: int = 2
    questions: int = 3
    compactions: int = 2
    answers: int = 2
    verdicts: int = 2
    missing: float = 0
    """Share of repetitions (answers, and verdicts) that are left out at random, at any level."""
    holes: float = 0
    """Share of questions that a method has no answer to."""
    fixed: tuple[str, ...] = ()
    """Methods that leave one context however often they are repeated: its repetitions share their answers."""


def rows_of(model: Model, study: str, rng: np.random.Generator) -> Rows:
    """One study: a judge of its own, sessions of its own, methods A, B …, and one criterion."""

    def draw(variance: float) -> float:
        return float(rng.normal(0, sqrt(variance)))

    rows: Rows = {table: [] for table in ("sessions", "points", "compactions", "probes", "answers", "scores")}
    rows["judges"] = [judge(study, study)]
    names = [chr(ord("A") + m) for m in range(model.methods)]
    means = {name: 2.3 + 0.2 * m for m, name in enumerate(names)}
    for s in range(model.sessions):
        session_id, of_session = f"{study}-s{s}", draw(model.session)
        of_both = {name: draw(model.method_session) for name in names}
        rows["sessions"].append(session(session_id))
        for p in range(model.points):
            point_id = f"{session_id}-p{p}"
            rows["points"].append(point(point_id, session_id, 1000, cycle=p + 1))
            probes = {f"{point_id}-q{q}": draw(model.question) for q in range(model.questions)}
            rows["probes"] += [probe(probe_id, point_id) for probe_id in probes]
            for name in names:
                effects = {
                    probe_id: means[name] + of_session + of_both[name] + of_probe + draw(model.method_question)
                    for probe_id, of_probe in probes.items()
                    if rng.random() >= model.holes
                }
                for k in range(model.compactions):
                    compaction_id = f"{name}/{point_id}/{k}"
                    rows["compactions"].append(
                        compaction(name, point_id, 1000, 100, replicate=k, compaction_id=compaction_id)
                    )
                    shared = draw(model.compaction_shared)
                    if name in model.fixed:
                        shared = 0.0
                    if name in model.fixed and k:
                        _copy(rows, f"{name}/{point_id}/0", compaction_id, k)
                        continue
                    for probe_id, effect in effects.items():
                        own = effect + shared
                        if name not in model.fixed:
                            own += draw(model.compaction - model.compaction_shared)
                        for a in range(model.answers):
                            if (a or k) and rng.random() < model.missing:
                                continue
                            answer_id = f"{compaction_id}/{probe_id}/{a}"
                            rows["answers"].append(
                                answer(
                                    name,
                                    point_id,
                                    probe_id,
                                    replicate=a,
                                    answer_id=answer_id,
                                    compaction_id=compaction_id,
                                )
                            )
                            of_answer = own + draw(model.answer)
                            for j in range(model.verdicts):
                                if j and rng.random() < model.missing:
                                    continue
                                rows["scores"] += scores(answer_id, study, j, facts=of_answer + draw(model.judge))
    return rows


def _copy(rows: Rows, first: str, compaction_id: str, replicate: int) -> None:
    """A repetition with an equal context: its answers and their verdicts come from the cache."""
    rows["compactions"][-1]["same_context_as"] = first
    for row in [row for row in rows["answers"] if row["compaction_id"] == first]:
        answer_id = row["answer_id"].replace(first, compaction_id, 1)
        given = [score for score in rows["scores"] if score["answer_id"] == row["answer_id"]]
        rows["answers"].append({**row, "answer_id": answer_id, "compaction_id": compaction_id})
        rows["scores"] += [{**score, "answer_id": answer_id} for score in given]


def studies(model: Model, n: int, seed: int) -> Rows:
    """Many studies in one store."""
    rng = np.random.default_rng(seed)
    names = [chr(ord("A") + m) for m in range(model.methods)]
    whole: Rows = {"methods": [method(name, name) for name in names], "criteria": CRITERIA}
    for study in range(n):
        for table, found in rows_of(model, f"study{study:03d}", rng).items():
            whole.setdefault(table, []).extend(found)
    return whole


def read(rows: Rows, folder: Path, view: str, where: str = "dimension = 'overall'") -> list[dict[str, Any]]:
    with connect(make(rows, folder)) as connection:
        return list(connection.sql(f"FROM {view} WHERE {where}").to_arrow_table().to_pylist())


def within_noise(estimates: Sequence[float], truth: float) -> bool:
    """Whether their mean is as near to the truth as the mean of unbiased estimates is, but once in 15,000 times."""
    return bool(abs(np.mean(estimates) - truth) < 4 * np.std(estimates, ddof=1) / sqrt(len(estimates)))
