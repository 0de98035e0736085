"""A corpus: which sessions there are, how large they will be, and all of them as files in a folder."""

from __future__ import annotations

import gzip
import shutil
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from flows.execution.pools.local import Workers
from flows.support.errors import EvalError, UsageError
from tests.synth.chance import chance_of
from tests.synth.profile import Band, Profile
from tests.synth.session import Session
from tests.synth.writers import FORMATS, LogFormat, encoded

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Compression = Literal["none", "gzip", "zst"]
SUFFIXES: dict[Compression, str] = {"none": "", "gzip": ".gz", "zst": ".zst"}

SAMPLED = 200
"""Sessions that the size is estimated from."""
_SPARE = 1.1
"""How much more room there must be than is expected to be written."""
BATCH = 64
"""Sessions that a process writes at a time."""
_FEW = 10_000
"""Messages under which starting processes takes longer than writing."""
_LARGE = 64 * 1024
_BLOCK = 4096


class Planned(NamedTuple):
    """A session that is to be written."""

    number: int
    band: int
    n_messages: int
    format: str
    has_system: bool


@dataclass(frozen=True)
class Corpus:
    """What is to be written."""

    profile: Profile
    messages: int
    seed: int = 0
    formats: tuple[str, ...] = tuple(FORMATS)
    compression: Compression = "none"

    def plan(self) -> Iterator[Planned]:
        """The sessions in order, with ``messages`` messages together; the last is cut where they are reached."""
        left, number = self.messages, 0
        weights = [band.share for band in self.profile.bands]
        while left > 0:
            chance = chance_of(self.seed, "plan", number)
            (band,) = chance.choices(range(len(weights)), weights)
            length = min(_length(self.profile.bands, band, chance), left)
            has_system = chance.random() < self.profile.bands[band].system
            fitting = [name for name in self.formats if FORMATS[name].has_system is has_system]
            yield Planned(number, band, length, chance.choice(fitting or self.formats), has_system)
            left -= length
            number += 1

    def n_projects(self) -> int:
        """Folders that the sessions work in."""
        sessions = self.messages / self.profile.session_messages
        return max(1, round(sessions / self.profile.folder_sessions))

    def session(self, planned: Planned) -> tuple[LogFormat, Session]:
        """A planned session, and the format of its log."""
        written = FORMATS[planned.format]
        session = Session(
            self.seed,
            planned.number,
            planned.n_messages,
            self.profile,
            self.profile.bands[planned.band],
            self.n_projects(),
            planned.has_system,
            written.numbers_lines,
            written.joins_responses,
        )
        return written, session

    def n_bytes(self) -> int:
        """Bytes that the files will take on disk, about: from the first sessions, every file in whole blocks."""
        size = messages = 0
        for written, session in map(self.session, islice(self.plan(), SAMPLED)):
            content = b"".join(encoded(written.lines(session)))
            size += -(-len(_packed(content, self.compression)) // _BLOCK) * _BLOCK
            messages += session.n_messages
        return round(size / messages * self.messages)


@dataclass(frozen=True)
class Written:
    """What was written."""

    sessions: int
    messages: int
    n_bytes: int


def write(corpus: Corpus, out: Path, advance: Callable[[int], None] = lambda _: None, processes: int = 1) -> Written:
    """Write a corpus into an empty or new folder, a file a session; ``advance`` is told of the messages.

    Raises:
        UsageError: The folder is not empty.
        Problem: It cannot be written to.
    """
    check_empty(out)
    sessions = messages = size = 0
    try:
        for done in _batches(corpus, out, processes):
            sessions, messages, size = sessions + done.sessions, messages + done.messages, size + done.n_bytes
            advance(done.messages)
    except OSError as error:
        raise EvalError(
            f"{out}: cannot be written: {error.strerror or error}; delete what is in it and write it again, with fewer "
            "--messages or a --compress if room is short"
        ) from None
    return Written(sessions, messages, size)


def _batches(corpus: Corpus, out: Path, processes: int) -> Iterator[Written]:
    """Write the sessions by batches, in this process or in some others, a few batches ahead."""
    plan = corpus.plan()
    batches = iter(lambda: list(islice(plan, BATCH)), [])
    if processes < 2 or corpus.messages < _FEW:
        yield from (write_batch(corpus, out, batch) for batch in batches)
        return
    with Workers(processes) as workers:
        waiting: deque[Future[Written]] = deque()
        for number, batch in enumerate(batches):
            waiting.append(workers.submit(f"synth-{number}", write_batch, corpus, out, batch))
            if len(waiting) >= 3 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def write_batch(corpus: Corpus, out: Path, batch: Sequence[Planned]) -> Written:
    """Write some sessions."""
    size = 0
    for planned in batch:
        written, session = corpus.session(planned)
        path = out / (written.path(session) + SUFFIXES[corpus.compression])
        path.parent.mkdir(parents=True, exist_ok=True)
        size += _write(path, encoded(written.lines(session)), corpus.compression)
    return Written(len(batch), sum(planned.n_messages for planned in batch), size)


def check_empty(out: Path) -> None:
    """Raises UsageError when a folder holds something, or is a file: a corpus is written whole."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: this is a file; name a folder that is new or empty")
    if out.is_dir() and any(out.iterdir()):
        raise UsageError(f"{out}: the folder is not empty; name a new one, or delete what is in it")


def check_room(corpus: Corpus, out: Path) -> int:
    """Bytes that the corpus will take, about. Raises Problem when the disk has not that much room."""
    place = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.is_dir())
    needed, free = corpus.n_bytes(), shutil.disk_usage(place).free
    if needed * _SPARE > free:
        raise EvalError(
            f"{out}: about {needed / 1e9:,.2f} GB would be written, and the disk has {free / 1e9:,.2f} GB left; "
            "ask for fewer --messages, --compress them, or name a folder on another disk"
        )
    return needed


def _length(bands: Sequence[Band], at: int, chance: Random) -> int:
    """Messages of a session of a band."""
    most = bands[at + 1].least - 1 if at + 1 < len(bands) else None
    length = max(bands[at].least, round(bands[at].messages.draw(chance)))
    return length if most is None else min(length, most)


def _packed(content: bytes, compression: Compression) -> bytes:
    if compression == "gzip":
        return gzip.compress(content, 6, mtime=0)
    return zstd.compress(content) if compression == "zst" else content


def _write(path: Path, lines: Iterator[bytes], compression: Compression) -> int:
    """Write a file line by line; its size."""
    with ExitStack() as stack:
        file = stack.enter_context(path.open("wb", buffering=_LARGE))
        sink: Callable[[bytes], object] = file.write
        if compression == "gzip":  # without a time and a name, so that the same corpus is the same bytes
            sink = stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0)).write
        elif compression == "zst":
            sink = stack.enter_context(zstd.ZstdFile(file, "wb")).write
        for line in lines:
            sink(line)
    return path.stat().st_size
