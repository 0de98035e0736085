"""Random stores with every hole that a run can leave, and the figures of the leaderboards computed anew in Python."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any
from unittest import mock

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tests.sql.tiny import Rows, answer, compaction, judge, method, point, probe, session

RUBRIC = {
    "facts": ("accuracy", 1.0),
    "terms": ("accuracy", 3.0),
    "files": ("artifact_trail", 1.0),
    "parts": ("completeness", 2.0),
    "depth": ("completeness", 0.5),
    "state": ("continuity", 1.0),
    "voice": ("tone", 1.0),
    "rule": ("constraints", 1.0),
}
"""Criterion → dimension, one of them not the study's, and weight."""

UNLISTED = {"format": ("instruction_following", 1.0)}
"""A criterion that the rubric does not list weighs 1."""

ASKED = {
    "recall": ("facts", "terms", "parts", "voice"),
    "artifact": ("facts", "files", "format", "parts", "depth"),
    "continuation": ("terms", "state", "parts"),
    "decision": ("facts", "state", "depth", "format"),
    "constraint": ("rule",),
}

Cell = tuple[str, str]
"""Judge and dimension."""


@dataclass(frozen=True)
class Clustered:
    """A mean with its error, as `cluster_figures` gives them; the error and what follows from it None if unknown."""

    mean: float
    std_error: float | None
    df: float | None
    n: int
    n_clusters: int

    def quantile(self, p: float) -> float | None:
        return None if self.df is None else float(stats.t.ppf(p, self.df))

    def interval(self) -> tuple[float | None, float | None]:
        t = self.quantile(0.975)
        if t is None or not self.std_error:
            return None, None
        return self.mean - t * self.std_error, self.mean + t * self.std_error

    def p_value(self) -> float | None:
        if self.std_error is None or self.df is None:
            return None
        if self.std_error == 0:
            return 0.0 if abs(self.mean) > 1e-9 else 1.0
        return float(2 * stats.t.sf(abs(self.mean) / self.std_error, self.df))


def clustered_mean(values: Iterable[tuple[str, float]]) -> Clustered:
    """The mean of (cluster, value), by the explicit matrices of Bell and McCaffrey (2002) for a column of ones."""
    found = sorted(values)
    y = np.array([value for _, value in found])
    n = len(y)
    names = sorted({name for name, _ in found})
    if len(names) < 2:
        return Clustered(float(y.mean()), None, None, n, len(names))
    members = [np.array([name == other for other, _ in found]) for name in names]
    residual_maker = np.eye(n) - np.ones((n, n)) / n
    meat = 0.0
    columns = []
    for at in members:
        values_, vectors = np.linalg.eigh(residual_maker[np.ix_(at, at)])
        adjust = vectors @ np.diag(values_**-0.5) @ vectors.T  # the CR2 adjustment: (I - H_gg) ** -1/2
        meat += float(np.ones(at.sum()) @ adjust @ (y[at] - y.mean())) ** 2
        columns.append(residual_maker[:, at] @ adjust @ np.ones(at.sum()) / n)
    gram = np.column_stack(columns).T @ np.column_stack(columns)
    error = meat**0.5 / n
    return Clustered(
        float(y.mean()), 0.0 if error < 1e-10 else error, float(np.trace(gram) ** 2 / np.sum(gram**2)), n, len(names)
    )


def random_store(seed: int) -> Rows:
    """Sessions of different sizes; replicates of everything; failures, holes, NULLs; two judges; a partial method."""
    rng = random.Random(seed)
    names = ["keep", "cut", "fold", "rare"][: rng.choice((2, 3, 4, 4, 4))]
    rows: Rows = {name: [] for name in ("sessions", "points", "compactions", "probes", "answers", "scores")}
    rows["methods"] = [method(f"{'zyxw'[i]}{i}", name) for i, name in enumerate(names)]
    rows["judges"] = [judge("j1", "embedded"), judge("j2", "openai:grader")]
    rows["criteria"] = [
        {"rubric": "tiny@1", "criterion": c, "dimension": d, "weight": w, "question": "Right?"}
        for c, (d, w) in RUBRIC.items()
    ]
    for s in range(rng.choice((1, 2, 4, 6))):
        rows["sessions"].append(
            session(
                f"s{s}",
                task_type=rng.choice(("debugging", None)),
                n_tokens=4000 * 10 ** (s % 3),
                resolved=(True, None, False)[s % 3],
                exit_status=("submitted", None)[s % 2],
            )
        )
        for cycle in range(1, rng.randint(1, 3) + 1):
            _add_point(rows, rng, f"s{s}-{cycle}", f"s{s}", cycle)
    return rows


