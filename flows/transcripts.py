"""Sessions in the store: parts that are published whole, and what is known of every session without reading it.

A part is the output of one ingest task. Its Parquet footer carries what describes it (sessions, inputs and their
fingerprints), so that one rename publishes rows and description together. ``settle`` brings the parts of several runs
into agreement: a session that was read again, grew, or stands in two files is there once.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from compaction import Message, RecordedCompaction, Transcript
from flows import schemas
from flows.ids import content_id, content_sha256, message_digest
from flows.rows import message_columns, messages_of
from flows.store import COMPRESSION, COMPRESSION_LEVEL, ROW_GROUP, TMP, Store, publish

Key = TypeVar("Key")
Value = TypeVar("Value")

FOOTER = b"compaction_eval"
SAME_SESSION = 0.5
"""Share of the shorter session's messages that the longer one must hold for the two to be one session."""


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
    folded: tuple[tuple[str, str], ...] = ()
    """(session, the session that it is a shorter copy of) for what was read here and is kept elsewhere."""


@dataclass(frozen=True)
class SessionInfo:
    """What is known of a session without reading its messages."""

    session_id: str
    recorded_id: str
    """The id in the log. ``session_id`` is the same unless two different sessions claim it."""
    content_sha256: str
    input_path: str
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
    model: str | None = None
    cwd: str | None = None
    parent_session_id: str | None = None
    set_aside: dict[str, int] = field(default_factory=dict)
    compactions: tuple[RecordedCompaction, ...] = ()
    digests: str = ""
    """Twelve hex digits a message, to see whether two sessions are one."""

    def digest_list(self) -> list[str]:
        """The digest of each message."""
        return [self.digests[i : i + 12] for i in range(0, len(self.digests), 12)]


@dataclass(frozen=True)
class Part:
    """One Parquet file of messages with its description."""

    name: str
    generation: int
    """Number of the ingestion that wrote it; of two parts that read the same input the later one holds."""
    inputs: tuple[InputRecord, ...]
    sessions: tuple[SessionInfo, ...]

    def footer(self) -> bytes:
        """The description as it stands in the file."""
        body = {
            "generation": self.generation,
            "inputs": [asdict(record) for record in self.inputs],
            "sessions": [{**asdict(info), "part": ""} for info in self.sessions],
        }
        return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()


def describe(transcript: Transcript, input_path: str, first_row: int, tokenizer: str) -> SessionInfo:
    """What is to be known of a session whose messages have been counted."""
    messages = transcript.messages
    return SessionInfo(
        session_id=transcript.session_id,
        recorded_id=transcript.session_id,
        content_sha256=content_sha256(messages),
        input_path=input_path,
        part="",
        first_row=first_row,
        n_messages=len(messages),
        n_tokens=sum(m.tokens or 0 for m in messages),
        tokenizer=tokenizer,
        source_format=transcript.source_format,
        source_path=transcript.source_path,
        roles=dict(Counter(m.role for m in messages)),
        n_tool_calls=sum(len(m.tool_calls) for m in messages),
        title=transcript.title,
        started_at=transcript.started_at,
        model=transcript.model,
        cwd=transcript.cwd,
        parent_session_id=transcript.parent_session_id,
        set_aside=transcript.set_aside,
        compactions=transcript.compactions,
        digests="".join(map(message_digest, messages)),
    )


