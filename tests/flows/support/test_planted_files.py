"""What others put under a name that will be written in place, in a folder that they may write to, is not written to."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from flows.cli.shared.failures import exit_codes
from flows.llm.batch.record import BatchStore
from flows.llm.cache.call_cache import CallCache
from flows.store.local_copies import WorkingFolder
from flows.store.store import Store
from flows.support.atomic_files import open_in_place
from flows.support.errors import StoreError

WORDS = b"years of work"
Plant = Callable[[Path, Path], object]


def hold_batches(folder: Path) -> None:
    """Take the lock of a record of batches."""
    store = BatchStore(folder)
    try:
        with store.locked(lambda: None):
            pass
    finally:
        store.close()


def hold_store(folder: Path) -> None:
    """Take the lock of a store."""
    with Store.create(str(folder), "o200k_base").locked("run"):
        pass


WRITERS: dict[str, Callable[[Path], object]] = {
    ".lock": hold_store,
    "calls.sqlite": CallCache,
    "batches.sqlite": BatchStore,
    "batches/.lock": lambda folder: hold_batches(folder / "batches"),
}
"""What opens the files that are written in place."""

PLANTS: dict[str, Plant] = {
    "link": lambda name, victim: name.symlink_to(victim),
    "second name": lambda name, victim: name.hardlink_to(victim),
    "link to nothing": lambda name, victim: name.symlink_to(victim.with_name("nothing")),
    "pipe": lambda name, victim: os.mkfifo(name),
}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of which every byte counts."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "victim").write_bytes(WORDS)
    return tmp_path / "home" / "victim"


def test_a_planted_link_does_empty_a_file_that_is_opened_as_it_comes(tmp_path: Path, victim: Path) -> None:
    """The attack itself, by which the next test is known to be one."""
    PLANTS["link"](tmp_path / ".lock", victim)
    with (tmp_path / ".lock").open("a+") as file:
        file.truncate(0)
    assert victim.read_bytes() == b""


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("name", WRITERS)
def test_what_is_planted_under_a_fixed_name_is_refused(tmp_path: Path, victim: Path, name: str, plant: str) -> None:
    folder = tmp_path / "store"
    (folder / name).parent.mkdir(parents=True)
    PLANTS[plant](folder / name, victim)
    with pytest.raises(StoreError, match=f"{name} is a link or no ordinary file; see who put it there"):
        WRITERS[name](folder)
    assert [(path.name, path.read_bytes()) for path in victim.parent.iterdir()] == [("victim", WORDS)]


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_ones_own_under_that_name_is_opened_again(tmp_path: Path, name: str) -> None:
    for _ in range(2):
        WRITERS[name](tmp_path / "store")


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_sqlite_follows_no_link_in_the_place_of_its_own_files(tmp_path: Path, victim: Path, suffix: str) -> None:
    (tmp_path / "store").mkdir()
    PLANTS["link"](tmp_path / "store" / f"calls.sqlite{suffix}", victim)
    with suppress(StoreError, sqlite3.Error):
        CallCache(tmp_path / "store").get("key")
    assert victim.read_bytes() == WORDS


def test_a_link_that_is_planted_between_look_and_opening_is_not_followed(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLANTS["link"](tmp_path / ".lock", victim)
    monkeypatch.setattr("flows.support.atomic_files.refuse_planted", lambda path: None)
    with pytest.raises(OSError, match="symbolic link"):
        open_in_place(tmp_path / ".lock")


def test_a_command_ends_with_one_sentence(tmp_path: Path, victim: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store").mkdir()
    PLANTS["link"](tmp_path / "store" / ".lock", victim)
    with pytest.raises(typer.Exit) as ended, exit_codes(verbose=False):
        hold_store(tmp_path / "store")
    said = capsys.readouterr().err
    assert (ended.value.exit_code, said.count("\n"), said[:6]) == (1, 1, "error:"), said


def test_the_working_folder_of_an_object_store_writes_through_no_link(tmp_path: Path, victim: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for name in (".pruned", ".id", ".url"):
        PLANTS["link to nothing"](folder / name, victim)
    work = WorkingFolder(folder, "s3://bucket/store")
    work.prune([])
    assert len(work.id) == 16
    assert [path.name for path in victim.parent.iterdir()] == ["victim"]


def test_a_planted_link_that_is_named_like_an_unfinished_folder_is_taken_away_alone(
    tmp_path: Path, victim: Path
) -> None:
    store = Store.create(str(tmp_path / "store"), "o200k_base")
    link = store.root / ".backlog.1.tmp.d"
    link.symlink_to(victim.parent)
    with store.locked("run"):
        assert not link.is_symlink()
    assert victim.read_bytes() == WORDS
