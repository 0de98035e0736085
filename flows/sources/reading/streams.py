"""What a command prints while it works, an event a line: a file can hold several runs, of one session or of several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from compaction.transcript import Transcript
from flows.sources.reading.base import Record, Source
from flows.sources.reading.session import SessionDraft


class StreamReading(Protocol):
    """Reads the events of one session."""

    session: SessionDraft

    def take(self, where: int, event: Record) -> None:
        """Takes the next event."""


def read_stream(
    source: Source, name: str, id_in: Callable[[Record], str | None], begin: Callable[[Source], StreamReading]
) -> Iterator[Transcript]:
    """The sessions of a file; what a resumed run printed goes on with its session.

    Args:
        source: The file.
        name: Of the format.
        id_in: The session's id, of an event that begins a run; else None.
        begin: Makes what reads the events of a session.
    """
    native, reading = None, begin(source)
    for where, event in source.records():
        own = id_in(event)
        if own is not None and own != native:
            if native is not None or reading.session.drafts:
                yield from reading.session.build(name, native)
            native, reading = own, begin(source)
        source.guard(reading.take, where, event)
    yield from reading.session.build(name, native)
