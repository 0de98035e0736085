"""What is kept for the user's other runs is made once, and made again where it is damaged or of another key."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from flows.support.machine_cache import cache_folder, kept


class Maker:
    """Makes something else each time."""

    number = 0

    def __call__(self) -> bytes:
        self.number += 1
        return f"made {self.number}".encode()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "compaction-eval"


def test_it_is_made_once_a_key_for_its_owner_alone(folder: Path) -> None:
    make = Maker()
    asked = [kept("thing", key, make) for key in ("a", "a", "b", "b", "a")]
    assert asked == [b"made 1", b"made 1", b"made 2", b"made 2", b"made 1"]
    assert {one.name for one in folder.iterdir()} == {"thing-a", "thing-b"}
    assert [stat.S_IMODE(one.stat().st_mode) for one in (folder, folder / "thing-b")] == [0o700, 0o600]


def test_the_youngest_keys_and_drafts_are_kept(folder: Path) -> None:
    for age, key in enumerate("edcba"):
        kept("thing", key, Maker())
        os.utime(folder / f"thing-{key}", (age, age))
    (folder / "thing.killed.tmp").touch()
    kept("another", "a", Maker())
    kept("thing", "now", Maker())
    left = {"thing-now", "thing.killed.tmp", "thing-a", "thing-b", "another-a"}
    assert {one.name for one in folder.iterdir()} == left


@pytest.mark.parametrize("damage", [b"", b"made 1", b"\0" * 40])
def test_a_damaged_file_is_made_again(folder: Path, damage: bytes) -> None:
    make = Maker()
    kept("thing", "a", make)
    (folder / "thing-a").write_bytes(damage)
    assert [kept("thing", "a", make) for _ in range(2)] == [b"made 2"] * 2


def test_where_nothing_can_be_kept_it_is_made_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.parent.write_bytes(b"no folder")
    make = Maker()
    assert [kept("thing", "a", make) for _ in range(2)] == [b"made 1", b"made 2"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(folder.parent.parent))
    assert cache_folder() == folder.parent.parent / ".cache" / "compaction-eval"
