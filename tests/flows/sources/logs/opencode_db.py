"""opencode's database made by hand, with the tables of opencode 1 (1.18), of opencode 2 (2.0), or of both.

``DATABASE`` writes one with a session of either version; ``open_database`` and ``add_1``, ``add_2`` make others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.flows.sources.logs import opencode_export as export

SECRET = "oc-refresh-token-of-the-account"
"""What stands in a table that is none of a reader's business."""
_SHARED = """
create table project (
    id text primary key, worktree text not null, vcs text, name text, icon_url text, icon_url_override text,
    icon_color text, time_created integer not null, time_updated integer not null, time_initialized integer,
    sandboxes text not null, commands text
);
create table account (
    id text primary key, email text not null, url text not null, access_token text not null,
    refresh_token text not null, token_expiry integer, time_created integer not null, time_updated integer not null
);
"""
_USED = """
    share_url text, summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text,
    metadata text, cost real default 0 not null, tokens_input integer default 0 not null,
    tokens_output integer default 0 not null, tokens_reasoning integer default 0 not null,
    tokens_cache_read integer default 0 not null, tokens_cache_write integer default 0 not null, revert text,
    permission text, agent text, model text, time_created integer not null, time_updated integer not null,
    time_compacting integer, time_archived integer,
"""
_VERSION_1 = f"""
create table session (
    id text primary key, project_id text not null, workspace_id text, parent_id text, slug text not null,
    directory text not null, path text, title text not null, version text not null, {_USED}
    foreign key (project_id) references project (id) on delete cascade
);
create table message (
    id text primary key, session_id text not null, time_created integer not null, time_updated integer not null,
    data text not null, foreign key (session_id) references session (id) on delete cascade
);
create table part (
    id text primary key, message_id text not null, session_id text not null, time_created integer not null,
    time_updated integer not null, data text not null,
    foreign key (message_id) references message (id) on delete cascade
);
create index message_session_time_created_id_idx on message (session_id, time_created, id);
create index part_message_id_id_idx on part (message_id, id);
create index part_session_idx on part (session_id);
create index session_parent_idx on session (parent_id);
"""
_VERSION_2 = f"""
create table session_v2 (
    id text primary key, project_id text not null, workspace_id text, parent_id text, fork_session_id text,
    fork_boundary text, slug text not null, directory text not null, path text, title text, version text not null,
    {_USED} time_suspended integer, resume_attempts integer default 0 not null, time_idle integer,
    time_viewed integer, idle_outcome text,
    foreign key (project_id) references project (id) on delete cascade
);
create table session_message (
    id text primary key, session_id text not null, type text not null, seq integer not null,
    time_created integer not null, time_updated integer not null, data text not null,
    foreign key (session_id) references session_v2 (id) on delete cascade
);
create unique index session_message_session_seq_idx on session_message (session_id, seq);
create index session_message_session_type_seq_idx on session_message (session_id, type, seq);
create index session_v2_parent_idx on session_v2 (parent_id);
"""
_TABLES = {1: _VERSION_1, 2: _VERSION_2}


