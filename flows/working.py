"""The folder of this machine in which the work on a store in an object store is done.

It has copies of objects, by their version, so that one which has been replaced is not taken for the new one. Whoever
has an old copy open goes on with it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from flows.files import make_folder, temporary
from flows.places import URL, Seen

WORK_VARIABLE = "COMPACTION_EVAL_WORK"
"""Names the folder of the working folders; without it ``compaction-eval`` in the user's cache folder."""
ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
"""Variables that name another server than the provider's: two of them are two stores, whatever the URL."""
COPIES = "copies"
PRUNED = ".pruned"
"""A file that was touched when the copies were last looked through."""
KEPT = 3_600.0
"""Seconds that a copy is kept at least: a reader may be about to open one that has just been replaced."""
A_DAY = 86_400.0
"""Seconds after which copies are looked through on a machine that only reads, or only works for others."""


class WorkingFolder:
    """The working folder of a store."""

    def __init__(self, root: Path, url: str) -> None:
        self.root = root
        make_folder(root)
        if not (root / URL).exists():
            (root / PRUNED).touch()
            _keep(root / URL, url.encode())

    @property
    def id(self) -> str:
        """Tells it from others: who holds its lock knows that an earlier writer of it is gone."""
        path = self.root / ".id"
        if not path.exists():
            path.write_text(os.urandom(8).hex())
        return path.read_text()

    def copy(self, seen: Seen) -> Path:
        """Where the copy of an object is, or would be."""
        version = hashlib.sha256(seen.version.encode()).hexdigest()[:16]
        return self.root / COPIES / version / seen.path.relative_to(self.root)

    def known(self, path: Path) -> Path:
        """By what the store knows the object that a copy is of."""
        copies = self.root / COPIES
        return self.root.joinpath(*path.relative_to(copies).parts[1:]) if path.is_relative_to(copies) else path

    def keep(self, seen: Seen, content: bytes) -> None:
        """Have the copy of an object that has just been sent: whoever lists the folder next needs not fetch it."""
        _keep(self.copy(seen), content)

    def take(self, seen: Seen, tmp: Path) -> None:
        """The same, of a file."""
        copy = self.copy(seen)
        copy.parent.mkdir(parents=True, exist_ok=True)
        tmp.replace(copy)

    def all_copies(self) -> list[Path]:
        """Copies of Parquet files, by name."""
        return sorted((self.root / COPIES).glob("*/*/*.parquet"))

    @property
    def is_due(self) -> bool:
        """Whether its copies have not been looked through for long."""
        return age((self.root / PRUNED).stat().st_mtime_ns) > A_DAY

    def prune(self, found: Iterable[Seen]) -> None:
        """Remove copies of what is not in the store any more, which now has these objects; young ones stay."""
        (self.root / PRUNED).touch()
        live = {self.copy(seen): seen.size for seen in found}
        copies = self.root / COPIES
        for copy in copies.glob("*/**/*"):
            with suppress(FileNotFoundError):  # of another process that has finished it, or removed it too
                stat = copy.stat()
                if copy.is_file() and live.get(copy) != stat.st_size and age(stat.st_mtime_ns) > KEPT:
                    copy.unlink()
        for folder in copies.glob("*"):
            if not any(path.is_file() for path in folder.rglob("*")):
                shutil.rmtree(folder, ignore_errors=True)


def folder_of(url: str) -> Path:
    """The working folder of a URL."""
    given = os.environ.get(WORK_VARIABLE)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(given).expanduser() if given else Path(cache) / "compaction-eval"
    servers = [os.environ.get(name, "") for name in ENDPOINTS]
    name = re.sub(r"[^A-Za-z0-9]+", "-", url.partition("://")[2])[:40].strip("-")
    return base.absolute() / f"{name}-{hashlib.sha256(' '.join([url, *servers]).encode()).hexdigest()[:12]}"


def age(written_ns: int) -> float:
    """Seconds since something was written."""
    return time.time() - written_ns / 1e9


def _keep(path: Path, content: bytes) -> None:
    """Write a file. It can be fetched again, and so need not survive a loss of power."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = temporary(path)
    tmp.write_bytes(content)
    tmp.replace(path)
