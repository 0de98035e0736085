"""Sessions in the store: parts that are published whole, and what is known of every session without reading it.

A part is the output of one ingest task. Its Parquet footer carries what describes it (sessions, inputs and their
fingerprints), so that one rename publishes rows and description together. A long description lies before the footer,
which says where: Arrow copies a footer several times to read it. ``flows.sessions.deduplicate`` brings the
parts of several runs into agreement, ``flows.sessions.part_writer`` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from compaction import Message, RecordedCompaction, Transcript
from compaction.transcript import Usage
from flows.store import parquet_schemas
from flows.store.row_codec import messages_of
from flows.store.storage import LOCAL, FileInfo, Storage
from flows.store.store import Store
from flows.support.errors import StoreError

FOOTER = b"compaction_eval"
DIGESTS = b"compaction_eval_digests"
"""Beside it: what only ``flows.sessions.deduplicate`` looks at, which is longer than all the rest."""
MOST_IN_FOOTER = 24_000
"""Most bytes of a value in the footer; of a longer one it has offset and size. Up to 0.2.0 it had everything."""
MOST_FOOTER = (1 << 31) - 1
"""Bytes of such a footer: 24 for each message, about 1,000 for each session."""
PARTS_REMEMBERED = 1_000
"""Descriptions that are kept in memory: a command looks at all of them about ten times."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The state of an input when it was read. An unchanged input is not read again."""

    path: str
    """Absolute."""
    size: int
    mtime_ns: int
    reader: str = ""
    """Version of the readers' code: newer ones may see more in the same file."""


@dataclass(frozen=True, slots=True)
class InputRecord:
    """The result of reading one input."""

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
    kept_because: str = ""
    """Why an earlier form of the input is stored, and not the one of the fingerprint; blank where it is that one."""
    n_refused: int = 0
    """Places that could not be read in the form that is not stored."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """Metadata of a session, available without reading its messages."""

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
    forked_at: int | None = None
    n_inherited: int = 0
    said_from: str | None = None
    """Time of its first message that has one."""
    task_type: str | None = None
    task_type_by: str | None = None
    """What the task type comes from: the log, or the rule."""
    resolved: bool | None = None
    exit_status: str | None = None
    usage: Usage = field(default_factory=Usage)
    n_open_calls: int = 0
    """Number of calls without a result."""
    n_stray_results: int = 0
    """Number of results without a call before them."""
    set_aside: dict[str, int] = field(default_factory=dict)
    compactions: tuple[RecordedCompaction, ...] = ()
    digests: str = ""
    """Twelve hex digits a message, to see whether two sessions are one; blank but in ``with_digests``."""
    evidence: str = ""
    """Twelve hex digits for each assistant message that another log of the same session would have too; the same."""
    folded_into: str = ""
    """Id of the session of which this one is a copy, whose rows are not stored; empty for a stored session."""
    n_apart: int = 0
    """Of a folded session: assistant messages that the other one does not have."""
    n_given: int = 0
    """Messages at its beginning that another stored session has too: it has points only behind them."""
    given_by: str | None = None
    """The id of that session."""

    def digest_list(self) -> list[str]:
        """The digest of each message."""
        return split_digests(self.digests)

    def evidence_list(self) -> list[str]:
        """The evidence, in order."""
        return split_digests(self.evidence)

    def by_kind(self) -> dict[str, int]:
        """Messages by role, and calls."""
        return {**self.roles, "tool_call": self.n_tool_calls}


DIGEST = 12
"""Hex digits of a message's digest."""


def split_digests(digests: str) -> list[str]:
    """Split a text of concatenated digests into a list."""
    return [digests[i : i + DIGEST] for i in range(0, len(digests), DIGEST)]


@dataclass(frozen=True)
class Part:
    """One Parquet file of messages with its description."""

    name: str
    generation: int
    """Number of the ingestion that wrote it. Of two parts with the same input, the later one is valid."""
    inputs: tuple[InputRecord, ...]
    sessions: tuple[SessionInfo, ...]
    folded: tuple[SessionInfo, ...] = ()
    """Sessions that were read here and are copies of others."""

    def metadata(self) -> dict[bytes, bytes]:
        """The description as it stands in the file; the sessions must have their digests."""
        infos = (*self.sessions, *self.folded)
        body = {
            "generation": self.generation,
            "inputs": [asdict(record) for record in self.inputs],
            "sessions": [{**asdict(info), "part": "", "digests": "", "evidence": ""} for info in infos],
        }
        digests = [(info.digests, info.evidence) for info in infos]
        return {FOOTER: _dump_json(body), DIGESTS: _dump_json(digests)}


