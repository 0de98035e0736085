"""What is stored stays until ``store drop`` takes it out; afterwards the store is as if it had never been there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flows.database.scores_db import connect
from flows.store.shards import Shards
from flows.store.store import Store
from tests.flows.conftest import Command, write_session
from tests.flows.disturb import lost_rows, query, tables

pytestmark = pytest.mark.slow

OPTIONS = ("--points", "messages:20", "--strategies", "none,empty", "--quiet")
OF_NIGHTS = ("runs", "run_stages", "night_figures", "night_sums", "store_info")


@pytest.fixture
def store(logs: Path, tmp_path: Path, working_command: Command) -> Path:
    """A store of three sessions, one of which was also exported, under another name."""
    write_session(logs / "copy.jsonl", "session-2", 12, "lantern")
    done = working_command("run", logs, "--store", tmp_path / "store", *OPTIONS)
    assert done.exit_code == 0, done.output
    return tmp_path / "store"


def rows_of(store: Path, session_id: str) -> int:
    """Rows of a session in all Parquet files."""
    found = Store.open(str(store))
    shards = sum(
        one.read(["session_id"])["session_id"].to_pylist().count(session_id) for one in found.folders if one.is_bucketed
    )
    return shards + query(store, f"SELECT count(*) FROM sessions WHERE session_id = '{session_id}'")[0][0]


def test_sessions_whose_log_is_gone_are_taken_out_as_if_they_had_never_been_there(
    store: Path, logs: Path, tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = ("--store", store)
    (logs / "harbour.jsonl").unlink()
    (logs / "lantern.jsonl").unlink()  # its copy is still there
    before = tables(store)
    said = working_command("store", "drop", "--gone", *at)
    assert (said.exit_code, "session-1: 51 messages" in said.stdout, "nothing was changed" in said.stdout) == (
        0,
        True,
        True,
    )
    assert lost_rows(store, before) == {}

    with monkeypatch.context() as patch:  # killed in between
        patch.setattr(Shards, "drop_sessions", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert working_command("store", "drop", "--gone", "--yes", *at).exit_code != 0
    again = working_command("run", logs, *at, *OPTIONS)
    assert again.exit_code == 0, again.output
    assert rows_of(store, "claude_code-session-1") == 0
    assert rows_of(store, "claude_code-session-2") > 0

    fresh = tmp_path / "fresh"
    write_session(logs / "lantern.jsonl", "session-2", 20, "lantern")
    assert working_command("run", logs, "--store", fresh, *OPTIONS).exit_code == 0
    assert lost_rows(store, tables(fresh, without=OF_NIGHTS), without=OF_NIGHTS) == {}
    assert query(store, "FROM checks WHERE violations > 0") == []


def test_a_log_that_is_still_there_is_not_read_again_before_it_changes(
    store: Path, logs: Path, working_command: Command
) -> None:
    at = ("--store", store)
    done = working_command("store", "drop", logs / "orch*", "claude_code-session-2", "--yes", "--json", *at)
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert [(row["session_id"], row["log_is_gone"]) for row in content["sessions"]] == [
        ("claude_code-session-0", False),
        ("claude_code-session-2", False),
    ]
    assert content["rows_of_results"] > 0
    assert query(store, "SELECT session_id FROM sessions") == [("claude_code-session-1",)]
    assert query(store, "SELECT n_sessions FROM leaderboard") == [(1,), (1,)]
    assert query(store, "FROM checks WHERE violations > 0") == []
    assert working_command("run", logs, *at, *OPTIONS).exit_code == 0
    assert query(store, "SELECT session_id FROM sessions") == [("claude_code-session-1",)]

    os.utime(logs / "orchard.jsonl", ns=(5, 5))
    assert working_command("run", logs, *at, *OPTIONS).exit_code == 0
    assert query(store, "SELECT session_id FROM sessions ORDER BY ALL") == [
        ("claude_code-session-0",),
        ("claude_code-session-1",),
    ]
    assert query(store, "SELECT DISTINCT n_sessions FROM leaderboard") == [(2,)]
    with connect(store / "scores.duckdb") as connection:
        assert connection.execute("FROM checks WHERE violations > 0").fetchall() == []


def test_other_sources_and_a_limit_leave_all_methods_on_the_same_questions(
    logs: Path, tmp_path: Path, working_command: Command
) -> None:
    """``run A``, then ``run B`` with one more method: it is tried on the sessions of A too."""
    other = write_session(tmp_path / "other" / "willow.jsonl", "session-9", 20, "willow")
    at = ("--store", tmp_path / "store", "--points", "messages:20", "--quiet", "--strategies")

    def run(*arguments: object) -> dict[str, int]:
        done = working_command("run", *arguments)
        assert done.exit_code == 0, done.output
        assert query(tmp_path / "store", "FROM checks WHERE violations > 0") == []
        return dict(query(tmp_path / "store", "SELECT method, n_sessions FROM leaderboard"))

    assert run(logs, *at, "none,empty") == {"none": 3, "empty": 3}
    assert run(other.parent, *at, "none,empty,head_tail") == {"none": 4, "empty": 4, "head_tail": 4}
    limited = run(other.parent, "--limit", 1, *at, "none,empty,head_tail,factory_style_anchored")
    assert set(limited.values()) == {1}
    assert query(tmp_path / "store", "SELECT DISTINCT session_id FROM points") == [("claude_code-session-9",)]
    assert set(run(logs, *at, "none,empty,head_tail,factory_style_anchored").values()) == {4}


def test_what_names_no_session_is_bad_usage(store: Path, command: Command) -> None:
    wrong = command("store", "drop", "nobody", "--yes", "--store", store)
    assert (wrong.exit_code, "no session of the store has the id, log or folder 'nobody'" in wrong.stderr) == (2, True)
    nothing = command("store", "drop", "--store", store)
    assert (nothing.exit_code, "say what to take out" in nothing.stderr) == (2, True)
    assert "nothing to take out" in command("store", "drop", "--gone", "--store", store).stdout
