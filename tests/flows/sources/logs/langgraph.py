"""Threads of LangGraph, after what langgraph-checkpoint-sqlite 3.1 stored for a graph with a tool and a summary."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import msgpack

NAME = "checkpoints.sqlite"
_TABLES = """
create table checkpoints (
    thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
    parent_checkpoint_id text, type text, checkpoint blob, metadata blob,
    primary key (thread_id, checkpoint_ns, checkpoint_id)
);
create table writes (
    thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
    task_id text not null, task_path text not null default '', idx integer not null, channel text not null,
    type text, value blob, primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
"""
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}


def packed(value: Any) -> bytes:
    """A value as MessagePack; a message becomes an extension, as LangGraph writes one."""
    return bytes(msgpack.packb(_as_written(value)))


def _as_written(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_written(one) for one in value]
    if isinstance(value, dict) and "type" in value and "content" in value:
        name = CLASSES.get(value["type"], "RemoveMessage")
        held = [f"langchain_core.messages.{value['type']}", name, value, "model_validate_json"]
        return msgpack.ExtType(5, msgpack.packb(held))
    return {key: _as_written(one) for key, one in value.items()} if isinstance(value, dict) else value


def message(kind: str, own: str | None, content: str = "", **more: Any) -> dict[str, Any]:
    return {"content": content, "type": kind, "id": own, **more}


CALL = {"name": "ls", "args": {"path": "."}, "id": "c1", "type": "tool_call"}
USAGE = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
FIRST = message("human", None, "Mend the mill.")
TURNS = [
    message("ai", "a1", "I look.", tool_calls=[CALL], usage_metadata=USAGE),
    message("tool", "t1", "a.c", tool_call_id="c1"),
    message("ai", "a2", "Mended."),
    message("human", "h2", "Oil it."),
    message("ai", "a3", "Oiled."),
]
SUMMARY = message("system", "s1", "The mill was mended.")
STATE = [FIRST | {"id": "h1"}, *TURNS]
GONE = [message("remove", own) for own in ("h1", "a1", "t1", "a2")]
STEPS = [
    [FIRST],
    [TURNS[0]],
    TURNS[1],
    [TURNS[2]],
    [TURNS[3]],
    TURNS[4],
    [*GONE, SUMMARY],
    [message("human", "h3", "Thanks.")],
]


def checkpoint_id(number: int) -> str:
    """A UUID of version 6, of a second after 10:00 of 2026-03-01."""
    ticks = 0x01B21DD213814000 + (1_772_359_200 + number) * 10**7
    digits = f"{ticks:015x}"
    return f"{digits[:8]}-{digits[8:12]}-6{digits[12:]}-8000-000000000000"


def open_database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(_TABLES)
    return connection


def add(
    connection: sqlite3.Connection,
    steps: list[Any],
    thread: str = "s-1",
    state: list[Any] = STATE,
    first: int = 0,
    parent: int | None = None,
    channels: dict[int, tuple[str, Any]] | None = None,
    source: str = "loop",
) -> None:
    """Adds a checkpoint for each step, with what was written on it; the first follows the parent."""
    for at, value in enumerate(steps, first):
        before = parent if at == first else at - 1
        held = packed({"v": 4, "channel_values": {"messages": state}})
        row = (
            thread,
            checkpoint_id(at),
            None if before is None else checkpoint_id(before),
            held,
            json.dumps({"source": source if at == first else "loop"}),
        )
        connection.execute("insert into checkpoints values (?, '', ?, ?, 'msgpack', ?, ?)", row)
        writes = [("messages", value), *([channels[at]] if channels and at in channels else [])]
        for index, (channel, written) in enumerate(writes):
            row = (thread, checkpoint_id(at), index, channel, packed(written))
            connection.execute("insert into writes values (?, '', ?, 'task', '', ?, ?, 'msgpack', ?)", row)


def write_database(path: Path) -> None:
    """A database with two threads."""
    connection = open_database(path)
    add(connection, STEPS)
    add(connection, [[message("human", "x", "Hi.")], [message("ai", "y", "Ho.")]], "s-2")
    connection.close()


DATABASE = write_database
