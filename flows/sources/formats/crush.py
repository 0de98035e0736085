"""Crush's database (`.crush/crush.db`): all sessions of a project, those of sub-agents too.

Crush compacts by writing a summary as a message of the session; from then on the model is given that message, as a
prompt, and what follows it (internal/agent/agent.go). What is before it stays in the database.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.database import Database
from flows.sources.reading.session import BOOKKEEPING, UNKNOWN, SessionDraft
from flows.sources.reading.stored import StoredSession, columns, decode_value, number, read_each, shown
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, need_list, objects_in, text_or_none

NAME = "crush"
_SESSION_COLUMNS = ("parent_session_id", "title", "cost", "created_at", "updated_at", "summary_message_id")
_LIST = "select id, parent_session_id, updated_at from sessions order by rowid"
_SESSION = "select {} from sessions where id = ?"
_MESSAGES = """
select rowid, id, role, cast(parts as blob), model, created_at, {} from messages where session_id = ?
order by created_at, rowid
"""
_KINDS = {"reasoning", "text", "image_url", "binary", "tool_call", "tool_result", "finish", "shell_command"}
_TITLES = "title-"
"""How the id of a session begins in which the model was asked for a title."""


def detect(head: Head) -> bool:
    """Whether the file has Crush's tables."""
    messages, sessions = head.tables.get("messages", ""), head.tables.get("sessions", "")
    return all(name in messages for name in ("parts", "finished_at")) and "completion_tokens" in sessions


def read(source: Source) -> Iterator[Transcript]:
    """The sessions of the database, one by one."""
    return read_each(source, NAME, _list_sessions, _read_session)


def _list_sessions(database: Database) -> Iterator[StoredSession]:
    with database.snapshot() as select:
        for own, parent, updated in select(_LIST):
            if not str(own).startswith(_TITLES):
                yield StoredSession(str(own), not parent, number(updated))


def _read_session(source: Source, database: Database, listed: StoredSession) -> list[Transcript]:
    session = SessionDraft(source)
    with database.snapshot() as select:
        wanted = columns(select, "sessions", _SESSION_COLUMNS)
        found = next(select(_SESSION.format(wanted), listed.id), (None,) * len(_SESSION_COLUMNS))
        parent, title, cost, started, ended, last_summary = found
        query = _MESSAGES.format(columns(select, "messages", ("is_summary_message",)))
        for row, own, role, data, model, created, is_summary in select(query, listed.id):
            ref = f"{source.name}#{row}"
            with source.setting_aside(None, ref, shown(data)):
                parts = objects_in(need_list(decode_value(data), "parts"))
                if is_summary or (last_summary and own == last_summary):
                    _compact(session, parts)
                else:
                    _take(session, role, parts, ref, iso_time(created))
                    session.model = text_or_none(model) if role == "assistant" and model else session.model
    session.title = text_or_none(title)
    session.started_at, session.ended_at = iso_time(started), iso_time(ended)
    session.use(None, make_usage(cost=cost))
    return session.build(NAME, listed.id, parent_session_id=f"{NAME}-{parent}" if parent else None)


def _compact(session: SessionDraft, parts: list[Record]) -> None:
    """Note a compaction; a summary that failed changed nothing."""
    text = _texts(parts)
    if not text or any(held.get("reason") == "error" for held in _held(parts, "finish")):
        session.leave_out(BOOKKEEPING)
        return
    session.compacted(summary=text, dropped=list(session.drafts), summary_at=0)


def _take(session: SessionDraft, role: str, parts: list[Record], ref: str, time: str | None) -> None:
    unknown = sum(part.get("type") not in _KINDS for part in parts)
    session.leave_out(UNKNOWN, count=unknown)
    if role == "tool":
        results = _held(parts, "tool_result")
        session.leave_out(BOOKKEEPING, count=not results)
        for held in results:
            text = "\n".join(text for text in (text_of(held.get("content")), _show_media(held)) if text)
            own, name = held.get("tool_call_id"), held.get("name")
            session.result(own, text, ref, time, is_error=held.get("is_error") is True, name=name)
    elif role == "assistant":
        draft = session.respond(None, ref, time)
        for held in _held(parts, "reasoning"):
            draft.add_reasoning(held.get("thinking"))
        draft.add_text(_texts(parts))
        for held in _held(parts, "tool_call"):
            session.call(draft, held.get("id"), held.get("name"), held.get("input"))
    else:
        commands = (_show_command(held) for held in _held(parts, "shell_command"))
        files = (_show_file(held) for held in _held(parts, "binary"))
        text = "\n\n".join(text for text in (_texts(parts), *commands, *files) if text)
        session.say("system" if role == "system" else "user", text, ref, time, typed=role != "system")


def _held(parts: list[Record], kind: str) -> list[Record]:
    return [as_dict(part.get("data")) for part in parts if part.get("type") == kind]


def _texts(parts: list[Record]) -> str:
    texts = [text_of(held.get("text")) for held in _held(parts, "text")]
    links = [text_of({"type": "image_url", "image_url": held}) for held in _held(parts, "image_url")]
    return "\n".join(text for text in (*texts, *links) if text)


def _show_media(held: Record) -> str:
    """A mark for what is not text in a result."""
    data, mime = held.get("data"), str(held.get("mime_type") or "")
    kind = "image" if mime.startswith("image/") else "file"
    return text_of({"type": kind, "mime_type": mime, "data": data}) if data else ""


def _show_command(held: Record) -> str:
    """A command that the person ran, as the model is told of it."""
    command, output, code = (held.get(name, "") for name in ("command", "output", "exit_code"))
    return f"$ {command}\n{output}\n(exit code {code})"


def _show_file(held: Record) -> str:
    """The text of an attached file, or a mark for one that is no text."""
    mime, data = str(held.get("MIMEType") or ""), held.get("Data")
    if not mime.startswith("text/"):
        return _show_media({"mime_type": mime, "data": data})
    try:
        text = base64.b64decode(str(data), validate=True).decode("utf-8", "replace")
    except ValueError:
        text = str(data)
    return f"<file path='{held.get('Path', '')}'>\n\n{text}\n</file>"


FORMAT = SourceFormat(
    NAME,
    "Crush's database (`.crush/crush.db`), read while Crush has it open",
    "the tables `messages` with `parts` and `finished_at`, and `sessions` with `completion_tokens`",
    detect,
    read,
    order=133,
    shared_suffixes=(".db",),
    hidden=re.compile(r"\.crush"),
)
