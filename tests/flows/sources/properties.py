"""What must hold of everything that a reader gives, whatever it was given."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa

from compaction import Message, RecordedCompaction, Transcript
from flows.sources import Input, ReadResult, read_input
from flows.sources.reading.account import KINDS
from flows.store import parquet_schemas
from flows.store.row_codec import message_columns

INT64 = 1 << 63


def check(path: Path, kind: str = "file") -> ReadResult:
    """Reads, and holds: all can be stored, the account adds up, every loss has a reason, no file is written."""
    before = listing(path.parent)
    result = read_input(Input(path, kind, 0, 0))
    assert listing(path.parent) == before
    for transcript in result.transcripts:
        check_transcript(transcript)
    for aside in result.set_aside:
        assert len(aside.excerpt) <= 200
        assert 0 < len(aside.reason) <= 4_000
        json.dumps(asdict(aside)).encode()
        (aside.excerpt + aside.reason).encode()
    stored = Counter(
        kind for t in result.transcripts for m in t.messages for kind in [m.role, *["tool_call"] * len(m.tool_calls)]
    )
    left = Counter({kind: sum(n for (k, _), n in result.account.aside.items() if k == kind) for kind in KINDS})
    assert stored + left == +result.account.met
    assert all(reason and count > 0 for (_, reason), count in result.account.aside.items())
    assert result.transcripts or result.set_aside
    return result


def listing(folder: Path) -> list[str]:
    return sorted(str(Path(at) / name) for at, _, names in os.walk(folder) for name in names)


def check_transcript(transcript: Transcript) -> None:
    assert transcript.messages
    assert [m.seq for m in transcript.messages] == list(range(len(transcript)))
    table = pa.table(message_columns(transcript.session_id, transcript.messages), schema=parquet_schemas.MESSAGES)
    table.validate(full=True)
    for message in transcript.messages:
        check_message(message)
    for event in transcript.compactions:
        check_compaction(event, len(transcript))
    known = asdict(replace(transcript, messages=()))
    json.dumps(known, allow_nan=False)  # as it is stored beside the messages
    texts = (transcript.title, transcript.model, transcript.cwd, transcript.started_at, transcript.ended_at)
    for text in (
        transcript.session_id,
        transcript.parent_session_id,
        transcript.task_type,
        transcript.exit_status,
        *texts,
    ):
        assert text is None or (isinstance(text, str) and text.encode())
    usage = transcript.usage
    for count in (usage.input_tokens, usage.output_tokens, usage.cached_tokens):
        assert count is None or (type(count) is int and 0 <= count < INT64)
    assert usage.cost_usd is None or 0 <= usage.cost_usd < INT64


def check_message(message: Message) -> None:
    for call in message.tool_calls:
        assert call.id
        arguments = json.loads(call.arguments)
        assert isinstance(arguments, dict)
    assert not message.tool_calls or message.role == "assistant"
    assert message.tool_call_id is None or message.role == "tool"


def check_compaction(event: RecordedCompaction, length: int) -> None:
    assert 0 <= event.at_seq <= length
    for seqs in (event.dropped or (), event.cleared):
        assert list(seqs) == sorted(set(seqs))
        assert all(0 <= seq < length for seq in seqs)
    assert event.tokens_before is None or -INT64 <= event.tokens_before < INT64
    ((event.summary or "") + (event.trigger or "") + event.cleared_text).encode()