def _add_point(rows: Rows, rng: random.Random, point_id: str, session_id: str, cycle: int) -> None:
    rows["points"].append(point(point_id, session_id, 1000, cycle=cycle))
    asked = [kind for kind in ASKED if rng.random() < 0.7]
    rows["probes"] += [probe(f"{point_id}-{kind}", point_id, kind) for kind in asked]
    for row in rows["methods"]:
        for replicate in range(rng.choice((1, 1, 2))):
            failed = rng.random() < 0.1
            made = compaction(row["method_id"], point_id, 1000, None if failed else rng.randint(100, 1200))
            made.update(compaction_id=f"{row['method_id']}/{point_id}/{replicate}", replicate=replicate)
            if row["method"] == "rare" and rng.random() < 0.5:
                nothing = dict.fromkeys(("tokens_after", "n_kept", "n_edited", "n_covered", "n_dropped", "grew"))
                made.update(nothing, status="not_applicable", error="nothing recorded", invalid_context=None)
            rows["compactions"].append(made)
            for kind in asked if made["status"] == "done" else ():
                _add_answer(rows, rng, made, f"{point_id}-{kind}", kind)


def _add_answer(rows: Rows, rng: random.Random, made: Mapping[str, Any], probe_id: str, kind: str) -> None:
    for replicate in range(rng.choice((1, 1, 1, 2))):
        if rng.random() < 0.05:
            continue
        answer_id = f"{made['compaction_id']}/{kind}/{replicate}"
        failed = {"status": "failed", "text": None, "error": "refused"} if rng.random() < 0.05 else {}
        rows["answers"].append(
            answer("-", "-", probe_id)
            | {"answer_id": answer_id, "compaction_id": made["compaction_id"], "replicate": replicate, **failed}
        )
        for judge_id, chance in (("j1", 0.95), ("j2", 0.5)):
            for judge_replicate in range(rng.choice((1, 1, 3))) if not failed and rng.random() < chance else ():
                mute = rng.random() < 0.05
                for criterion in ASKED[kind]:
                    score = None if mute or rng.random() < 0.15 else rng.choice((0, 2.5, rng.uniform(0, 5), 5))
                    rows["scores"].append(
                        {
                            "answer_id": answer_id,
                            "judge_id": judge_id,
                            "judge_replicate": judge_replicate,
                            "criterion": criterion,
                            "dimension": (RUBRIC | UNLISTED)[criterion][0],
                            "score": score,
                            "unscored_reason": "no truth" if score is None else None,
                            "reasoning": "so",
                        }
                    )


class Figures:
    """Everything that the leaderboards say of a store of ``random_store``, by the definitions and in no hurry."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        compacted = {row["compaction_id"]: row for row in rows["compactions"]}
        points = {row["point_id"]: row for row in rows["points"]}
        self.names = {row["method_id"]: row["method"] for row in rows["methods"]}
        self.method_of, self.session_of, self.probe_of = {}, {}, {}
        for row in rows["answers"]:
            if row["status"] == "done":
                made = compacted[row["compaction_id"]]
                self.method_of[row["answer_id"]] = made["method_id"]
                self.session_of[row["answer_id"]] = points[made["point_id"]]["session_id"]
                self.probe_of[row["answer_id"]] = row["probe_id"]
        self.session_of_probe = {row["probe_id"]: points[row["point_id"]]["session_id"] for row in rows["probes"]}
        self.scores = self._answer_scores()

    def _answer_scores(self) -> dict[Cell, dict[str, float]]:
        """Judge and dimension, with 'overall', to the score of each answer."""
        raw: dict[tuple[str, str, str, int], list[tuple[float, float]]] = defaultdict(list)
        for row in self.rows["scores"]:
            if row["score"] is not None:
                weight = (RUBRIC | UNLISTED)[row["criterion"]][1]
                key = row["judge_id"], row["answer_id"], row["dimension"], row["judge_replicate"]
                raw[key].append((row["score"], weight))
        replicates: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for (judge_id, answer_id, dimension, _), found in raw.items():
            mean = sum(score * weight for score, weight in found) / sum(weight for _, weight in found)
            replicates[judge_id, answer_id, dimension].append(mean)
        dimensions: dict[tuple[str, str], list[float]] = defaultdict(list)
        result: dict[Cell, dict[str, float]] = defaultdict(dict)
        for (judge_id, answer_id, dimension), means in replicates.items():
            result[judge_id, dimension][answer_id] = fmean(means)
            if dimension != "constraints":
                dimensions[judge_id, answer_id].append(fmean(means))
        for (judge_id, answer_id), means in dimensions.items():
            result[judge_id, "overall"][answer_id] = fmean(means)
        return result

    def of_method(self, cell: Cell, method_id: str) -> Clustered | None:
        found = [(self.session_of[a], x) for a, x in self.scores[cell].items() if self.method_of[a] == method_id]
        return clustered_mean(found) if found else None

    def by_probe(self, cell: Cell, method_id: str) -> dict[str, float]:
        found: dict[str, list[float]] = defaultdict(list)
        for answer_id, score in self.scores[cell].items():
            if self.method_of[answer_id] == method_id:
                found[self.probe_of[answer_id]].append(score)
        return {probe_id: fmean(scores) for probe_id, scores in found.items()}

    def pairs(self, judge_id: str) -> dict[tuple[str, str, str], Clustered]:
        """Dimension and pair of methods by name to their paired difference."""
        found = {}
        for (of_judge, dimension), _ in sorted(self.scores.items()):
            if of_judge != judge_id:
                continue
            by_name = {name: self.by_probe((judge_id, dimension), id) for id, name in self.names.items()}
            for a, b in combinations(sorted(by_name), 2):
                shared = sorted(by_name[a].keys() & by_name[b].keys())
                if shared:
                    found[dimension, a, b] = clustered_mean(
                        (self.session_of_probe[q], by_name[a][q] - by_name[b][q]) for q in shared
                    )
        return found


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values by statsmodels, over those that there are.

    Its full garbage collection is left out: beside Prefect and all other tests it takes up to a second a call.
    """
    known = [p for p in p_values if p is not None]
    with mock.patch("gc.collect"):
        adjusted = iter(multipletests(known, method="holm")[1] if known else ())
    return [None if p is None else float(next(adjusted)) for p in p_values]


