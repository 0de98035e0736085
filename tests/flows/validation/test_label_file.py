"""The file of a rater's grades: each row is whole or not there, and nobody else reads it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from flows.support.errors import UsageError
from flows.validation.label_file import LabelFile
from flows.validation.label_sheet import LabelTargets, read_sheet

CRITERIA = ["accuracy", "depth"]
KNOWN = LabelTargets(
    {"one": frozenset(CRITERIA), "two": frozenset(CRITERIA)}, frozenset(CRITERIA), frozenset({("s", "two")})
)


def test_what_was_added_is_what_calibrate_reads(tmp_path: Path) -> None:
    path = tmp_path / "ada.csv"
    labels = LabelFile(path, CRITERIA)
    labels.add("one", None, {"accuracy": 4})
    labels.add("two", "s", {"accuracy": 0, "depth": 2.5})
    found = read_sheet(path, KNOWN, "ada")
    assert [(one.answer_id, one.sample_id, one.scores) for one in found] == [
        ("one", None, {"accuracy": 4.0}),
        ("two", "s", {"accuracy": 0.0, "depth": 2.5}),
    ]


def test_the_file_is_for_its_owner_alone_also_where_it_was_not(tmp_path: Path) -> None:
    path = tmp_path / "ada.csv"
    path.touch(0o644)
    LabelFile(path, CRITERIA)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("left", range(1, 12))
def test_a_row_that_a_crash_cut_is_gone_and_all_others_are_there(tmp_path: Path, left: int) -> None:
    path = tmp_path / "ada.csv"
    LabelFile(path, CRITERIA).add("one", None, {"accuracy": 4})
    whole = path.read_bytes()
    path.write_bytes(whole + b",two,5,3.5\n"[: left - 1])
    again = LabelFile(path, CRITERIA)
    assert again.graded == {"one"}
    assert path.read_bytes() == whole
    again.add("two", None, {"depth": 1})
    assert [one.answer_id for one in read_sheet(path, KNOWN, "ada")] == ["one", "two"]


def test_a_header_that_a_crash_cut_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "ada.csv"
    path.write_bytes(b"sample,answ")
    LabelFile(path, CRITERIA)
    assert path.read_bytes() == b"sample,answer_id,accuracy,depth\n"


def test_an_answer_is_graded_once(tmp_path: Path) -> None:
    labels = LabelFile(tmp_path / "ada.csv", CRITERIA)
    labels.add("one", None, {"depth": 1})
    with pytest.raises(UsageError, match="already"):
        labels.add("one", None, {"depth": 2})


def test_a_row_that_found_no_room_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ada.csv"
    labels = LabelFile(path, CRITERIA)
    before, write = path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:4]))
    with pytest.raises(UsageError, match="the disk is full"):
        labels.add("one", None, {"depth": 1})
    assert (path.read_bytes(), labels.graded) == (before, set())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n", "line 1: expected the columns sample, answer_id, accuracy, depth"),
        (b"\xff\xfe\n", "cannot be used for grades"),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        LabelFile(path, CRITERIA)
    assert path.read_bytes() == content


def test_two_cannot_add_to_one_file(tmp_path: Path) -> None:
    first = LabelFile(tmp_path / "ada.csv", CRITERIA)
    with pytest.raises(UsageError, match="another `compaction-eval view`"):
        LabelFile(tmp_path / "ada.csv", CRITERIA)
    assert first.graded == set()


def test_a_file_that_took_the_place_of_the_first_is_not_passed_by(tmp_path: Path) -> None:
    path = tmp_path / "ada.csv"
    labels = LabelFile(path, CRITERIA)
    (tmp_path / "edited.csv").write_bytes(path.read_bytes())
    (tmp_path / "edited.csv").rename(path)
    with pytest.raises(UsageError, match="start `view` again"):
        labels.add("one", None, {"depth": 1})


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "ada.csv").symlink_to(tmp_path / "target")
    with pytest.raises(UsageError, match="is a link"):
        LabelFile(tmp_path / "ada.csv", CRITERIA)
