"""Whole runs on real stores through Prefect: what they make, that they go on where they were, that nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.database.database_draft import MATERIALIZED
from flows.database.scores_db import connect
from flows.store.store import Store
from tests.flows.conftest import Command, start, write_session
from tests.flows.disturb import Forker

pytestmark = pytest.mark.slow

OPTIONS = ("--points", "messages:20", "--strategies", "none,empty,head_tail,factory_style_anchored")
CHANGES = {"seconds", "made_at", "created_at", "started_at", "ended_at", "answered_at"}
"""Columns that differ from run to run."""


def rows(database: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every table but the runs and what is worked out of others, without times, in one order."""
    with connect(database) as connection:
        names = [
            name
            for (name,) in connection.execute(
                "SELECT table_name FROM duckdb_tables() "
                "WHERE database_name = 'store' AND table_name NOT IN ('runs', 'run_stages') ORDER BY 1"
            ).fetchall()
        ]
        return {name: table(connection, name) for name in names if name not in MATERIALIZED}


def table(connection: duckdb.DuckDBPyConnection, name: str) -> list[tuple[Any, ...]]:
    columns = [row[0] for row in connection.execute(f"DESCRIBE {name}").fetchall()]
    kept = ", ".join(column for column in columns if column not in CHANGES)
    return connection.execute(f"SELECT {kept} FROM {name} ORDER BY ALL").fetchall()


