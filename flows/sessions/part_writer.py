"""Writes sessions into a part: row group by row group, as they are read, and visible at the end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from compaction import Message, Transcript
from compaction.transcript import unpaired
from flows.sessions.session_parts import MOST_IN_FOOTER, Fingerprint, InputRecord, Part, SessionInfo, memory_bytes
from flows.sessions.task_type_labels import task_type_of
from flows.sources.reading.account import by_kind
from flows.store import parquet_schemas
from flows.store.row_codec import message_columns
from flows.store.shards import COMPRESSION, COMPRESSION_LEVEL, ROW_GROUP
from flows.store.store import Store
from flows.support.atomic_files import temporary_path
from flows.support.ids import content_id, content_sha256, evidence_digest, message_digest

FLUSH_BYTES = 32_000_000
"""Size of messages, about, from which on a row group is written."""


def session_info(transcript: Transcript, input_path: str, ordinal: int, first_row: int, tokenizer: str) -> SessionInfo:
    """Describe a session whose messages have been counted."""
    messages = transcript.messages
    kinds = by_kind(messages)
    open_calls, stray = unpaired(messages)
    task_type, task_type_by = task_type_of(transcript)
    return SessionInfo(
        session_id=transcript.session_id,
        recorded_id=transcript.session_id,
        content_sha256=content_sha256(messages, transcript.compactions),
        input_path=input_path,
        ordinal=ordinal,
        part="",
        first_row=first_row,
        n_messages=len(messages),
        n_tokens=sum(m.tokens or 0 for m in messages),
        tokenizer=tokenizer,
        source_format=transcript.source_format,
        source_path=transcript.source_path,
        roles={kind: number for kind, number in kinds.items() if kind != "tool_call"},
        n_tool_calls=kinds["tool_call"],
        title=transcript.title,
        started_at=transcript.started_at,
        ended_at=transcript.ended_at,
        model=transcript.model,
        cwd=transcript.cwd,
        parent_session_id=transcript.parent_session_id,
        forked_at=transcript.forked_at,
        n_inherited=transcript.n_inherited,
        said_from=next((message.timestamp for message in messages if message.timestamp), None),
        task_type=task_type,
        task_type_by=task_type_by,
        resolved=transcript.resolved,
        exit_status=transcript.exit_status,
        usage=transcript.usage,
        n_open_calls=len(open_calls),
        n_stray_results=len(stray),
        set_aside=transcript.set_aside,
        compactions=transcript.compactions,
        digests="".join(map(message_digest, messages)),
        evidence="".join(filter(None, map(evidence_digest, messages))),
    )


class WriteError(OSError):
    """The store cannot take what is written to it: the disk is full, or fails."""


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # pyarrow's own have the number in their text only
        number = re.search(r"\[errno (\d+)\]", str(error))
        why = os.strerror(int(number.group(1))) if number else error.strerror or str(error)
        raise WriteError(error.errno, why) from None


class PartFile:
    """The Parquet file of a part while it is written: row groups, then its description, then the footer."""

    def __init__(self, path: Path) -> None:
        self._sink = pa.OSFile(str(path), "wb")
        self._file = pq.ParquetWriter(
            self._sink, parquet_schemas.MESSAGES, compression=COMPRESSION, compression_level=COMPRESSION_LEVEL
        )
        self._waiting: list[pa.Table] = []
        self._n_waiting = self._size = 0

    def add_rows(self, rows: pa.Table, size: int) -> None:
        """Append rows of about ``size`` bytes. They are written when there are enough for a row group."""
        self._waiting.append(rows)
        self._n_waiting += len(rows)
        self._size += size
        if self._n_waiting >= ROW_GROUP or self._size >= FLUSH_BYTES:
            self._flush()

    def finish(self, part: Part) -> None:
        """Write what waits and the description of the part, whose sessions must have their digests; close the file."""
        self._flush()
        self._file.add_key_value_metadata({key: self._put(value) for key, value in part.metadata().items()})
        self.close()

    def _put(self, value: bytes) -> bytes:
        """What the footer says of a value: itself, or where it is written."""
        if len(value) <= MOST_IN_FOOTER:
            return value
        start = self._sink.tell()
        self._sink.write(value)
        return f"[{start},{len(value)}]".encode()

    def close(self) -> None:
        """Close the file as it is."""
        self._file.close()
        self._sink.close()

    def _flush(self) -> None:
        if self._waiting:
            rows = pa.concat_tables(self._waiting)
            self._waiting, self._n_waiting, self._size = [], 0, 0
            self._file.write_table(rows, row_group_size=ROW_GROUP)


class PartWriter:
    """Writes a part session by session; nothing is visible before ``finish``.

    A session is taken whole or, when something in it cannot be stored, not at all.
    """

    def __init__(self, store: Store, fingerprints: Sequence[Fingerprint], generation: int, tokenizer: str) -> None:
        self.name = f"part-{content_id([asdict(f) for f in fingerprints])}.parquet"
        self._path = store.transcripts / self.name
        self._place = store.place
        self._generation = generation
        self._tokenizer = tokenizer
        self._inputs: list[InputRecord] = []
        self._sessions: list[SessionInfo] = []
        self._n_rows = 0
        self._tmp = temporary_path(self._path)
        with _writing():
            store.transcripts.mkdir(parents=True, exist_ok=True)
            self._file = PartFile(self._tmp)

    def add_session(self, transcript: Transcript, input_path: str) -> None:
        """Append a session whose messages have been counted. Raises WriteError when the store cannot be written."""
        info = session_info(transcript, input_path, len(self._sessions), self._n_rows, self._tokenizer)
        tables = [
            (_table(message_columns(transcript.session_id, messages, start)), memory_bytes(messages))
            for start, messages in _slices(transcript.messages)
        ]
        self._sessions.append(info)
        self._n_rows += info.n_messages
        with _writing():
            for table, size in tables:
                self._file.add_rows(table, size)

    def add_input(self, record: InputRecord) -> None:
        """Note that an input has been read, whatever came out of it."""
        self._inputs.append(record)

    def finish(self) -> Part:
        """Make the part visible. Raises WriteError when the store cannot be written."""
        part = Part(self.name, self._generation, tuple(self._inputs), tuple(self._sessions))
        with _writing():
            self._file.finish(part)
            self._place.publish(self._tmp, self._path)
        return part

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing behind of a part that was not finished: on a full disk it is in the way."""
        if error is not None:
            with suppress(OSError, pa.ArrowException):
                self._file.close()
            self._tmp.unlink(missing_ok=True)


def _slices(messages: Sequence[Message]) -> Iterator[tuple[int, Sequence[Message]]]:
    """Cuts a session where a row group is full, by number or by size: position of the first message, messages."""
    start = size = 0
    for end, message in enumerate(messages, 1):
        size += memory_bytes((message,))
        if end - start >= ROW_GROUP or size >= FLUSH_BYTES:
            yield start, messages[start:end]
            start, size = end, 0
    if start < len(messages):
        yield start, messages[start:]


def _table(columns: dict[str, list[Any]]) -> pa.Table:
    try:
        return pa.table(columns, schema=parquet_schemas.MESSAGES)
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can hold and UTF-8 cannot
        return pa.table(
            {name: [_encodable(v) for v in values] for name, values in columns.items()}, schema=parquet_schemas.MESSAGES
        )


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [{key: _encodable(inner) for key, inner in item.items()} for item in value]
    return value
