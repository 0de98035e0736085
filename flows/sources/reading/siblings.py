"""Files that stand beside an input and belong to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.sources.reading import decode, unpacking
from flows.sources.reading.base import Source

_PACKED = ("", ".gz", ".zst")


def sibling_path(source: Source, name: Any) -> Path | None:
    """The file of this name in the input's folder, packed or not; None for any other path and for links."""
    if not isinstance(name, str) or not name or "\0" in name or "\\" in name or Path(name).name != name:
        return None
    try:
        for ending in _PACKED:
            path = source.input.path.parent / f"{name}{ending}"
            if path.is_file() and not path.is_symlink():
                return path
    except OSError:  # a name that is too long
        pass
    return None


def load_sibling(path: Path) -> Any:
    """The one JSON value of a file; None when it cannot be read or is something else."""
    try:
        values, reason, _ = decode.load_values(path, at_most=1)
    except OSError:
        return None
    return values[0] if values and not reason else None


def load_first(path: Path) -> Any:
    """The JSON value on the first line of a file; None when it cannot be read."""
    try:
        file, _ = unpacking.open_bytes(path)
        with file:
            line = decode.read_line(file, unpacking.LONGEST_VALUE)
    except OSError:
        return None
    values = decode.loads_line(line)[0] if isinstance(line, bytes) else []
    return values[0] if values else None
