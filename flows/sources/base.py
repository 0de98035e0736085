"""What every log format shares: an input, what came out of it, and the open source that a reader walks through."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from compaction.transcript import Transcript
from flows.sources import decode

Record = dict[str, Any]
HEAD_RECORDS = 25
"""Records that a format may look at to recognise a file; agents open a log with at most a few lines of bookkeeping."""
BAD_CONTENT = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RecursionError)
"""What a reader can meet in a record that is JSON but has not the shape that its format promises."""
_EXCERPT = 200


class SourceError(ValueError):
    """A source that leads to no file at all: a typing error, an empty folder, a glob without a match."""


class MalformedError(ValueError):
    """A record that is JSON but not what its format allows; the message says what was found and expected."""


@dataclass(frozen=True)
class Input:
    """One thing to read: a file, or a folder whose files are the events of one session."""

    path: Path
    kind: Literal["file", "folder"]
    size: int
    """Bytes on disk; of a folder the sum over its event files."""
    mtime_ns: int
    """Nanoseconds since the epoch; of a folder the latest of its event files."""

    @property
    def label(self) -> str:
        """The path as text, for messages."""
        return str(self.path)


@dataclass(frozen=True)
class SetAside:
    """Something that could not be read, for the quarantine."""

    path: str
    line: int | None
    reason: str
    excerpt: str
    """At most 200 characters of it."""


@dataclass(frozen=True)
class ReadResult:
    """All that one input held."""

    format: str | None
    """Name of the format; None when no format recognised the input."""
    transcripts: tuple[Transcript, ...]
    set_aside: tuple[SetAside, ...]


@dataclass(frozen=True)
class Head:
    """What a format may look at to recognise an input: its name and its first records."""

    name: str
    """File or folder name in lower case, without ``.gz`` or ``.zst``."""
    is_folder: bool
    records: tuple[Record, ...]
    """The first JSON objects: of a line each, of an event file each, or the one object that the file is."""
    document: Any = None
    """The whole value, when the file is one JSON value; else None."""


@dataclass(frozen=True)
class SourceFormat:
    """A log format: how it is recognised, and how it is read."""

    name: str
    description: str
    recognised: str
    """One sentence for people: by what the format is told from the others."""
    detect: Callable[[Head], bool]
    read: Callable[[Source], list[Transcript]]
    suffixes: tuple[str, ...] = (".jsonl", ".json", ".ndjson")
    """File names that a folder is searched for, without ``.gz`` or ``.zst``."""
    folder_member: re.Pattern[str] | None = None
    """File names that make their folder one input."""


@dataclass
class Source:
    """An opened input. A reader walks its records and says what it could not use."""

    input: Input
    name: str
    lines: Sequence[bytes] = ()
    members: Sequence[Path] = ()
    document: Any = None
    is_cut: bool = False
    """The file has no final newline, or its compressed stream ends early: its last line may be cut."""
    set_aside: list[SetAside] = field(default_factory=list)
    _head: dict[int, list[Any]] = field(default_factory=dict)

    def ref(self, where: int) -> str:
        """``file:line`` of a record."""
        return f"{self.members[where].name}:1" if self.members else f"{self.name}:{where}"

    def aside(self, where: int | None, reason: str, what: Any = "") -> None:
        """Says that something could not be read. ``what`` is shown shortened."""
        if not isinstance(what, str):
            what = decode.dumps(what)
        path = self.input.path
        if self.members and where is not None:
            path, where = self.members[where], 1
        self.set_aside.append(SetAside(str(path), where, reason, what[:_EXCERPT]))

    def head(self) -> Head:
        """The first records, decoded once and kept for the reader."""
        found: list[Record] = []
        if self.document is not None:
            found = [self.document] if isinstance(self.document, dict) else []
        elif self.members:
            for where in range(min(len(self.members), HEAD_RECORDS)):
                found += self._objects(where)
                if found:
                    break
        else:
            for number, line in enumerate(self.lines, 1):
                if not line.strip():
                    continue
                values, reason, _ = decode.loads_line(line)
                self._head[number] = [] if reason else values
                found += [value for value in values if isinstance(value, dict)]
                if len(found) >= HEAD_RECORDS or len(self._head) >= 4 * HEAD_RECORDS:
                    break
        return Head(plain_name(self.name), bool(self.members), tuple(found), self.document)

    def records(self, skip: Callable[[bytes], bool] | None = None) -> Iterator[tuple[int, Record]]:
        """Every JSON object with the number of its line (or event file); the rest is set aside with its reason.

        Args:
            skip: Says of an undecoded line that the reader has no use for it. It must not take a line that holds a
                second object.
        """
        if self.document is not None:
            yield from self._only_objects(1, [self.document])
        elif self.members:
            for where in range(len(self.members)):
                yield from ((where, record) for record in self._objects(where, say=True))
        else:
            yield from self._line_records(skip)

    def each(self, handle: Callable[[int, Record], None], skip: Callable[[bytes], bool] | None = None) -> None:
        """Hands every record to ``handle``; a record that it cannot use is set aside and the rest still goes in."""
        for where, record in self.records(skip):
            self.guard(handle, where, record)

    def guard(self, handle: Callable[[int, Record], None], where: int, record: Record) -> None:
        """One record for ``handle``, set aside when it has not the shape that its format promises."""
        try:
            handle(where, record)
        except MalformedError as error:
            self.aside(where, str(error), record)
        except BAD_CONTENT as error:
            self.aside(where, f"not the shape that this format has ({type(error).__name__}: {error})", record)

    def _line_records(self, skip: Callable[[bytes], bool] | None) -> Iterator[tuple[int, Record]]:
        loads, last = orjson.loads, len(self.lines)
        for number, line in enumerate(self.lines, 1):
            if not line or line.isspace():
                continue
            if skip is not None and skip(line):
                continue
            try:
                value = self._head[number][0] if len(self._head.get(number, ())) == 1 else loads(line)
            except orjson.JSONDecodeError:
                values, reason, rest = decode.loads_line(line)
                yield from self._only_objects(number, values)
                if reason:
                    cut = "the last line is cut: " if self.is_cut and number == last else ""
                    self.aside(number, cut + reason, rest)
                continue
            if type(value) is dict:
                yield number, value
            else:
                yield from self._only_objects(number, [value])

    def _objects(self, where: int, say: bool = False) -> list[Record]:
        try:
            data, broken = decode.read_bytes(self.members[where])
        except OSError as error:
            data, broken = b"", f"cannot be opened: {error.strerror or error}"
        values, reason, rest = decode.loads_line(data)
        if say and (broken or reason or not values):
            self.aside(where, broken or reason or "empty file", rest)
        return [record for _, record in self._only_objects(where, values, say)]

    def _only_objects(self, where: int, values: list[Any], say: bool = True) -> Iterator[tuple[int, Record]]:
        for value in values:
            if isinstance(value, dict):
                yield where, value
            elif say:
                self.aside(where, f"expected a JSON object, found {decode.kind_of(value)}", value)


def open_source(input: Input, is_member: Callable[[str], bool]) -> Source:
    """Opens an input and finds its shape: one JSON value, JSON lines, or a folder of event files.

    What cannot be opened or decoded at all is set aside; the source is then empty.
    """
    source = Source(input, input.path.name)
    if input.kind == "folder":
        source.members = event_files(input.path, is_member)
        return source
    try:
        data, broken = decode.read_bytes(input.path)
    except OSError as error:
        source.aside(None, f"cannot be opened: {error.strerror or error}")
        return source
    if broken:
        source.aside(None, broken)
    if not data or data.isspace():
        source.aside(None, "empty file")
        return source
    source.is_cut = bool(broken) or not data.endswith(b"\n")
    whole, problem = decode.loads_whole(data)
    if problem:
        source.aside(problem.line, problem.reason, problem.excerpt)
    elif whole is not None:
        source.document = whole
    else:
        source.lines = data.split(b"\n")
        if not source.lines[-1]:
            source.lines.pop()
    return source


def event_files(folder: Path, is_member: Callable[[str], bool]) -> list[Path]:
    """The event files of a folder by their number, then by name."""
    names = [entry.name for entry in os.scandir(folder) if entry.is_file() and is_member(plain_name(entry.name))]
    return [folder / name for name in sorted(names, key=lambda name: (event_number(name), name))]


def event_number(name: str) -> int:
    """The first number in a file name, 0 when it has none."""
    found = re.search(r"\d{1,18}", name)
    return int(found.group()) if found else 0


def plain_name(name: str) -> str:
    """A file name in lower case, without ``.gz`` or ``.zst``."""
    name = name.lower()
    return name.removesuffix(".gz").removesuffix(".zst")
