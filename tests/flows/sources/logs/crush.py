"""A database of Crush made by hand, with the tables that its migrations make (August 2026)."""

from __future__ import annotations

import base64
import json
import sqlite3
from pathlib import Path
from typing import Any

NAME = "crush.db"
_TABLES = """
create table sessions (
    id text primary key, parent_session_id text, title text not null,
    message_count integer not null default 0, prompt_tokens integer not null default 0,
    completion_tokens integer not null default 0, cost real not null default 0.0,
    updated_at integer not null, created_at integer not null
);
create table files (id text primary key, session_id text not null, path text not null, content text not null);
create table messages (
    id text primary key, session_id text not null, role text not null, parts text not null default '[]', model text,
    created_at integer not null, updated_at integer not null, finished_at integer,
    foreign key (session_id) references sessions (id) on delete cascade
);
"""
_ADDED = """
alter table sessions add column summary_message_id text;
alter table messages add column provider text;
alter table messages add column is_summary_message integer default 0 not null;
alter table sessions add column todos text;
"""
Part = tuple[str, dict[str, Any]]
FINISHED: Part = ("finish", {"reason": "end_turn", "time": 1_760_000_002})


def text(value: str) -> Part:
    """The part of a text."""
    return ("text", {"text": value})


def call(own: str, **arguments: Any) -> Part:
    """The part of a call."""
    return ("tool_call", {"id": own, "name": "bash", "input": json.dumps(arguments), "finished": True})


def result(own: str, content: str, **more: Any) -> Part:
    """The part of a result."""
    return ("tool_result", {"tool_call_id": own, "name": "bash", "content": content, "is_error": False, **more})


def attached(path: str, mime: str, content: bytes) -> Part:
    """The part of an attached file."""
    return ("binary", {"Path": path, "MIMEType": mime, "Data": base64.b64encode(content).decode()})


MESSAGES: list[tuple[str, list[Part]]] = [
    ("user", [text("Mend the mill."), attached("/home/ada/plan.txt", "text/plain", b"first the wheel")]),
    (
        "assistant",
        [("reasoning", {"thinking": "hm", "signature": "c2ln"}), text("I look."), call("a", command="ls"), FINISHED],
    ),
    ("tool", [result("a", "mill"), result("b", "no such path", is_error=True)]),
    ("assistant", [text("It turns."), FINISHED]),
    ("user", [text("Oil it."), ("shell_command", {"command": "pwd", "output": "/home/ada", "exit_code": 0})]),
    ("assistant", [text("Oiled."), FINISHED]),
]
SUMMARY: tuple[str, list[Part]] = ("summary", [text("The mill was mended."), FINISHED])


def open_database(path: Path, tables: str = _TABLES + _ADDED) -> sqlite3.Connection:
    """A new database in WAL mode, as Crush opens it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = off")
    connection.executescript(tables)
    return connection


def open_old_database(path: Path) -> sqlite3.Connection:
    """A database of the first version, which knew no summary."""
    return open_database(path, _TABLES)


def add(
    connection: sqlite3.Connection, own: str, messages: list[tuple[str, list[Part]]], parent: str | None = None
) -> None:
    """Adds a session; a message of the role ``summary`` is a summary that the assistant wrote."""
    connection.execute(
        "insert into sessions (id, parent_session_id, title, cost, created_at, updated_at)"
        " values (?, ?, 'The mill', 0.5, 1760000000, 1760000099)",
        (own, parent),
    )
    known = {row[1] for row in connection.execute("pragma table_info(messages)")}
    for at, (role, parts) in enumerate(messages):
        row = {
            "id": f"{own}-{at}",
            "session_id": own,
            "role": "assistant" if role == "summary" else role,
            "parts": json.dumps([{"type": kind, "data": data} for kind, data in parts]),
            "model": "claude-test-1" if role == "assistant" else "",
            "created_at": 1_760_000_000 + at,
            "updated_at": 1_760_000_000 + at,
            "is_summary_message": int(role == "summary"),
        }
        row = {name: value for name, value in row.items() if name in known}
        marks = ", ".join("?" * len(row))
        connection.execute(f"insert into messages ({', '.join(row)}) values ({marks})", tuple(row.values()))


def write_database(path: Path) -> None:
    """A database with a session that was compacted, one of its sub-agent, and one in which a title was made."""
    connection = open_database(path)
    add(connection, "s1", [*MESSAGES[:4], SUMMARY, *MESSAGES[4:]])
    add(connection, "m1$$a", [("user", [text("Look for it.")]), ("assistant", [text("Found.")])], "s1")
    add(connection, "title-s1", [("user", [text("Make a title.")])], "s1")
    connection.close()


DATABASE = write_database