class PartWriter:
    """Writes a part session by session; nothing is visible before ``finish``."""

    def __init__(self, store: Store, fingerprints: Sequence[Fingerprint], generation: int, tokenizer: str) -> None:
        self.name = f"part-{content_id([asdict(f) for f in fingerprints])}.parquet"
        self._path = store.transcripts / self.name
        self._generation = generation
        self._tokenizer = tokenizer
        self._inputs: list[InputRecord] = []
        self._sessions: list[SessionInfo] = []
        self._columns: dict[str, list[Any]] = {name: [] for name in schemas.MESSAGES.names}
        self._n_rows = 0
        store.transcripts.mkdir(parents=True, exist_ok=True)
        self._tmp = self._path.with_name(self.name + TMP)
        self._file = pq.ParquetWriter(
            self._tmp, schemas.MESSAGES, compression=COMPRESSION, compression_level=COMPRESSION_LEVEL
        )

    def add_session(self, transcript: Transcript, input_path: str) -> None:
        """Append a session whose messages have been counted."""
        self._sessions.append(describe(transcript, input_path, self._n_rows, self._tokenizer))
        for name, values in message_columns(transcript.session_id, transcript.messages).items():
            self._columns[name] += values
        self._n_rows += len(transcript.messages)
        if len(self._columns["seq"]) >= ROW_GROUP:
            self._flush()

    def add_input(self, record: InputRecord) -> None:
        """Note that an input has been read, whatever came out of it."""
        self._inputs.append(record)

    def finish(self) -> Part:
        """Make the part visible."""
        self._flush()
        part = Part(self.name, self._generation, tuple(self._inputs), tuple(self._sessions))
        self._file.add_key_value_metadata({FOOTER: part.footer()})
        self._file.close()
        publish(self._tmp, self._path)
        return part

    def _flush(self) -> None:
        if self._columns["seq"]:
            self._file.write_table(_table(self._columns), row_group_size=ROW_GROUP)
            self._columns = {name: [] for name in schemas.MESSAGES.names}


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


def read_part(path: Path) -> Part:
    """The description of a part."""
    body = json.loads(pq.read_metadata(path).metadata[FOOTER])
    inputs = tuple(
        InputRecord(**{**r, "fingerprint": Fingerprint(**r["fingerprint"]), "folded": tuple(map(tuple, r["folded"]))})
        for r in body["inputs"]
    )
    sessions = tuple(_session(item, path.name) for item in body["sessions"])
    return Part(path.name, body["generation"], inputs, sessions)


def _session(item: dict[str, Any], part: str) -> SessionInfo:
    compactions = tuple(
        RecordedCompaction(**{**c, "dropped": None if c["dropped"] is None else tuple(c["dropped"])})
        for c in item["compactions"]
    )
    return SessionInfo(**{**item, "part": part, "compactions": compactions})


def read_parts(store: Store) -> list[Part]:
    """All parts, by name."""
    return [read_part(path) for path in sorted(store.transcripts.glob("*.parquet"))]


def load(store: Store, info: SessionInfo) -> Transcript:
    """A whole session, read from the row groups that hold it."""
    file = pq.ParquetFile(store.transcripts / info.part)
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
        model=info.model,
        cwd=info.cwd,
        parent_session_id=info.parent_session_id,
        compactions=info.compactions,
        set_aside=info.set_aside,
    )


def settle(store: Store) -> None:
    """Bring the parts into agreement; a function of what was read, whatever the order and however often.

    - Of an input that was read again the latest reading holds.
    - Sessions with the same recorded id that share at least half of the shorter one's messages are one session: the
      longer one stays, the other is noted as folded into it.
    - Different sessions with the same recorded id stay both; all but the first by path get a suffix.
    """
    parts = read_parts(store)
    latest: dict[str, tuple[int, str]] = {}
    for part in parts:
        for record in part.inputs:
            path = record.fingerprint.path
            latest[path] = max(latest.get(path, (-1, "")), (part.generation, part.name))
    by_id: dict[str, list[SessionInfo]] = {}
    for part in parts:
        for info in part.sessions:
            if latest[info.input_path][1] == part.name:
                by_id.setdefault(info.recorded_id, []).append(info)
    names: dict[tuple[str, str, int], str] = {}
    folded: dict[str, list[tuple[str, str]]] = {}
    for infos in by_id.values():
        _name(infos, names, folded)
    for part in parts:
        inputs = tuple(
            replace(r, folded=tuple(sorted({*r.folded, *folded.get(r.fingerprint.path, ())})))
            for r in part.inputs
            if latest[r.fingerprint.path][1] == part.name
        )
        keep = [(info, names[key]) for info in part.sessions if (key := _place(info)) in names]
        if inputs != part.inputs or [(info, info.session_id) for info in part.sessions] != keep:
            _rewrite(store, part, inputs, keep)


def _place(info: SessionInfo) -> tuple[str, str, int]:
    return info.part, info.recorded_id, info.first_row


