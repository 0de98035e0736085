"""Stores drawn from a model whose truth is known: what intervals and tests of the views are held against.

A database holds many studies of many designs, each study with a judge version and sessions of its own, so that one
query over the real views gives as many intervals as there are studies; `judge` is the name of the design. A score of a
method m for dimension d, in replicate r of the judge, is

    mean[m, d] + session + method × session + probe + answer + judge replicate

where every effect is normal and drawn anew in each study; the first three are shared by all dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from flows.database.database_draft import build_database
from flows.database.sql_model import schemas
from tests.sql import tiny

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

DIMENSIONS = (
    "accuracy",
    "context_awareness",
    "artifact_trail",
    "completeness",
    "continuity",
    "instruction_following",
)
PROBE_TYPES = ("recall", "artifact", "continuation", "decision")
RUBRIC = "simulated@1"


@dataclass(frozen=True)
class Design:
    """One study: what is true, how many sessions there are, and how its scores scatter.

    The shares are of the variance of one score; what they leave is the noise of answers. Missing answers are missing
    at random. ``informative`` is the correlation of a session's effect with the logarithm of its size: where it is
    not 0, the truth is the mean over all answers of all sessions that there could be, large sessions counting more.
    """

    means: tuple[tuple[float, ...], ...]
    """Method × dimension; the true means where ``rounded`` is false and ``informative`` 0."""
    sessions: int
    probes: float = 6
    """Median number of probes a session, at least 1."""
    size_sigma: float = 0
    """Standard deviation of the logarithm of a session's number of probes; 0 for sessions of one size."""
    spread: float = 0.3
    """Standard deviation of one score."""
    session: float = 0.1
    method_session: float = 0.1
    probe: float = 0.2
    judge: float = 0.1
    missing: float = 0
    """Share of answers that are not there."""
    judge_replicates: int = 1
    rounded: bool = False
    """Whether scores are whole numbers, 0 to 5, cut off at the ends."""
    informative: float = 0
    projects: int = 0
    """Projects that a study's sessions are spread over evenly; 0: none is known."""
    method_project: float = 0
    """Share of the variance that is method × project."""
    names_projects: bool = True
    """Whether the store knows the projects."""

    @cached_property
    def truth(self) -> Floats:
        """What the views' means estimate: method × (the dimensions, then overall).

        Exact. Of rounded scores it is the sum over k = 1 … 5 of the probability that a score is at least k − ½.
        """
        of = np.array(self.means, dtype=float)
        if self.rounded:
            of = sum(stats.norm.sf((k - 0.5 - of) / self.spread) for k in range(1, 6))
        elif self.informative:
            normal = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
            sizes = self._sizes(normal)
            of = of + self.informative * self.spread * self.session**0.5 * (sizes @ normal) / sizes.sum()
        return np.column_stack([of, of.mean(axis=1)])

    @property
    def dimensions(self) -> tuple[str, ...]:
        return DIMENSIONS[: len(self.means[0])]

    def project_of(self, session: Integers) -> Integers:
        """The number of each session's project, through all studies."""
        return session // self.sessions * self.projects + session % self.sessions % self.projects

    def _sizes(self, normal: Floats) -> Integers:
        return np.maximum(1, np.round(self.probes * np.exp(self.size_sigma * normal))).astype(np.int64)

    def draw(self, studies: int, seed: int) -> DrawnStudies:
        """The sessions and scores of so many studies.

        Raises:
            ValueError: a score that is not rounded lies outside 0 to 5; the spread is too large for the means.
        """
        rng = np.random.default_rng(seed)
        methods, n_dimensions = len(self.means), len(self.means[0])
        left = 1 - self.session - self.method_session - self.method_project - self.probe - self.judge
        session, method_session, probe, judge, answer = (
            self.spread * share**0.5
            for share in (self.session, self.method_session, self.probe, self.judge, max(0.0, left))
        )
        normal = rng.normal(size=studies * self.sessions)
        sizes = self._sizes(normal)
        of_session = session * (
            self.informative * normal + (1 - self.informative**2) ** 0.5 * rng.normal(size=normal.size)
        )
        session_of = np.repeat(np.arange(sizes.size), sizes)
        level = (of_session[:, None] + method_session * rng.normal(size=(sizes.size, methods)))[session_of]
        level += probe * rng.normal(size=(session_of.size, 1))
        if self.projects:
            effects = self.spread * self.method_project**0.5 * rng.normal(size=(studies * self.projects, methods))
            level += effects[self.project_of(session_of)]
        scores = (
            np.array(self.means)[None, :, :, None]
            + level[:, :, None, None]
            + answer * rng.normal(size=(session_of.size, methods, n_dimensions, 1))
            + judge * rng.normal(size=(session_of.size, methods, n_dimensions, self.judge_replicates))
        )
        if self.rounded:
            scores = np.clip(np.round(scores), 0, 5)
        elif scores.min() < 0 or scores.max() > 5:
            raise ValueError(f"scores from {scores.min():.2f} to {scores.max():.2f}: take a smaller spread")
        there = rng.random((session_of.size, methods)) >= self.missing
        return DrawnStudies(self, studies, sizes, session_of, scores, there)


