"""The files of one Harbor run: a trajectory, its continuations, and the trajectories of its sub-agents.

Only plain names in the same folder are followed, each once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flows.sources.reading.base import Record, Source
from flows.sources.reading.inputs import plain_name
from flows.sources.reading.siblings import load_sibling, sibling_path
from flows.sources.reading.values import as_list, nested, objects_in, text_or_none

_CONTINUATION = re.compile(r"(.+)\.cont-(\d{1,6})(\.json(?:\.gz|\.zst)?)\Z", re.IGNORECASE)
_SESSION = re.compile(r"-cont-\d+\Z")
_MOST = 1000


@dataclass(frozen=True)
class TrajectoryPart:
    """One file of a trajectory."""

    name: str
    trajectory: Record


def is_trajectory(value: Any) -> bool:
    """Whether a value is an ATIF trajectory."""
    steps = nested(value, "steps")
    if not isinstance(steps, list):
        return False
    if (text_or_none(value.get("schema_version")) or "").upper().startswith("ATIF"):
        return True
    return bool(steps) and all(
        isinstance(step, dict) and step.get("source") in ("system", "user", "agent") and "step_id" in step
        for step in steps[:3]
    )


def run_id(trajectory: Record) -> str | None:
    """The id of the run; a continuation's has a number behind it."""
    value = trajectory.get("session_id")
    return _SESSION.sub("", value) or None if isinstance(value, str) else None


def is_continuation(part: TrajectoryPart) -> bool:
    """Whether a file continues another one."""
    if nested(part.trajectory, "agent", "extra", "continuation_index"):
        return True
    session = part.trajectory.get("session_id")
    return _CONTINUATION.match(part.name) is not None or (
        isinstance(session, str) and _SESSION.search(session) is not None
    )


def chain_parts(source: Source, trajectory: Record) -> tuple[list[TrajectoryPart], str | None]:
    """The parts of a trajectory in their order, whichever of them the input is.

    Returns:
        The parts, and the continuation that the last one names and that is not in the folder.
    """
    parts = [TrajectoryPart(source.name, trajectory)]
    seen = {plain_name(source.name)}
    while (before := _before(source, parts[0])) is not None and plain_name(before.name) not in seen:
        seen.add(plain_name(before.name))
        parts.insert(0, before)
    while len(parts) < _MOST:
        name = parts[-1].trajectory.get("continued_trajectory_ref")
        if not isinstance(name, str) or not name or plain_name(name) in seen:
            return parts, None
        seen.add(plain_name(name))
        found = open_part(source, name)
        if found is None:
            return parts, name
        parts.append(found)
    return parts, None


def _before(source: Source, part: TrajectoryPart) -> TrajectoryPart | None:
    found = _CONTINUATION.match(part.name)
    if found is None:
        return None
    number = int(found[2])
    name = f"{found[1]}.cont-{number - 1}.json" if number > 1 else f"{found[1]}.json"
    before = open_part(source, name)
    named = before.trajectory.get("continued_trajectory_ref") if before is not None else None
    return before if isinstance(named, str) and plain_name(named) == plain_name(part.name) else None


def open_part(source: Source, name: Any) -> TrajectoryPart | None:
    """The trajectory in the file of this name in the same folder."""
    path = sibling_path(source, name)
    if path is None:
        return None
    value = load_sibling(path)
    return TrajectoryPart(path.name, value) if isinstance(value, dict) and is_trajectory(value) else None


def parent_of(source: Source, trajectory: Record) -> str | None:
    """The run that a sub-agent's file belongs to: it says so, or the main file of the folder names it."""
    parent = text_or_none(nested(trajectory, "agent", "extra", "parent_session_id"))
    if parent is not None:
        return _SESSION.sub("", parent)
    own = plain_name(source.name)
    for name in dict.fromkeys((f"{source.name.partition('.')[0]}.json", "trajectory.json")):
        if plain_name(name) == own:
            continue
        main = open_part(source, name)
        if main is not None and any(plain_name(str(path)) == own for path in _paths(main.trajectory)):
            return run_id(main.trajectory)
    return None


def references(trajectory: Record) -> Iterator[Record]:
    """Every reference of a step's result to a sub-agent's trajectory."""
    for step in trajectory["steps"]:
        yield from references_of(nested(step, "observation"))


def references_of(observation: Any) -> Iterator[Record]:
    """The references in one observation."""
    for result in as_list(nested(observation, "results")):
        refs = nested(result, "subagent_trajectory_ref")
        yield from objects_in(refs if isinstance(refs, list) else [refs])


def _paths(trajectory: Record) -> Iterator[str]:
    return (ref["trajectory_path"] for ref in references(trajectory) if isinstance(ref.get("trajectory_path"), str))


def native_id(part: TrajectoryPart, parent: str | None) -> str | None:
    """The run's id. A sub-agent that has its parent's, or none, adds the trajectory's own."""
    native, own = run_id(part.trajectory), text_or_none(part.trajectory.get("trajectory_id"))
    if parent is None:
        return native or own
    if native is not None and native != parent:
        return native
    return f"{parent}.{own or part.name.partition('.json')[0]}"
