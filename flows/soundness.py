"""What other programs, disks and people do to a store's files: found, named, with what to do.

The program itself never leaves a half-written file under its final name (``flows.store``). One that is there all the
same came from outside, and is never removed or changed: somebody may want to look at it, or has a copy that is whole.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from flows.places import HERE, Place
from flows.problems import StoreProblem

_MAGIC = b"PAR1"
_OF_ARROW = "reading the stream registered as"
"""In DuckDB's words for what went wrong in the Arrow data that it reads."""
_LEAST_BYTES = 12
"""Of a Parquet file: the mark at both ends, and the length of the footer."""
_DISK = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file has become larger than is allowed here",
    errno.EROFS: "the disk is mounted read-only",
    errno.EACCES: "permission is missing",
    errno.EPERM: "permission is missing",
    errno.EIO: "the disk reports an error",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
}
"""Number of an operating system's error → what it means for a store."""


def damaged(path: Path | str, consequence: str) -> StoreProblem:
    """That a file of the store cannot be read, which nothing but another program or the disk can have done."""
    return StoreProblem(f"{path} is damaged; put a whole copy of it back, or move it away and run again: {consequence}")


def check_parquet(root: Path) -> None:
    """Look at both ends of every Parquet file of a store. Raises StoreProblem that names those which are not whole."""
    broken = [path for path in sorted(root.glob("*/*.parquet")) if not _is_whole(path)]
    if broken:
        others = f" (and {len(broken) - 1:,} more)" if len(broken) > 1 else ""
        raise StoreProblem(
            f"{broken[0]}{others} is not a whole Parquet file: another program has written it, or the disk has lost "
            f"something; {_advice(broken[0])}"
        )


@contextmanager
def named_damage(root: Path, place: Place = HERE) -> Iterator[None]:
    """Find the file when something in the middle of one could not be read, which Arrow's errors do not always name.

    Raises StoreProblem in the place of the error where there is such a file.
    """
    try:
        yield
    except (pa.ArrowException, OSError, StoreProblem) as error:
        if isinstance(error, StoreProblem) and _OF_ARROW not in str(error):
            raise
        if disk_trouble(error) is None:
            for path in place.kept(root):
                if not _is_readable(path):
                    copied = "" if place is HERE else f"; first of all remove its copy {path} and run again"
                    raise StoreProblem(
                        f"{place.told(path)} is damaged: the disk has lost something, or another program has written "
                        f"to it; {_advice(path)}{copied}"
                    ) from error
        raise


def disk_trouble(error: BaseException) -> str | None:
    """What is wrong with the disk, where an error comes from that; pyarrow and DuckDB have it in their text only."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (found := re.search(r"\[errno (\d+)\]", str(error), re.IGNORECASE)):
        number = int(found.group(1))
    if number is None:
        number = next((code for code in _DISK if os.strerror(code).lower() in str(error).lower()), None)
    return None if number is None else _DISK.get(number)


def _advice(path: Path) -> str:
    if path.parent.name.startswith("label"):
        return "put a whole copy of it back, or move it away: what people have labelled in it is lost"
    return "put a whole copy of it back, or move it away and run again: what it held is then made anew"


def _is_readable(path: Path) -> bool:
    """Whether every row can be read, a row group at a time."""
    try:
        with pq.ParquetFile(path) as file:
            for index in range(file.num_row_groups):
                file.read_row_group(index)
    except (pa.ArrowException, OSError):
        return False
    return True


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if size < _LEAST_BYTES:
                return False
            file.seek(0)
            begins = file.read(4) == _MAGIC
            file.seek(-8, os.SEEK_END)
            end = file.read(8)
    except OSError:
        return False
    return begins and end[4:] == _MAGIC and int.from_bytes(end[:4], "little") <= size - _LEAST_BYTES