def leaderboard(figures: Figures, judge_id: str) -> dict[str, dict[str, Any]]:
    """Method to its row of `leaderboard`, without the columns that are about compactions and dimensions."""
    cell = judge_id, "overall"
    means = {id: found for id in figures.names if (found := figures.of_method(cell, id))}
    by_probe = {id: figures.by_probe(cell, id) for id in means}
    shared = set.intersection(*(set(found) for found in by_probe.values())) if by_probe else set()
    not_applicable: dict[str, set[str]] = defaultdict(set)
    for row in figures.rows["compactions"]:
        if row["status"] == "not_applicable":
            not_applicable[row["method_id"]].add(row["point_id"])
    everywhere = [id for id in means if not not_applicable[id]]
    difference: dict[tuple[str, str], float] = {}
    told: dict[tuple[str, str], bool] = {}
    pairs = [(k, found) for k, found in figures.pairs(judge_id).items() if k[0] == "overall"]
    ids = {name: id for id, name in figures.names.items()}
    for ((_, a, b), found), p in zip(pairs, holm([found.p_value() for _, found in pairs]), strict=True):
        for one, other, sign in ((ids[a], ids[b], 1), (ids[b], ids[a], -1)):
            difference[one, other] = sign * found.mean
            told[one, other] = p is not None and p < 0.05
    for_rank: dict[str, float | None] = {}
    partial = {id: bool(not_applicable[id]) and bool(everywhere) for id in means}
    for id, found in means.items():
        shared_with = [o for o in everywhere if (id, o) in difference]
        real = [o for o in shared_with if figures.names[o] not in ("none", "empty")]
        others = [means[o].mean + difference[id, o] for o in real or shared_with]
        for_rank[id] = found.mean if not partial[id] else fmean(others) if others else None
    known = [(-value, figures.names[id], id) for id, value in for_rank.items() if value is not None]
    placed = [id for _, _, id in sorted(known)]
    placed = [id for id in placed if figures.names[id] not in ("none", "empty")]
    placed = placed if max((found.n_clusters for found in means.values()), default=0) > 1 else []
    groups = _letters(placed, told)
    return {
        figures.names[id]: {
            "overall": found.mean,
            "n_answers": found.n,
            "n_sessions": found.n_clusters,
            "overall_for_rank": for_rank[id],
            "is_partial": partial[id],
            "n_points_not_applicable": len(not_applicable[id]),
            "rank": placed.index(id) + 1 if id in placed else None,
            "tie_group": groups.get(id),
            "overall_on_shared_probes": fmean(by_probe[id][q] for q in sorted(shared)) if shared else None,
            "n_shared_probes": len(shared),
        }
        for id, found in means.items()
    }


def _letters(placed: Sequence[str], told: Mapping[tuple[str, str], bool]) -> dict[str, str]:
    """Of every run of methods of which no two are told apart, those that no other run holds: a letter each."""
    n = len(placed)
    runs = [
        set(placed[i:j])
        for i in range(n)
        for j in range(i + 1, n + 1)
        if not any(told.get(pair, False) for pair in combinations(placed[i:j], 2))
    ]
    longest = [run for run in runs if not any(run < other for other in runs)]
    letters = {id: [chr(ord("a") + k) for k, run in enumerate(longest) if id in run] for id in placed}
    return {id: "".join(of) if len(of) < 3 else f"{of[0]}-{of[-1]}" for id, of in letters.items()}