def _dump_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def open_part(seen: FileInfo, place: Storage = LOCAL) -> pq.ParquetFile:
    """Open a part with a footer of any length: one of version 0.2.0 may exceed the Parquet reader's default."""
    return _parquet(place.open(seen))


def _parquet(source: Any) -> pq.ParquetFile:
    return pq.ParquetFile(source, thrift_string_size_limit=MOST_FOOTER, thrift_container_size_limit=MOST_FOOTER)


@lru_cache(maxsize=PARTS_REMEMBERED)
def read_part(seen: FileInfo, place: Storage = LOCAL) -> Part:
    """The description of a part, without digests; a file that has not been replaced since is not read again."""
    return _part_of_file(seen, place, digests=False)


def with_digests(seen: FileInfo, place: Storage = LOCAL) -> Part:
    """The description of a part, with the digests of its sessions."""
    return _part_of_file(seen, place, digests=True)


def _part_of_file(seen: FileInfo, place: Storage, *, digests: bool) -> Part:
    path = seen.path
    source = place.open(seen)
    # Opened once: the part may be replaced at any moment.
    with source if isinstance(source, pa.NativeFile) else pa.PythonFile(source.open("rb"), "r") as file:
        metadata = _parquet(file).metadata.metadata or {}
        if FOOTER not in metadata:
            raise StoreError(
                f"{place.display_name(path)} is not a part of this store: another program has put it there; move it "
                "away"
            )
        body = _read_value(metadata[FOOTER], file)
        pairs = _read_value(metadata[DIGESTS], file) if digests else None
    del metadata  # as large as all that is made of it
    _share_strings(body, {})
    inputs = tuple(
        InputRecord(**{**r, "fingerprint": Fingerprint(**r["fingerprint"]), "aside": tuple(map(tuple, r["aside"]))})
        for r in body["inputs"]
    )
    if pairs is not None:
        for item, pair in zip(body["sessions"], pairs, strict=True):
            item["digests"], item["evidence"] = pair
    sessions = [_session(item, path.name) for item in body["sessions"]]
    return Part(
        path.name,
        body["generation"],
        inputs,
        tuple(info for info in sessions if not info.folded_into),
        tuple(info for info in sessions if info.folded_into),
    )


def _read_value(found: bytes, file: pa.NativeFile) -> Any:
    """A value of the footer, or what lies where it says."""
    value = orjson.loads(found)
    match value:
        case [int(start), int(size)]:
            file.seek(start)
            return orjson.loads(file.read(size))
    return value


def _share_strings(value: Any, known: dict[str, str]) -> None:
    """Put one object in the place of equal strings: half of the text of most sessions is repeated paths and names."""
    for at, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, str):
            value[at] = known.setdefault(inner, inner)
        elif inner and isinstance(inner, dict | list):
            _share_strings(inner, known)


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
    return store.place.each(partial(read_part, place=store.place), store.place.list_files(store.transcripts))


def iter_parts(store: Store) -> Iterator[Part]:
    """All parts, sorted by name, one at a time and not cached: together they need memory for every message."""
    for seen in store.place.list_files(store.transcripts):
        yield _part_of_file(seen, store.place, digests=False)


def load_session(store: Store, info: SessionInfo) -> Transcript:
    """Load a session from the row groups that hold it."""
    path = store.transcripts / info.part
    seen = store.place.stat(path)
    if seen is None:
        raise StoreError(f"{store.place.display_name(path)} is gone: another program has removed it; run again")
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
    table = (
        file.read_row_groups(groups).slice(offset, info.n_messages)
        if groups
        else parquet_schemas.MESSAGES.empty_table()
    )
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
        forked_at=info.forked_at,
        n_inherited=info.n_inherited,
        task_type=info.task_type if info.task_type_by == "log" else None,
        resolved=info.resolved,
        exit_status=info.exit_status,
        usage=info.usage,
        compactions=info.compactions,
        set_aside=info.set_aside,
    )


def memory_bytes(messages: Sequence[Message]) -> int:
    """Approximate size of messages in memory, in bytes."""
    return sum(
        600 + len(m.text) + len(m.reasoning) + sum(200 + len(c.arguments) for c in m.tool_calls) for m in messages
    )
