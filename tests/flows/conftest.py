"""Small generated sessions, stores that hold them, and one Prefect server for all tests."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from flows.execution.pools import local
from flows.execution.prefect_server import Server, prepare
from tests.flows.disturb import Forker, forking

ROOT = Path(__file__).parents[2]


def session_lines(session_id: str, turns: int, word: str = "orchard") -> list[dict[str, Any]]:
    """A session that a reader of Claude Code's logs understands: a request, then edits and test runs in turn."""
    lines: list[dict[str, Any]] = []

    def add(kind: str, message: dict[str, Any]) -> None:
        number = len(lines)
        lines.append(
            {
                "type": kind,
                "uuid": f"{session_id}-{number}",
                "parentUuid": f"{session_id}-{number - 1}" if number else None,
                "sessionId": session_id,
                "isSidechain": False,
                "cwd": "/home/ada/mill",
                "timestamp": f"2026-03-01T10:{number // 60:02d}:{number % 60:02d}Z",
                "message": message,
            }
        )

    add("user", {"role": "user", "content": f"Make {word} sorting stable and keep the old order for equal keys."})
    for turn in range(turns):
        path = f"/home/ada/mill/src/{word}_{turn % 5}.py"
        failing = turn % 3 == 1
        call = (
            {
                "name": "Write",
                "input": {"file_path": path, "content": f"def sort_{word}_{turn}(rows):\n    return rows\n"},
            }
            if turn % 2 == 0
            else {"name": "Bash", "input": {"command": f"pytest tests/test_{word}_{turn}.py"}}
        )
        say = f"I decided on a merge sort for {word} {turn}, because it keeps equal keys in order."
        use = {"type": "tool_use", "id": f"{session_id}-call-{turn}", **call}
        content = [{"type": "text", "text": say}, use]
        add("assistant", {"role": "assistant", "id": f"{session_id}-m{turn}", "model": "scripted", "content": content})
        output = (
            f"FAILED tests/test_{word}_{turn}.py::test_order - KeyError: '{word}-{turn}'"
            if failing
            else f"{turn} passed"
        )
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": output, "is_error": failing}
        add("user", {"role": "user", "content": [result]})
    return lines


def write_session(path: Path, session_id: str, turns: int, word: str = "orchard") -> Path:
    """A session's log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in session_lines(session_id, turns, word)))
    return path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder of three sessions."""
    for number, (word, turns) in enumerate({"orchard": 30, "harbour": 25, "lantern": 20}.items()):
        write_session(tmp_path / "logs" / f"{word}.jsonl", f"session-{number}", turns, word)
    return tmp_path / "logs"


MadeOnce = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """Fills a folder of a name once for all processes of pytest-xdist. Whoever changes what is in it takes a copy."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def make(name: str, fill: Callable[[Path], object]) -> Path:
        folder, done = shared / f"made-{name}", shared / f"made-{name}.done"
        with (shared / f"made-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # what another process had begun and could not end
                folder.mkdir()
                fill(folder)
                done.touch()
        return folder

    return make


PrefectHome = Callable[[], Path]


def _make_tables(home: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    subprocess.run(
        [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"],
        env=environment | {"PREFECT_HOME": str(home)},
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="session")
def prefect_home(made_once: MadeOnce, tmp_path_factory: pytest.TempPathFactory) -> PrefectHome:
    """Makes folders for Prefect whose database has its tables: to make them takes a core a dozen seconds."""

    def make() -> Path:
        home = tmp_path_factory.mktemp("prefect")
        shutil.copy(made_once("prefect", _make_tables) / "prefect.db", home)
        (home / "prefect.db").chmod(0o600)  # as a server that we start makes it
        return home

    return make


@pytest.fixture(scope="session")
def prefect_server(prefect_home: PrefectHome) -> Iterator[str]:
    """A Prefect server of our own, with a database of its own: to start one takes as much as twenty tests.

    Each process of pytest-xdist has one: whoever ends first cannot know whether the others still need it.
    """
    os.environ["PREFECT_HOME"] = str(prefect_home())
    prepare()
    server = Server()
    server.wait()
    with server.in_use():
        yield server.url
    server.stop()


SERVER_VARIABLES = ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED")


@pytest.fixture(scope="session")
def own_prefect_home(prefect_home: PrefectHome) -> Path:
    """The folder of Prefect's database for the runs that have no server."""
    prepare()
    return prefect_home()


@pytest.fixture(scope="session")
def forker(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forker]:
    """Starts the command in processes of their own, at little cost."""
    with forking(tmp_path_factory.mktemp("commands"), ROOT) as ready:
        yield ready


Command = Callable[..., Result]


@pytest.fixture
def command() -> Command:
    """The command in this process, without a Prefect server."""

    def run(*arguments: object) -> Result:
        from flows.cli.app import app

        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


def _within(environment: dict[str, str], folder: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call it as a process would that had just been started there."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    return function(*args, **kwargs)


class Kept:
    """A worker process that outlives the runs which it works for."""

    def __init__(self) -> None:
        self._start = local._pool
        self._pool: ProcessPoolExecutor | None = None
        self._is_taken = False

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Whatever runs in this process takes it, as on a machine of one core."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
            patch.setattr(local, "_pool", self.taken)
            yield

    def taken(self) -> Kept | ProcessPoolExecutor:
        """This one for whoever has none; who wants more gets others."""
        if self._is_taken:
            return self._start()
        self._is_taken = True
        return self

    def submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        """As an executor's."""
        if self._pool is None:
            self._pool = self._start()
        return self._pool.submit(_within, dict(os.environ), os.getcwd(), function, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """The run is over; unless all has gone well the process ends with it."""
        self._is_taken = False
        if not wait:
            self.end()

    def end(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


@pytest.fixture(scope="session")
def kept_worker() -> Iterator[Kept]:
    """A worker process for whatever runs in this process: to start one takes longer than these small sessions do."""
    kept = Kept()
    yield kept
    kept.end()


@contextmanager
def without_server(home: Path, kept: Kept) -> Iterator[None]:
    """Whatever runs in this process has no Prefect server, the folder for Prefect's database, and the kept worker."""
    with pytest.MonkeyPatch.context() as patch, kept.at_work():
        patch.setenv("PREFECT_HOME", str(home))
        for name in SERVER_VARIABLES:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def working_command(own_prefect_home: Path, kept_worker: Kept, command: Command) -> Iterator[Command]:
    """The command in this process, without a Prefect server, as on a machine of one core, with a kept worker.

    A configured server is met by the tests that ``start`` the command or use the ``forker``; several processes at work,
    and such that are started anew and end with the run, by them too, and by those that give a ``--concurrency``.
    """
    with without_server(own_prefect_home, kept_worker):
        yield command


def start(*arguments: object, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "flows", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
