"""Sessions of goose: its database (`sessions.db`), the JSON lines before it, exports, and what `goose run` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.goose._reading import Reading, Row, row_of
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.database import Database
from flows.sources.reading.session import BOOKKEEPING, SessionDraft
from flows.sources.reading.stored import (
    StoredSession,
    columns,
    decode_value,
    read_each,
    seconds,
    shown,
    sql_time,
)
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_list, first_text, nested, objects_in, text_or_none

NAME = "goose"
_STEM = re.compile(r"(\d{8}_\d+)\.jsonl")
_BLOCKS = set(
    """text image thinking redactedThinking toolRequest toolResponse frontendToolRequest toolConfirmationRequest
    actionRequired systemNotification conversationCompacted contextLengthExceeded summarizationRequested""".split()
)
_OF_ANYBODY = {"text", "image", "thinking"}
"""Blocks that other agents have too."""
_USED = tuple(f"accumulated_{what}" for what in ("input_tokens", "output_tokens", "cache_read_tokens", "cost"))
_LISTED = ("id", "session_type", "updated_at")
_DESCRIBED = (
    "name",
    "description",
    "working_dir",
    "created_at",
    "updated_at",
    "parent_session_id",
    "model_config_json",
    *_USED,
)
_LIST = "select {} from sessions order by rowid"
_SESSION = "select {} from sessions where id = ?"
_MESSAGES = """
select id, role, cast(content_json as blob), created_timestamp, {} from messages where session_id = ? order by id
"""
_STARTED_BY_GOOSE = {"sub_agent", "hidden"}


def detect(head: Head) -> bool:
    """Whether the file has goose's tables, header or messages."""
    if "content_json" in head.tables.get("messages", "") and "working_dir" in head.tables.get("sessions", ""):
        return True
    if isinstance(head.document, dict) and _is_export(head.document):
        return True
    return any(_is_header(record) or _is_message(_unwrap(record)) for record in head.records)


def _is_export(document: Record) -> bool:
    messages = objects_in(document.get("conversation")) or objects_in(document.get("messages"))
    return any(_is_message(message) for message in messages[:25])


def _is_header(record: Record) -> bool:
    return "message_count" in record and "description" in record and "role" not in record


def _unwrap(record: Record) -> Any:
    """The message of a line, also of one that `goose run --output-format stream-json` printed."""
    return record.get("message") if record.get("type") == "message" else record


def _is_message(value: Any) -> bool:
    """Whether a value is goose's message: its time in whole seconds, its blocks, and a mark that others lack."""
    if (
        not isinstance(value, dict)
        or type(value.get("created")) is not int
        or value.get("role") not in ("user", "assistant")
    ):
        return False
    kinds = [nested(block, "type") for block in as_list(value.get("content"))]
    is_marked = any(kind not in _OF_ANYBODY for kind in kinds) or nested(value, "metadata", "userVisible") is not None
    return is_marked and all(kind in _BLOCKS for kind in kinds)


def read(source: Source) -> Iterator[Transcript]:
    """The sessions of the database one by one, or the one of the file."""
    if source.database is not None:
        return read_each(source, NAME, _list_sessions, _read_session)
    return _read_file(source)


def _read_file(source: Source) -> Iterator[Transcript]:
    rows: list[Row] = []
    described: Record = {}
    beside = 0

    def take(where: int, record: Record) -> None:
        nonlocal beside
        message = _unwrap(record)
        if isinstance(message, dict) and "role" in message:
            rows.append(row_of(message, source.ref(where)))
        elif _is_header(record) or isinstance(record.get("type"), str):
            described.update(record)
            beside += 1
        else:
            rows.append(row_of(record, source.ref(where)))

    document = source.document
    if isinstance(document, dict) and _is_export(document):
        described.update(document)
        for index, message in enumerate(as_list(document.get("conversation") or document.get("messages"))):
            with source.setting_aside(None, f"{source.name}#{index}", message):
                rows.append(row_of(message, f"{source.name}#{index}"))
    else:
        source.each(take)
    session = Reading(source, rows).read()
    session.leave_out(BOOKKEEPING, count=beside)
    session.title = first_text(described.get("name"), described.get("description"))
    session.cwd = text_or_none(described.get("working_dir"))
    session.model = text_or_none(nested(described, "model_config", "model_name"))
    session.use(None, make_usage(*(described.get(name) for name in _USED)))
    named = _STEM.fullmatch(source.name.lower())
    yield from _build(
        session, first_text(described.get("id"), named[1] if named else None), described.get("parent_session_id")
    )


def _build(session: SessionDraft, own: str | None, parent: Any) -> list[Transcript]:
    parent = text_or_none(parent)
    return session.build(NAME, own, parent_session_id=f"{NAME}-{parent}" if parent else None)


def _list_sessions(database: Database) -> Iterator[StoredSession]:
    with database.snapshot() as select:
        for own, kind, updated in select(_LIST.format(columns(select, "sessions", _LISTED))):
            yield StoredSession(str(own), kind not in _STARTED_BY_GOOSE, seconds(updated))


def _read_session(source: Source, database: Database, listed: StoredSession) -> list[Transcript]:
    rows: list[Row] = []
    with database.snapshot() as select:
        wanted = columns(select, "sessions", _DESCRIBED, ("model_config_json",))
        found = next(select(_SESSION.format(wanted), listed.id), (None,) * len(_DESCRIBED))
        query = _MESSAGES.format(columns(select, "messages", ("message_id", "metadata_json"), ("metadata_json",)))
        for number, role, content, created, own, metadata in select(query, listed.id):
            ref = f"{source.name}#{number}"
            with source.setting_aside(None, ref, shown(content)):
                message = {"role": role, "content": decode_value(content), "created": created, "id": own}
                rows.append(row_of({**message, "metadata": decode_value(metadata) if metadata else None}, ref))
    name, description, folder, started, ended, parent, model, *used = found
    session = Reading(source, rows).read()
    session.title = first_text(name, description)
    session.cwd = text_or_none(folder)
    session.started_at, session.ended_at = sql_time(started), sql_time(ended)
    if model:
        with source.setting_aside(None, f"{source.name}: model of {listed.id}", shown(model)):
            session.model = text_or_none(nested(decode_value(model), "model_name"))
    session.use(None, make_usage(*used))
    return _build(session, listed.id, parent)


FORMAT = SourceFormat(
    NAME,
    "goose's database (`sessions.db`), its older JSON lines, exports, and what `goose run` prints",
    "tables `sessions` with `working_dir` and `messages` with `content_json`; `created` and goose's blocks",
    detect,
    read,
    order=49,
    shared_suffixes=(".db",),
)
