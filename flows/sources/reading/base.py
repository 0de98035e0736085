"""What every log format shares: its description, and the opened input that a reader reads."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from compaction.transcript import Transcript
from flows.sources.reading import decode, unpacking
from flows.sources.reading.account import Account
from flows.sources.reading.archive import Archive
from flows.sources.reading.database import DamagedError, Database
from flows.sources.reading.inputs import HEAD_BYTES, HEAD_RECORDS, Input, SetAside, path_text, plain_name
from flows.sources.reading.table import Table

Record = dict[str, Any]
BAD_CONTENT = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RecursionError)
"""Errors of a reader on a record that is JSON but does not have the shape that its format promises."""
_EXCERPT = 4_000
_HEAD_LINES = 16 << 20
MOST_ASIDE = 10_000
"""Places of an input that are named one by one when they cannot be read; the rest is counted."""
_PASSED_BLANK = 1_000
_KINDS_REMEMBERED = 200
_MAY_PASS = {
    getattr(errno, name, -1)
    for name in ("ENOSPC", "EDQUOT", "EIO", "EMFILE", "ENFILE", "ENOMEM", "ESTALE", "ETIMEDOUT", "EAGAIN", "EINTR")
}


class MalformedError(ValueError):
    """A record that is JSON but not what its format allows; the message says what was found and expected."""


def kind_of(value: Any) -> str:
    """The JSON name of a value's type, with its article, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return {str: "a string", int: "a number", float: "a number", list: "a list", dict: "an object"}.get(
        type(value), type(value).__name__
    )


@dataclass(frozen=True)
class Head:
    """What a format may look at to recognise an input: its name and its first records."""

    name: str
    """File or folder name in lower case, without ``.gz`` or ``.zst``."""
    records: tuple[Record, ...]
    """The first JSON objects: of a line each, of an event file each, or the one object that the file is."""
    document: Any = None
    """The whole value, when the file is one JSON value; else None."""
    text: str = ""
    """The first characters of a file that is no JSON (Markdown logs)."""
    lists: tuple[list[Any], ...] = ()
    """The lists of objects among the first lines."""
    is_zip: bool = False
    """Whether the file is a zip archive; ``entries`` has the names in it."""
    entries: Collection[str] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    """The tables, when the file is a SQLite database: name → the statement that made it."""
    rows: Sequence[Record] = ()
    """The first row, when the file is a table (Parquet)."""

    def values(self, most: int | None = None) -> Sequence[Any]:
        """The first items of the list that the file is, at most so many; else the records."""
        return self.document[:most] if isinstance(self.document, list) else self.records


@dataclass(frozen=True)
class SourceFormat:
    """A log format: how it is recognised, and how it is read."""

    name: str
    description: str
    recognised: str
    """One sentence for people: what distinguishes the format from the others."""
    detect: Callable[[Head], bool]
    read: Callable[[Source], Iterable[Transcript]]
    """The sessions, one by one where the file holds many, so that few are in memory at a time."""
    order: int = field(kw_only=True)
    """Formats are tried by this number: plain chat messages come last, since several agents wrap them."""
    version: int = field(default=1, kw_only=True)
    """Rises when the reader makes something else of its logs: then they, and no others, are read again."""
    suffixes: tuple[str, ...] = (".jsonl", ".json", ".ndjson")
    """File names that a folder is searched for, without ``.gz`` or ``.zst``."""
    shared_suffixes: tuple[str, ...] = ()
    """Suffixes that any file may have (``.md``): in a folder only those that the format recognises are inputs."""
    hidden: re.Pattern[str] | None = None
    """Hidden files and folders that a search enters for this format."""
    folder_member: re.Pattern[str] | None = None
    """Names, as ``folder/file``, of the files that make their folder one input."""
    is_made_of_others: bool = False
    """Whether programs make it of agents' own logs, and leave something out."""
    knows: Callable[[Any], bool] | None = None
    """Of a reader that knows no marker of an agent, only the shape of messages: whether a value is of a kind that it
    knows. It refuses a file of whose first values more than a fifth are of others."""
    of_list: Callable[[list[Any]], Record] | None = None
    """The object that a list on a line of its own stands for; None where lines are objects only."""


