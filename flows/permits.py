"""Permits: which try of a task may still add files to the store.

A cluster that loses sight of a worker has its task done again elsewhere, and cannot know whether the worker is dead or
only cut off. So each try takes the task's permit first, which ends the permit of a try before it, and the run takes
the permits back when the stage is over. Before a file becomes visible, the try looks whether it still has the permit.
"""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows import files
from flows.places import HERE, Place
from flows.problems import Problem

FOLDER = ".permits"
RUN = "run"
"""The file with the run's own token, by which a worker sees that its store is the run's."""
TASK = "task-"


class PermitProblem(Problem):
    """This try of a task has been given up: another one has begun, or the stage is over."""


def open_permits(root: Path, place: Place = HERE) -> str:
    """Begin a run whose workers are elsewhere; its token. Permits of a run before it end."""
    end_permits(root, place)
    token = secrets.token_hex(8)
    place.write(root / FOLDER / RUN, token.encode())
    return token


def end_permits(root: Path, place: Place = HERE) -> None:
    """No try of any task may add files any more."""
    place.clear(root / FOLDER)


def withdraw(root: Path, place: Place = HERE) -> None:
    """Take back the permits that are out, as a stage is over."""
    for path in place.paths(root / FOLDER, ""):
        if path.name.startswith(TASK):
            place.remove(path)


def run_of(root: Path, place: Place = HERE) -> str:
    """The token of the run that the store is at; blank without one."""
    return _read(place, root / FOLDER / RUN)


def whereabouts() -> str:
    """This process, for people."""
    return f"{platform.node()} (process {os.getpid()})"


@contextmanager
def permitted(root: Path, run: str, task: str, place: Place = HERE) -> Iterator[bool]:
    """Hold the permit of a task; whether a try before this one never gave it back.

    Files that are published inside are refused with PermitProblem once the permit is another's, or nobody's.

    ``run`` is the token of the run that the task is of. Raises PermitProblem when that is over.
    """
    if run_of(root, place) != run:
        raise PermitProblem(f"the run that the task {task} is of is over")
    path, token = root / FOLDER / f"{TASK}{task}", f"{secrets.token_hex(8)} {whereabouts()}"
    is_repetition = place.look(path) is not None
    place.write(path, token.encode())

    def check() -> None:
        if _read(place, path) != token:
            raise PermitProblem(f"another worker has taken over the task {task}, or the run is over")

    try:
        with files.checked_first(check):
            yield is_repetition
    finally:
        if _read(place, path) == token:
            place.remove(path)


def _read(place: Place, path: Path) -> str:
    """Content of a file, blank without one. It is opened, not looked for: network file systems remember names."""
    try:
        return (place.read(path) or b"").decode()
    except OSError:
        return ""
