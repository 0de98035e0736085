"""Points at which the next action is asked for, from which contexts, and what of it is left to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from compaction.strategies.recovery import fetches_of
from flows.config.study import Study
from flows.pipeline.engine import Engine
from flows.pipeline.plan import PointInfo, expected_compactions, unit_statuses
from flows.pipeline.replay_plan import is_drawn
from flows.sessions.session_parts import SessionInfo
from flows.store.store import Store
from flows.support.ids import content_id
from judge.llm.actor import action_version

FULL = (1, 2)
"""Repetitions in which the whole history is asked; contexts are asked in repetition 0, so `none` is a third asking."""


@dataclass(frozen=True)
class Asking:
    """One request for the next action."""

    next_action_id: str
    repetition: int
    compaction_id: str | None = None
    """The compaction that left the context; None for the whole history."""
    method: int = -1
    """Index into the study's methods; -1 for the whole history."""


@dataclass(frozen=True)
class NextActionJob:
    """A point with askings that are left to do."""

    point: PointInfo
    full: tuple[Asking, Asking]
    """Both askings of the whole history, done or not: contexts are compared with them."""
    contexts: tuple[Asking, ...]
    """Those that are left."""


@cache
def next_action_code_version() -> str:
    """Name and version of the measure."""
    return action_version()


def next_actions_to_do(
    store: Store,
    study: Study,
    engine: Engine,
    sessions: Sequence[SessionInfo],
    points: Mapping[str, Sequence[PointInfo]],
) -> dict[str, list[NextActionJob]]:
    """Session → drawn points with contexts that have not been asked. One that could not be asked counts as done."""
    content = {info.session_id: info.content_sha256 for info in sessions}
    drawn = {
        session: [info for info in infos if is_drawn(info.point_id, study.next_action, "next_action")]
        for session, infos in points.items()
    }
    if not any(drawn.values()):
        return {}
    settled = {id for id, status in unit_statuses(store.next_actions, "next_action_id").items() if status != "failed"}
    compacted = unit_statuses(store.compactions, "compaction_id")
    methods = study.methods()  # one that fetches for a question leaves what the method that it stands on leaves
    compactions = expected_compactions(study, points)
    found: dict[str, list[NextActionJob]] = {}
    for session, infos in drawn.items():
        found[session] = []
        for info in infos:

            def ask(repetition: int, id: str | None = None, method: int = -1, info: PointInfo = info) -> Asking:
                made_of = (info.point_id, content[info.point.session_id], engine.responder.name, id, repetition)
                return Asking(content_id(next_action_code_version(), *made_of), repetition, id, method)

            full = (ask(FULL[0]), ask(FULL[1]))
            contexts = [
                ask(0, job.compaction_id, job.method)
                for job in compactions[session]
                if job.point == info
                and job.replicate == 0
                and not fetches_of(methods[job.method])
                and compacted.get(job.compaction_id) == "done"
            ]
            left = [one for one in contexts if one.next_action_id not in settled]
            if left:  # without any, there is nothing that the whole history would be compared with
                found[session].append(NextActionJob(info, full, tuple(left)))
    return found
