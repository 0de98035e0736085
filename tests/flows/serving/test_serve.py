"""Nights on a real Prefect server: what they keep and show, how they end, and what serves them."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows.cli.checkup.orchestration import _ask_prefect
from flows.database.scores_db import connect
from flows.execution.webhook import NOTIFY_VARIABLE
from flows.reporting.night_report import store_slug
from flows.serving.plan import ServePlan
from flows.serving.serve import check_schedule, serve
from flows.store.store import Store
from flows.support.errors import EvalError, UsageError
from tests.flows.conftest import ROOT, Command, PrefectHome, write_session
from tests.flows.receiver import receiving

pytestmark = pytest.mark.slow

STUDY = """
points = "messages:20"
strategies = ["none", "empty", "ours"]
[[methods]]
name = "ours"
strategy = "head_tail"
params = {{ tail = {tail} }}
"""
WORDS = ("orchard", "harbour", "lantern", "meadow", "willow", "granite")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with six sessions and a study of them."""
    for number, word in enumerate(WORDS):
        write_session(tmp_path / "logs" / f"{word}.jsonl", f"session-{number}", 20, word)
    study(tmp_path, 14)
    return tmp_path


def study(place: Path, tail: int) -> None:
    (place / "study.toml").write_text(STUDY.format(tail=tail))


def night(place: Path, **changes: Any) -> Any:
    """One night as the deployment runs it: its state."""
    from flows.nightly import nightly

    keys = {"sources": [str(place / "logs")], "store": str(place / "store")}
    given = {"study": keys, "study_file": str(place / "study.toml"), "fail_if_worse": 0.2, **changes}
    return asyncio.run(nightly(**given, return_state=True))


def plan_of(place: Path) -> ServePlan:
    """Nights of the place's store."""
    return ServePlan("one-place", "0 2 * * *", "UTC", {}, Store.create(str(place / "store"), "o200k_base"), now=False)


def artifact(key: str) -> str:
    """The latest text under a key, as Prefect's page shows it."""
    from prefect.artifacts import Artifact

    async def read() -> Any:
        return await Artifact.aget(key)

    return str(asyncio.run(read()).data)


