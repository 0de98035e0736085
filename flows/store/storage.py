"""Storage of a store's files: listing, reading, writing and removing them, in a local folder or an object store.

The store names every file by a path below its root folder. For a local folder this is the real path of the file. For
an object store (``flows.store.object_storage``) it stands for an object; to read it, the object is copied to a
working folder or read in ranges.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from flows.support.atomic_files import TMP, publish, write_atomically

Result = TypeVar("Result")

SCHEMES = ("s3", "gs", "az", "abfs", "abfss")
"""URL schemes of object stores."""


@dataclass(frozen=True)
class FileInfo:
    """Name, size and version of a file at one moment. A file that was replaced has a different ``FileInfo``."""

    path: Path
    size: int
    written_ns: int
    """Time of the last write in nanoseconds, by the clock of the storage."""
    version: str = ""
    """Version of an object (its ETag): changes with the content. Empty for a local file."""
    inode: int = 0


class Storage:
    """A folder of this machine."""

    def address(self, root: Path) -> str:
        """The address of the store for other processes."""
        return str(root.absolute())

    def display_name(self, path: Path) -> str:
        """Path or URL of a file, to be shown to people."""
        return str(path)

    def holds_something(self, folder: Path) -> bool:
        """Whether a folder has any entry. Hidden files and unfinished temporary files do not count."""
        return folder.is_dir() and any(
            not entry.name.startswith(".") and not entry.name.endswith(TMP) for entry in folder.iterdir()
        )

    def paths(self, folder: Path, suffix: str = ".parquet") -> list[Path]:
        """The visible files of a folder with this suffix, sorted by name."""
        return sorted(folder.glob(f"*{suffix}"))

    def list_files(self, folder: Path, suffix: str = ".parquet") -> list[FileInfo]:
        """List the files of a folder as ``FileInfo``."""
        return [found for path in self.paths(folder, suffix) for found in [self.stat(path)] if found is not None]

    def stat(self, path: Path) -> FileInfo | None:
        """The ``FileInfo`` of a file; None if it does not exist."""
        try:
            found = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileInfo(path, found.st_size, found.st_mtime_ns, inode=found.st_ino)

    def list_all_files(self, root: Path, suffix: str = ".parquet") -> list[FileInfo]:
        """``FileInfo`` of the files in all folders of a store, sorted by name."""
        found = (self.stat(path) for path in sorted(root.glob(f"*/*{suffix}")))
        return [one for one in found if one is not None]

    def local_paths(self, paths: Iterable[Path]) -> list[Path]:
        """Local paths at which these files can be read whole, in the given order. Fetches what is missing."""
        return list(paths)

    def store_path(self, found: str | Path) -> Path:
        """The store's path of a file, from the local path at which it is read."""
        return Path(found)

    def open(self, seen: FileInfo) -> Any:
        """A source for pyarrow to read parts of a file from: a local path, or a file object that reads ranges."""
        return seen.path

    def each(self, function: Callable[[FileInfo], Result], files: Iterable[FileInfo]) -> list[Result]:
        """Apply a function that reads a part of a file to each file; the results in the same order."""
        return list(map(function, files))

    def read(self, path: Path) -> bytes | None:
        """The content of a small file; None if it does not exist."""
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def contents(self, folder: Path, suffix: str) -> Iterator[tuple[Path, bytes]]:
        """Path and content of the small files in a folder, sorted by name."""
        for path in self.paths(folder, suffix):
            yield path, path.read_bytes()

    def write(self, path: Path, content: bytes) -> None:
        """Write a small file atomically: readers see all of it or none."""
        write_atomically(path, content)

    def publish(self, tmp: Path, path: Path) -> None:
        """Move a finished temporary file to its final path, atomically."""
        publish(tmp, path)

    def remove(self, path: Path) -> None:
        """Remove a file if it exists."""
        path.unlink(missing_ok=True)

    def clear(self, folder: Path) -> None:
        """Remove a folder of small files if it exists."""
        shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def claim(self, what: str) -> Iterator[None]:
        """Hold the store as the only machine that writes, for the command ``what``. The caller holds the local lock.

        Raises StoreError when another machine holds it.
        """
        yield

    def claimant(self) -> str | None:
        """The command that holds the store, with its machine; None if none does, or if only this machine can write."""
        return None

    def sweep(self, root: Path) -> None:
        """Remove unfinished files of a killed command. The caller must hold the store's lock."""
        remove_unfinished(*root.glob(f"**/*{TMP}"), *root.glob(f".*{TMP}.*"))

    def cached(self, root: Path) -> list[Path]:
        """The Parquet files of a store on this machine (cached copies, for an object store), sorted by name."""
        return sorted(root.glob("*/*.parquet"))


def remove_unfinished(*unfinished: Path) -> None:
    """Remove unfinished files and folders of a killed command."""
    for tmp in unfinished:
        if tmp.is_dir() and not tmp.is_symlink():
            shutil.rmtree(tmp)  # what a load had to put on disk
        else:
            tmp.unlink(missing_ok=True)


URL = ".url"
"""File in the working folder of an object store that holds the URL."""


def display_name(path: Path) -> str:
    """Path or URL of a store's file, to be shown to people. Maps a copy in a working folder to its URL."""
    for root in (path, path.parent, *path.parents[2:3]):
        if (root / URL).is_file():
            below = path.relative_to(root).parts
            return "/".join([(root / URL).read_text(), *(below[2:] if len(below) > 2 else below)])
    return str(path)


LOCAL = Storage()
"""Storage in folders of this machine."""
