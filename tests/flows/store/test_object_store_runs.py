"""Whole runs on a store in an object store: an S3 server on this machine, and language models that are counted."""

from __future__ import annotations

import json
import signal
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="the package for object stores is an extra: cloud")
pytest.importorskip("moto", reason="the S3 server of the tests")

import obstore
from obstore.store import from_url
from werkzeug.serving import WSGIRequestHandler, make_server

from flows.store import object_storage
from flows.store.store import Store
from tests.flows.conftest import Command, write_session
from tests.flows.disturb import PATIENCE, Forker, Rows, lost_rows, query, tables
from tests.flows.llm.server import MockProvider
from tests.flows.test_model_runs import MODEL, handler

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OPTIONS = ("--points", "messages:20", "--strategies", "none,empty,freeform_summary", *MODEL, "--quiet")


class _Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        """Nothing."""


@dataclass
class S3:
    """moto's server, which can be told to fail."""

    n_failing: int = 0
    """Requests that are answered with an error of the server from now on."""
    when: Callable[[str, str], bool] = lambda method, path: True
    """Of which requests: by method and path."""
    asked: list[tuple[str, str]] = field(default_factory=list)

    def start(self) -> None:
        """Serve, with a bucket."""
        from moto.server import DomainDispatcherApplication, create_backend_app

        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self, threaded=True, request_handler=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/bucket", method="PUT")).close()

    def stop(self) -> None:
        """Be gone."""
        self._server.shutdown()
        self._server.server_close()

    def __call__(self, environ: dict[str, Any], respond: Any) -> Iterable[bytes]:
        asked = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.asked.append(asked)
        if self.n_failing and self.when(*asked):
            self.n_failing -= 1
            respond("500 Internal Server Error", [("Content-Length", "0")])
            return [b""]
        return self._app(environ, respond)


@dataclass
class Night:
    """The server, the provider of models, the sessions, and what an undisturbed run on a folder came to."""

    s3: S3
    provider: MockProvider
    logs: Path
    reference: dict[str, Rows]
    n_calls: int
    environment: dict[str, str]


@pytest.fixture(scope="module")
def night(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    folder = tmp_path_factory.mktemp("night")
    write_session(folder / "logs" / "orchard.jsonl", "session-0", 21)
    s3 = S3()
    s3.start()
    with MockProvider(handler=handler) as provider:
        environment = {
            "AWS_ENDPOINT_URL": s3.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "OPENAI_BASE_URL": provider.openai_url,
        }
        local = forker.run("run", folder / "logs", "--store", folder / "store", *OPTIONS, environment=environment)
        assert local.code == 0, local.err
        yield Night(s3, provider, folder / "logs", tables(folder / "store"), len(provider.requests), environment)
    s3.stop()


@pytest.fixture(autouse=True)
def machine(night: Night, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, str]]:
    """The environment of a machine, by its name: this process becomes it."""

    def become(name: str) -> dict[str, str]:
        environment = {**night.environment, "COMPACTION_EVAL_WORK": str(tmp_path / name)}
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        return environment

    night.provider.requests.clear()
    night.s3.asked.clear()
    become("first")
    return become


def differing(store: str, night: Night) -> dict[str, int]:
    """Tables of a store that are not those of the folder."""
    return lost_rows(Store.open(store).database.parent, night.reference)


def names(store: str) -> list[str]:
    """The objects of a store."""
    found = obstore.list(from_url(store, client_options={"allow_http": True}))
    return [meta["path"] for some in found for meta in some]


def after_the_first(store: str, seen: list[bool]) -> Callable[[dict[str, Any]], str]:
    """Answers as ``handler`` does, the second request once the first answer is in the store, if it comes to that."""

    def answer(body: dict[str, Any]) -> str:
        shipped, deadline = False, time.monotonic() + PATIENCE
        while len(seen) == 1 and not shipped and time.monotonic() < deadline:
            time.sleep(0.02)
            shipped = any(name.startswith("cache/") for name in names(store))
        seen.append(shipped)
        return handler(body)

    return answer


