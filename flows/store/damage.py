"""Damaged files of a store: finding them, and error messages that name the file and what to do.

The program itself never leaves a half-written file under its final name (``flows.store.store``). So damage comes from
another program, a disk or a person. A damaged file is never removed or changed: somebody may want to look at it, or
may have an undamaged copy.
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

from flows.store.storage import LOCAL, Storage
from flows.support.errors import StoreError

_MAGIC = b"PAR1"
_OF_ARROW = "reading the stream registered as"
"""Part of DuckDB's message for an error in Arrow data that it reads."""
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


def damage_error(path: Path | str, consequence: str) -> StoreError:
    """The error for a file that cannot be read; ``consequence`` says what is lost if it is moved away."""
    return StoreError(f"{path} is damaged; put a whole copy of it back, or move it away and run again: {consequence}")


def check_parquet(root: Path) -> None:
    """Check the first and last bytes of every Parquet file of a store. Raises StoreError naming an incomplete one."""
    broken = [path for path in sorted(root.glob("*/*.parquet")) if not _is_whole(path)]
    if broken:
        others = f" (and {len(broken) - 1:,} more)" if len(broken) > 1 else ""
        raise StoreError(
            f"{broken[0]}{others} is not a whole Parquet file: another program has written it, or the disk has lost "
            f"something; {_advice(broken[0])}"
        )


@contextmanager
def name_damaged_file(root: Path, place: Storage = LOCAL) -> Iterator[None]:
    """Find the damaged file when a read inside fails; Arrow's errors do not always name it.

    Raises StoreError instead of the error if such a file is found.
    """
    try:
        yield
    except (pa.ArrowException, OSError, StoreError) as error:
        if isinstance(error, StoreError) and _OF_ARROW not in str(error):
            raise
        if disk_trouble(error) is None:
            for path in place.cached(root):
                if not _is_readable(path):
                    copied = "" if place is LOCAL else f"; first of all remove its copy {path} and run again"
                    raise StoreError(
                        f"{place.display_name(path)} is damaged: the disk has lost something, or another program "
                        f"has written to it; {_advice(path)}{copied}"
                    ) from error
        raise


def disk_trouble(error: BaseException) -> str | None:
    """Describe the disk's fault, if an error comes from it; else None.

    pyarrow and DuckDB have the system's error only in their message.
    """
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
    """Whether every row group can be read."""
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
