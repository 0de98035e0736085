"""How a file becomes visible: whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

TMP = ".tmp"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a small file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.with_name(f"{path.name}.{os.getpid()}{TMP}")
    with tmp.open("wb") as file:
        file.write(content)
    publish(tmp, path)


def publish(tmp: Path, path: Path) -> None:
    """Sync a finished temporary file and give it its name."""
    with tmp.open("rb") as file:
        os.fsync(file.fileno())
    tmp.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