@dataclass
class Source:
    """An opened input. A reader goes through its records and sets aside what it cannot use."""

    input: Input
    name: str
    file: BinaryIO | None = None
    """The bytes, unpacked; None for a folder, and when the input could not be opened."""
    members: Sequence[Path] = ()
    document: Any = None
    is_text: bool = False
    """The file is no JSON: ``text`` has it."""
    is_zip: bool = False
    database: Database | None = None
    """The file, when it is a SQLite database; ``file`` is None then."""
    table: Table | None = None
    """The file, when it is Parquet."""
    problem: decode.DecodeProblem | None = None
    """Why text is not JSON."""
    is_broken: bool = False
    """A compressed stream ends early."""
    may_pass: bool = False
    """The machine kept it from being read (a full disk, a lost connection): another try may succeed."""
    set_aside: list[SetAside] = field(default_factory=list)
    account: Account = field(default_factory=Account)
    of_list: Callable[[list[Any]], Record] | None = None
    """The same as the format's, once the format is known."""
    _head: dict[int, list[Any]] = field(default_factory=dict)
    _end: int = 0
    _too_long: set[int] = field(default_factory=set)
    _not_named: int = 0

    @cached_property
    def text(self) -> str:
        """The whole file as text, line ends as they are; bytes that are no UTF-8 become U+FFFD."""
        if self.file is None:
            return ""
        if self._end > unpacking.LONGEST_VALUE:
            most = f"{unpacking.LONGEST_VALUE:,}"
            self.quarantine(None, f"a text of {self._end:,} bytes; the first {most} are read")
        self.file.seek(0)
        return decode.strip_bom(self.file.read(unpacking.LONGEST_VALUE)).decode("utf-8", "replace")

    @cached_property
    def archive(self) -> Archive:
        """The members of a zip archive; what of it cannot be read is set aside at once."""
        if self.file is None or not self.is_zip:
            raise MalformedError("expected a zip archive")
        opened = Archive(self.file)
        for name, reason in opened.problems:
            self.quarantine(None, f"{name}: {reason}" if name else reason)
        self.account.leave_out("folder in an archive", count=opened.folders)
        self.account.leave_out("member of an archive that a later one replaces", count=opened.replaced)
        return opened

    def ref(self, where: int) -> str:
        """``file:line`` of a record."""
        return f"{self.members[where].name}:1" if self.members else f"{self.name}:{where}"

    def quarantine(self, where: int | None, reason: str, what: Any = "") -> None:
        """Sets aside something that could not be read. ``what`` is shown shortened."""
        if len(self.set_aside) >= MOST_ASIDE:
            self._not_named += 1
            return
        if not isinstance(what, str):
            what = decode.dumps(decode.begin_of(what, 2 * _EXCERPT))
        if len(reason) > _EXCERPT:  # it names a value that is long
            reason = reason[:_EXCERPT].rpartition(" ")[0] + "…"  # a part of a secret could not be known as one
        path = self.input.path
        if self.members and where is not None:
            path, where = self.members[where], 1
        self.set_aside.append(SetAside(path_text(path), where, reason, what[: 2 * _EXCERPT].rstrip()[:_EXCERPT]))

    def failed(self, what: str, error: OSError) -> None:
        """Sets the input aside: the operating system refuses to read it."""
        self.may_pass = self.may_pass or error.errno in _MAY_PASS
        self.quarantine(None, f"{what}: {error.strerror or error}")

    def head(self) -> Head:
        """The first records, decoded once and kept for the reader."""
        found: list[Record] = []
        text = ""
        if self.document is not None:
            found = [self.document] if isinstance(self.document, dict) else []
        elif self.members:
            for where in range(min(len(self.members), HEAD_RECORDS)):
                found += self._objects(where)
                if found:
                    break
        elif self.is_text and self.file is not None:
            self.file.seek(0)
            text = decode.strip_bom(self.file.read(HEAD_BYTES)).decode("utf-8", "replace")
        elif not self.is_zip and self.table is None:
            found = self._first_records()
        return Head(
            plain_name(self.name),
            tuple(found),
            self.document,
            text,
            tuple(value for values in self._head.values() for value in values if _is_list_of_objects(value)),
            self.is_zip,
            self.archive.members.keys() if self.is_zip else (),
            self._tables(),
            self.table.first(self.quarantine) if self.table is not None else (),
        )

    def _tables(self) -> Mapping[str, str]:
        try:
            return self.database.tables if self.database is not None else {}
        except DamagedError as error:
            self.quarantine(None, f"a damaged database: {error}")
            return {}

    def _first_records(self) -> list[Record]:
        found: list[Record] = []
        size = 0
        for number, line in self.lines():
            if not line.strip():
                continue
            size += len(line)
            values, reason, _ = decode.loads_damaged(line, ())
            self._head[number] = [] if reason else values
            found += [value for value in values if isinstance(value, dict)]
            if len(found) >= HEAD_RECORDS or len(self._head) >= 4 * HEAD_RECORDS or (found and size > _HEAD_LINES):
                break
        return found

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with its number and its line end, read on demand; runs of blank lines are shortened.

        A line of more than ``LONGEST_VALUE`` bytes is set aside. A file that is still being written to is read
        up to its length when it was opened.
        """
        file, longest = self.file, unpacking.LONGEST_VALUE
        if file is None:
            return
        file.seek(0)
        number = blank = position = 0
        while position < self._end and (line := decode.read_line(file, longest)):
            number += 1
            if isinstance(line, int):
                position += line
                if number not in self._too_long:
                    self._too_long.add(number)
                    self.quarantine(number, f"a line of {line:,} bytes; at most {longest:,} can be read")
                continue
            position += len(line)
            yield number, decode.strip_bom(line) if number == 1 else line
            blank = blank + 1 if len(line) <= 2 and line.isspace() else 0
            if blank == _PASSED_BLANK:
                passed, size = decode.pass_blank_lines(file)
                number, position, blank = number + passed, position + size, 0

    def records(self, skip: Callable[[bytes], bool] | None = None) -> Iterator[tuple[int, Record]]:
        """Every JSON object with the number of its line (or event file); the rest is set aside with its reason.

        A list of objects on a line counts as the object that it stands for, where the format has such lines.

        Args:
            skip: Says of an undecoded line, line end included, that the reader has no use for it. It must not take a
                line that holds a second object.
        """
        if self.document is not None:
            yield from self._only_objects(1, [self.document])
        elif self.members:
            for where in range(len(self.members)):
                yield from ((where, record) for record in self._objects(where, say=True))
        else:
            yield from self._line_records(skip)

    def each(self, handle: Callable[[int, Record], None], skip: Callable[[bytes], bool] | None = None) -> None:
        """Calls ``handle`` with every record; a record that it cannot use is set aside, the rest is read."""
        for where, record in self.records(skip):
            self.guard(handle, where, record)

    def guard(self, handle: Callable[[Any, Record], None], where: int | None, record: Record) -> None:
        """Calls ``handle`` with one record, which is set aside when it does not have the shape of its format."""
        try:
            handle(where, record)
        except MalformedError as error:
            self.quarantine(where, str(error), record)
        except BAD_CONTENT as error:
            self.quarantine(where, f"not the shape that this format has ({type(error).__name__}: {error})", record)

    @contextmanager
    def setting_aside(self, where: int | None, what: str, value: Any) -> Iterator[None]:
        """Sets a value aside when the code inside cannot use it; ``what`` stands before the reason."""
        try:
            yield
        except BAD_CONTENT as error:
            self.quarantine(where, f"{what}: {error}", value)

    def values(self, line: int | None = None) -> Iterator[tuple[int | None, str, Any]]:
        """(line, where for messages, value) of every item of a list, every line, or the one object of the file.

        Args:
            line: What stands for the line of the items of a list.
        """
        if isinstance(self.document, list):
            for index, value in enumerate(self.document):
                yield line, f"{self.name}#{index}", value
        else:
            for where, record in self.records():
                yield where, self.ref(where) if self.document is None else self.name, record

    def _line_records(self, skip: Callable[[bytes], bool] | None) -> Iterator[tuple[int, Record]]:
        loads, head = orjson.loads, self._head
        shapes: dict[str, frozenset[str]] = {}
        for number, found in self.lines():
            if found.isspace():
                continue
            line = found.lstrip(b"\0")  # a power cut leaves blocks unwritten
            if not line or line.isspace():
                line = found
            elif line is not found:
                self.quarantine(number, f"{len(found) - len(line):,} NUL bytes before what is read of the line")
            if skip is not None and skip(line):
                continue
            try:
                value = head.pop(number)[0] if len(head.get(number, ())) == 1 else loads(line)
            except orjson.JSONDecodeError:
                values, reason, rest = decode.loads_damaged(line, shapes.values())
                yield from self._only_objects(number, values)
                if reason:
                    is_last = self.is_broken or not line.endswith(b"\n")
                    cut = "the last line is cut: " if is_last and not reason.startswith("cut") else ""
                    self.quarantine(number, cut + reason, rest)
                continue
            if type(value) is dict:
                kind = str(value.get("type"))
                if kind not in shapes and len(shapes) < _KINDS_REMEMBERED:
                    shapes[kind] = frozenset(value)
                yield number, value
            else:
                yield from self._only_objects(number, [value])

    def _objects(self, where: int, say: bool = False) -> list[Record]:
        try:
            values, reason, rest = decode.load_values(self.members[where])
        except OSError as error:
            values, reason, rest = [], f"cannot be opened: {error.strerror or error}", ""
            self.may_pass = self.may_pass or error.errno in _MAY_PASS
        if say and (reason or not values):
            self.quarantine(where, reason or "empty file", rest)
        return [record for _, record in self._only_objects(where, values, say)]

    def _only_objects(self, where: int, values: list[Any], say: bool = True) -> Iterator[tuple[int, Record]]:
        for value in values:
            if isinstance(value, dict):
                yield where, value
            elif self.of_list is not None and _is_list_of_objects(value):
                yield where, self.of_list(value)
            elif say:
                self.quarantine(where, f"expected a JSON object, found {kind_of(value)}", value)

    def close(self) -> None:
        """Closes the file, and notes how many places were set aside without being named."""
        if self._not_named:
            reason = f"{self._not_named:,} more places that cannot be read; the first {MOST_ASIDE:,} are named"
            self.set_aside.append(SetAside(self.input.label, None, reason, ""))
            self._not_named = 0
        if self.file is not None:
            self.file.close()


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)
