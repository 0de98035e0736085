"""The trees of sessions that belong together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.sql.tiny import make, session

Tree = list[tuple[int, str, str, int | None, int | None]]


def tree(folder: Path, sessions: list[dict[str, Any]], folded: list[dict[str, Any]]) -> Tree:
    path = make({"sessions": sessions, "folded_sessions": folded}, folder)
    with duckdb.connect(path, read_only=True) as connection:
        return connection.execute("SELECT depth, session_id, kind, n_own, n_inherited FROM families").fetchall()


def copy(recorded_id: str, into: str, n_messages: int = 30) -> dict[str, Any]:
    return {
        "recorded_id": recorded_id,
        "input_path": f"/logs/{recorded_id}.jsonl",
        "source_format": "openai",
        "folded_into": into,
        "n_messages": n_messages,
        "n_apart": 0,
    }


def test_what_comes_from_a_session_stands_below_it_with_the_messages_that_count_there(tmp_path: Path) -> None:
    sessions = [
        session("later", parent_session_id="main", started_at="2026-03-02T10:00:00"),
        session("sooner", parent_session_id="main", started_at="2026-03-01T10:00:00"),
        session("main"),
        session("fork", parent_session_id="main", forked_at=12, n_inherited=12, started_at="2026-03-03T10:00:00"),
        session("of the fork", parent_session_id="fork", n_inherited=3),
        session("alike", n_given=8, given_by="main", started_at="2026-03-04T10:00:00"),
        session("alone"),
    ]
    assert tree(tmp_path, sessions, [copy("main", "main")]) == [
        (0, "main", "session", 50, 0),
        (1, "sooner", "sub-agent", 50, 0),
        (1, "later", "sub-agent", 50, 0),
        (1, "fork", "fork", 50, 12),
        (2, "of the fork", "sub-agent", 50, 3),
        (1, "alike", "same beginning", 42, 8),
        (1, "main", "copy", 0, 30),
    ]


def test_a_sub_agent_of_a_copy_belongs_to_the_session_that_is_stored(tmp_path: Path) -> None:
    sessions = [session("whole"), session("agent", parent_session_id="half")]
    assert tree(tmp_path, sessions, [copy("half", "whole")]) == [
        (0, "whole", "session", 50, 0),
        (1, "agent", "sub-agent", 50, 0),
        (1, "half", "copy", 0, 30),
    ]


def test_sub_agents_of_a_session_that_was_not_read_are_one_family(tmp_path: Path) -> None:
    sessions = [session("one", parent_session_id="gone"), session("two", parent_session_id="gone")]
    assert tree(tmp_path, sessions, []) == [
        (0, "gone", "not in the store", None, None),
        (1, "one", "sub-agent", 50, 0),
        (1, "two", "sub-agent", 50, 0),
    ]


@pytest.mark.parametrize("parents", [{"a": "a"}, {"a": "b", "b": "a"}])
def test_a_log_that_names_a_circle_ends(tmp_path: Path, parents: dict[str, str]) -> None:
    sessions = [session(own, parent_session_id=parents.get(own)) for own in ("a", "b")]
    assert tree(tmp_path, sessions, []) == []
