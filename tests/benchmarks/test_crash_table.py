"""The crash table: fault × how often × rows lost × calls repeated × what the user saw (docs/faults.md).

Everything with real processes and a provider on this machine that counts. ``CRASH_TRIALS`` says how many times the run
is killed in each stage, each time at another instant (default 20: about an hour on two cores).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from flows.execution.prefect_server import Server
from tests.flows.conftest import ROOT, forker, prefect_server, write_session  # noqa: F401 (fixtures)
from tests.flows.disturb import Started, lost_rows, tables
from tests.flows.test_faults import IN_FLIGHT, Night, after, draft, night  # noqa: F401 (night is a fixture)

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(4 * 3600)]

TRIALS = int(os.environ.get("CRASH_TRIALS", "20"))
STAGES = {"ingest": 0.4, "points": 0.1, "compact": 0.6, "probe": 0.2, "measure": 0.4, "answer": 0.9, "score": 0.9}
"""Stage → seconds, about, that it takes here: a kill comes at any instant of that."""
YEAR = 365 * 86_400
CLOCK = """
import datetime, os, time

_path, _time, _datetime = os.environ.get("TEST_CLOCK"), time.time, datetime.datetime

def _shift():
    try:
        with open(_path) as file:
            return float(file.read() or 0)
    except OSError:
        return 0.0

if _path:
    try:
        import pandas  # before: its modules in C would take the other class for the one that they know, and crash
    except ImportError:
        pass

    class Shifted(_datetime):
        @classmethod
        def now(cls, tz=None):
            return super().now(tz) + datetime.timedelta(seconds=_shift())

    time.time = lambda: _time() + _shift()
    time.time_ns = lambda: int(time.time() * 1e9)
    datetime.datetime = Shifted
