"""Where the files of a store are, and how they come and go: in a folder of this machine, or elsewhere.

Everything that belongs to a store is known by a path below the store's folder. In a folder of this machine that is
where the file is. Of an object store (``flows.objects``) it is what an object is known by; to be read it is copied to
a working folder, or read in pieces.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from flows.files import TMP, publish, write_atomically

Result = TypeVar("Result")

SCHEMES = ("s3", "gs", "az", "abfs", "abfss")
"""Of URLs of object stores."""


@dataclass(frozen=True)
class Seen:
    """A file as it is now; one that has been replaced since is seen as another."""

    path: Path
    size: int
    written_ns: int
    """When it was written, by the clock of where it is."""
    version: str = ""
    """Of an object: changes with its content."""
    inode: int = 0


class Place:
    """A folder of this machine."""

    def address(self, root: Path) -> str:
        """By what another process opens the store, wherever it is."""
        return str(root.absolute())

    def told(self, path: Path) -> str:
        """By what people know a file."""
        return str(path)

    def holds_something(self, folder: Path) -> bool:
        """Whether there is something in a folder, but for hidden files and what is still being written."""
        return folder.is_dir() and any(
            not entry.name.startswith(".") and not entry.name.endswith(TMP) for entry in folder.iterdir()
        )

    def paths(self, folder: Path, suffix: str = ".parquet") -> list[Path]:
        """The files of a folder that are visible, by name."""
        return sorted(folder.glob(f"*{suffix}"))

    def seen(self, folder: Path, suffix: str = ".parquet") -> list[Seen]:
        """The same, each as it is now."""
        return [found for path in self.paths(folder, suffix) for found in [self.look(path)] if found is not None]

    def look(self, path: Path) -> Seen | None:
        """A file as it is now, None when there is none."""
        try:
            found = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Seen(path, found.st_size, found.st_mtime_ns, inode=found.st_ino)

    def below(self, root: Path, suffix: str = ".parquet") -> list[Seen]:
        """The files of all folders of a store, as they are now, by name."""
        found = (self.look(path) for path in sorted(root.glob(f"*/*{suffix}")))
        return [one for one in found if one is not None]

    def here(self, paths: Iterable[Path]) -> list[Path]:
        """Where these files can be read as a whole, in their order."""
        return list(paths)

    def known(self, found: str | Path) -> Path:
        """By what the store knows a file that ``here`` gave."""
        return Path(found)

    def pieces(self, seen: Seen) -> Any:
        """From where a file is read of which only a part may be wanted, as pyarrow takes it."""
        return seen.path

    def each(self, function: Callable[[Seen], Result], files: Iterable[Seen]) -> list[Result]:
        """What a function that reads some of a file gives for each, in their order."""
        return list(map(function, files))

    def read(self, path: Path) -> bytes | None:
        """The content of a small file, None when there is none."""
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def contents(self, folder: Path, suffix: str) -> Iterator[tuple[Path, bytes]]:
        """The small files of a folder, by name."""
        for path in self.paths(folder, suffix):
            yield path, path.read_bytes()

    def write(self, path: Path, content: bytes) -> None:
        """Write a small file so that it is there whole or not at all."""
        write_atomically(path, content)

    def publish(self, tmp: Path, path: Path) -> None:
        """Give a finished temporary file its name; it becomes visible as a whole."""
        publish(tmp, path)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

    def clear(self, folder: Path) -> None:
        """Remove a folder of small files, if it is there."""
        shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def claimed(self, what: str) -> Iterator[None]:
        """Be the one machine that writes, as the command ``what``; the folder is locked on this one.

        Raises StoreProblem when another does.
        """
        yield

    def claimant(self) -> str | None:
        """The command that writes, and on which machine; None where none does, or where only this one can."""
        return None

    def sweep(self, root: Path) -> None:
        """Remove what a killed command left unfinished; only the holder of the store's lock may."""
        discard(*root.glob(f"**/*{TMP}"), *root.glob(f".*{TMP}.*"))

    def kept(self, root: Path) -> list[Path]:
        """The Parquet files of a store that are on this machine, by name."""
        return sorted(root.glob("*/*.parquet"))


def discard(*unfinished: Path) -> None:
    """Remove what a killed command left unfinished."""
    for tmp in unfinished:
        if tmp.is_dir():
            shutil.rmtree(tmp)  # what a load had to put on disk
        else:
            tmp.unlink(missing_ok=True)


URL = ".url"
"""In the working folder of an object store: its URL."""


def told(path: Path) -> str:
    """By what people know a file of a store, which may be a copy in a working folder."""
    for root in (path, path.parent, *path.parents[2:3]):
        if (root / URL).is_file():
            below = path.relative_to(root).parts
            return "/".join([(root / URL).read_text(), *(below[2:] if len(below) > 2 else below)])
    return str(path)


HERE = Place()
"""The folders of this machine."""
