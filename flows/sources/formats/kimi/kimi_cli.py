"""Kimi's command line: the context of a session (``context.jsonl``), and the log of an agent (``wire.jsonl``) since.

Kimi CLI writes what the model is given to ``context.jsonl`` and begins the file anew when it compacts or goes back; the
older ones stay beside it as ``context_<n>.jsonl``. Kimi Code writes all that happens to one file an agent.
"""

from __future__ import annotations

from compaction.transcript import Transcript
from flows.sources.formats.kimi._context import read_context
from flows.sources.formats.kimi._parts import NAME
from flows.sources.formats.kimi._wire import WireLog
from flows.sources.reading.base import Head, Record, Source, SourceFormat

_MARKS = ("_system_prompt", "_checkpoint", "_usage")
_EVENTS = ("context.append_message", "context.append_loop_event", "context.apply_compaction")


def detect(head: Head) -> bool:
    """Whether a record is one of Kimi's marks in a context, or of the log of Kimi Code."""
    return any(_is_mark(record) or _is_event(record) for record in head.records)


def _is_mark(record: Record) -> bool:
    return record.get("role") in _MARKS


def _is_event(record: Record) -> bool:
    if record.get("type") == "metadata":
        return "protocol_version" in record and "created_at" in record
    return record.get("type") in _EVENTS


def read(source: Source) -> list[Transcript]:
    """Reads the session of the file, and the older contexts beside it."""
    if any(_is_mark(record) for record in source.head().records):
        return read_context(source)
    return WireLog(source).read()


FORMAT = SourceFormat(
    NAME,
    "Kimi CLI's context.jsonl with the older contexts beside it, or an agent's wire.jsonl of Kimi Code",
    "lines with the role `_system_prompt`, `_checkpoint` or `_usage`; lines of type `context.append_message`",
    detect,
    read,
    order=52,
)
