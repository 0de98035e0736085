"""Sessions of OpenAI's Agents SDK, after the databases that version 0.24 wrote for an agent with a tool."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

NAME = "conversations.db"
_TABLES = """
create table agent_sessions (
    session_id text primary key, created_at timestamp default current_timestamp,
    updated_at timestamp default current_timestamp
);
create table agent_messages (
    id integer primary key autoincrement, session_id text not null, message_data text not null,
    created_at timestamp default current_timestamp,
    foreign key (session_id) references agent_sessions (session_id) on delete cascade
);
"""
_BRANCHES = """
create table message_structure (
    id integer primary key autoincrement, session_id text not null, message_id integer not null,
    branch_id text not null default 'main', message_type text not null, sequence_number integer not null,
    user_turn_number integer, branch_turn_number integer, tool_name text, created_at timestamp
);
create table turn_usage (
    id integer primary key autoincrement, session_id text not null, branch_id text not null default 'main',
    user_turn_number integer not null, requests integer default 0, input_tokens integer default 0,
    output_tokens integer default 0, total_tokens integer default 0, input_tokens_details json,
    output_tokens_details json, created_at timestamp
);
"""
PICTURE = {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"}


def answer(own: str, text: str) -> dict[str, Any]:
    content = [{"annotations": [], "text": text, "type": "output_text"}]
    return {"id": own, "content": content, "role": "assistant", "status": "completed", "type": "message"}


def call(own: str, arguments: str) -> dict[str, Any]:
    item = {"arguments": arguments, "call_id": own, "name": "ls", "type": "function_call"}
    return item | {"id": f"fc_{own}", "status": "completed"}


def output(own: str, text: str) -> dict[str, Any]:
    return {"call_id": own, "output": text, "type": "function_call_output"}


ITEMS = [
    {"content": "Mend the mill.", "role": "user"},
    {"id": "rs_1", "summary": [{"text": "hm", "type": "summary_text"}], "type": "reasoning"},
    answer("msg_1", "I look."),
    call("c1", '{"path": "."}'),
    call("c2", '{"path": "x"}'),
    output("c1", "a.c"),
    output("c2", "no such path"),
    answer("msg_2", "Mended."),
    {"role": "user", "content": [{"type": "input_text", "text": "Oil it."}, PICTURE]},
    answer("msg_3", "Oiled."),
]


def open_database(path: Path, has_branches: bool = False) -> sqlite3.Connection:
    """A new database, also with the tables that branches have."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(_TABLES + (_BRANCHES if has_branches else ""))
    return connection


def add(connection: sqlite3.Connection, own: str, items: list[Any], updated: str = "2026-03-01 10:00:09") -> None:
    """Adds a session."""
    connection.execute("insert into agent_sessions values (?, '2026-03-01 10:00:00', ?)", (own, updated))
    for at, item in enumerate(items):
        row = (own, json.dumps(item), f"2026-03-01 10:00:{at:02}")
        connection.execute("insert into agent_messages (session_id, message_data, created_at) values (?, ?, ?)", row)


def branch(connection: sqlite3.Connection, own: str, name: str, rows: list[int]) -> None:
    """Notes the rows of a branch, and what its last turn used."""
    for at, number in enumerate(rows):
        connection.execute(
            "insert into message_structure (session_id, message_id, branch_id, message_type, sequence_number)"
            " values (?, ?, ?, 'message', ?)",
            (own, number, name, at),
        )
    connection.execute(
        "insert into turn_usage (session_id, branch_id, user_turn_number, input_tokens, output_tokens)"
        " values (?, ?, 1, 10, 5)",
        (own, name),
    )


def write_database(path: Path) -> None:
    """A database with two sessions."""
    connection = open_database(path)
    add(connection, "mill-1", ITEMS)
    add(connection, "mill-2", [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Ho."}])
    connection.close()


DATABASE = write_database