def query(store: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(store / "scores.duckdb") as connection:
        return connection.execute(sql).fetchall()


def parquet(store: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(store.rglob("*.parquet"))}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logs = tmp_path_factory.mktemp("logs")
    for number, (word, turns) in enumerate({"orchard": 60, "harbour": 45, "lantern": 30, "meadow": 50}.items()):
        write_session(logs / f"{word}.jsonl", f"session-{number}", turns, word)
    return logs


@pytest.fixture(scope="module")
def undisturbed(sessions: Path, tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Path:
    """The store of a run that nobody disturbed."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    run = forker.run("run", sessions, "--store", store, *OPTIONS)
    assert run.code == 0, run.err
    assert "factory_style_anchored" in run.out
    assert "score: done" in run.err
    assert "4 sessions, 374 messages" in run.err
    return store


def test_a_run_asks_the_same_questions_of_every_method_and_every_check_holds(undisturbed: Path) -> None:
    assert query(undisturbed, "SELECT * FROM checks WHERE violations > 0") == []
    (methods,) = query(undisturbed, "SELECT list(method ORDER BY method) FROM methods")[0]
    assert methods == ["empty", "factory_style_anchored", "head_tail", "none"]
    counts = query(undisturbed, "SELECT n_answers FROM leaderboard")
    assert len(counts) == 4
    assert len(set(counts)) == 1
    points, compactions, probes, answers, scored = query(
        undisturbed,
        """SELECT (SELECT count(*) FROM points), (SELECT count(*) FROM compactions), (SELECT count(*) FROM probes),
        (SELECT count(*) FROM answers), (SELECT count(DISTINCT answer_id) FROM scores)""",
    )[0]
    # Every 20 messages, moved on by one to just before the next request; the last may fall off the end.
    assert points == sum(2 * turns // 20 - (turns % 10 == 0) for turns in (60, 45, 30, 50))
    assert compactions == 4 * points
    assert answers == scored == 4 * probes
    assert query(undisturbed, "SELECT status, exit_code FROM runs") == [("done", 0)]


def test_keeping_everything_scores_above_keeping_nothing(undisturbed: Path) -> None:
    overall = dict(query(undisturbed, "SELECT method, overall FROM leaderboard"))
    assert overall["none"] > overall["empty"] + 1
    removed = dict(query(undisturbed, "SELECT method, tokens_removed FROM leaderboard"))
    assert removed["none"] == 0
    assert removed["empty"] > 0.9


def test_a_second_run_does_nothing_and_changes_no_file(
    undisturbed: Path, sessions: Path, working_command: Command
) -> None:
    before, tables = parquet(undisturbed), rows(undisturbed / "scores.duckdb")
    result = working_command("run", sessions, "--store", undisturbed, *OPTIONS, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["nothing_to_do"] is True
    assert {row["method"] for row in content["leaderboard"]} >= {"none", "empty"}
    assert content["summary"]["counts"]["sessions"] == 4
    assert parquet(undisturbed) == before
    assert rows(undisturbed / "scores.duckdb") == tables


def test_the_database_can_be_dropped_and_comes_back(
    undisturbed: Path, sessions: Path, working_command: Command
) -> None:
    tables = rows(undisturbed / "scores.duckdb")
    (undisturbed / "scores.duckdb").unlink()
    assert working_command("run", sessions, "--store", undisturbed, *OPTIONS).exit_code == 0
    assert rows(undisturbed / "scores.duckdb") == tables


def test_leaderboard_and_sql_print_what_the_run_made(undisturbed: Path, command: Command) -> None:
    board = command("leaderboard", "--store", undisturbed)
    assert board.exit_code == 0
    assert "no language model gave these" in " ".join(board.stdout.split())
    result = command("sql", "SELECT count(*) AS n FROM sessions", "--store", undisturbed, "--format", "csv")
    assert (result.exit_code, result.stdout.split()) == (0, ["n", "4"])
    wrong = command("sql", "SELECT nothing FROM nowhere", "--store", undisturbed)
    assert wrong.exit_code == 2
    assert "nowhere" in wrong.stderr


def test_a_session_that_grew_is_taken_up_whole_and_only_what_is_new_is_done(
    tmp_path: Path, working_command: Command
) -> None:
    log, store = tmp_path / "logs" / "a.jsonl", tmp_path / "store"
    arguments = (
        "run",
        log,
        "--store",
        store,
        "--points",
        "messages:20",
        "--strategies",
        "none,empty",
        "--concurrency",
        1,
    )
    write_session(log, "s", 40)
    assert working_command(*arguments).exit_code == 0
    first = dict(query(store, "SELECT cut_seq, point_id FROM points"))
    write_session(log, "s", 60)
    result = working_command(*arguments)
    assert result.exit_code == 0, result.output
    second = dict(query(store, "SELECT cut_seq, point_id FROM points"))
    assert query(store, "SELECT n_messages FROM sessions") == [(121,)]
    assert (sorted(first), sorted(second)) == ([21, 41, 61], [21, 41, 61, 81, 101])
    unchanged = [21, 41, 61]  # the session was 81 messages long, so their look-ahead had been whole
    assert all(first[cut] == second[cut] for cut in unchanged)
    (counts,) = query(store, "SELECT counts FROM runs ORDER BY started_at DESC LIMIT 1")[0]
    assert json.loads(counts)["compact"]["done"] == 2 * (len(second) - len(unchanged))
    stages = {
        row[0]: row[1:]
        for row in query(
            store,
            "SELECT stage, done, sessions, sessions_settled, tasks, "
            "busy_seconds > 0, cpu_seconds > 0, peak_memory_bytes > 10_000_000 FROM run_stages "
            "WHERE run_id = (SELECT max_by(run_id, started_at) FROM runs)",
        )
    }
    assert stages["compact"] == (2 * (len(second) - len(unchanged)), 1, 0, 1, True, True, True)
    assert stages["ingest"][:4] == (1, None, None, 1)
    assert {"settle", "points", "probe", "measure", "answer", "score", "load"} < set(stages)
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []


PLUGIN = '''
import os
from pathlib import Path
from collections.abc import Sequence

from compaction import History, Message, strategy


@strategy("test_fragile")
def fragile(history: History) -> Sequence[Message]:
    """The last messages, where the house is in order."""
    if not Path(os.environ["TEST_FRAGILE"]).exists() and len(history.messages) > 22:
        raise KeyError("the roof is off")
    return history.messages[-3:]
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A third party's package with a strategy that fails until a file is there; the path of that file."""
    home = tmp_path / "plugin"
    info = home / "fragile-1.0.dist-info"
    info.mkdir(parents=True)
    (home / "fragile_strategy.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fragile\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[compaction_eval.strategies]\nfragile = fragile_strategy\n")
    monkeypatch.setenv("PYTHONPATH", str(home))
    monkeypatch.setenv("TEST_FRAGILE", str(tmp_path / "mended"))
    return tmp_path / "mended"


@pytest.mark.parametrize(("history", "is_mended"), [("prefix", True), ("chain", False)])
def test_a_strategy_that_raises_costs_its_own_compactions_and_is_tried_again(
    history: str, is_mended: bool, plugin: Path, tmp_path: Path, prefect_server: str
) -> None:
    log, store = write_session(tmp_path / "a.jsonl", "s", 40), tmp_path / "store"
    arguments = (
        "run",
        log,
        "--store",
        store,
        "--points",
        "messages:20",
        "--strategies",
        "none,test_fragile",
        "--history",
        history,
        "--concurrency",
        1,
    )
    first = start(*arguments)
    _, said = first.communicate(timeout=200)
    assert first.returncode == 3, said
    statuses = query(
        store,
        """SELECT cycle, status, error FROM compactions JOIN points USING (point_id) JOIN methods USING (method_id)
        WHERE strategy = 'test_fragile' ORDER BY cycle""",
    )
    roof, chained = "KeyError: 'the roof is off'", "the method failed at an earlier point of the chain"
    last = roof if history == "prefix" else chained
    assert statuses == [(1, "done", None), (2, "failed", roof), (3, "failed", last)]
    assert "2 compactions failed" in said
    # That a method has fewer answers than the others is shown until it has them; nothing else is wrong.
    assert query(store, "SELECT invariant FROM checks WHERE violations > 0") == [("same_questions_scored",)]

    if not is_mended:
        return
    plugin.touch()
    again = start(*arguments)
    _, said = again.communicate(timeout=200)
    assert again.returncode == 0, said
    assert query(store, "SELECT DISTINCT status FROM compactions") == [("done",)]
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
    left = Store.open(str(store)).compactions.read(["compaction_id", "status"]).to_pylist()
    assert len(left) == len({row["compaction_id"] for row in left}) == 6


def test_in_a_chain_a_method_lives_with_what_it_left(tmp_path: Path, working_command: Command) -> None:
    log, store = write_session(tmp_path / "a.jsonl", "s", 40), tmp_path / "store"
    arguments = (
        "run",
        log,
        "--store",
        store,
        "--points",
        "messages:20",
        "--strategies",
        "none,empty",
        "--concurrency",
        1,
    )
    assert working_command(*arguments, "--history", "chain").exit_code == 0
    before = dict(
        query(
            store,
            """SELECT method, list(compactions.tokens_before ORDER BY cycle)
            FROM compactions JOIN methods USING (method_id) JOIN points USING (point_id) GROUP BY 1""",
        )
    )
    points = [row[0] for row in query(store, "SELECT tokens_before FROM points ORDER BY cycle")]
    assert before["none"] == points
    assert before["empty"][0] == points[0]
    assert all(less < whole for less, whole in zip(before["empty"][1:], points[1:], strict=True))
    assert working_command(*arguments, "--history", "prefix").exit_code == 0
    assert query(store, "SELECT DISTINCT history FROM methods") == [("prefix",)]


def test_replicates_are_rows_of_their_own(tmp_path: Path, working_command: Command) -> None:
    log, store = write_session(tmp_path / "a.jsonl", "s", 15), tmp_path / "store"
    result = working_command(
        "run",
        log,
        "--store",
        store,
        "--points",
        "messages:20",
        "--strategies",
        "empty",
        "--replicates",
        2,
        "--judge-replicates",
        3,
        "--concurrency",
        1,
    )
    assert result.exit_code == 0, result.output
    assert query(store, "SELECT replicate, count(*) FROM compactions GROUP BY 1 ORDER BY 1") == [(0, 1), (1, 1)]
    (probes,) = query(store, "SELECT count(*) FROM probes")[0]
    assert query(store, "SELECT count(*) FROM answers") == [(4 * probes,)]
    assert query(store, "SELECT count(DISTINCT (answer_id, judge_replicate)) FROM scores") == [(12 * probes,)]
