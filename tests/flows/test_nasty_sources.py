"""The worst possible folder: whatever stands in it, the rest goes in, and each thing that does not has a reason."""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from flows.intake import each_quarantined
from flows.plan import unread
from flows.problems import StoreProblem
from flows.settle import settle
from flows.sources import Input, ReadResult, SourceError, discover, read_input
from flows.sources.decode import zstd
from flows.store import Store
from flows.study import Study
from flows.tables import rebuild
from flows.transcripts import InputRecord, read_parts
from flows.work.ingest import ingest_batch

from .conftest import ROOT, start, write_session

MB = 1 << 20
DEVICE = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")


def chat(word: str, answers: int = 3) -> bytes:
    messages = [{"role": "user", "content": f"Repair the {word}."}]
    for number in range(answers):
        text = f"For the {word} I look at wheel number {number}, since it turns too slowly and squeaks."
        messages.append({"role": "assistant", "content": text})
    return json.dumps(messages).encode()


def read_all(*sources: object) -> dict[str, ReadResult]:
    return {one.path.name: read_input(one) for one in discover([str(source) for source in sources])}


def reason(result: ReadResult) -> str:
    assert result.transcripts == ()
    (aside,) = result.set_aside
    return aside.reason


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one good session."""
    path = tmp_path / "logs"
    path.mkdir()
    (path / "good.json").write_bytes(chat("mill"))
    return path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(str(tmp_path / "store"), "o200k_base")


def ingest(store: Store, study: Study, generation: int = 1) -> list[InputRecord]:
    """What the command does, in this process: read what is new, settle, make the database."""
    todo = unread(read_parts(store), discover(study.sources), study)
    if todo:
        ingest_batch(str(store.root), study, todo, generation)
    settle(store)
    rebuild(store, study)
    return [record for part in read_parts(store) for record in part.inputs]


@contextlib.contextmanager
def most_memory() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# What is no file


@DEVICE
def test_pipes_sockets_devices_and_links_to_nothing_are_set_aside_and_never_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.jsonl")
    here = os.getcwd()
    os.chdir(folder)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket.jsonl")
    os.chdir(here)
    (folder / "zeros.jsonl").symlink_to("/dev/zero")
    (folder / "zeros.md").symlink_to("/dev/zero")
    (folder / "broken.jsonl").symlink_to("gone.jsonl")
    (folder / "round.jsonl").symlink_to("round.jsonl")
    (folder / "self").symlink_to(".")
    results = read_all(folder)
    assert len(results.pop("good.json").transcripts) == 1
    assert {name: reason(result) for name, result in results.items()} == {
        "pipe.jsonl": "cannot be opened: a named pipe, not a file",
        "socket.jsonl": "cannot be opened: a socket, not a file",
        "zeros.jsonl": "cannot be opened: a device, not a file",
        "broken.jsonl": "cannot be opened: a link to a file that is not there",
        "round.jsonl": "cannot be opened: Too many levels of symbolic links",
    }


@DEVICE
def test_a_device_or_pipe_that_is_named_outright_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for source in ("/dev/zero", folder / "pipe"):
        with pytest.raises(SourceError, match="neither a file nor a folder"):
            discover([str(source)])


@pytest.mark.parametrize("source", ["~nobody-of-this-name/x", "x" * 300, "a\0b", "gone/../x"])
def test_a_source_that_can_be_no_path_is_bad_usage(source: str) -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        discover([source])


def test_what_happens_between_discovery_and_reading_costs_that_file_only(folder: Path) -> None:
    for name in ("gone", "piped", "cut", "other", "emptied"):
        (folder / f"{name}.json").write_bytes(chat(name))
    inputs = discover([str(folder)])
    (folder / "gone.json").unlink()
    (folder / "piped.json").unlink()
    os.mkfifo(folder / "piped.json")
    os.truncate(folder / "cut.json", 30)
    os.truncate(folder / "emptied.json", 0)
    (folder / "other.json").write_bytes(chat("loom", 5))
    results = {one.path.stem: read_input(one) for one in inputs}
    assert [len(t) for name in ("good", "other") for t in results[name].transcripts] == [4, 6]
    assert reason(results["gone"]) == "cannot be opened: No such file or directory"
    assert reason(results["piped"]) == "cannot be opened: a named pipe, not a file"
    assert reason(results["emptied"]) == "empty file"
    assert reason(results["cut"]).startswith("no known format: not valid JSON")


# Permissions


def without_privileges() -> None:
    """Root reads everything; without these two capabilities it is bound by permissions as everybody is."""
    if os.getuid() == 0:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


LOOK = """
import sys
from flows.sources import SourceError, discover, read_input
try:
    for one in discover(sys.argv[1:]):
        result = read_input(one)
        print(one.path.name, one.mtime_ns > 0, len(result.transcripts), *[a.reason for a in result.set_aside])
