"""What `ingest` says and leaves behind: the account, the masks, the task types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.sessions.task_type_rule import TASK_TYPES
from tests.flows.conftest import Command, session_lines

SECRET = "ghp_" + "".join(chr(97 + (7 * i) % 26) + str(i % 10) for i in range(18))
"""The shape of a GitHub token, put together here so that no scanner takes this file for a leak."""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    lines = session_lines("one", 6)
    lines[0]["message"]["content"] += f" Deploy with GITHUB_TOKEN={SECRET}."
    lines[4]["message"]["content"] = [{"type": "tool_result", "tool_use_id": "one-call-1", "content": f"used {SECRET}"}]
    lines.insert(3, {"type": "progress", "uuid": "p", "parentUuid": "one-2", "sessionId": "one", "data": {}})
    write(folder / "one.jsonl", lines)
    write(folder / "copy.jsonl", session_lines("two", 3, "harbour"))
    write(folder / "longer.jsonl", session_lines("two", 9, "harbour"))
    return folder


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def rows(store: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(store / "scores.duckdb", read_only=True) as connection:
        return connection.execute(sql).fetchall()


def all_text(store: Path) -> str:
    texts = []
    for path in store.rglob("*"):
        if path.suffix == ".parquet":
            texts.append(json.dumps(pq.read_table(path).to_pylist(), default=str))
            texts.append(str(pq.read_metadata(path).metadata))
        elif path.suffix == ".duckdb":
            with duckdb.connect(path, read_only=True) as connection:
                texts += [
                    str(connection.execute(f"FROM {t}").fetchall())
                    for (t,) in connection.execute("SHOW TABLES").fetchall()
                ]
        elif path.is_file():
            texts.append(path.read_text("utf-8"))
    return "\n".join(texts)


@pytest.mark.slow
def test_every_message_of_every_file_is_accounted_for(working_command: Command, tmp_path: Path, logs: Path) -> None:
    store = tmp_path / "store"
    said = working_command("ingest", logs, "--store", store)
    assert said.exit_code == 0, said.output
    assert "not stored: 1 bookkeeping" in said.stdout
    assert "session claude_code-two is a copy of claude_code-two, which stays" in said.stdout
    result = working_command("accounting", "--store", store, "--format", "json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    assert (row["n_inputs"], row["n_sessions"], row["n_copies"], row["n_unaccounted"]) == (3, 2, 1, 0)
    assert (row["messages"], row["stored"], row["in_copies"]) == (13 + 19 + 7, 13 + 19, 7)
    by_kind = json.loads(working_command("accounting", "--store", store, "--by", "kind", "--json").stdout)
    assert {row["kind"]: row["n_met"] for row in by_kind} == {
        "system": 0,
        "user": 3,
        "assistant": 18,
        "tool": 18,
        "tool_call": 18,
    }
    reasons = json.loads(working_command("accounting", "--store", store, "--by", "reason", "--json").stdout)
    assert ("record", "bookkeeping", 1) in {(r["kind"], r["reason"], r["n_set_aside"]) for r in reasons}
    families = working_command("accounting", "--store", store, "--family")
    assert [line.split() for line in families.stdout.splitlines() if "two" in line] == [
        ["claude_code-two", "session", "19", "0"],
        ["·", "claude_code-two", "copy", "0", "7"],
    ]
    rows_of = json.loads(working_command("accounting", "--store", store, "--family", "--json").stdout)
    assert [(row["depth"], row["n_own"]) for row in rows_of] == [(0, 19), (1, 0)]
    with duckdb.connect(store / "scores.duckdb") as connection:
        connection.execute("UPDATE sessions SET n_tool = n_tool - 1")
    broken = working_command("accounting", "--store", store)
    assert broken.exit_code == 1
    assert "do not add up" in broken.stderr


@pytest.mark.slow
def test_a_secret_is_nowhere_in_the_store_unless_that_was_asked_for(
    working_command: Command, tmp_path: Path, logs: Path
) -> None:
    store = tmp_path / "store"
    said = working_command("ingest", logs, "--store", store)
    assert "masked before anything was stored: 2 secrets: 2 github" in said.stdout
    assert SECRET not in said.output
    text = all_text(store)
    assert SECRET not in text
    marks = {word for word in text.replace("\\n", " ").split() if "[SECRET:github" in word}
    assert len({mark[mark.index("[SECRET") : mark.index("]")] for mark in marks}) == 1, "one value, one mark"
    assert sum(n for _, _, n in rows(store, "FROM masked_secrets")) == 2
    again = working_command("ingest", logs, "--store", store, "--no-redact")
    assert again.exit_code == 0, again.output
    assert "secrets were not looked for" in again.stdout
    assert SECRET in all_text(store)
    assert rows(store, "FROM masked_secrets") == []


@pytest.mark.slow
def test_how_runs_of_a_dataset_ended_splits_the_leaderboard(working_command: Command, tmp_path: Path) -> None:
    """A run that says nothing of its end has NULL, and is in the part `unknown`."""
    names = ("resolved", "exit_status")
    ends = [(1, "submit"), (0, "error"), (None, None)]
    dataset = [
        {"instance_id": f"mill-{n}", "trajectory": _long_run(n), **dict(zip(names, end, strict=True))}
        for n, end in enumerate(ends)
    ]
    pq.write_table(pa.Table.from_pylist(dataset), tmp_path / "runs.parquet")
    store = tmp_path / "store"
    working_command("run", tmp_path / "runs.parquet", "--store", store, "--strategies", "none,empty")
    found = rows(store, "SELECT resolved, exit_status FROM sessions ORDER BY title")
    assert found == [(True, "submit"), (False, "error"), (None, None)]
    for by, parts in zip(names, (["no", "unknown", "yes"], ["error", "submit", "unknown"]), strict=True):
        board = json.loads(working_command("leaderboard", "--by", by, "--store", store, "--json").stdout)
        assert sorted({row[by] for row in board}) == parts


def _long_run(number: int) -> list[dict[str, Any]]:
    """A run that is long enough for a compaction point."""
    turns: list[dict[str, Any]] = [{"role": "user", "content": f"Mend the mill {number} in /src/mill{number}.py."}]
    for step in range(12):
        fn = {"name": "bash", "arguments": json.dumps({"command": f"cat /src/mill{number}_{step}.py"})}
        call = {"id": f"c{step}", "type": "function", "function": fn}
        output = f"def turn_{number}_{step}(): ...\n" * 400
        turns.append({"role": "assistant", "content": f"I read mill{number}_{step}.py.", "tool_calls": [call]})
        turns.append({"role": "tool", "content": output, "tool_call_id": f"c{step}"})
    return turns


@pytest.mark.slow
def test_a_label_file_goes_before_the_rule_and_needs_no_reading_anew(
    working_command: Command, tmp_path: Path, logs: Path
) -> None:
    store, labels = tmp_path / "store", tmp_path / "labels.csv"
    working_command("ingest", logs, "--store", store)
    types = rows(store, "SELECT task_type, task_type_by FROM sessions")
    assert all(kind in TASK_TYPES and by == "rule" for kind, by in types)
    labels.write_text("session_id,task_type\nclaude_code-two,research\n")
    result = working_command("ingest", logs, "--store", store, "--task-types", labels)
    assert "nothing to do" in result.stderr
    found = rows(store, "SELECT task_type, task_type_by FROM sessions WHERE session_id = 'claude_code-two'")
    assert found == [("research", "label file")]
    labels.write_text("session_id,task_type\nclaude_code-two,gardening\n")
    bad = working_command("ingest", logs, "--store", store, "--task-types", labels)
    assert bad.exit_code == 2
    assert "line 2" in bad.stderr
    assert "gardening" in bad.stderr
