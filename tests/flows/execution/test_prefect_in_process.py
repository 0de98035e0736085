"""A run without a configured server: its flows have their states, retries and records, and nobody can reach it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.flows.conftest import ROOT, PrefectHome, start, write_session

pytestmark = pytest.mark.slow

TRIES = """
from concurrent.futures.process import BrokenProcessPool

import psutil

from flows.execution.prefect_server import prefect_api

with prefect_api(import_flows=lambda: None, ephemeral=True) as run:
    from prefect import flow
    from flows.execution.prefect_tasks import batch_task

    tries = []

    async def dies_once():
        tries.append([one for one in psutil.Process().net_connections() if one.status == psutil.CONN_LISTEN])
        if len(tries) == 1:
            raise BrokenProcessPool
        return "done"

    @flow
    async def inner():
        return await batch_task("stage", {"one": dies_once})("one")

    @flow
    async def outer():
        assert await inner() == "done"

    @flow
    async def fails():
        raise LookupError("of the flow itself")

    run(outer())
    assert tries == [[], []], tries
    try:
        run(fails())
    except LookupError:
        print("raised as it was")
"""


def flow_runs(home: Path) -> list[tuple[str, str]]:
    """Flow and state of each run that Prefect's database knows, in order."""
    query = "SELECT flow.name, state_type FROM flow_run JOIN flow ON flow.id = flow_id ORDER BY flow_run.created"
    with closing(sqlite3.connect(home / "prefect.db")) as database:
        return database.execute(query).fetchall()


def without_server(home: Path) -> dict[str, str]:
    """The environment of a user who has not configured a server."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    return own | {"PREFECT_HOME": str(home)}


def test_flows_have_states_and_tasks_whose_worker_died_are_tried_again_while_nothing_listens(
    prefect_home: PrefectHome,
) -> None:
    home = prefect_home()
    done = subprocess.run(
        [sys.executable, "-c", TRIES],
        cwd=ROOT,
        env=without_server(home),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "raised as it was\n", "")
    assert flow_runs(home) == [("outer", "COMPLETED"), ("inner", "COMPLETED"), ("fails", "FAILED")]


@pytest.mark.usefixtures("prefect_server")
def test_a_run_starts_no_server_and_a_database_that_is_none_is_said(prefect_home: PrefectHome, tmp_path: Path) -> None:
    write_session(tmp_path / "logs" / "one.jsonl", "session-1", 3)
    words = ("run", tmp_path / "logs", "--points", "messages:4", "--strategies", "none,empty", "--ephemeral", "-v")
    environment = {"PREFECT_HOME": str(tmp_path / "home"), "PREFECT_API_AUTH_STRING": ""}
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "prefect.db").write_bytes(b"no database at all" * 100)
    run = start(*words, "--store", tmp_path / "store", environment=environment)
    said = run.communicate(timeout=300)[1]
    assert run.returncode == 1
    assert "error: Prefect's database cannot be used: " in said
    assert "file is not a database; its folder is" in said.replace("\n", " ")
    home = prefect_home()
    run = start(*words, "--store", tmp_path / "store", environment=environment | {"PREFECT_HOME": str(home)})
    said = run.communicate(timeout=300)[1]
    assert run.returncode == 0, said
    assert [state for _, state in flow_runs(home)] == ["COMPLETED"] * 8