except SourceError as error:
    print("refused:", error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_what_may_not_be_read_is_set_aside_and_counts_as_changed_when_it_may(folder: Path) -> None:
    def look(*paths: Path) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", LOOK, *map(str, paths)],
            cwd=ROOT, capture_output=True, text=True, check=True, preexec_fn=without_privileges,
        )  # fmt: skip
        return done.stdout.splitlines()

    for name in ("closed/a.json", "listed/b.json"):
        (folder / name).parent.mkdir()
        (folder / name).write_bytes(chat(name))
    (folder / "secret.json").write_bytes(chat("secret"))
    (folder / "secret.json").chmod(0)
    (folder / "closed").chmod(0)
    (folder / "listed").chmod(0o444)
    denied = "cannot be opened: Permission denied"
    try:
        assert look(folder) == [
            f"closed False 0 {denied}", "good.json True 1", f"b.json False 0 {denied}", f"secret.json False 0 {denied}",
        ]  # fmt: skip
        assert look(folder / "closed") == [f"refused: the folder {folder}/closed cannot be opened: Permission denied"]
    finally:
        for name in ("closed", "listed", "secret.json"):
            (folder / name).chmod(0o755)
    assert look(folder) == ["a.json True 1", "good.json True 1", "b.json True 1", "secret.json True 1"]


# Names


def test_every_name_that_a_file_can_have_goes_through_to_the_database(folder: Path, store: Store) -> None:
    names = [
        b"new\nline.json", b"bad\xff\xfe.json", "emoji\U0001f600\u2028.json".encode(), b"n" * 250 + b".json",
        b"-dash.json", b"glob[ab]*.json", b"\x1b[31mred.json", b"Case.json", b"case.json", b"dir\xff/x.json",
    ]  # fmt: skip
    (Path(os.fsdecode(os.fsencode(folder) + b"/dir\xff"))).mkdir()
    for number, name in enumerate(names):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(chat(f"wheel {number}"))
    Path(os.fsdecode(os.fsencode(folder) + b"/junk\xff.json")).write_bytes(b"junk")
    records = ingest(store, Study(sources=(str(folder),), store=str(store.root)))
    found = {Path(record.fingerprint.path).name: record.n_sessions for record in records}
    assert len(found) == len(names) + 2
    assert found.pop("junk\\xff.json") == 0
    assert set(found.values()) == {1}
    assert {"new\\x0aline.json", "bad\\xff\\xfe.json", "\\x1b[31mred.json", "emoji\U0001f600\u2028.json"} <= set(found)
    assert [row["input"] for row in each_quarantined(store)] == [f"{folder}/junk\\xff.json"]
    assert unread(read_parts(store), discover([str(folder)]), Study()) == []
    assert [one.path.name for one in discover([str(folder / "glob[ab]*.json")])] == ["glob[ab]*.json"]


def test_one_file_by_several_paths_is_one_input_and_a_hard_link_one_session(folder: Path, store: Store) -> None:
    (folder / "a-link.json").symlink_to("good.json")
    os.link(folder / "good.json", folder / "hard.json")
    ways = [folder / "a-link.json", folder, f"{folder}/./good.json", f"{folder}/../logs/good.json", folder / "*.json"]
    assert [one.path for one in discover(list(map(str, ways)))] == [folder / "good.json", folder / "hard.json"]
    assert [one.path for one in discover([str(ways[3])])] == [folder / "good.json"]
    ingest(store, Study(sources=(str(folder),), store=str(store.root)))
    parts = read_parts(store)
    assert (sum(len(part.sessions) for part in parts), sum(len(part.folded) for part in parts)) == (1, 1)


