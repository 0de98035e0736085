"""Reading a file that a user named: a study, a rubric, a sheet of labels."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 1_000_000
"""More than any study or rubric that somebody writes."""


def read_given(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """The content of a file that a user named.

    Raises OSError with a reason in words for what is no file (a folder, a device or a pipe, which may never end) and
    for one that is too large to be what it is given as.
    """
    try:
        found = os.stat(path)
    except ValueError:  # a NUL in the name
        raise OSError(errno.EINVAL, "no file has such a name", str(path)) from None
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, a pipe or a socket"
        raise OSError(errno.EINVAL, f"expected a file, found {what}", str(path))
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"{found.st_size:,} bytes are too many; expected at most {most:,}", str(path))
    return Path(path).read_bytes()