def test_a_run_comes_to_the_tables_of_a_folder_and_another_machine_finds_all_done_and_paid(
    night: Night, working_command: Command, machine: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = "s3://bucket/whole/run"
    night.s3.n_failing = 3  # asked again
    shipped: list[bool] = []
    monkeypatch.setattr(night.provider, "handler", after_the_first(store, shipped))
    from flows.execution import stage_runner

    monkeypatch.setattr(stage_runner, "SHIPPED_EVERY", 0.1)
    first = working_command("run", night.logs, "--store", store, *OPTIONS)
    assert first.exit_code == 0, first.output
    assert shipped[1], "what is paid for is shipped while the stage goes on"
    assert differing(store, night) == {}
    assert len(night.provider.requests) == night.n_calls
    assert {name for name in names(store) if ".tmp" in name or name.startswith(".")} == set()

    machine("second")
    night.s3.asked.clear()
    again = working_command("run", night.logs, "--store", store, *OPTIONS, "--json")
    assert json.loads(again.stdout)["nothing_to_do"] is True
    assert {path for method, path in night.s3.asked if method == "PUT"} == {"/bucket/whole/run/.lock"}

    machine("third")
    for name in names(store):
        if name.startswith(("answers/", "scores/")):
            obstore.delete(from_url(store, client_options={"allow_http": True}), name)
    planned = json.loads(working_command("plan", night.logs, "--store", store, *OPTIONS[:-1], "--json").stdout)
    assert all(line["calls"] == line["cached"] for line in planned["calls"])
    rebuilt = working_command("run", night.logs, "--store", store, *OPTIONS)
    assert rebuilt.exit_code == 0, rebuilt.output
    assert len(night.provider.requests) == night.n_calls
    assert differing(store, night) == {}


def test_readers_need_only_the_database_and_say_the_url(
    night: Night, command: Command, working_command: Command, machine: Callable[[str], object], tmp_path: Path
) -> None:
    store = "s3://bucket/read"
    none = command("leaderboard", "--store", store)
    assert none.exit_code == 1
    assert f"no store at {store}; `compaction-eval run` makes one" in none.stderr
    embedded = ("--points", "messages:20", "--strategies", "none,empty", "--quiet")
    Store.create(store, "o200k_base")
    assert f"no results at {store}/scores.duckdb yet; make some" in command("leaderboard", "--store", store).stderr
    assert working_command("run", night.logs, "--store", store, *embedded).exit_code == 0
    machine("reader")
    night.s3.asked.clear()
    asked = command("sql", "SELECT count(*) AS n FROM sessions", "--store", store, "--format", "csv")
    assert asked.stdout.split() == ["n", "1"], asked.output
    assert sum(method == "GET" for method, _ in night.s3.asked) == 2, "the store's description and the database"
    for line in (
        ("accounting",),
        ("compare", "none", "empty"),
        ("cache", "stats"),
        ("export", "leaderboard", "--output", tmp_path),
    ):
        result = command(*line, "--store", store)
        assert result.exit_code == 0, (line, result.output, result.stderr)
    rebuilt = command("rebuild", "--store", store, "--quiet")
    assert rebuilt.exit_code == 0, rebuilt.output
    assert f"ok       store: {store}: " in command("doctor", "--store", store).stdout


def test_a_killed_run_is_gone_on_with_at_once_on_its_machine_and_another_is_told_who_is_at_it(
    night: Night, forker: Forker, machine: Callable[[str], dict[str, str]]
) -> None:
    store = "s3://bucket/killed"
    line = ("run", night.logs, "--store", store, *OPTIONS)
    run = forker.start(*line, environment=machine("first"))
    run.until(lambda: any(name.startswith("answers/") for name in names(store)), "an answer")
    run.signal(signal.SIGSTOP)  # so that it is still at it when the other one looks
    second = forker.run(*line, environment=machine("second"))
    assert second.code == 1
    assert f"store {store} is in use by `compaction-eval run` (process {run.pid} on " in second.err
    run.kill_all()
    third = forker.run(*line, environment=machine("first"))
    assert third.code == 0, third.err
    assert differing(store, night) == {}
    (killed,) = query(Store.open(store).database.parent, "SELECT count(*) FROM runs WHERE status = 'killed'")
    assert killed == (1,)


def test_a_server_that_fails_for_good_ends_the_command_with_a_sentence(
    night: Night, command: Command, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = "s3://bucket/failing"
    monkeypatch.setattr(object_storage, "RETRY", {"max_retries": 1})
    monkeypatch.setattr(night.s3, "when", lambda method, path: method == "PUT" and "/points/" in path)
    monkeypatch.setattr(night.s3, "n_failing", 1_000)
    embedded = ("--points", "messages:20", "--strategies", "none,empty", "--quiet")
    failed = working_command("run", night.logs, "--store", store, *embedded)
    assert failed.exit_code == 1
    assert f"error: store {store}: the object store cannot be used: Generic S3 error" in failed.stderr
    assert "Traceback" not in failed.output
    assert ".lock" not in names(store)
    night.s3.n_failing = 0
    again = working_command("run", night.logs, "--store", store, *embedded)
    assert again.exit_code == 0, again.output

    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    gone = command("leaderboard", "--store", store)
    assert gone.exit_code == 1
    assert gone.stderr.count("\n") == 1
    assert f"error: store {store}: the object store cannot be used" in gone.stderr
