"""Sources that are too large, and disks and workers that give out: the rest goes in all the same."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import signal
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from flows.config.study import Study
from flows.database.sql_model import empty_database
from flows.pipeline.load.intake_tables import each_quarantined
from flows.pipeline.plan import unread_inputs
from flows.pipeline.tasks.ingest import ingest_batch
from flows.sessions.session_parts import read_parts
from flows.sources import Input, discover, read_input
from flows.sources.reading.unpacking import zstd
from flows.store.store import Store
from flows.support.errors import StoreError
from tests.flows.conftest import write_session
from tests.flows.disturb import Forker
from tests.flows.sources.folders import chat, ingest, read_all, reason

MB = 1 << 20


@contextlib.contextmanager
def most_memory() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# Size


def test_half_a_gigabyte_of_zero_bytes_takes_no_memory(folder: Path) -> None:
    for name in ("nul.jsonl", "nul.md"):
        with (folder / name).open("wb") as file:
            file.truncate(600 * MB)
    with most_memory() as peak:
        results = read_all(folder)
        assert peak() < 30 * MB
    assert reason(results["nul.jsonl"]) == "a line of 629,145,600 bytes; at most 536,870,912 can be read"
    assert list(results) == ["good.json", "nul.jsonl"], "Markdown that is no log is passed over"


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_a_bomb_stops_early_and_leaves_nothing(pack: Callable[[bytes], bytes], folder: Path, tmp_path: Path) -> None:
    packed = pack(bytes(8 * MB))
    with (folder / "bomb.jsonl").open("wb") as file:
        for _ in range(200):  # 1.6 GB
            file.write(packed)
    result = read_input(Input(folder / "bomb.jsonl", "file", 1, 1))
    assert "unpacks to more than" in reason(result)
    assert "not read further" in reason(result)


def test_packed_files_that_are_not_what_they_seem(folder: Path) -> None:
    packed = gzip.compress(chat("loom"))
    for name, data in {
        "trailing.json.gz": packed + b"garbage",
        "nested.json.gz": gzip.compress(packed),
        "wrong.json.zst": packed,
        "plain.json.gz": chat("gate"),
        "empty.json.gz": gzip.compress(b""),
        "no.json.gz": b"",
    }.items():
        (folder / name).write_bytes(data)
    results = read_all(folder)
    read = [name for name, result in results.items() if len(result.transcripts) == 1]
    assert read == ["good.json", "plain.json.gz", "trailing.json.gz", "wrong.json.zst"]
    assert "what came before is read" in results["trailing.json.gz"].set_aside[0].reason
    assert reason(results["nested.json.gz"]).startswith("packed twice: ")
    assert reason(results["empty.json.gz"]) == reason(results["no.json.gz"]) == "empty file"


def test_what_finds_no_room_to_be_unpacked_is_tried_again(
    folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = {"messages": json.loads(chat("loom")), "padding": os.urandom(20 * MB).hex()}
    (folder / "big.json.gz").write_bytes(gzip.compress(json.dumps(big).encode(), 1))
    study = Study(sources=(str(folder),), store=str(store.root), redact=False)
    empty_database()  # made once a process, in the temporary folder
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "gone"))
    assert sorted(record.n_sessions for record in ingest(store, study)) == [0, 1]
    (row,) = each_quarantined(store)
    assert "no room to unpack it in the temporary folder" in row["reason"]
    assert [one.path.name for one in unread_inputs(read_parts(store), discover(study.sources), study)] == [
        "big.json.gz"
    ]
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert sorted(record.n_sessions for record in ingest(store, study, 2)) == [1, 1]
    assert list(each_quarantined(store)) == []


# The store


def test_a_full_disk_is_the_stores_problem_and_costs_no_file_its_place(folder: Path, store: Store) -> None:
    for number in range(4):
        noise = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": os.urandom(300_000).hex()}]
        (folder / f"{number}.json").write_text(json.dumps(noise))
    study = Study(sources=(str(folder),), store=str(store.root), redact=False)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))  # as a disk with so much room
    try:
        with pytest.raises(StoreError, match="cannot be written: File too large"):
            ingest_batch(str(store.root), study, discover(study.sources), 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(store.transcripts.iterdir()) == []
    assert list(each_quarantined(store)) == []
    assert [record.n_sessions for record in ingest(store, study)] == [1] * 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "code", "said"),
    [("workers", 0, "80 inputs, 80 sessions, 19,280 messages"), ("run", 130, "stopped; what was finished is kept")],
)
def test_an_ingestion_that_is_stopped_or_loses_its_workers_goes_on_to_the_same_store(
    tmp_path: Path, forker: Forker, lost: str, code: int, said: str
) -> None:
    logs = tmp_path / "logs"
    for number in range(80):
        write_session(logs / f"{number:03d}.jsonl", f"session-{number}", 120, f"word{number}")
    root = tmp_path / "store"
    process = forker.start("ingest", logs, "--store", root, cores=2)
    process.until(lambda: list((root / "transcripts").glob("*")), "the first sessions")
    children = process.helpers("spawn_main")
    assert children
    if lost == "workers":
        for one in children:
            one.kill()
    else:
        process.signal(signal.SIGINT)
    assert (process.wait(), said in process.out + process.err) == (code, True), process.err
    assert psutil.wait_procs(children, timeout=10)[1] == []
    again = forker.run("ingest", logs, "--store", root, "--quiet")
    assert again.code == 0, again.err
    assert "80 inputs, 80 sessions, 19,280 messages" in again.out
    assert list(root.rglob("*.tmp")) == []
