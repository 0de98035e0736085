"""Chats of Cursor made by hand: its database, and the transcript of an agent."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

NAME = "state.vscdb"
SECRET = "cursor-token-of-the-account"
"""What stands in a table and in a row that are none of a reader's business."""


def bubble(kind: int, text: str = "", **more: Any) -> dict[str, Any]:
    """A bubble: 1 is a prompt, 2 a piece of a response."""
    return {"_v": 3, "type": kind, "text": text, "createdAt": "2026-05-02T08:32:32.293Z", **more}


def tool(own: str, name: str = "run_terminal_cmd", **more: Any) -> dict[str, Any]:
    """A bubble with a call and its result."""
    data = {"toolCallId": own, "name": name, "status": "completed", "rawArgs": '{"command": "ls"}', **more}
    return bubble(2, capabilityType=15, toolFormerData=data)


def open_database(path: Path) -> sqlite3.Connection:
    """A new database with Cursor's two tables."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = off")
    for table in ("ItemTable", "cursorDiskKV"):
        connection.execute(f"create table {table} (key text unique on conflict replace, value blob)")
    connection.execute("insert into ItemTable values ('cursorAuth/accessToken', ?)", (SECRET,))
    connection.execute("insert into cursorDiskKV values ('secret://token', ?)", (json.dumps({"token": SECRET}),))
    return connection


def add(
    connection: sqlite3.Connection, own: str, bubbles: dict[str, Any], order: list[str] | None = None, **more: Any
) -> None:
    """Adds a chat; without an order its bubbles have that in which they are given."""
    headers = [{"bubbleId": one, "type": bubbles[one]["type"]} for one in (order or list(bubbles))]
    chat = {"_v": 10, "composerId": own, "fullConversationHeadersOnly": headers, **more}
    rows = {f"composerData:{own}": chat, **{f"bubbleId:{own}:{key}": value for key, value in bubbles.items()}}
    for key, value in rows.items():
        connection.execute("insert into cursorDiskKV values (?, ?)", (key, json.dumps(value)))


BUBBLES = {
    "b5": bubble(1, "Mend the mill."),
    "b4": bubble(2, capabilityType=30, thinking={"text": "hm", "signature": "c2ln"}),
    "b3": bubble(2, "I look."),
    "b2": tool("toolu_1\nfc_1", result='{"output": "mill"}'),
    "b1": bubble(
        2, "It turns.", tokenCount={"inputTokens": 100, "outputTokens": 20}, modelInfo={"modelName": "gpt-test-1"}
    ),
}
SUMMARY = {
    "summary": "The mill was mended.",
    "truncationLastBubbleIdInclusive": "b2",
    "clientShouldStartSendingFromInclusiveBubbleId": "b1",
}
CHAT = {
    "name": "The mill",
    "createdAt": 1_777_710_000_000,
    "lastUpdatedAt": 1_777_710_600_000,
    "modelConfig": {"modelName": "default"},
    "workspaceIdentifier": {"id": "1", "uri": {"fsPath": "c:\\Users\\ada\\mill", "path": "/c:/Users/ada/mill"}},
    "usageData": {"gpt-test-1": {"costInCents": 50, "amount": 1}},
}


def write_database(path: Path) -> None:
    """A database with a chat, one of its sub-agent, and one without a word."""
    connection = open_database(path)
    after = {"b7": bubble(2, capabilityType=22, conversationSummary=json.dumps(SUMMARY)), "b8": bubble(1, "Oil it.")}
    add(connection, "c1", {**BUBBLES, **after}, **CHAT)
    add(connection, "c2", BUBBLES, subagentInfo={"parentComposerId": "c1", "toolCallId": "toolu_1"}, lastUpdatedAt=1)
    add(connection, "c3", {}, createdAt=2)
    connection.close()


DATABASE = write_database
LINES = [
    {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\ntoken-0\n</user_query>"}]}},
    {
        "role": "assistant",
        "message": {
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "token-1"},
                {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}},
            ]
        },
    },
    {
        "role": "assistant",
        "message": {"content": [{"type": "tool_use", "id": "t2", "name": "Read", "input": {"path": "token-2"}}]},
    },
    {
        "role": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t2", "content": "token-3", "is_error": True}]},
    },
    {"role": "assistant", "message": {"content": "token-4"}},
    {"type": "turn_ended", "note": "token-5"},
]
