"""Whatever ends a run, the same command again makes the same tables, and pays again at most what was in flight.

All with language models behind a provider on this machine that counts what it is asked. docs/faults.md has the table.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.flows.conftest import write_session
from tests.flows.disturb import Forker, Rows, Started, leftovers, lost_rows, query, tables
from tests.flows.llm.server import MockProvider
from tests.flows.test_model_runs import MODEL, handler

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

IN_FLIGHT = 4
OPTIONS = (
    "--points",
    "messages:20",
    "--strategies",
    "none,empty,freeform_summary",
    *MODEL,
    "--concurrency",
    IN_FLIGHT,
)


@dataclass
class Night:
    """What every night of this module is held against."""

    forker: Forker
    provider: MockProvider
    logs: Path
    reference: dict[str, Rows]
    """Tables of a run that nobody disturbed."""
    n_calls: int
    """That it took."""

    def start(self, store: Path, **how: Any) -> Started:
        """Start the run of this night."""
        environment = {
            "OPENAI_BASE_URL": self.provider.openai_url,
            "OPENAI_API_KEY": None,
            **how.pop("environment", {}),
        }
        return self.forker.start("run", self.logs, "--store", store, *OPTIONS, environment=environment, **how)

    def asked(self) -> int:
        """Requests so far."""
        return len(self.provider.requests)

    def repeated(self) -> int:
        """Requests that had been made before."""
        asked = Counter(request.raw for request in self.provider.requests)
        assert len(asked) <= self.n_calls, "a call that an undisturbed run does not make"
        return sum(asked.values()) - len(asked)

    def ends_well(self, store: Path) -> int:
        """Run again to the end: nothing is lost; how many calls were repeated, all runs together."""
        last = self.start(store)
        assert last.wait() == 0, last.err
        assert lost_rows(store, self.reference) == {}
        assert leftovers(store) == []
        assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
        repeated, [(unread,)] = self.repeated(), query(store, "SELECT count(*) FROM calls WHERE status = 'sent'")
        assert unread >= repeated, "what was paid twice is written down twice"
        return repeated


@pytest.fixture(scope="module")
def night(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    folder = tmp_path_factory.mktemp("night")
    for number, (word, turns) in enumerate({"orchard": 30, "harbour": 25}.items()):
        write_session(folder / "logs" / f"{word}.jsonl", f"session-{number}", turns, word)
    with MockProvider(handler=handler, delay=0.04) as provider:
        made = Night(forker, provider, folder / "logs", {}, 0)
        first = made.start(folder / "store")
        assert first.wait() == 0, first.err
        made.reference, made.n_calls = tables(folder / "store"), made.asked()
        assert made.n_calls > 30
        yield made


@pytest.fixture(autouse=True)
def nothing_goes_on(night: Night) -> Iterator[None]:
    """What a test has started ends with it, and each counts anew."""
    night.provider.forget()
    yield
    night.forker.end_all()


def draft(store: Path) -> bool:
    """Whether a database is being written."""
    return any(path.stat().st_size > 0 for path in store.glob(".scores.duckdb.*.tmp"))


def after(night: Night, run: Started, words: str, calls: int) -> Callable[[], bool]:
    """Whether a stage has begun, and has made so many calls."""
    before: list[int] = []

    def reached() -> bool:
        if words in run.err and not before:
            before.append(night.asked())
        return bool(before) and night.asked() >= before[0] + calls

    return reached


def test_killed_in_every_stage_in_turn_a_run_comes_to_the_same_tables(night: Night, tmp_path: Path) -> None:
    store = tmp_path / "store"
    stages = {"ingest: ": 0, "compact: ": 2, "probe: ": 0, "measure: ": 0, "answer: ": 6, "score: ": 6}
    for words, calls in stages.items():
        run = night.start(store)
        run.until(after(night, run, words, calls), words)
        run.kill()
        assert not (store / "scores.duckdb").exists()
    run = night.start(store)
    run.until(lambda: draft(store), "the load")
    run.signal(signal.SIGSTOP)
    assert draft(store)
    assert not (store / "scores.duckdb").exists()
    run.kill()
    assert night.ends_well(store) <= 3 * IN_FLIGHT
    statuses = query(store, "SELECT status, count(*) FROM runs GROUP BY 1 ORDER BY 1")
    # the one that was killed in the load notes that it is done shortly before its database is published
    assert statuses in ([("done", 1), ("killed", len(stages) + 1)], [("done", 2), ("killed", len(stages))])


def back_up(store: Path, copy: Path) -> None:
    """Copy a store as ``docs/hosting.md`` says: the call cache by SQLite, then all other files."""
    (copy / "cache").mkdir(parents=True)
    calls = Path("cache", "calls.sqlite")
    with closing(sqlite3.connect(store / calls)) as here, closing(sqlite3.connect(copy / calls)) as there:
        here.backup(there)
    left_out = shutil.ignore_patterns("calls.sqlite*", "scores.duckdb*", "loaded.json")
    shutil.copytree(store, copy, ignore=left_out, dirs_exist_ok=True)


def test_a_copy_made_during_a_run_goes_on_and_pays_for_nothing_that_was_answered_before(
    night: Night, tmp_path: Path
) -> None:
    store, copy = tmp_path / "store", tmp_path / "copy"
    run = night.start(store)
    run.until(after(night, run, "score: ", 6), "the scores")
    before = {request.raw for request in night.provider.requests}
    back_up(store, copy)
    run.kill()
    assert len(before) > IN_FLIGHT
    night.provider.forget()
    night.ends_well(copy)
    asked = {request.raw for request in night.provider.requests}
    assert len(asked) < night.n_calls
    assert len(asked & before) <= IN_FLIGHT


def test_stopped_or_without_its_workers_or_machine_a_run_comes_to_the_same_tables(night: Night, tmp_path: Path) -> None:
    store = tmp_path / "store"
    run = night.start(store)
    run.says("compact: ")
    for worker in run.helpers("spawn_main"):
        worker.kill()
    run.says("probe: done")  # their tasks are done again by new ones
    run.kill_all()

    for number, code, words in ((signal.SIGTERM, 143, "answer: "), (signal.SIGINT, 130, "score: ")):
        run = night.start(store)
        run.until(after(night, run, words, 5), words)
        run.signal(number)
        assert run.wait() == code
        assert run.err.rstrip().endswith("stopped; what was finished is kept, so the same command goes on from there")
    assert night.ends_well(store) <= 3 * IN_FLIGHT
    statuses = query(store, "SELECT status FROM runs ORDER BY started_at")
    assert [status for (status,) in statuses] == ["killed", "failed", "failed", "done"]


def test_a_disk_that_is_full_again_and_again_costs_room_and_nothing_else(night: Night, tmp_path: Path) -> None:
    """In the parts, the call cache, the shards and the load: every time there is a little more room."""
    if not night.forker.has_mounts:
        pytest.skip("no small disk can be mounted here")
    store = tmp_path / "store"
    store.mkdir()
    night.forker.do("mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", store)
    seen = night.forker.seen(store)
    rooms = (60, 300, 1_500)
    for kilobytes in rooms:
        night.forker.do("mount", "-o", f"remount,size={kilobytes}k", store)
        run = night.start(store)
        assert run.wait() == 1, run.err
        last = run.err.rstrip().splitlines()[-1]
        assert last.startswith("error: "), run.err
        assert "full" in last or "No space left" in last or "disk space" in last, run.err
        assert not (seen / "scores.duckdb").exists()
    night.forker.do("mount", "-o", "remount,size=100m", store)
    last_run = night.start(store)
    assert last_run.wait() == 0, last_run.err
    shutil.copytree(seen, tmp_path / "copy")
    assert lost_rows(tmp_path / "copy", night.reference) == {}
    assert leftovers(tmp_path / "copy") == []
    assert night.repeated() <= len(rooms) * IN_FLIGHT


def test_a_configured_server_that_goes_for_good_ends_the_run_with_a_sentence_and_costs_nothing(
    night: Night, prefect_server: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with Relay(prefect_server) as relay:
        there = {"PREFECT_API_URL": relay.url, "PREFECT_CLIENT_MAX_RETRIES": "0"}
        run = night.start(store, environment=there, fresh=True)
        run.until(after(night, run, "answer: ", 5), "answer")
        relay.cut()
        assert run.wait() == 1
        assert (
            f"error: the Prefect server at {relay.url} does not answer any more; what was finished is kept" in run.err
        )
    assert len(run.err.splitlines()) < 20, "Prefect's own words stay out of it"
    assert night.ends_well(store) <= IN_FLIGHT


class Relay:
    """Passes connections on to the shared server until it is cut: a server that can be killed for one run alone."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._target = (address.hostname, address.port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}{address.path}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                there = socket.create_connection(self._target)
                self._open += [here, there]
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Be gone."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