@dataclass(frozen=True)
class DrawnStudies:
    """Studies as arrays: sessions, then probes, are numbered through all studies."""

    design: Design
    studies: int
    sizes: Integers
    """Probes of each session."""
    session_of: Integers
    """Session of each probe."""
    scores: Floats
    """Probe × method × dimension × judge replicate."""
    there: npt.NDArray[np.bool_]
    """Probe × method: whether there is an answer."""

    def tables(self, name: str) -> dict[str, pa.Table]:
        """The rows of a store: a judge version a study, a criterion a dimension, up to four probes a point.

        Args:
            name: of the design; ids begin with it, but for those of methods, which all designs have in common.
        """
        n_sessions, n_probes, methods = self.sizes.size, self.session_of.size, self.scores.shape[1]
        starts = np.cumsum(self.sizes) - self.sizes
        within = np.arange(n_probes) - starts[self.session_of]
        first = within % 4 == 0
        point_of = np.cumsum(first) - 1
        n_points = int(first.sum())
        cut = 30 * (within[first] // 4 + 1)
        messages = 30 * ((self.sizes + 3) // 4 + 1)
        probe, method = np.nonzero(self.there)
        return {
            "sessions": _table(
                "sessions",
                tiny.session("-"),
                session_id=_ids(f"{name}/s", np.arange(n_sessions)),
                n_messages=messages,
                n_tool=messages - 30,
                **self._projects(name, np.arange(n_sessions)),
            ),
            "points": _table(
                "points",
                tiny.point("-", "-", 1000),
                point_id=_ids(f"{name}/p", np.arange(n_points)),
                session_id=_ids(f"{name}/s", self.session_of[first]),
                cycle=cut // 30,
                cut_seq=cut,
            ),
            "compactions": _table(
                "compactions",
                tiny.compaction("-", "-", 1000, 100, n_edited=0, n_covered=0, n_dropped=0),
                n_kept=np.repeat(cut, methods),
                compaction_id=_ids(f"{name}/c", np.arange(n_points * methods)),
                point_id=_ids(f"{name}/p", np.repeat(np.arange(n_points), methods)),
                method_id=_named(np.tile(np.arange(methods), n_points), _methods(methods)),
            ),
            "probes": _table(
                "probes",
                tiny.probe("-", "-"),
                probe_id=_ids(f"{name}/q", np.arange(n_probes)),
                point_id=_ids(f"{name}/p", point_of),
                probe_type=_named(within % 4, PROBE_TYPES),
            ),
            "answers": _table(
                "answers",
                tiny.answer("-", "-", "-"),
                answer_id=_ids(f"{name}/a", probe * methods + method),
                compaction_id=_ids(f"{name}/c", point_of[probe] * methods + method),
                session_id=_ids(f"{name}/s", self.session_of[probe]),
                probe_id=_ids(f"{name}/q", probe),
            ),
            "judges": tiny.arrow(
                {
                    "judges": [
                        tiny.judge(study(name, at), name, rubric=RUBRIC, params=f'{{"study": {at}}}')
                        for at in range(self.studies)
                    ]
                }
            )["judges"],
            "scores": self._score_rows(name, probe, method),
        }

    def _projects(self, name: str, sessions: Integers) -> dict[str, pa.Array]:
        if not (self.design.projects and self.design.names_projects):
            return {}
        return {"project": _ids(f"/{name}/project", self.design.project_of(sessions))}

    def _score_rows(self, name: str, probe: Integers, method: Integers) -> pa.Table:
        dimensions, replicates = self.scores.shape[2:]
        each = dimensions * replicates
        answer = np.repeat(probe * self.scores.shape[1] + method, each)
        dimension = np.tile(np.repeat(np.arange(dimensions), replicates), probe.size)
        judges = [study(name, at) for at in range(self.studies)]
        return _table(
            "scores",
            {"reasoning": "so"},
            answer_id=_ids(f"{name}/a", answer),
            session_id=_ids(f"{name}/s", np.repeat(self.session_of[probe], each)),
            judge_id=_named(np.repeat(self.session_of[probe] // self.design.sessions, each), judges),
            judge_replicate=np.tile(np.arange(1, replicates + 1), probe.size * dimensions),
            dimension=_named(dimension, self.design.dimensions),
            criterion=_named(dimension, self.design.dimensions),
            score=self.scores[probe, method].ravel(),
        )


def write(designs: Mapping[str, DrawnStudies], folder: Path) -> Path:
    """The database of a store with the studies of these designs, by the designs' names."""
    path = folder / "scores.duckdb"
    parts = [drawn.tables(name) for name, drawn in designs.items()]
    methods = _methods(max(drawn.scores.shape[1] for drawn in designs.values()))
    criteria = [
        {"rubric": RUBRIC, "criterion": name, "dimension": name, "weight": 1.0, "question": "Right?"}
        for name in DIMENSIONS
    ]
    sessions = pa.concat_tables(part["sessions"] for part in parts)
    kinds = {
        "system": "n_system",
        "user": "n_user",
        "assistant": "n_assistant",
        "tool": "n_tool",
        "tool_call": "n_tool_calls",
    }
    met = {kind: pc.sum(sessions[column]).as_py() for kind, column in kinds.items()}
    file = {
        "input_path": "/logs/-.jsonl",
        "source_format": "openai",
        "n_bytes": 0,
        "n_sessions": len(sessions),
        "n_folded": 0,
        "n_messages": pc.sum(sessions["n_messages"]).as_py(),
        "n_quarantined": 0,
    }
    shared = tiny.arrow(
        {
            "methods": [tiny.method(name, name) for name in methods],
            "criteria": criteria,
            "inputs": [file],
            "messages_met": tiny.met("-", **met),
        }
    )
    build_database(shared | {table: [part[table] for part in parts] for table in parts[0]}, path)
    return path


def study(name: str, number: int) -> str:
    """The judge version of a study of a design, by its number from 0."""
    return f"{name}/{number:06}"


def _methods(number: int) -> list[str]:
    return [f"m{at + 1:02}" for at in range(number)]


def _ids(prefix: str, numbers: Integers) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pc.cast(pa.array(numbers), pa.string()), "")


def _named(numbers: Integers, names: list[str] | tuple[str, ...]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), pa.array(names))


def _table(name: str, row: Mapping[str, Any], **columns: pa.Array | npt.NDArray[Any]) -> pa.Table:
    """A table with these columns; the others are as in the one row, or NULL where that has none."""
    made = {column: values if isinstance(values, pa.Array) else pa.array(values) for column, values in columns.items()}
    length = len(next(iter(made.values())))
    for field in schemas()[name]:
        if field.name not in made:
            kind = pa.string() if pa.types.is_timestamp(field.type) else field.type
            made[field.name] = pa.repeat(pa.scalar(row.get(field.name), kind), length)
    return pa.table(made)
