"""An input, and what was read from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from compaction.transcript import Transcript
from flows.sources.reading.account import Account

HEAD_RECORDS = 25
"""Records that a format may look at to recognise a file; agents open a log with at most a few lines of bookkeeping."""
EXCERPT = 200
"""Characters that are shown of what could not be read."""
HEAD_BYTES = 16_384
"""Bytes of a text file that a format may look at."""
_NOT_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class SourceError(ValueError):
    """A source that leads to no file at all: a typing error, an empty folder, a glob without a match."""


@dataclass(frozen=True)
class Input:
    """One thing to read: a file, or a folder whose files are the events of one session."""

    path: Path
    kind: Literal["file", "folder"]
    size: int
    """Bytes on disk; of a folder the sum over its event files."""
    mtime_ns: int
    """Nanoseconds since the epoch; of a folder the latest of its event files."""
    only: str | None = None
    """The one session to read of a file with all of an agent's: its id, or nothing for the newest. None: all."""

    @property
    def label(self) -> str:
        """The path as text, for messages and for the store."""
        return path_text(self.path)


@dataclass(frozen=True)
class SetAside:
    """Something that could not be read, for the quarantine."""

    path: str
    line: int | None
    reason: str
    excerpt: str
    """The beginning of it; the quarantine keeps ``EXCERPT`` characters, cut when secrets in it have been masked."""


@dataclass(frozen=True)
class ReadResult:
    """All that one input held."""

    format: str | None
    """Name of the format; None when no format recognised the input."""
    transcripts: tuple[Transcript, ...]
    set_aside: tuple[SetAside, ...]
    account: Account = field(default_factory=Account)


def plain_name(name: str) -> str:
    """A file name in lower case, without ``.gz`` or ``.zst``."""
    name = name.lower()
    return name.removesuffix(".gz").removesuffix(".zst")


def path_text(path: Path | str) -> str:
    """A path as text that can be stored and shown: control characters and bytes that are no UTF-8 as hex escapes."""
    return _NOT_SHOWN.sub(lambda found: f"\\x{ord(found.group()) & 0xFF:02x}", str(path))
