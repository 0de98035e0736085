"""The worst possible folder: whatever stands in it, the rest goes in, and each thing that does not has a reason."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from flows.config.study import Study
from flows.pipeline.load.intake_tables import each_quarantined
from flows.pipeline.plan import unread_inputs
from flows.sessions.session_parts import read_parts
from flows.sources import SourceError, discover, read_input
from flows.store.store import Store
from tests.flows.conftest import ROOT
from tests.flows.sources.folders import chat, ingest, read_all, reason

DEVICE = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")


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
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=without_privileges,
        )
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
            f"closed False 0 {denied}",
            "good.json True 1",
            f"b.json False 0 {denied}",
            f"secret.json False 0 {denied}",
        ]
        assert look(folder / "closed") == [f"refused: the folder {folder}/closed cannot be opened: Permission denied"]
    finally:
        for name in ("closed", "listed", "secret.json"):
            (folder / name).chmod(0o755)
    assert look(folder) == ["a.json True 1", "good.json True 1", "b.json True 1", "secret.json True 1"]


# Names


def test_every_name_that_a_file_can_have_goes_through_to_the_database(folder: Path, store: Store) -> None:
    names = [
        b"new\nline.json",
        b"bad\xff\xfe.json",
        "emoji\U0001f600\u2028.json".encode(),
        b"n" * 250 + b".json",
        b"-dash.json",
        b"glob[ab]*.json",
        b"\x1b[31mred.json",
        b"Case.json",
        b"case.json",
        b"dir\xff/x.json",
    ]
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
    assert unread_inputs(read_parts(store), discover([str(folder)]), Study()) == []
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
        ("deep.json", 1),
        ("folder-x", 0),
        ("good.json", 1),
    ]
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
