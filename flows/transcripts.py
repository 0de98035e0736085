"""Sessions in the store: parts that are published whole, and what is known of every session without reading it.

A part is the output of one ingest task. Its Parquet footer carries what describes it (sessions, inputs and their
fingerprints), so that one rename publishes rows and description together. ``flows.settle`` brings the parts of
several runs into agreement.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from types import TracebackType
from typing import Any, Self

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from compaction import Message, RecordedCompaction, Transcript
from compaction.transcript import Usage, unpaired
from flows import schemas
from flows.files import temporary
from flows.ids import content_id, content_sha256, evidence_digest, message_digest
from flows.places import HERE, Place, Seen
from flows.problems import StoreProblem
from flows.rows import message_columns, messages_of
from flows.shards import COMPRESSION, COMPRESSION_LEVEL, ROW_GROUP
from flows.sources.account import by_kind
from flows.store import Store
from flows.task_labels import task_type_of

FOOTER = b"compaction_eval"
DIGESTS = b"compaction_eval_digests"
"""Beside it: what only ``flows.settle`` looks at, which is longer than all the rest."""
MOST_FOOTER = (1 << 31) - 1
"""Bytes of a part's description; 24 for each message, about 1,000 for each session."""
PARTS_REMEMBERED = 1_000
"""Descriptions that are kept in memory: a command looks at all of them about ten times."""
FLUSH_BYTES = 32_000_000
"""Size of messages, about, from which on a row group is written."""


@dataclass(frozen=True)
class Fingerprint:
    """An input as it was when it was read; when it is the same again, it is not read again."""

    path: str
    """Absolute."""
    size: int
    mtime_ns: int
    reader: str = ""
    """Version of the readers' code: newer ones may see more in the same file."""


@dataclass(frozen=True)
class InputRecord:
    """What came out of one input."""

    fingerprint: Fingerprint
    format: str | None
    n_sessions: int
    n_messages: int
    n_set_aside: int
    """Places that could not be read (quarantine)."""
    met: dict[str, int] = field(default_factory=dict)
    """Kind (role, or ``tool_call``) → how many the reader met."""
    aside: tuple[tuple[str, str, int], ...] = ()
    """(kind, or ``record``; reason; how many) of what was met and is deliberately not stored."""
    masked: dict[str, int] = field(default_factory=dict)
    """Kind of secret → how many were masked."""


@dataclass(frozen=True)
class SessionInfo:
    """What is known of a session without reading its messages."""

    session_id: str
    recorded_id: str
    """The id in the log. ``session_id`` is the same unless two different sessions claim it."""
    content_sha256: str
    input_path: str
    ordinal: int
    """Number of the session in the part that it was read into."""
    part: str
    first_row: int
    n_messages: int
    n_tokens: int
    tokenizer: str
    source_format: str
    source_path: str
    roles: dict[str, int]
    n_tool_calls: int
    title: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    model: str | None = None
    cwd: str | None = None
    parent_session_id: str | None = None
    task_type: str | None = None
    task_type_by: str | None = None
    """What the task type comes from: the log, or the rule."""
    usage: Usage = field(default_factory=Usage)
    n_open_calls: int = 0
    """Calls without a result."""
    n_stray_results: int = 0
    """Results without a call before them."""
    set_aside: dict[str, int] = field(default_factory=dict)
    compactions: tuple[RecordedCompaction, ...] = ()
    digests: str = ""
    """Twelve hex digits a message, to see whether two sessions are one; blank but in ``with_digests``."""
    evidence: str = ""
    """Twelve hex digits for each assistant message that another log of the same session would have too; the same."""
    folded_into: str = ""
    """The session that this one is a copy of; its rows are then not stored. Empty for a session that is."""
    n_apart: int = 0
    """Of a folded session: assistant messages that the other one does not have."""

    def digest_list(self) -> list[str]:
        """The digest of each message."""
        return split(self.digests)

    def evidence_list(self) -> list[str]:
        """The evidence, in order."""
        return split(self.evidence)

    def by_kind(self) -> dict[str, int]:
        """Messages by role, and calls."""
        return {**self.roles, "tool_call": self.n_tool_calls}


def split(digests: str) -> list[str]:
    """Digests one by one."""
    return [digests[i : i + 12] for i in range(0, len(digests), 12)]