def _name(
    infos: list[SessionInfo],
    names: dict[tuple[str, str, int], str],
    folded: dict[str, list[tuple[str, str]]],
) -> None:
    """Give the sessions that share a recorded id their ids, and fold shorter copies into the longest."""
    stay: list[SessionInfo] = []
    folds: list[tuple[SessionInfo, SessionInfo]] = []
    for info in sorted(infos, key=lambda i: (-i.n_messages, i.input_path, i.first_row)):
        winner = next((other for other in stay if _same_session(info, other)), None)
        if winner is None:
            stay.append(info)
        else:
            folds.append((info, winner))
    taken: set[str] = set()
    for info in sorted(stay, key=lambda i: (i.input_path, i.first_row)):
        id = info.recorded_id
        if id in taken:
            id = f"{info.recorded_id}~{content_id(info.digest_list()[:3])[:8]}"
        if id in taken:
            id = f"{info.recorded_id}~{info.content_sha256[:12]}"
        taken.add(id)
        names[_place(info)] = id
    for info, winner in folds:
        folded.setdefault(info.input_path, []).append((info.recorded_id, names[_place(winner)]))


def _same_session(short: SessionInfo, long: SessionInfo) -> bool:
    if short.content_sha256 == long.content_sha256:
        return True
    shorter, longer = Counter(short.digest_list()), Counter(long.digest_list())
    return shorter.total() > 0 and (shorter & longer).total() >= SAME_SESSION * shorter.total()


def _rewrite(
    store: Store, part: Part, inputs: tuple[InputRecord, ...], keep: Iterable[tuple[SessionInfo, str]]
) -> None:
    """Replace a part by one that holds fewer inputs or sessions, or other ids, in one rename."""
    path = store.transcripts / part.name
    if not inputs:
        path.unlink()
        return
    table = pq.read_table(path, schema=schemas.MESSAGES)
    sessions, tables, row = [], [], 0
    for info, id in keep:
        rows = table.slice(info.first_row, info.n_messages)
        column = pa.array([id] * info.n_messages, pa.string())
        tables.append(rows.set_column(0, schemas.MESSAGES.field("session_id"), column))
        sessions.append(replace(info, session_id=id, first_row=row))
        row += info.n_messages
    new = replace(part, inputs=inputs, sessions=tuple(sessions))
    tmp = path.with_name(part.name + TMP)
    with pq.ParquetWriter(tmp, schemas.MESSAGES, compression=COMPRESSION, compression_level=COMPRESSION_LEVEL) as file:
        if tables:
            file.write_table(pa.concat_tables(tables), row_group_size=ROW_GROUP)
        file.add_key_value_metadata({FOOTER: new.footer()})
    publish(tmp, path)


def size_of(messages: Sequence[Message]) -> int:
    """Bytes that messages take in memory, about."""
    return sum(
        600 + len(m.text) + len(m.reasoning) + sum(200 + len(c.arguments) for c in m.tool_calls) for m in messages
    )


class Loaded(Generic[Key, Value]):
    """What a worker keeps in memory, the least recently used dropped at a limit of bytes.

    The stages ask for the same sessions one after the other. What the engine works out about a message hangs on the
    object, so that keeping the objects saves the analysis too.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._size = 0
        self._held: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """What was put there, unless it has been dropped."""
        if key not in self._held:
            return None
        self._held.move_to_end(key)
        return self._held[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of about so many bytes, and drop others for it."""
        if key in self._held:
            self._size -= self._held.pop(key)[1]
        self._held[key] = (value, size)
        self._size += size
        while self._size > self._limit and len(self._held) > 1:
            self._size -= self._held.popitem(last=False)[1][1]


def total_rows(store: Store) -> int:
    """Messages in the store, from the footers alone."""
    return sum(pq.read_metadata(path).num_rows for path in store.transcripts.glob("*.parquet"))


__all__ = [
    "Fingerprint", "InputRecord", "Loaded", "Part", "PartWriter", "SessionInfo",
    "load", "read_part", "read_parts", "settle", "total_rows",
]  # fmt: skip
