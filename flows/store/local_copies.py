"""The working folder on this machine for a store in an object store.

It holds copies of objects, by version, so that an old copy is never taken for the new object. A process that has an
old copy open can go on reading it.
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

from flows.store.storage import URL, FileInfo
from flows.support.atomic_files import make_folder, temporary_path

WORK_VARIABLE = "COMPACTION_EVAL_WORK"
"""Names the folder of the working folders; without it ``compaction-eval`` in the user's cache folder."""
ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
"""Variables that name another server than the provider's: two of them are two stores, whatever the URL."""
COPIES = "copies"
PRUNED = ".pruned"
"""A file that was written when the copies were last looked through."""
KEPT = 3_600.0
"""Least seconds for which a copy is kept: a reader may be about to open one that was just replaced."""
A_DAY = 86_400.0
"""Seconds between two prunings on a machine that only reads, or only works for others."""


class WorkingFolder:
    """The working folder of a store."""

    def __init__(self, root: Path, url: str) -> None:
        self.root = root
        make_folder(root)
        if not (root / URL).exists():
            _write_copy(root / PRUNED, b"")
            _write_copy(root / URL, url.encode())

    @property
    def id(self) -> str:
        """Random id of this folder. The holder of its lock knows that an earlier writer with this id is gone."""
        path = self.root / ".id"
        if not path.exists():
            _write_copy(path, os.urandom(8).hex().encode())
        return path.read_text()

    def copy(self, seen: FileInfo) -> Path:
        """Path of the copy of an object, whether or not it has been fetched."""
        version = hashlib.sha256(seen.version.encode()).hexdigest()[:16]
        return self.root / COPIES / version / seen.path.relative_to(self.root)

    def store_path(self, path: Path) -> Path:
        """The store's path of the object, from the path of its copy."""
        copies = self.root / COPIES
        return self.root.joinpath(*path.relative_to(copies).parts[1:]) if path.is_relative_to(copies) else path

    def keep(self, seen: FileInfo, content: bytes) -> None:
        """Save a copy of an object that was just uploaded, so that it need not be fetched."""
        _write_copy(self.copy(seen), content)

    def take(self, seen: FileInfo, tmp: Path) -> None:
        """Move a temporary file into the copies."""
        copy = self.copy(seen)
        copy.parent.mkdir(parents=True, exist_ok=True)
        tmp.replace(copy)

    def all_copies(self) -> list[Path]:
        """All copies of Parquet files, sorted by name."""
        return sorted((self.root / COPIES).glob("*/*/*.parquet"))

    @property
    def is_due(self) -> bool:
        """Whether the last pruning is more than ``A_DAY`` ago."""
        return age_seconds((self.root / PRUNED).stat().st_mtime_ns) > A_DAY

    def prune(self, found: Iterable[FileInfo]) -> None:
        """Remove copies of objects that are not in ``found``, the objects of the store now. Young copies stay."""
        _write_copy(self.root / PRUNED, b"")
        live = {self.copy(seen): seen.size for seen in found}
        copies = self.root / COPIES
        for copy in copies.glob("*/**/*"):
            with suppress(FileNotFoundError):  # of another process that has finished it, or removed it too
                stat = copy.stat()
                if copy.is_file() and live.get(copy) != stat.st_size and age_seconds(stat.st_mtime_ns) > KEPT:
                    copy.unlink()
        for folder in copies.glob("*"):
            if not any(path.is_file() for path in folder.rglob("*")):
                shutil.rmtree(folder, ignore_errors=True)


def working_folder(url: str) -> Path:
    """The working folder of a URL."""
    given = os.environ.get(WORK_VARIABLE)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(given).expanduser() if given else Path(cache) / "compaction-eval"
    servers = [os.environ.get(name, "") for name in ENDPOINTS]
    name = re.sub(r"[^A-Za-z0-9]+", "-", url.partition("://")[2])[:40].strip("-")
    return base.absolute() / f"{name}-{hashlib.sha256(' '.join([url, *servers]).encode()).hexdigest()[:12]}"


def age_seconds(written_ns: int) -> float:
    """Seconds since a write time in nanoseconds."""
    return time.time() - written_ns / 1e9


def _write_copy(path: Path, content: bytes) -> None:
    """Write a file. It can be fetched again, and so need not survive a loss of power."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = temporary_path(path)
    tmp.write_bytes(content)
    tmp.replace(path)
