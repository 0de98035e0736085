"""Files that take long to make, hold nothing of anybody's sessions, and are kept for the user's other runs."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from flows.support.atomic_files import OWNERS_FILE, make_folder

MOST_KEYS = 4
"""Files of a name that are kept: as many versions of this package take turns on one machine."""


def cache_folder() -> Path:
    """The folder of cached files: ``compaction-eval`` in the user's folder for caches."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "compaction-eval"


def kept(name: str, key: str, make: Callable[[], bytes]) -> bytes:
    """Return the file of this name and key if it is whole, else the content that ``make`` gives.

    A new file takes the place of the oldest of the name with other keys. Where none can be read or written, it is made.
    """
    with suppress(OSError, RuntimeError):  # the latter: the user has no home
        found = (cache_folder() / f"{name}-{key}").read_bytes()
        if _sealed(found[_SEAL:]) == found:
            return found[_SEAL:]
    content = make()
    with suppress(OSError, RuntimeError):
        _keep(name, key, _sealed(content))
    return content


_SEAL = hashlib.sha256().digest_size


def _sealed(content: bytes) -> bytes:
    return hashlib.sha256(content).digest() + content


def _keep(name: str, key: str, content: bytes) -> None:
    folder = cache_folder()
    make_folder(folder)
    # Drafts with them: whose one is makes it again, or has been killed.
    earlier = sorted(folder.glob(f"{name}[.-]*"), key=lambda path: path.stat().st_mtime_ns)
    for oldest in earlier[: 1 - MOST_KEYS]:
        oldest.unlink(missing_ok=True)
    draft = folder / f"{name}.{secrets.token_hex(6)}.tmp"
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS_FILE), "wb") as file:
        file.write(content)
    draft.replace(folder / f"{name}-{key}")
