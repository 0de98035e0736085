"""A run with the agent's own compactions as a method: where it applies, where not, and that this is no failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compaction import Message, RecordedCompaction
from flows.database.scores_db import connect
from flows.support.ids import content_sha256, point_ids
from tests.flows.conftest import Command, session_lines, write_session

SUMMARY = "This session is being continued from a previous conversation. Orchard sorting was made stable."
OPTIONS = ("--points", "messages:20", "--strategies", "none,recorded,head_tail")


def query(store: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(store / "scores.duckdb") as connection:
        return connection.execute(sql).fetchall()


def write_compacted(path: Path, session_id: str, turns: int, after: int) -> None:
    """A session of Claude Code whose agent compacted when ``after`` messages had been said."""
    lines = session_lines(session_id, turns)
    shared = {key: lines[0][key] for key in ("sessionId", "isSidechain", "cwd", "timestamp")}
    boundary = {
        **shared,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "uuid": f"{session_id}-boundary",
        "parentUuid": None,
        "logicalParentUuid": lines[after - 1]["uuid"],
        "compactMetadata": {"trigger": "auto", "preTokens": 155_000},
    }
    summary = {
        **shared,
        "type": "user",
        "uuid": f"{session_id}-summary",
        "parentUuid": boundary["uuid"],
        "isCompactSummary": True,
        "message": {"role": "user", "content": SUMMARY},
    }
    lines[after]["parentUuid"] = summary["uuid"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines[:after], boundary, summary, *lines[after:]]))


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """One session that was compacted at message 31 of 81, so between its first and its second point, and one not."""
    write_compacted(tmp_path / "logs" / "compacted.jsonl", "compacted", 40, 31)
    write_session(tmp_path / "logs" / "plain.jsonl", "plain", 25, "harbour")
    return tmp_path / "logs"


@pytest.mark.slow
@pytest.mark.parametrize("history", ["prefix", "chain"])
def test_where_the_agent_had_not_compacted_the_method_is_not_applicable_and_nothing_failed(
    history: str, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    result = working_command("run", sessions, "--store", store, *OPTIONS, "--history", history)
    assert result.exit_code == 0, result.output
    assert "recorded: 3 of 5 points not applicable (3 × the session has no recorded compaction" in result.stderr
    assert "* recorded is not applicable at 3 points." in result.stdout
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
    found = query(
        store,
        """SELECT session_id, cycle, status, error IS NOT NULL, n_covered, n_kept, n_dropped
        FROM compactions JOIN methods USING (method_id) JOIN points USING (point_id)
        WHERE strategy = 'recorded' ORDER BY ALL""",
    )
    assert [row[1:] for row in found] == [
        (1, "not_applicable", True, None, None, None),
        (2, "done", False, 31, 10, 0),
        (3, "done", False, 31, 30, 0),
        (1, "not_applicable", True, None, None, None),
        (2, "not_applicable", True, None, None, None),
    ]
    assert query(
        store,
        "SELECT expected, done, failed, unscored, missing, not_applicable FROM coverage "
        "WHERE method = 'recorded' AND stage = 'compaction'",
    ) == [(2, 2, 0, 0, 0, 3)]
    assert query(store, "SELECT DISTINCT status FROM answers") == [("done",)]
    again = working_command("run", sessions, "--store", store, *OPTIONS, "--history", history)
    assert again.exit_code == 0
    assert "nothing to do" in again.stderr


@pytest.mark.slow
def test_where_no_agent_compacted_the_method_takes_no_room(tmp_path: Path, working_command: Command) -> None:
    """Of the default strategies it is not shown; asked for by name it says why."""
    logs = write_session(tmp_path / "plain.jsonl", "plain", 25, "harbour")
    everything = working_command("run", logs, "--store", tmp_path / "all", "--points", "messages:20")
    assert everything.exit_code == 0
    assert "recorded" not in everything.stdout + everything.stderr
    asked = working_command(
        "run", logs, "--store", tmp_path / "one", "--points", "messages:20", "--strategies", "recorded"
    )
    assert asked.exit_code == 0
    assert "recorded: 2 of 2 points not applicable" in asked.stderr
    assert "No answer has been scored yet" in asked.stdout


def test_a_point_is_another_one_when_the_agents_compactions_before_it_are_others() -> None:
    """A reader that has learned to read more of them does not meet what the store holds of the poorer reading."""
    messages = tuple(Message("user", f"m {i}", seq=i) for i in range(30))
    plain = point_ids("s", messages, [10, 20])
    compacted = point_ids("s", messages, [10, 20], [RecordedCompaction(15, "SUM", (0, 1))])
    assert compacted[0] == plain[0]
    assert compacted[1] != plain[1]
    assert compacted[1] != point_ids("s", messages, [20], [RecordedCompaction(15, "SUM", (0, 1), summary_at=1)])[0]
    assert content_sha256(messages) != content_sha256(messages, [RecordedCompaction(15, "SUM", (0, 1))])