def query(place: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(place / "store" / "scores.duckdb") as connection:
        return connection.execute(sql).fetchall()


def parquet(place: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in sorted((place / "store").rglob("*.parquet"))}


@pytest.mark.timeout(600)
def test_three_nights(place: Path, working_command: Command) -> None:
    """The first samples, the second finds nothing new and writes nothing, in the third a method got worse."""
    first = night(place, log=str(place / "nights.jsonl"))
    told_events = [json.loads(line)["event"] for line in (place / "nights.jsonl").read_text().splitlines()]
    assert (told_events[0], told_events[-1]) == ("run_started", "run_ended")
    assert (first.name, first.type.value) == ("Completed", "COMPLETED")
    assert first.message.startswith("done: ingest 6")
    slug = store_slug(str(place / "store"))
    assert "| none |" in artifact(f"leaderboard-{slug}")
    assert "nothing to compare it with yet" in artifact(f"moved-{slug}")
    assert str(place / "store") in artifact(f"night-{slug}")
    assert query(place, "SELECT DISTINCT night FROM nights") == [(1,)]
    assert query(place, _NOT_AS_LEADERBOARD) == []

    before = parquet(place)
    second = night(place)
    assert (second.name, second.message) == ("Completed", "nothing new")
    assert parquet(place) == before
    assert query(place, "SELECT count(*) FROM runs") == [(1,)]

    write_session(place / "logs" / "orchard.jsonl", "session-0", 32, "orchard")
    write_session(place / "logs" / "pebble.jsonl", "session-9", 24, "pebble")
    study(place, 1)
    third = night(place)
    assert (third.name, third.type.value) == ("MethodWorse", "COMPLETED"), third.message
    assert re.match(r"worse by more than 0.2: ours -\d\.\d\d .*its version or parameters changed", third.message)
    assert "| ours |" in artifact(f"moved-{slug}")
    assert "MethodWorse" in artifact(f"night-{slug}")
    assert query(
        place,
        "SELECT method, n_sessions_same, n_sessions_changed, n_sessions_new, is_same_code FROM moved "
        "WHERE dimension = 'overall' ORDER BY method",
    ) == [("empty", 5, 1, 1, True), ("none", 5, 1, 1, True), ("ours", 5, 1, 1, False)]
    assert query(place, "SELECT * FROM checks WHERE violations > 0 AND contains(invariant, 'night')") == []
    assert night(place).message == "nothing new"

    store = ("--store", place / "store")
    told = working_command("moved", *store, "--worse-than", 0.2)
    assert (told.exit_code, "worse by more than 0.2: ours" in told.stderr) == (5, True)
    assert working_command("moved", *store, "--worse-than", 5).exit_code == 0
    assert working_command("moved", *store).exit_code == 0
    rows = json.loads(working_command("moved", *store, "--since", 1, "--json").stdout)
    assert {row["night_then"] for row in rows} == {1}
    missing = working_command("moved", *store, "--since", "1999-01-01")
    assert (missing.exit_code, "no night was taken before 1999-01-01" in missing.stderr) == (2, True)

    options = ("run", place / "logs", *store, "--study", place / "study.toml", "--quiet", "--fail-if-worse", 0.2)
    study(place, 14)
    assert working_command(*options).exit_code == 0  # better again
    study(place, 1)
    worse = working_command(*options)  # all of it is in the store, and the method is another one all the same
    assert (worse.exit_code, "worse by more than 0.2: ours" in worse.stderr) == (5, True)
    assert working_command(*options).exit_code == 0  # it has been told


_NOT_AS_LEADERBOARD = """
SELECT * FROM leaderboard_long FULL JOIN night_figures USING (judge_id, method, dimension)
WHERE abs(leaderboard_long.mean - night_figures.mean) > 1e-12
    OR abs(leaderboard_long.std_error - night_figures.std_error) > 1e-12
    OR leaderboard_long.std_error IS NULL
    OR leaderboard_long.n_answers IS DISTINCT FROM night_figures.n_answers
"""


@pytest.mark.timeout(600)
def test_a_chat_is_told_what_a_night_found_and_its_address_is_nowhere(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that does not answer changes nothing of the night."""
    logger = logging.Logger("night")  # Prefect's own is switched off where its server has run in this process
    logger.addHandler(caplog.handler)
    monkeypatch.setattr("flows.nightly.get_run_logger", lambda: logger)
    with receiving() as receiver:
        monkeypatch.setenv(NOTIFY_VARIABLE, receiver.url)
        assert night(place).name == "Completed"
        [text] = receiver.texts
        name, done, best = text.splitlines()
        assert name.startswith("compaction-eval, ")
        assert name.endswith("/store: Completed")
        assert done.startswith("done: ingest 6")
        assert re.fullmatch(r"best by embedded: .*ours.* \(\d\.\d\d\)", best)

        assert night(place).message == "nothing new"
        assert len(receiver.texts) == 1

        study(place, 1)
        receiver.code = 500
        assert night(place).name == "MethodWorse"
        assert "store: MethodWorse\nworse by more than 0.2: ours" in receiver.texts[1]
        with Store.create(str(place / "store"), "o200k_base").locked("backfill"):
            assert night(place).name == "Failed"
        assert "Failed: store" in receiver.texts[2]
    assert "--notify: the message was not sent: it answered 500" in caplog.text
    files = [path for path in place.rglob("*") if path.is_file()]
    assert not any(b"T0SECRET" in path.read_bytes() for path in files)
    assert "T0SECRET" not in caplog.text


def test_a_broken_night_is_failed_with_the_sentence_and_the_next_one_goes_on(
    place: Path, working_command: Command
) -> None:
    with Store.create(str(place / "store"), "o200k_base").locked("backfill"):
        state = night(place)
    assert (state.name, state.type.value) == ("Failed", "FAILED")
    assert f"store {place / 'store'} is in use by `compaction-eval backfill`" in state.message
    missing = night(place, study={"sources": ["/nowhere"], "store": str(place / "store")})
    assert (missing.name, missing.message) == ("Failed", "no such file or folder: /nowhere")
    (place / "logs" / "broken.jsonl").write_text('{"type": "user", "sessionId": "x", "message"\n')
    state = night(place)
    assert (state.name, "could not be read" in state.message) == ("Incomplete", True)


def taken_folder(folder: Path) -> str:
    """A folder for temporary files, in which what Prefect's runner wants by a fixed name cannot be had."""
    (folder / "runner_storage").touch()
    return str(folder)


@pytest.fixture(scope="module")
def own_server(prefect_home: PrefectHome, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a machine on which no Prefect server is configured, and which others use too."""
    home = {"PREFECT_HOME": str(prefect_home()), "PREFECT_RUNNER_POLL_FREQUENCY": "2"}
    home["TMPDIR"] = taken_folder(tmp_path_factory.mktemp("tmp"))
    return {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"} | home


def serving(place: Path, log: Path, environment: dict[str, str], *options: object) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "flows",
                "serve",
                str(place / "logs"),
                "--study",
                str(place / "study.toml"),
                "--store",
                str(place / "store"),
                *map(str, options),
            ],
            cwd=ROOT,
            stderr=out,
            stdout=out,
            env=environment,
            umask=0,
        )


def until(log: Path, pattern: str, seconds: float = 200) -> str:
    """Wait until a line matches."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(), re.MULTILINE):
            return found[0]
        time.sleep(0.5)
    raise AssertionError(f"{pattern!r} is not in:\n{log.read_text()}")


def runs_the_server(child: psutil.Process) -> bool:
    """Whether a child is the Prefect server; one that has just ended has no command line."""
    with suppress(psutil.NoSuchProcess):  # a zombie too
        return "flows.execution.prefect_server_process" in child.cmdline()
    return False


def test_serve_runs_nights_by_its_schedule_survives_a_failing_one_and_its_servers_end_and_ends_with_its_children(
    place: Path, own_server: dict[str, str]
) -> None:
    log = place / "serve.log"
    with Store.create(str(place / "store"), "o200k_base").locked("a test"):
        process = serving(place, log, own_server, "--cron", "* * * * *", "--timezone", "Europe/Berlin", "--now")
        until(log, r"Failed \(.*is in use by `compaction-eval a test`")
    try:
        until(log, r"next night: \w{3} 20\d\d-\d\d-\d\d \d\d:\d\d CES?T")
        [server] = filter(runs_the_server, psutil.Process(process.pid).children())
        server.kill()
        until(log, r"the Prefect server had ended \(exit code -9.*\); it is started anew")
        until(log, r"Completed \(.*done: ingest 6")
        assert process.poll() is None
        secret_file = Path(until(log, r"(?<=asks for the line that is in ).*(?=, which)"))
        user_and_password = secret_file.read_bytes().strip()
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        assert any(map(runs_the_server, children))
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
    assert code == 128 + signal.SIGTERM
    assert [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE] == []
    assert "stopped" in log.read_text()
    home = Path(own_server["PREFECT_HOME"])
    assert list((home / "ui").glob("*/index.html"))  # what its page is made of: not beside Prefect's code
    assert not secret_file.exists()
    telling = (user_and_password.rpartition(b":")[2], base64.b64encode(user_and_password))
    written = [path for folder in (home, place) for path in folder.rglob("*") if path.is_file()]
    assert [path for path in written if any(words in path.read_bytes() for words in telling)] == []
    for folder in (home, place / "store"):  # made by the server, by serve and by the processes of nights
        inside = (path for path in folder.rglob("*") if not path.is_relative_to(home / "ui"))  # Prefect's own page
        assert [path for path in (folder, *inside) if path.stat().st_mode & 0o077] == []


def test_a_runner_of_nights_takes_nothing_in_a_folder_of_everybody(
    place: Path, prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.runner import Runner

    from flows.serving.deployment import NightRuns

    monkeypatch.setattr(tempfile, "tempdir", taken_folder(place))

    async def start(runner: Runner) -> None:
        async with runner:
            pass

    with pytest.raises(NotADirectoryError):
        asyncio.run(start(Runner()))  # as it comes
    asyncio.run(start(NightRuns(plan_of(place)).runner(print)))


def test_a_runner_of_nights_that_keeps_breaking_off_is_waited_for_longer_each_time_and_ends_serve(
    place: Path, prefect_server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []

    class Broken:
        started = False

        async def start(self) -> None:
            raise PermissionError(13, "Permission denied", "a folder")

    async def no_pause(self: Any, seconds: float) -> None:
        pauses.append(seconds)

    async def nothing(*_: object) -> None:
        pass

    monkeypatch.setattr("flows.serving.serve._Serving._pause", no_pause)
    monkeypatch.setattr("flows.serving.deployment.NightRuns.runner", lambda *_: Broken())
    monkeypatch.setattr("flows.serving.deployment.NightRuns.serve_with", nothing)
    with pytest.raises(EvalError, match=r"broke off 10 times in a row, .* PermissionError: .*; no night can begin"):
        serve(plan_of(place), None)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert capsys.readouterr().err.count("the runner of nights broke off (PermissionError") == len(pauses)


def test_a_night_that_is_due_while_another_runs_is_cancelled_and_one_that_was_killed_frees_its_place(
    place: Path, prefect_server: str
) -> None:
    from prefect.client.orchestration import get_client
    from prefect.states import Pending, Running

    from flows.serving.deployment import NightRuns

    plan = plan_of(place)

    async def states() -> list[str]:
        nights = NightRuns(plan)
        await nights.deploy()
        async with get_client() as client:
            runs = [await client.create_flow_run_from_deployment(nights.id) for _ in range(3)]

            async def propose(number: int, state: Any) -> str:
                result = await client.set_flow_run_state(runs[number].id, state)
                return str((result.state or state).name)

            found = [await propose(0, Pending()), await propose(0, Running()), await propose(1, Pending())]
            with plan.store.locked("nightly"):
                await nights.mark_crashed()  # somebody works: nothing is touched
            found.append((await client.read_flow_run(runs[0].id)).state_name or "")
            await nights.mark_crashed()  # nobody works: whoever ran it is gone
            found.append((await client.read_flow_run(runs[0].id)).state_name or "")
            return [*found, await propose(2, Pending())]

    assert asyncio.run(states()) == ["Pending", "Running", "Cancelled", "Running", "Crashed", "Pending"]


def test_a_schedule_that_is_none_is_bad_usage(place: Path, prefect_server: str, command: Command) -> None:
    check_schedule("0 2 * * 1-5", "Europe/Berlin")
    with pytest.raises(UsageError, match=r"--cron: expected five fields .* found 'every night'"):
        check_schedule("every night", "UTC")
    with pytest.raises(UsageError, match=r"--timezone: expected a name such as Europe/Berlin or UTC, found 'Mars'"):
        check_schedule("0 2 * * *", "Mars")
    named = command("serve", place / "logs", "--store", place / "store", "--cron", "0 2 * * *", "--name", "a/b")
    assert (named.exit_code, "--name: expected a name without /" in named.stderr) == (2, True)


@pytest.fixture
def lasting_server(own_server: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment of a machine with a Prefect server of its own, schedules and all."""
    code = (
        "import json, sys; from flows.execution.prefect_server import Server; server = Server(lasting=True); "
        "server.wait(); "
        "print(json.dumps(server.client_settings), flush=True); sys.stdin.read(); server.stop()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=own_server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield own_server | json.loads(process.stdout.readline())
        process.communicate()


@pytest.mark.timeout(600)
def test_prefect_deploy_takes_the_repositorys_file_and_a_worker_runs_a_night(
    place: Path, lasting_server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = place / "worker.log"
    environment = lasting_server | {"PREFECT_WORKER_QUERY_SECONDS": "2", "PREFECT_LOGGING_LEVEL": "INFO"}
    environment |= {"TMPDIR": str(place)}  # where Prefect's own worker makes a folder that others could have taken

    def prefect(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "prefect", *arguments],
            cwd=ROOT,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=400,
        )
        said = log.read_text() if log.exists() else ""
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\nthe worker's log:\n{said}"
        return done.stdout

    keys = {
        "sources": [str(place / "logs")],
        "store": str(place / "store"),
        "points": "messages:20",
        "strategies": ["none", "empty"],
    }
    prefect("work-pool", "create", "nightly", "--type", "process")
    prefect("--no-prompt", "deploy", "--name", "nightly", "--param", f"study={json.dumps(keys)}")
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [sys.executable, "-m", "prefect", "worker", "start", "--pool", "nightly"],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=out,
            start_new_session=True,
        ) as worker,
    ):
        try:
            prefect("deployment", "run", "nightly/nightly", "--watch", "--watch-interval", "2")
        finally:
            os.killpg(worker.pid, signal.SIGKILL)  # it would not hear another signal where a shell had it ignore SIGINT
    assert query(place, "SELECT count(*) FROM leaderboard") == [(2,)]
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", lasting_server["PREFECT_API_AUTH_STRING"])
    nightly = {"deployments": {"name": {"any_": ["nightly"]}}}
    [deployment] = _ask_prefect(lasting_server["PREFECT_API_URL"], "/deployments/filter", nightly)
    assert deployment["global_concurrency_limit"]["limit"] == 1
    assert deployment["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    deadline = time.monotonic() + 60
    while (
        not (planned := _planned(lasting_server["PREFECT_API_URL"], deployment["id"])) and time.monotonic() < deadline
    ):
        time.sleep(2)
    assert {text[11:16] for text in planned} == {"02:00"}


def _planned(url: str, deployment: str) -> list[str]:
    """When the scheduler has planned nights by the cron."""
    found = _ask_prefect(url, "/flow_runs/filter", {"flow_runs": {"deployment_id": {"any_": [deployment]}}})
    return [run["expected_start_time"] for run in found if run["auto_scheduled"]]