def test_a_thousand_folders_deep_is_read_as_far_as_paths_go_and_the_end_is_named(folder: Path) -> None:
    here = os.getcwd()
    os.chdir(folder)
    depth = 0
    try:
        for depth in range(1, 1001):
            os.mkdir("folder-x")
            os.chdir("folder-x")
            if depth in (300, 900):
                Path("deep.json").write_bytes(chat(f"mill {depth}"))
        results = [(one.path.name, read_input(one)) for one in discover([str(folder)])]
    finally:
        for _ in range(depth):
            Path("deep.json").unlink(missing_ok=True)
            os.chdir("..")
            os.rmdir("folder-x")
        os.chdir(here)
    assert [(name, len(result.transcripts)) for name, result in results] == [
        ("deep.json", 1), ("folder-x", 0), ("good.json", 1),
    ]  # fmt: skip
    assert reason(results[1][1]) == "cannot be opened: File name too long"


def test_a_pattern_for_all_folders_follows_no_links_and_ends(folder: Path) -> None:
    for name in ("a", "b", "c"):
        (folder / name).mkdir()
        (folder / name / "up").symlink_to("..")
        (folder / name / f"{name}.json").write_bytes(chat(name))
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "h.json").write_bytes(chat("h"))
    names = ["a.json", "b.json", "c.json"]
    assert [one.path.name for one in discover([f"{folder}/**/[abc].json"])] == names
    assert [one.path.name for one in discover([f"{folder}/**"])] == [*names, "good.json"]
    assert [one.path.name for one in discover([f"{folder}/**/b/*.json"])] == ["b.json"]
    assert [one.path.name for one in discover([f"{folder}/.hidden/**/*.json"])] == ["h.json"]
    assert [one.path.name for one in discover([str(folder)])] == [*names, "good.json"], (
        "nor does the search of a folder"
    )


def test_a_store_in_the_folder_of_sources_is_no_source(folder: Path) -> None:
    store = Store.create(str(folder / "store"), "o200k_base")
    (folder / "junk.json").write_bytes(b"junk")
    study = Study(sources=(str(folder),), store=str(store.root))
    assert len(ingest(store, study)) == 2
    assert list(store.quarantine.glob("*.jsonl"))
    for source in (str(folder), f"{folder}/**/*.json*", f"{folder}/*"):
        assert [one.path.name for one in discover([source])] == ["good.json", "junk.json"]
    with pytest.raises(SourceError, match="is a store"):
        discover([str(store.root)])
    (store.root / "in").mkdir()
    (store.root / "in" / "s.json").write_bytes(chat("loom"))
    assert [one.path.name for one in discover([str(store.root / "in")])] == ["s.json"], "but what it holds may be named"


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
        "trailing.json.gz": packed + b"garbage", "nested.json.gz": gzip.compress(packed),
        "wrong.json.zst": packed, "plain.json.gz": chat("gate"), "empty.json.gz": gzip.compress(b""), "no.json.gz": b"",
    }.items():  # fmt: skip
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
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "gone"))
    assert sorted(record.n_sessions for record in ingest(store, study)) == [0, 1]
    (row,) = each_quarantined(store)
    assert "no room to unpack it in the temporary folder" in row["reason"]
    assert [one.path.name for one in unread(read_parts(store), discover(study.sources), study)] == ["big.json.gz"]
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
        with pytest.raises(StoreProblem, match="cannot be written: File too large"):
            ingest_batch(str(store.root), study, discover(study.sources), 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(store.transcripts.iterdir()) == []
    assert list(each_quarantined(store)) == []
    assert [record.n_sessions for record in ingest(store, study)] == [1] * 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "code", "said"),
    [("workers", 0, "80 inputs, 80 sessions, 9,680 messages"), ("run", 130, "stopped; what was finished is kept")],
)
def test_an_ingestion_that_is_stopped_or_loses_its_workers_goes_on_to_the_same_store(
    tmp_path: Path, prefect_server: str, lost: str, code: int, said: str
) -> None:
    logs = tmp_path / "logs"
    for number in range(80):
        write_session(logs / f"{number:03d}.jsonl", f"session-{number}", 60, f"word{number}")
    root = tmp_path / "store"
    process = start("ingest", logs, "--store", root)
    children: list[psutil.Process] = []
    while not children and process.poll() is None:
        if list((root / "transcripts").glob("*.tmp")):
            children = [c for c in psutil.Process(process.pid).children() if "spawn_main" in " ".join(c.cmdline())]
        time.sleep(0.01)
    assert children
    for one in children if lost == "workers" else [process]:
        one.send_signal(signal.SIGKILL if lost == "workers" else signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, said in out + err) == (code, True), err
    assert psutil.wait_procs(children, timeout=10)[1] == []
    process = start("ingest", logs, "--store", root, "--quiet")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "80 inputs, 80 sessions, 9,680 messages" in out
    assert list(root.rglob("*.tmp")) == []
