"""How a file becomes visible: whole, or not at all. And to whom: to its owner alone.

What is written tells what was said in sessions. So the command sets its umask when it starts, and whoever writes to a
store has a umask by the store's folder (``made_for``), which the processes that it starts take over. That is the one
way that also holds for what DuckDB and SQLite put beside their files.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TMP = ".tmp"

OWNERS_FILE = 0o600
OWNERS_FOLDER = 0o700
OWNERS_UMASK = 0o077

_checks: list[Callable[[], None]] = []


def umask_for(folder: Path) -> int:
    """The umask with which something is made in a store's folder: for its owner alone.

    A folder with the setgid bit has been made to be shared with its group, which has in it what it has of the folder.
    """
    mode = folder.stat().st_mode
    return OWNERS_UMASK & ~(mode & stat.S_IRWXG if mode & stat.S_ISGID else 0)


@contextmanager
def made_for(folder: Path) -> Iterator[None]:
    """Have that umask, in this process and in those that it starts."""
    before = os.umask(umask_for(folder))
    try:
        yield
    finally:
        os.umask(before)


def make_folder(path: Path) -> None:
    """Make a folder for its owner alone, and those above it that are missing; one that is there stays as it is."""
    if not path.parent.exists():
        make_folder(path.parent)
    path.mkdir(mode=OWNERS_FOLDER, exist_ok=True)


@contextmanager
def checked_first(check: Callable[[], None]) -> Iterator[None]:
    """Call this before a file of this process becomes visible; what it raises keeps the file from it."""
    _checks.append(check)
    try:
        yield
    finally:
        _checks.remove(check)


def check_first() -> None:
    """Raise what keeps a file of this process from becoming visible, if anything does."""
    for check in _checks:
        check()


def temporary(path: Path) -> Path:
    """A name beside a file under which nobody else writes, on whichever machine."""
    return path.with_name(f"{path.name}.{secrets.token_hex(6)}{TMP}")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a small file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = temporary(path)
    with tmp.open("wb") as file:
        file.write(content)
    publish(tmp, path)


def write_output(path: Path, content: bytes) -> None:
    """The same for a file that a user has named; one that it replaces may have been opened to others, and stays so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = temporary(path)
    tmp.write_bytes(content)
    keep_mode(tmp, path)
    publish(tmp, path)


def keep_mode(tmp: Path, path: Path) -> None:
    """Give a finished temporary file the mode of the one that it will replace, if there is one."""
    with suppress(FileNotFoundError):
        tmp.chmod(stat.S_IMODE(path.stat().st_mode))


def publish(tmp: Path, path: Path) -> None:
    """Sync a finished temporary file and give it its name."""
    check_first()
    with tmp.open("rb") as file:
        os.fsync(file.fileno())
    tmp.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