def open_database(path: Path, *versions: int) -> sqlite3.Connection:
    """A new database in WAL mode, as opencode opens it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = off")  # opencode's is normal; nothing here outlives a power cut
    connection.execute("pragma foreign_keys = on")
    connection.executescript(_SHARED + "".join(_TABLES[version] for version in versions))
    connection.execute("insert into project values ('p', '/', null, null, null, null, null, 1, 1, null, '[]', null)")
    connection.execute("insert into account values ('a', 'ada@example.org', '', ?, ?, 1, 1, 1)", (SECRET, SECRET))
    return connection


Encode = Callable[[Any], str | bytes]


def add_1(connection: sqlite3.Connection, document: dict[str, Any], encode: Encode = json.dumps) -> None:
    """Adds a session of opencode 1, given as its export; the ids of messages and parts are made from that of it."""
    own = add_session(connection, "session", document["info"])
    for number, message in enumerate(document["messages"]):
        key = f"{own}-msg_{number:04}"
        data = {name: value for name, value in message["info"].items() if name not in ("id", "sessionID")}
        made = message["info"].get("time", {}).get("created", 0)
        connection.execute("insert into message values (?, ?, ?, ?, ?)", (key, own, made, made, encode(data)))
        for place, part in enumerate(message["parts"]):
            row = (f"{key}-prt_{place:04}", key, own, made, made)
            held = {name: value for name, value in part.items() if name not in ("id", "sessionID", "messageID")}
            connection.execute("insert into part values (?, ?, ?, ?, ?, ?)", (*row, encode(held)))


def add_2(
    connection: sqlite3.Connection,
    info: dict[str, Any],
    messages: list[tuple[str, dict[str, Any]]],
    encode: Encode = json.dumps,
) -> None:
    """Adds a session of opencode 2 from its messages, each with its kind."""
    own = add_session(connection, "session_v2", info)
    for number, (kind, data) in enumerate(messages):
        row = (f"{own}-msg_{number:04}", own, kind, 3 * number, number, number, encode(data))
        connection.execute("insert into session_message values (?, ?, ?, ?, ?, ?, ?)", row)


def add_session(connection: sqlite3.Connection, table: str, info: dict[str, Any]) -> str:
    """Adds the row of a session and gives its id."""
    time = info.get("time", {})
    connection.execute(
        f"insert into {table} (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated) "
        "values (?, 'p', ?, 'mill', ?, ?, '1', ?, ?)",
        (
            info["id"],
            info.get("parentID"),
            info.get("directory", "/home/ada"),
            info.get("title", "The mill"),
            time.get("created", 1),
            time.get("updated", 1),
        ),
    )
    return str(info["id"])


def tool_2(own: str, status: str = "completed", *texts: str, **more: Any) -> dict[str, Any]:
    """A call in a response of opencode 2."""
    content = [{"type": "text", "text": text} for text in texts]
    state = {"status": status, "input": {"command": f"make {own}"}, "content": content, **more}
    return {"type": "tool", "id": own, "name": "shell", "state": state, "time": {"created": 1, "completed": 2000}}


def assistant_2(*content: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    """A response of opencode 2."""
    tokens = {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 30, "write": 0}}
    model = {"id": "gpt-test-1", "providerID": "openai"}
    data = {"agent": "build", "model": model, "content": list(content), "tokens": tokens, "cost": 0.25, **more}
    return "assistant", {"time": {"created": 20, "completed": 30}, **data}


MESSAGES_2: list[tuple[str, dict[str, Any]]] = [
    ("model-switched", {"time": {"created": 1}, "model": {"id": "gpt-test-1", "providerID": "openai"}}),
    ("user", {"time": {"created": 10}, "text": "Mend the mill.", "files": [], "agents": []}),
    assistant_2(
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "I look."},
        tool_2("a", "completed", "x" * 10),
        tool_2("b", "error", error={"type": "unknown", "message": "no such file"}),
    ),
    (
        "shell",
        {"time": {"created": 40}, "shellID": "s", "command": "ls", "status": "exited", "output": {"output": "mill"}},
    ),
    (
        "compaction",
        {"time": {"created": 50}, "status": "completed", "reason": "auto", "summary": "Mended.", "recent": ""},
    ),
    ("synthetic", {"time": {"created": 60}, "text": "Continue."}),
    assistant_2({"type": "text", "text": "It turns."}),
    ("idle", {"time": {"created": 70}, "outcome": "succeeded"}),
]
INFO_2 = {"id": "ses_2", "title": "The loom", "time": {"created": 1, "updated": 90}}
NAME = "opencode.db"


def write(path: Path) -> None:
    """A database after its upgrade: an old session, and a new one."""
    path.unlink(missing_ok=True)
    connection = open_database(path, 1, 2)
    add_1(connection, export.DOCUMENT)
    add_2(connection, INFO_2, MESSAGES_2)
    connection.close()


DATABASE = write
