"""Opening an input: a file, whatever it holds, or a folder of event files."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from flows.sources.reading import decode, unpacking
from flows.sources.reading.base import Source
from flows.sources.reading.database import MAGIC, Database
from flows.sources.reading.inputs import Input, path_text, plain_name
from flows.sources.reading.table import MAGIC as PARQUET
from flows.sources.reading.table import Table

_TEXT_SUFFIXES = (".md", ".markdown", ".txt")


def open_source(input: Input, is_member: Callable[[str, str], bool], most: int = unpacking.MOST_UNPACKED) -> Source:
    """Opens an input and finds its shape: JSON value or lines, text, archive, database, Parquet, or folder of events.

    What cannot be opened at all is set aside; the source is then empty.

    Args:
        input: What to open.
        is_member: Says of a folder's and a file's name whether the file is an event.
        most: Bytes that a packed file may unpack to.
    """
    source = Source(input, path_text(input.path.name))
    try:
        if input.kind == "folder":
            source.members = event_files(input.path, is_member)
            return source
        source.file, broken = unpacking.open_bytes(input.path, most)
        source._end = source.file.seek(0, os.SEEK_END)
        source.file.seek(0)
        if broken:
            source.quarantine(None, broken)
            source.is_broken = True
        _find_shape(source, source.file)
    except OSError as error:
        if error.errno == errno.ENOENT and os.path.islink(input.path):
            error.strerror = "a link to a file that is not there"
        source.failed("cannot be opened", error)
        source.close()
        source.file = None
    return source


def _find_shape(source: Source, file: BinaryIO) -> None:
    start = file.read(len(MAGIC))
    if start[:4] == b"PK\x03\x04":
        source.is_zip = True
        return
    if start == MAGIC:
        _find_database(source, file)
        return
    if start[:4] == PARQUET:
        source.table = Table(file)
        return
    if plain_name(source.name).endswith(_TEXT_SUFFIXES):
        source.is_text = True
        return
    shape = decode.find_shape(file)
    source.document, source.is_text, source.problem = shape.document, shape.is_text, shape.problem
    if shape.is_empty:
        if not source.is_broken:
            source.quarantine(None, "empty file")
        source._end = 0


def _find_database(source: Source, file: BinaryIO) -> None:
    """SQLite opens the file itself. Ours is closed before: closing one drops the locks that a process has on a file."""
    if isinstance(file, BufferedReader):
        source.database = Database(source.input.path)
    else:
        source.quarantine(None, "a packed database: unpack it first")
    file.close()
    source.file = None


def event_files(folder: Path, is_member: Callable[[str, str], bool]) -> list[Path]:
    """The event files of a folder by their number, then by name."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if is_member(folder.name, entry.name) and entry.is_file()]
    return [folder / name for name in sorted(names, key=lambda name: (event_number(name), name))]


def event_number(name: str) -> int:
    """The first number in a file name, 0 when it has none."""
    found = re.search(r"\d{1,18}", name)
    return int(found.group()) if found else 0
