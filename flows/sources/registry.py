"""Every known format, and the one way to read an input. A new format is a module in ``flows/sources/formats``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from pkgutil import walk_packages

from compaction.transcript import Transcript
from flows.sources.reading.account import SHORTER_COPY, Account
from flows.sources.reading.base import BAD_CONTENT, Head, MalformedError, Source, SourceFormat
from flows.sources.reading.inputs import EXCERPT, HEAD_BYTES, Input, ReadResult, SetAside, plain_name
from flows.sources.reading.kinds import knows_most
from flows.sources.reading.opening import open_source

FOLDER = "flows.sources.formats"
"""Every module in it with a ``FORMAT`` is a format."""


def _collected() -> Iterator[SourceFormat]:
    for module in walk_packages(import_module(FOLDER).__path__, f"{FOLDER}."):
        known = vars(import_module(module.name)).get("FORMAT")
        if known is not None:
            yield known


_FORMATS: tuple[SourceFormat, ...] = tuple(sorted(_collected(), key=lambda known: (known.order, known.name)))

VERSION = 3
"""The version of what all readers share: all logs are read again when it rises. Each format has its own besides."""

_content = attrgetter("role", "text", "reasoning", "tool_calls", "tool_call_id")
"""What two copies of a message have in common."""
_MEMBERS = tuple(known.folder_member for known in _FORMATS if known.folder_member is not None)


def formats() -> tuple[SourceFormat, ...]:
    """The known formats in the order in which they are tried."""
    return _FORMATS


def reader_version(format: str | None) -> str:
    """The versions that the reading of a log depends on: those of its format; of all where no format knew it."""
    names = (f"{known.name}@{known.version}" for known in _FORMATS if format in (None, known.name))
    return "+".join((f"readers@{VERSION}", *names))


def is_member(folder: str, file: str) -> bool:
    """Whether a file is one event of a session that is a folder, judged by the names of the folder and the file."""
    name = f"{folder}/{plain_name(file)}"
    return any(pattern.match(name) for pattern in _MEMBERS)


class InputReading:
    """Reads one input: gives its sessions one by one, and knows its format, its account and what was set aside.

    Bad content never raises: what cannot be read is in ``set_aside`` with file, line and reason, and the rest is read.
    """

    def __init__(self, input: Input) -> None:
        self._source = open_source(input, is_member)
        self._format: SourceFormat | None = None
        try:
            head = self._source.head()
        except OSError as error:
            self._source.failed("cannot be read", error)
            return
        self._format = _format_of(head)
        if self._format is None:
            _quarantine_unknown(self._source, head)
        else:
            self._source.of_list = self._format.of_list

    @property
    def format(self) -> str | None:
        """Name of the format; None when no format recognised the input."""
        return self._format.name if self._format is not None else None

    @property
    def set_aside(self) -> list[SetAside]:
        """What could not be read so far."""
        return self._source.set_aside

    @property
    def may_pass(self) -> bool:
        """Whether something could not be read because of the machine, not the input: trying again may help."""
        return self._source.may_pass

    @property
    def account(self) -> Account:
        """What was met so far and what of it was left out."""
        return self._source.account

    def __iter__(self) -> Iterator[Transcript]:
        """The sessions, once."""
        found = 0
        try:
            if self._format is not None:
                for transcript in self._longest(self._format.read(self._source)):
                    found += 1
                    yield transcript
        except OSError as error:
            self._source.failed("cannot be read further", error)
        except MalformedError as error:
            self._source.quarantine(None, f"{self.format}: {error}")
        except BAD_CONTENT as error:
            self._source.quarantine(
                None, f"{self.format}: not the shape that this format has ({type(error).__name__}: {error})"
            )
        finally:
            self._source.close()
        if not found and not self._source.set_aside:
            self._source.quarantine(None, f"{self.format}: no message in it")

    def _longest(self, transcripts: Iterable[Transcript]) -> Iterator[Transcript]:
        """The last session of each run of sessions that repeat one growing conversation."""
        held: Transcript | None = None
        shorter = 0
        for transcript in transcripts:
            if held is not None and is_start_of(held, transcript):
                self.account.drop(SHORTER_COPY, held.messages)
                shorter += 1
            elif held is not None:
                yield _note_copies(held, shorter)
                shorter = 0
            held = transcript
        if held is not None:
            yield _note_copies(held, shorter)


def is_start_of(short: Transcript, long: Transcript) -> bool:
    """Whether ``short`` is an earlier state of ``long``, under the same name."""
    return (
        short.session_id == long.session_id
        and len(short) <= len(long)
        and all(_content(one) == _content(other) for one, other in zip(short.messages, long.messages, strict=False))
    )


def _note_copies(transcript: Transcript, number: int) -> Transcript:
    if not number:
        return transcript
    return replace(transcript, set_aside={**transcript.set_aside, SHORTER_COPY: number})


def read_input(input: Input) -> ReadResult:
    """Reads one input of any format, with all of its sessions in memory (``InputReading`` gives them one by one).

    Args:
        input: A file, or a folder of event files, as ``discover`` finds them.
    """
    reading = InputReading(input)
    transcripts = tuple(reading)
    aside = tuple(replace(one, excerpt=one.excerpt[:EXCERPT]) for one in reading.set_aside)
    return ReadResult(reading.format, transcripts, aside, reading.account)


def recognise(path: Path) -> str | None:
    """The name of the format of a text file, None when no format knows it. Only the start of the file is looked at."""
    source = open_source(Input(path, "file", 0, 0), is_member, most=HEAD_BYTES)
    try:
        found = _format_of(source.head())
        return found.name if found is not None else None
    except OSError:
        return None
    finally:
        source.close()


def _format_of(head: Head) -> SourceFormat | None:
    """The first format that recognises the values as they are, or else the lists among them."""
    found = next((known for known in _FORMATS if _detects(known, head)), None)
    if found is None and head.lists:
        with_lists = (known for known in _FORMATS if known.of_list is not None)
        found = next((known for known in with_lists if _detects(known, _lists_as_records(known, head))), None)
    return found


def _lists_as_records(known: SourceFormat, head: Head) -> Head:
    assert known.of_list is not None
    return replace(head, records=tuple(map(known.of_list, head.lists)))


def _detects(known: SourceFormat, head: Head) -> bool:
    try:
        return known.detect(head) and (known.knows is None or knows_most(known.knows, head.values()))
    except BAD_CONTENT:  # a value of a kind that the format never has: then it is another format
        return False


def _quarantine_unknown(source: Source, head: Head) -> None:
    if source.set_aside and not (head.records or head.rows):
        return
    problem = source.problem
    if problem is not None:
        source.quarantine(problem.line, f"no known format: {problem.reason}", problem.excerpt)
        return
    shown = next(iter((*head.records, *head.lists)), head.document)
    if isinstance(shown, dict):
        shown = f"keys: {', '.join(map(str, list(shown)[:20]))}"
    elif source.is_zip:
        shown = f"members: {', '.join(list(head.entries)[:20])}"
    elif head.rows:
        shown = f"columns: {', '.join(list(head.rows[0])[:20])}"
    elif source.database is not None:
        shown = f"tables: {', '.join(sorted(head.tables)[:20])}"
    elif shown is None:
        shown = next((line[:400].decode("utf-8", "replace") for _, line in source.lines()), "")
    source.quarantine(
        None,
        "no known format: not one of those of `compaction-eval list formats`",
        shown[:3] if isinstance(shown, list) else shown,
    )
