"""Sessions of Google's ADK, after what the session services of version 2.13 wrote for an agent with a tool."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

NAME = "sessions.db"
START = 1_772_359_200.25
_TABLES = """
create table sessions (
    app_name text not null, user_id text not null, id text not null, state text not null, create_time real not null,
    update_time real not null, primary key (app_name, user_id, id)
);
create table events (
    id text not null, app_name text not null, user_id text not null, session_id text not null,
    invocation_id text not null, timestamp real not null, event_data text not null,
    primary key (app_name, user_id, session_id, id)
);
"""
_OLD_TABLES = """
create table sessions (
    app_name varchar(128) not null, user_id varchar(128) not null, id varchar(128) not null, state text not null,
    create_time datetime not null, update_time datetime not null, primary key (app_name, user_id, id)
);
create table events (
    id varchar(128) not null, app_name varchar(128) not null, user_id varchar(128) not null,
    session_id varchar(128) not null, invocation_id varchar(256) not null, author varchar(256) not null,
    actions blob not null, timestamp datetime not null, content text, usage_metadata text
);
"""


def event(at: float, *parts: Any, author: str = "miller", turn: str = "e-1", **actions: Any) -> dict[str, Any]:
    """An event; a text stands for its part. Actions are those of the event."""
    content = [{"text": part} if isinstance(part, str) else part for part in parts]
    role = "model" if author != "user" and not any("functionResponse" in part for part in content) else "user"
    usage = {"candidatesTokenCount": 5, "promptTokenCount": 10, "totalTokenCount": 15}
    return {
        **({"content": {"parts": content, "role": role}} if content else {}),
        **({"usageMetadata": usage, "modelVersion": "mill-1"} if role == "model" and content else {}),
        "invocationId": turn,
        "author": author,
        "actions": {"stateDelta": {}, "artifactDelta": {}, **actions},
        "id": f"id-{at}",
        "timestamp": START + at,
    }


def call(own: str, **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"id": f"adk-{own}", "args": arguments, "name": "ls"}}


def response(own: str, **values: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": f"adk-{own}", "name": "ls", "response": values}}


def compaction(at: float, start: float, end: float, text: str) -> dict[str, Any]:
    content = {"parts": [{"text": text}], "role": "model"}
    span = {"startTimestamp": START + start, "endTimestamp": START + end, "compactedContent": content}
    return event(at, author="user", turn=f"c-{at}", compaction=span)


THOUGHT = {"text": "hm", "thought": True}
PICTURE = {"inlineData": {"data": "aWlpaQ==", "mimeType": "image/png"}}
LINES = [
    event(0, "token-0", author="user"),
    event(1, THOUGHT, "token-1", call("c1", path=".")),
    event(2, response("c1", files=["token-2"])),
    event(3, "token-3"),
]
EVENTS = [
    event(0, "Mend the mill.", PICTURE, author="user"),
    event(1, THOUGHT, "I look.", call("c1", path="."), call("c2", path="x")),
    event(2, response("c1", files=["a.c"]), response("c2", status="error", error="no such path")),
    event(3, "Mended."),
    event(4, "Oil it.", author="user", turn="e-2"),
    event(5, "Oiled.", author="oiler", turn="e-2"),
    compaction(6, 0, 3, "The mill was mended."),
    event(7, "Thanks.", author="user", turn="e-3"),
    event(8, "Bye.", turn="e-3"),
]
DOCUMENT = {"id": "s-1", "appName": "mill", "userId": "ada", "state": {}, "events": EVENTS, "lastUpdateTime": START + 8}


def snake(value: Any) -> Any:
    """The names of the Python SDK, with nulls as it writes them."""
    if isinstance(value, list):
        return [snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {"".join(f"_{one.lower()}" if one.isupper() else one for one in key): snake(value[key]) for key in value}
    return {"text": None, "function_call": None, "thought_signature": None} | found if "text" in value else found


def write_database(path: Path, events: list[Any] = EVENTS) -> None:
    """A database of the SQLite service, with sessions of two users under one id."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(_TABLES)
    for user, told in (("ada", events), ("bob", events[:4])):
        connection.execute(
            "insert into sessions values ('mill', ?, 's-1', '{}', ?, ?)", (user, START, START + len(told))
        )
        for one in told:
            row = (one["id"], user, one["invocationId"], one["timestamp"], json.dumps(snake(one)))
            connection.execute("insert into events values (?, 'mill', ?, 's-1', ?, ?, ?)", row)
    connection.close()


def write_old_database(path: Path) -> None:
    """A database as it was before 2026: contents in a column of their own, actions as Python's own bytes."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(_OLD_TABLES)
    times = ("2026-03-01 10:00:00.250000", "2026-03-01 10:00:09.000000")
    connection.execute("insert into sessions values ('mill', 'ada', 's-1', '{}', ?, ?)", times)
    for at, one in enumerate(EVENTS[:4]):
        time = f"2026-03-01 10:00:{at:02}.250000"
        held = (json.dumps(snake(one["content"])), json.dumps(snake(one.get("usageMetadata"))))
        connection.execute(
            "insert into events values (?, 'mill', 'ada', 's-1', 'e-1', ?, x'80049505', ?, ?, ?)",
            (one["id"], one["author"], time, *held),
        )
    connection.close()


DATABASE = write_database
