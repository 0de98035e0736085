"""Sessions of goose made by hand: a database with the tables of version 15, and the JSON lines that were before it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

NAME = "sessions.db"
NOTE = """Your context was compacted. The previous message contains a summary of the conversation so far.
Do not mention that you read a summary or that conversation summarization occurred.
Just continue the conversation naturally based on the summarized context."""
_TABLES = """
create table schema_version (version integer primary key, applied_at timestamp default '2026-03-01 10:00:00');
create table sessions (
    id text primary key, name text not null default '', description text not null default '',
    user_set_name boolean default false, session_type text not null default 'user', working_dir text not null,
    created_at timestamp default '2026-03-01 10:00:00', updated_at timestamp default '2026-03-01 10:00:00',
    extension_data text default '{}', total_tokens integer, input_tokens integer, output_tokens integer,
    accumulated_total_tokens integer, accumulated_input_tokens integer, accumulated_output_tokens integer
);
create table messages (
    id integer primary key autoincrement, session_id text not null references sessions (id), role text not null,
    content_json text not null, created_timestamp integer not null, timestamp timestamp default '2026-03-01 10:00:00',
    tokens integer
);
"""
_ADDED = """
alter table messages add column metadata_json text;
alter table messages add column message_id text;
alter table sessions add column provider_name text;
alter table sessions add column model_config_json text;
alter table sessions add column accumulated_cache_read_tokens integer;
alter table sessions add column accumulated_cost real;
alter table sessions add column parent_session_id text;
"""


def say(role: str, *blocks: Any, shows: tuple[bool, bool] = (True, True), at: int = 1, **more: Any) -> dict[str, Any]:
    """A message; a text stands for its block. ``shows``: whether the person, the model is shown it."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    metadata = {"userVisible": shows[0], "agentVisible": shows[1]}
    return {"role": role, "created": 1_760_000_000 + at, "content": content, "metadata": metadata, **more}


def call(own: str, name: str = "developer__shell", **arguments: Any) -> dict[str, Any]:
    """The block of a call."""
    value = {"name": name, "arguments": arguments}
    return {"type": "toolRequest", "id": own, "toolCall": {"status": "success", "value": value}}


def result(own: str, *parts: Any, is_old: bool = False, **more: Any) -> dict[str, Any]:
    """The block of a result; a text stands for its part."""
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    value: Any = content if is_old else {"content": content, "isError": False, **more}
    return {"type": "toolResponse", "id": own, "toolResult": {"status": "success", "value": value}}


MESSAGES = [
    say("user", "Mend the mill."),
    say("assistant", {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, "I look.", id="m1", at=2),
    say("assistant", call("a", command="ls"), id="m2", at=3),
    say("user", result("a", "mill", {"type": "text", "text": "mill!", "annotations": {"audience": ["user"]}}), at=4),
    say("assistant", "It turns.", id="m3", at=5),
]
HIDDEN = [message | {"metadata": {"userVisible": True, "agentVisible": False}} for message in MESSAGES]
COMPACTED = [
    *HIDDEN,
    say("user", "Oil it.", shows=(False, False), at=6),
    say("user", "The mill was mended.", shows=(False, True), at=7),
    say("assistant", NOTE, shows=(False, True), at=8),
    say("user", "Oil it.", at=9),
    say("assistant", "Oiled.", at=10),
]


def open_database(path: Path, tables: str = _TABLES + _ADDED) -> sqlite3.Connection:
    """A new database in WAL mode, as goose opens it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = off")
    connection.executescript(tables)
    return connection


def open_old_database(path: Path) -> sqlite3.Connection:
    """A database of the first version."""
    return open_database(path, _TABLES)


def add(connection: sqlite3.Connection, own: str, messages: list[dict[str, Any]], **columns: Any) -> None:
    """Adds a session; of its messages the columns that the database has."""
    _insert(connection, "sessions", {"id": own, "working_dir": "/home/ada/mill", **columns})
    known = {row[1] for row in connection.execute("pragma table_info(messages)")}
    for message in messages:
        row = {
            "session_id": own,
            "role": message["role"],
            "content_json": json.dumps(message["content"]),
            "created_timestamp": message["created"],
            "metadata_json": json.dumps(message["metadata"]),
            "message_id": message.get("id"),
        }
        _insert(connection, "messages", {name: value for name, value in row.items() if name in known})


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    connection.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", tuple(row.values()))


SESSION = {
    "name": "The mill",
    "created_at": "2025-10-09 08:00:00",
    "updated_at": "2025-10-09 09:00:00",
    "model_config_json": '{"model_name": "claude-test-1", "context_limit": 200000}',
    "accumulated_input_tokens": 100,
    "accumulated_output_tokens": 20,
    "accumulated_cache_read_tokens": 60,
    "accumulated_cost": 0.5,
}


def write_database(path: Path) -> None:
    """A database with a session and one of its sub-agent."""
    connection = open_database(path)
    add(connection, "20251009_1", COMPACTED, **SESSION)
    add(connection, "20251009_2", MESSAGES, session_type="sub_agent", parent_session_id="20251009_1")
    connection.close()


DATABASE = write_database
LINES = [
    {"working_dir": "/home/ada", "description": "token-0", "message_count": 5, "total_tokens": 9},
    say("user", "token-1"),
    say("assistant", "Yes.", call("a", command="token-2")),
    say("user", result("a", "token-3", is_old=True)),
    say("assistant", "token-4"),
    say("user", {"type": "toolResponse", "id": "b", "toolResult": {"status": "error", "error": "token-5"}}),
]
