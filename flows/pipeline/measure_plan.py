"""Plans measurements of compactions, and finds those that belong to the sessions as they are now.

A measurement depends on the compaction, on the version of the measures, on the whole session (what comes after the
point too) and on the probes whose statements are followed: its id is made of these. ``sql/load`` works out the same ids
(``measured_points``, ``wanted_measures``) to select the measurements that hold now: a change here is one there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flows.config.study import Study
from flows.pipeline.engine import Engine
from flows.pipeline.plan import PointInfo, expected_compactions, probe_id, unit_statuses
from flows.sessions.session_parts import SessionInfo
from flows.store.store import Store
from flows.support.ids import content_id
from judge import PROBE_TYPES
from judge.measures.kept_files import FILE_USES


@dataclass(frozen=True)
class MeasureJob:
    """One compaction to be measured."""

    measure_id: str
    compaction_id: str
    needs_id: str
    line: tuple[PointInfo, ...]
    """The session's points up to the compaction's own, which is the last."""
    method: int
    """Index into the study's methods."""

    @property
    def point(self) -> PointInfo:
        """The compaction's point."""
        return self.line[-1]


VERSION = 9
"""Of all measures together. Raise it when one of them finds something else."""


def measure_code_version() -> str:
    """Name and version of the measures."""
    return f"measures@{VERSION}"


def needs_id(point_id: str, content_sha256: str, code: str) -> str:
    """Make the id of a session's needs after a point; it changes when the session grows or the measures change."""
    return content_id("needs", point_id, code, content_sha256)


def measure_id(compaction_id: str, content_sha256: str, probes: Sequence[str], code: str) -> str:
    """Make the id of a compaction's measurement, which includes the probes that it looks up."""
    return content_id("measure", compaction_id, code, content_sha256, list(probes))


def asked_until(line: Sequence[PointInfo], prober: str, asked: set[str]) -> list[str]:
    """The probes that were asked at some points, in order."""
    return [id for info in line for kind in PROBE_TYPES if (id := probe_id(info.point_id, kind, prober)) in asked]


def measures_to_do(
    store: Store,
    study: Study,
    engine: Engine,
    sessions: Sequence[SessionInfo],
    points: Mapping[str, Sequence[PointInfo]],
) -> dict[str, list[MeasureJob]]:
    """Session → compactions that are done and have not been measured as they are now, or failed to be."""
    settled = {id for id, status in unit_statuses(store.measures, "measure_id").items() if status != "failed"}
    compacted = unit_statuses(store.compactions, "compaction_id")
    asked = {id for id, status in unit_statuses(store.probes, "probe_id").items() if status == "done"}
    content = {info.session_id: info.content_sha256 for info in sessions}
    found: dict[str, list[MeasureJob]] = {}
    for session, jobs in expected_compactions(study, points).items():
        infos, sha = points[session], content[session]
        lines = {info.point_id: tuple(infos[: number + 1]) for number, info in enumerate(infos)}
        probes = {id: asked_until(line, engine.prober.name, asked) for id, line in lines.items()}
        of_points = {id: needs_id(id, sha, measure_code_version()) for id in lines}
        found[session] = [
            MeasureJob(id, job.compaction_id, of_points[point], lines[point], job.method)
            for job in jobs
            if compacted.get(job.compaction_id) == "done"
            and (id := measure_id(job.compaction_id, sha, probes[point := job.point.point_id], measure_code_version()))
            not in settled
        ]
    return found


def counts_of_files() -> list[str]:
    """Names of the columns with numbers of files, use by use."""
    return [f"n_{use}_{what}" for use in FILE_USES for what in ("true", "told", "right")]
