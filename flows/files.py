"""How a file becomes visible: whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TMP = ".tmp"

OWNERS_FILE = 0o600
OWNERS_FOLDER = 0o700
OWNERS_UMASK = 0o077
"""What is written tells what was said in sessions: it is for its owner alone, whatever the umask."""

_checks: list[Callable[[], None]] = []


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