"""


@dataclass
class Line:
    """A line of the table."""

    times: int = 0
    repeated: int = 0
    lost: int = 0
    saw: Counter[str] = field(default_factory=Counter)


@dataclass
class Table:
    """What has been measured so far."""

    night: Night
    folder: Path
    lines: dict[str, Line] = field(default_factory=dict)
    _begun: list[tuple[float, str]] = field(default_factory=list)

    def begin(self, fault: str) -> None:
        """From now on requests are of a run that this fault will meet."""
        self._begun.append((time.monotonic(), fault))

    def met(self, run: Started) -> None:
        """The fault has met the run."""
        line = self.lines.setdefault(self._begun[-1][1], Line())
        line.times += 1
        said = run.err.rstrip().splitlines()[-1] if run.err.strip() else ""
        code = run.wait()
        line.saw["nothing: killed" if code == -signal.SIGKILL else f"{code}: {said}"[:150]] += 1

    def end(self, store: Path, *, is_seen: bool = False) -> None:
        """Run again to the end, and add up what was lost and, by the fault that met the first of them, repeated."""
        seen = store
        self.begin("the run after it")
        last = self.night.start(store)
        assert last.wait() == 0, last.err
        if is_seen:
            seen = Path(shutil.copytree(self.night.forker.seen(store), store.parent / f"{store.name}-copy"))
        apart = lost_rows(seen, self.night.reference)
        first: dict[bytes, float] = {}
        for request in self.night.provider.requests:
            if request.raw in first:
                self.lines[self._fault_at(first[request.raw])].repeated += 1
            first[request.raw] = request.at
        faults = {fault for _, fault in self._begun} & set(self.lines)
        for fault in faults:
            self.lines[fault].lost += sum(apart.values())
        assert apart == {}, (faults, apart)
        self.forget()
        self.print()  # as far as it is: the whole takes long

    def forget(self) -> None:
        """What was asked so far belongs to no fault that is still to come."""
        self.night.provider.forget()
        self._begun.clear()

    def _fault_at(self, moment: float) -> str:
        return [fault for begun, fault in self._begun if begun <= moment][-1]

    def new_store(self) -> Path:
        """Where no store is yet."""
        return self.folder / f"store-{len(list(self.folder.iterdir()))}"

    def print(self) -> None:
        """As Markdown."""
        print(f"\nan undisturbed run makes {self.night.n_calls} calls, {IN_FLIGHT} at a time")
        print("\n| fault | times | rows lost | calls repeated | exit code: last line that the user saw |")
        print("| --- | --- | --- | --- | --- |")
        for fault, line in self.lines.items():
            saw = "; ".join(
                f"{words} ({number}×)" if len(line.saw) > 1 else words for words, number in line.saw.items()
            )
            print(f"| {fault} | {line.times} | {line.lost} | {line.repeated} | {saw.replace(str(self.folder), '…')} |")


@pytest.fixture(scope="module")
def table(night: Night, tmp_path_factory: pytest.TempPathFactory) -> Table:  # noqa: F811
    night.provider.forget()
    return Table(night, tmp_path_factory.mktemp("crashes"))


@pytest.fixture(autouse=True)
def ended(night: Night, table: Table) -> Iterator[None]:  # noqa: F811
    yield
    night.forker.end_all()
    table.forget()  # of a test that failed


@pytest.mark.parametrize("trial", range(TRIALS))
def test_killed_at_any_instant_of_any_stage(table: Table, trial: int) -> None:
    chance, store = random.Random(trial), table.new_store()
    for stage, seconds in STAGES.items():
        table.begin(f"kill -9 of the run in {stage}")
        run = table.night.start(store)
        if not began(run, f"{stage}: "):
            continue  # a kill in the stage before came when its work was done
        time.sleep(chance.uniform(0, seconds))
        run.kill()
        table.met(run)
    table.begin("kill -9 of the writer in the load")
    run = table.night.start(store)
    run.until(lambda: draft(store), "the load")
    time.sleep(chance.uniform(0, 0.6))
    if not (store / "scores.duckdb").exists():
        run.kill()
        table.met(run)
    table.end(store)


def began(run: Started, words: str) -> bool:
    """Whether a stage begins; when it does not, because its work is done, the run is ended after all stages."""
    run.until(lambda: words in run.err or "load: " in run.err, words)
    if words in run.err:
        return True
    run.kill()
    return False


@pytest.mark.parametrize("trial", range(max(1, TRIALS // 7)))
def test_the_machine_gone_between_two_stages(table: Table, trial: int) -> None:
    store = table.new_store()
    for stage, _ in pairwise(STAGES):
        table.begin("machine gone right after a stage (everything killed)")
        run = table.night.start(store)
        run.says(f"{stage}: done")
        run.kill_all()
        table.met(run)
    table.end(store)


@pytest.mark.parametrize("stage", ["ingest", "compact", "probe", "measure"])
def test_all_workers_killed_in_each_of_their_stages(table: Table, stage: str) -> None:
    store = table.new_store()
    table.begin("kill -9 of all worker processes")
    run = table.night.start(store)
    assert began(run, f"{stage}: ")
    for worker in run.helpers("spawn_main"):
        worker.kill()
    run.wait()
    table.met(run)
    table.end(store)


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "Ctrl-C")])
def test_stopped(table: Table, number: int, name: str) -> None:
    store = table.new_store()
    for words, calls in (("compact: ", 2), ("answer: ", 5), ("score: ", 5)):
        table.begin(name)
        run = table.night.start(store)
        run.until(after(table.night, run, words, calls), words)
        run.signal(number)
        run.wait()
        table.met(run)
    table.end(store)


def test_a_configured_server_killed_and_back_or_gone(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_urlsafe", lambda length: "of-a-server-that-is-configured")  # the same each start
    server = Server()
    server.wait()
    for fault, more in (
        ("kill -9 of the configured Prefect server, which is started again", {}),
        ("kill -9 of the configured Prefect server, for good", {"PREFECT_CLIENT_MAX_RETRIES": "1"}),
    ):
        table.begin(fault)
        store = table.new_store()
        run = table.night.start(store, environment={**server.client_settings, **more}, fresh=True)
        run.until(after(table.night, run, "answer: ", 5), "answer")
        server._process.kill()
        server.stop()  # whoever holds its socket lets clients wait instead of being refused
        if not more:
            server = Server(server.port)
        run.wait()
        table.met(run)
        table.end(store)
    server.stop()


def test_the_disk_full_with_ever_more_room(table: Table) -> None:
    night_, store = table.night, table.new_store()
    if not night_.forker.has_mounts:
        pytest.skip("no small disk can be mounted here")
    store.mkdir()
    night_.forker.do("mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", store)
    size = 40
    while True:
        night_.forker.do("mount", "-o", f"remount,size={size}k", store)
        table.begin("disk full")
        run = night_.start(store)
        if run.wait() == 0:
            break
        table.met(run)
        size = int(size * 1.6)
    table.end(store, is_seen=True)


@pytest.mark.parametrize("jump", [YEAR, -YEAR])
def test_the_clock_jumps_by_a_year_in_the_middle(table: Table, jump: int, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(CLOCK)
    clock = tmp_path / "clock"
    clock.write_text("0")
    there = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "TEST_CLOCK": str(clock)}
    way = "forward" if jump > 0 else "back"
    table.begin(f"the clock jumps {way} by a year, and the run goes on")
    store = table.new_store()
    run = table.night.start(store, environment=there, fresh=True)
    run.until(after(table.night, run, "answer: ", 3), "answer")
    clock.write_text(str(jump))
    run.wait()
    table.met(run)
    table.end(store)
    clock.write_text("0")
    table.begin(f"the clock jumps {way} by a year, then kill -9")
    store = table.new_store()
    run = table.night.start(store, environment=there, fresh=True)
    run.until(after(table.night, run, "answer: ", 3), "answer")
    clock.write_text(str(jump))
    time.sleep(0.2)
    run.kill()
    table.met(run)
    table.end(store)


@pytest.mark.parametrize("trial", range(TRIALS))
def test_killed_while_parts_are_brought_into_agreement(table: Table, trial: int, tmp_path: Path) -> None:
    """A session comes again, longer and in another file: the part that held it is written anew without it."""
    chance, logs = random.Random(trial), tmp_path / "logs"
    write_session(logs / "a.jsonl", "session-0", 700)
    write_session(logs / "b.jsonl", "session-1", 600, "harbour")
    forker_ = table.night.forker

    def ingest(store: Path) -> Started:
        return forker_.start("ingest", logs, "--store", store)

    store, whole = table.new_store(), tmp_path / "whole"
    assert ingest(store).wait() == 0
    shutil.copytree(store, whole, copy_function=shutil.copy2)
    write_session(logs / "c.jsonl", "session-0", 720)
    assert ingest(whole).wait() == 0
    line = table.lines.setdefault("kill -9 of an ingestion that folds copies", Line())
    run = ingest(store)
    old = {path.name for path in (store / "transcripts").glob("*.parquet")}
    run.until(
        lambda: any(f"{name}.tmp" in os.listdir(store / "transcripts") for name in old) or draft(store),
        "settling",
    )
    time.sleep(chance.uniform(0, 0.02))
    run.kill()
    line.times += 1
    line.saw["nothing: killed"] += 1
    last = ingest(store)
    assert last.wait() == 0, last.err
    apart = lost_rows(store, tables(whole))
    line.lost += sum(apart.values())
    assert apart == {}
    table.print()
