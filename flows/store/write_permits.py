"""Permits: which attempt at a task may still add files to the store.

A cluster that loses contact with a worker runs its task again elsewhere. It cannot know whether the worker is dead or
only cut off. So each attempt takes the task's permit first, which ends the permit of the attempt before it. The run
ends all permits when the stage is over. Before it publishes a file, an attempt checks that it still has the permit.
"""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.store.storage import LOCAL, Storage
from flows.support import atomic_files
from flows.support.errors import EvalError

FOLDER = ".permits"
RUN = "run"
"""The file with the run's own token, by which a worker sees that its store is the run's."""
TASK = "task-"


class PermitError(EvalError):
    """This attempt at a task lost its permit: another attempt has begun, or the stage is over."""


def open_permits(root: Path, place: Storage = LOCAL) -> str:
    """Start the permits of a run on a cluster, end those of earlier runs, and return the run's token."""
    end_permits(root, place)
    token = secrets.token_hex(8)
    place.write(root / FOLDER / RUN, token.encode())
    return token


def end_permits(root: Path, place: Storage = LOCAL) -> None:
    """End all permits: no attempt at any task may add files."""
    place.clear(root / FOLDER)


def withdraw_permits(root: Path, place: Storage = LOCAL) -> None:
    """End the permits of all tasks, at the end of a stage. The run's token stays."""
    for path in place.paths(root / FOLDER, ""):
        if path.name.startswith(TASK):
            place.remove(path)


def run_of(root: Path, place: Storage = LOCAL) -> str:
    """Token of the run under way; empty if there is none."""
    return _read(place, root / FOLDER / RUN)


def process_name() -> str:
    """Host and process id, to be shown to people."""
    return f"{platform.node()} (process {os.getpid()})"


@contextmanager
def hold_permit(root: Path, run: str, task: str, place: Storage = LOCAL) -> Iterator[bool]:
    """Hold the permit of a task; yields whether an earlier attempt never returned it.

    Publishing a file inside raises PermitError once the permit has ended or belongs to another attempt.

    ``run`` is the token of the task's run. Raises PermitError when that run is over.
    """
    if run_of(root, place) != run:
        raise PermitError(f"the run that the task {task} is of is over")
    path, token = root / FOLDER / f"{TASK}{task}", f"{secrets.token_hex(8)} {process_name()}"
    is_repetition = place.stat(path) is not None
    place.write(path, token.encode())

    def check() -> None:
        if _read(place, path) != token:
            raise PermitError(f"another worker has taken over the task {task}, or the run is over")

    try:
        with atomic_files.checked_first(check):
            yield is_repetition
    finally:
        if _read(place, path) == token:
            place.remove(path)


def _read(place: Storage, path: Path) -> str:
    """Content of a file; empty if it does not exist. Opens it without a stat: network file systems cache names."""
    try:
        return (place.read(path) or b"").decode()
    except OSError:
        return ""
