"""Which sessions are replayed call by call, under which methods, and what of it is left to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flows.config.study import Study
from flows.pipeline.plan import PointInfo, expected_compactions, method_rows, unit_statuses
from flows.sessions.session_parts import SessionInfo
from flows.store.store import Store
from flows.support.ids import content_id

VERSION = 1
"""Of the replay. Raise it when it counts something else."""


@dataclass(frozen=True)
class ReplayJob:
    """One session to replay under one method."""

    replay_id: str
    method: int
    """Index into the study's methods."""
    contexts: tuple[tuple[int, str], ...]
    """Cut and id of each compaction of the method that left a context."""


def replay_code_version() -> str:
    """Name and version of the replay."""
    return f"replay@{VERSION}"


def is_drawn(id: str, share: float, what: str = "replay") -> bool:
    """Whether a session or point is drawn for something: by a hash of its id, so a larger share adds some."""
    return int(content_id(what, id)[:8], 16) < share * 2**32


def replays_to_do(
    store: Store, study: Study, sessions: Sequence[SessionInfo], points: Mapping[str, Sequence[PointInfo]]
) -> dict[str, list[ReplayJob]]:
    """Session → methods under which it has not been replayed as it is now, though all their compactions are made."""
    drawn = {info.session_id: info for info in sessions if is_drawn(info.session_id, study.replay)}
    points = {id: infos for id, infos in points.items() if infos and id in drawn}
    if not points:
        return {}
    settled = {id for id, status in unit_statuses(store.replays, "replay_id").items() if status != "failed"}
    compacted = unit_statuses(store.compactions, "compaction_id")
    methods = [row["method_id"] for row in method_rows(study)]
    found: dict[str, list[ReplayJob]] = {}
    for session, jobs in expected_compactions(study, points).items():
        found[session] = []
        for index, method in enumerate(methods):
            id = content_id(replay_code_version(), session, drawn[session].content_sha256, method, study.points)
            made = [job for job in jobs if job.method == index and job.replicate == 0]
            states = [compacted.get(job.compaction_id, "failed") for job in made]
            if id not in settled and "failed" not in states:
                contexts = [
                    (job.point.point.cut_seq, job.compaction_id)
                    for job, state in zip(made, states, strict=True)
                    if state == "done"
                ]
                found[session].append(ReplayJob(id, index, tuple(contexts)))
    return found
