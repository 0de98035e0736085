"""Conversion between messages, contexts and probes and the rows of the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from compaction import Message, ToolCall, Transcript
from flows.store import parquet_schemas
from judge import Evidence, Probe, Statement

_PLAIN = "role text reasoning tool_call_id tool_name is_error tokens".split()
"""Fields of a message that stand as they are in ``messages`` and in contexts."""


def message_columns(session_id: str, messages: Sequence[Message], start: int = 0) -> dict[str, list[Any]]:
    """The messages of a session, from position ``start`` on, as columns of ``schemas.MESSAGES``."""
    return {
        "session_id": [session_id] * len(messages),
        "seq": list(range(start, start + len(messages))),
        "tool_calls": [
            [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in m.tool_calls] for m in messages
        ],
        **{name: [getattr(m, name) for m in messages] for name in (*_PLAIN, "source_ref", "timestamp", "author")},
    }


def with_author(table: pa.Table) -> pa.Table:
    """Rows of messages with the column ``author``, which parts of earlier versions lack."""
    if "author" in table.column_names:
        return table
    return table.append_column(parquet_schemas.MESSAGES.field("author"), pa.nulls(len(table), pa.string()))


def messages_of(table: pa.Table) -> tuple[Message, ...]:
    """The messages in the rows of one session."""
    table = with_author(table)
    columns = {name: table.column(name).to_pylist() for name in parquet_schemas.MESSAGES.names}
    return tuple(
        Message(
            role=columns["role"][i],
            text=columns["text"][i],
            reasoning=columns["reasoning"][i],
            tool_calls=tuple(ToolCall(c["id"], c["name"], c["arguments"]) for c in calls) if calls else (),
            tool_call_id=columns["tool_call_id"][i],
            tool_name=columns["tool_name"][i],
            is_error=columns["is_error"][i],
            seq=columns["seq"][i],
            tokens=columns["tokens"][i],
            timestamp=columns["timestamp"][i],
            source_ref=columns["source_ref"][i],
            author=columns["author"][i],
        )
        for i, calls in enumerate(columns["tool_calls"])
    )


class ContextColumn:
    """Builds the ``context`` column: for unchanged messages their position, for the others also their content."""

    def __init__(self) -> None:
        self._offsets = [0]
        self._seqs: list[int | None] = []
        self._content_at: list[int | None] = []
        self._content: list[dict[str, Any]] = []

    def add(self, messages: Sequence[Message], transcript: Transcript) -> None:
        """Add one compacted context; an empty one for a compaction that failed."""
        for message in messages:
            self._seqs.append(message.seq)
            if message.seq is not None and transcript.messages[message.seq] is message:
                self._content_at.append(None)
            else:
                self._content_at.append(len(self._content))
                self._content.append(_message_content(message))
        self._offsets.append(len(self._seqs))

    def array(self) -> pa.Array:
        """The finished column."""
        names = [field.name for field in parquet_schemas.CONTEXT_MESSAGE if field.name != "seq"]
        types = {name: parquet_schemas.CONTEXT_MESSAGE.field(name).type for name in names}
        at = pa.array(self._content_at, pa.int32())
        fields = [pa.array(self._seqs, pa.int32())]
        fields += [pa.array([c[name] for c in self._content], types[name]).take(at) for name in names]
        values = pa.StructArray.from_arrays(fields, fields=list(parquet_schemas.CONTEXT_MESSAGE))
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), values)


def _message_content(message: Message) -> dict[str, Any]:
    return {
        **{name: getattr(message, name) for name in _PLAIN},
        "tool_calls": orjson.dumps([asdict(call) for call in message.tool_calls]).decode()
        if message.tool_calls
        else None,
        "covers": list(message.covers),
        "opaque": message.opaque or None,
    }


def contexts_of(column: pa.ChunkedArray, transcripts: Iterable[Transcript]) -> Iterator[tuple[Message, ...]]:
    """The compacted context of each row; each with the transcript that its row belongs to.

    Messages that stayed as they were are the transcript's own objects, so that what has been worked out about them
    (by identity) still holds. A changed message that several contexts have is one object.
    """
    made: dict[tuple[object, ...], Message] = {}
    contexts = column.combine_chunks()
    offsets = contexts.offsets.to_pylist()
    values = contexts.values
    seqs = pc.struct_field(values, "seq").to_pylist()
    changed_at = pc.indices_nonzero(pc.is_valid(pc.struct_field(values, "role")))
    changed = dict(zip(changed_at.to_pylist(), values.take(changed_at).to_pylist(), strict=True))
    for start, end, transcript in zip(offsets, offsets[1:], transcripts, strict=False):
        originals = transcript.messages
        yield tuple(
            _rebuild(changed[i], transcript, made) if i in changed else originals[seqs[i]] for i in range(start, end)
        )


def _rebuild(item: dict[str, Any], transcript: Transcript, made: dict[tuple[object, ...], Message]) -> Message:
    key = (transcript.session_id, *(tuple(value) if isinstance(value, list) else value for value in item.values()))
    if key not in made:
        made[key] = _message_of(item, transcript)
    return made[key]


def _message_of(item: dict[str, Any], transcript: Transcript) -> Message:
    calls = orjson.loads(item["tool_calls"]) if item["tool_calls"] else ()
    base = Message(role=item["role"]) if item["seq"] is None else transcript.messages[item["seq"]]
    return replace(
        base,
        seq=item["seq"],
        tool_calls=tuple(ToolCall(**call) for call in calls),
        covers=tuple(item["covers"] or ()),
        **{name: item[name] for name in _PLAIN},
        opaque=item["opaque"] or "",
    )


def probe_json(probe: Probe) -> tuple[str, str]:
    """Evidence and statements of a probe as JSON texts."""
    return (
        orjson.dumps([asdict(evidence) for evidence in probe.evidence]).decode(),
        orjson.dumps([asdict(statement) for statement in probe.statements]).decode(),
    )


def probe_of(row: dict[str, Any]) -> Probe:
    """The probe of a row of ``probes`` with status ``done``."""
    statements = tuple(map(_statement, orjson.loads(row["statements"])))
    evidence = tuple(Evidence(**e) for e in orjson.loads(row["evidence"]))
    return Probe(row["probe_type"], row["question"], row["ground_truth"], statements, evidence, row["max_tokens"])


def _statement(fields: dict[str, Any]) -> Statement:
    values: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    return Statement(**values)
