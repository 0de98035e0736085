"""Permits: which try of a task may still add files to the store.

A cluster that loses sight of a worker has its task done again elsewhere, and cannot know whether the worker is dead or
only cut off. So each try takes the task's permit first, which ends the permit of a try before it, and the run takes
the permits back when the stage is over. Before a file becomes visible, the try looks whether it still has the permit.
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows import files
from flows.problems import Problem

FOLDER = ".permits"
RUN = "run"
"""The file with the run's own token, by which a worker sees that its store is the run's."""


class PermitProblem(Problem):
    """This try of a task has been given up: another one has begun, or the stage is over."""


def open_permits(root: Path) -> str:
    """Begin a run whose workers are elsewhere; its token. Permits of a run before it end."""
    end_permits(root)
    token = secrets.token_hex(8)
    files.write_atomically(root / FOLDER / RUN, token.encode())
    return token


def end_permits(root: Path) -> None:
    """No try of any task may add files any more."""
    shutil.rmtree(root / FOLDER, ignore_errors=True)


def withdraw(root: Path) -> None:
    """Take back the permits that are out, as a stage is over."""
    for path in (root / FOLDER).glob("task-*"):
        path.unlink(missing_ok=True)


def whereabouts() -> str:
    """This process, for people."""
    return f"{platform.node()} (process {os.getpid()})"


@contextmanager
def permitted(root: Path, run: str, task: str) -> Iterator[bool]:
    """Hold the permit of a task; whether a try before this one never gave it back.

    Files that are published inside are refused with PermitProblem once the permit is another's, or nobody's.

    ``run`` is the token of the run that the task is of. Raises PermitProblem when that is over.
    """
    if _read(root / FOLDER / RUN) != run:
        raise PermitProblem(f"the run that the task {task} is of is over")
    path, token = root / FOLDER / f"task-{task}", f"{secrets.token_hex(8)} {whereabouts()}"
    is_repetition = path.exists()
    files.write_atomically(path, token.encode())

    def check() -> None:
        if _read(path) != token:
            raise PermitProblem(f"another worker has taken over the task {task}, or the run is over")

    try:
        with files.checked_first(check):
            yield is_repetition
    finally:
        if _read(path) == token:
            path.unlink(missing_ok=True)


def _read(path: Path) -> str:
    """Content of a file, blank without one. It is opened, not looked for: network file systems remember names."""
    try:
        return path.read_text()
    except OSError:
        return ""