@dataclass(frozen=True)
class Part:
    """One Parquet file of messages with its description."""

    name: str
    generation: int
    """Number of the ingestion that wrote it; of two parts that read the same input the later one holds."""
    inputs: tuple[InputRecord, ...]
    sessions: tuple[SessionInfo, ...]
    folded: tuple[SessionInfo, ...] = ()
    """Sessions that were read here too and are stored as part of others."""

    def metadata(self) -> dict[bytes, bytes]:
        """The description as it stands in the file; the sessions must have their digests."""
        infos = (*self.sessions, *self.folded)
        body = {
            "generation": self.generation,
            "inputs": [asdict(record) for record in self.inputs],
            "sessions": [{**asdict(info), "part": "", "digests": "", "evidence": ""} for info in infos],
        }
        digests = [(info.digests, info.evidence) for info in infos]
        return {FOOTER: _packed(body), DIGESTS: _packed(digests)}


def _packed(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def describe(transcript: Transcript, input_path: str, ordinal: int, first_row: int, tokenizer: str) -> SessionInfo:
    """What is to be known of a session whose messages have been counted."""
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
        task_type=task_type,
        task_type_by=task_type_by,
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
        self._waiting: list[pa.Table] = []
        self._n_rows = self._n_waiting = self._size = 0
        self._tmp = temporary(self._path)
        with _writing():
            store.transcripts.mkdir(parents=True, exist_ok=True)
            self._file = pq.ParquetWriter(
                self._tmp, schemas.MESSAGES, compression=COMPRESSION, compression_level=COMPRESSION_LEVEL
            )

    def add_session(self, transcript: Transcript, input_path: str) -> None:
        """Append a session whose messages have been counted. Raises WriteError when the store cannot be written."""
        info = describe(transcript, input_path, len(self._sessions), self._n_rows, self._tokenizer)
        tables = [
            (_table(message_columns(transcript.session_id, messages, start)), size_of(messages))
            for start, messages in _slices(transcript.messages)
        ]
        self._sessions.append(info)
        self._n_rows += info.n_messages
        for table, size in tables:
            self._waiting.append(table)
            self._n_waiting += len(table)
            self._size += size
            if self._n_waiting >= ROW_GROUP or self._size >= FLUSH_BYTES:
                self._flush()

    def add_input(self, record: InputRecord) -> None:
        """Note that an input has been read, whatever came out of it."""
        self._inputs.append(record)

    def finish(self) -> Part:
        """Make the part visible. Raises WriteError when the store cannot be written."""
        self._flush()
        part = Part(self.name, self._generation, tuple(self._inputs), tuple(self._sessions))
        with _writing():
            self._file.add_key_value_metadata(part.metadata())
            self._file.close()
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

    def _flush(self) -> None:
        if self._waiting:
            whole = pa.concat_tables(self._waiting)
            self._waiting, self._n_waiting, self._size = [], 0, 0
            with _writing():
                self._file.write_table(whole, row_group_size=ROW_GROUP)


def _slices(messages: Sequence[Message]) -> Iterator[tuple[int, Sequence[Message]]]:
    """Cuts a session where a row group is full, by number or by size: position of the first message, messages."""
    start = size = 0
    for end, message in enumerate(messages, 1):
        size += size_of((message,))
        if end - start >= ROW_GROUP or size >= FLUSH_BYTES:
            yield start, messages[start:end]
            start, size = end, 0
    if start < len(messages):
        yield start, messages[start:]


def _table(columns: dict[str, list[Any]]) -> pa.Table:
    try:
        return pa.table(columns, schema=schemas.MESSAGES)
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can hold and UTF-8 cannot
        return pa.table(
            {name: [_sound(v) for v in values] for name, values in columns.items()}, schema=schemas.MESSAGES
        )


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [{key: _sound(inner) for key, inner in item.items()} for item in value]
    return value


def open_part(seen: Seen, place: Place = HERE) -> pq.ParquetFile:
    """A part, however long its description: of 8 million messages it is more than Parquet's readers take by default."""
    source = place.pieces(seen)
    return pq.ParquetFile(source, thrift_string_size_limit=MOST_FOOTER, thrift_container_size_limit=MOST_FOOTER)


@lru_cache(maxsize=PARTS_REMEMBERED)
def read_part(seen: Seen, place: Place = HERE) -> Part:
    """The description of a part, without digests; a file that has not been replaced since is not read again."""
    return _described(seen, place, digests=False)


def with_digests(seen: Seen, place: Place = HERE) -> Part:
    """The description of a part, with the digests of its sessions."""
    return _described(seen, place, digests=True)


def _described(seen: Seen, place: Place, *, digests: bool) -> Part:
    path = seen.path
    with open_part(seen, place) as file:
        metadata = file.metadata.metadata or {}
    if FOOTER not in metadata:
        raise StoreProblem(
            f"{place.told(path)} is not a part of this store: another program has put it there; move it away"
        )
    body = orjson.loads(metadata[FOOTER])
    inputs = tuple(
        InputRecord(**{**r, "fingerprint": Fingerprint(**r["fingerprint"]), "aside": tuple(map(tuple, r["aside"]))})
        for r in body["inputs"]
    )
    if not digests:
        for item in body["sessions"]:
            item["digests"] = item["evidence"] = ""
    elif DIGESTS in metadata:  # a part of a store of format 2 has them with the rest
        for item, pair in zip(body["sessions"], orjson.loads(metadata[DIGESTS]), strict=True):
            item["digests"], item["evidence"] = pair
    sessions = [_session(item, path.name) for item in body["sessions"]]
    return Part(
        path.name,
        body["generation"],
        inputs,
        tuple(info for info in sessions if not info.folded_into),
        tuple(info for info in sessions if info.folded_into),
    )


def _session(item: dict[str, Any], part: str) -> SessionInfo:
    compactions = tuple(
        RecordedCompaction(
            **{**c, "dropped": None if c["dropped"] is None else tuple(c["dropped"]), "cleared": tuple(c["cleared"])}
        )
        for c in item["compactions"]
    )
    return SessionInfo(**{**item, "part": part, "compactions": compactions, "usage": Usage(**item["usage"])})


def read_parts(store: Store) -> list[Part]:
    """All parts, by name."""
    return store.place.each(partial(read_part, place=store.place), store.place.seen(store.transcripts))


def each_part(store: Store) -> Iterator[Part]:
    """All parts, by name, one after the other and none remembered: together they need memory for every message."""
    for seen in store.place.seen(store.transcripts):
        yield _described(seen, store.place, digests=False)


def load(store: Store, info: SessionInfo) -> Transcript:
    """A whole session, read from the row groups that hold it."""
    path = store.transcripts / info.part
    seen = store.place.look(path)
    if seen is None:
        raise StoreProblem(f"{store.place.told(path)} is gone: another program has removed it; run again")
    file = open_part(seen, store.place)
    start, end = info.first_row, info.first_row + info.n_messages
    groups: list[int] = []
    row = offset = 0
    for index in range(file.num_row_groups):
        size = file.metadata.row_group(index).num_rows
        if row < end and row + size > start:
            if not groups:
                offset = start - row
            groups.append(index)
        row += size
    table = file.read_row_groups(groups).slice(offset, info.n_messages) if groups else schemas.MESSAGES.empty_table()
    return Transcript(
        session_id=info.session_id,
        messages=messages_of(table),
        source_format=info.source_format,
        source_path=info.source_path,
        title=info.title,
        started_at=info.started_at,
        ended_at=info.ended_at,
        model=info.model,
        cwd=info.cwd,
        parent_session_id=info.parent_session_id,
        task_type=info.task_type if info.task_type_by == "log" else None,
        usage=info.usage,
        compactions=info.compactions,
        set_aside=info.set_aside,
    )


def size_of(messages: Sequence[Message]) -> int:
    """Bytes that messages take in memory, about."""
    return sum(
        600 + len(m.text) + len(m.reasoning) + sum(200 + len(c.arguments) for c in m.tool_calls) for m in messages
    )


def total_rows(store: Store) -> int:
    """Messages in the store, from the footers alone."""
    return sum(open_part(seen, store.place).metadata.num_rows for seen in store.place.seen(store.transcripts))


__all__ = [
    "Fingerprint", "InputRecord", "Part", "PartWriter", "SessionInfo", "WriteError",
    "load", "open_part", "read_part", "read_parts", "split", "total_rows",
]  # fmt: skip
