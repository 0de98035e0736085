"""Atomic writing of files, readable by their owner alone.

Files hold the content of sessions. So the command sets its umask when it starts, and a writer to a store uses a umask
that depends on the store's folder (``folder_umask``); child processes inherit it. A umask also covers the files that
DuckDB and SQLite make beside their own.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

TMP = ".tmp"

OWNERS_FILE = 0o600
OWNERS_FOLDER = 0o700
OWNERS_UMASK = 0o077

_checks: list[Callable[[], None]] = []
"""Checks before a file is published: a process of a cluster holds one permit at a time, for all that it writes."""


def umask_for(folder: Path) -> int:
    """The umask for new files in a store's folder: access for the owner alone.

    A folder with the setgid bit is shared: its group gets the access that it has to the folder itself.
    """
    mode = folder.stat().st_mode
    return OWNERS_UMASK & ~(mode & stat.S_IRWXG if mode & stat.S_ISGID else 0)


@contextmanager
def folder_umask(folder: Path) -> Iterator[None]:
    """Set the umask of ``umask_for(folder)`` for a while, in this process and its child processes."""
    before = os.umask(umask_for(folder))
    try:
        yield
    finally:
        os.umask(before)


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents, for their owner alone. An existing folder stays as it is."""
    if not path.parent.exists():
        make_folder(path.parent)
    path.mkdir(mode=OWNERS_FOLDER, exist_ok=True)


def refuse_planted(path: Path) -> None:
    """Raise OSError for a link or anything but an ordinary file under a name that is written in place.

    Whoever may write to the folder could have put it there, to have a file of this user's written over.
    """
    with suppress(FileNotFoundError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise OSError(errno.ELOOP, f"{path} is a link or no ordinary file; see who put it there, and remove it")


def open_in_place(path: Path) -> TextIO:
    """Open a file to read it and add to it; it is made if it does not exist. Raises OSError as ``refuse_planted``."""
    refuse_planted(path)
    unfollowed = os.O_NOFOLLOW | os.O_NONBLOCK  # it may be planted just now
    return open(path, "a+", encoding="utf-8", opener=lambda name, flags: os.open(name, flags | unfollowed, 0o666))


@contextmanager
def checked_first(check: Callable[[], None]) -> Iterator[None]:
    """Call ``check`` before each file of this process is published; an exception from it stops the publishing."""
    _checks.append(check)
    try:
        yield
    finally:
        _checks.remove(check)


def check_first() -> None:
    """Run the checks of ``checked_first``; raises what they raise."""
    for check in _checks:
        check()


def temporary_path(path: Path) -> Path:
    """A unique temporary path beside a file."""
    return path.with_name(f"{path.name}.{secrets.token_hex(6)}{TMP}")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a small file atomically: readers see all of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = temporary_path(path)
    with tmp.open("wb") as file:
        file.write(content)
    publish(tmp, path)


def write_output(path: Path, content: bytes) -> None:
    """Write a file that a user named, atomically. A file that it replaces keeps its access mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = temporary_path(path)
    tmp.write_bytes(content)
    keep_mode(tmp, path)
    publish(tmp, path)


def keep_mode(tmp: Path, path: Path) -> None:
    """Give a temporary file the access mode of the file that it will replace, if there is one."""
    with suppress(FileNotFoundError):
        tmp.chmod(stat.S_IMODE(path.stat().st_mode))


def publish(tmp: Path, path: Path) -> None:
    """Sync a finished temporary file to disk and rename it to its final path."""
    check_first()
    with tmp.open("rb") as file:
        os.fsync(file.fileno())
    tmp.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
