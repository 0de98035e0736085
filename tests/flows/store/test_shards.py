"""Folders of Parquet files: buckets in the names, merging, splitting, and being killed in between."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from flows.store.parquet_schemas import ANSWERS, CALLS
from flows.store.shards import MANY_SMALL, REARRANGING, Shards, file_bits
from flows.support.ids import bucket_bits

SESSIONS = [f"session-{n}" for n in range(40)]


@pytest.fixture
def shards(tmp_path: Path) -> Shards:
    return Shards(tmp_path / "answers", ANSWERS, ("answer_id",))


def rows(*ids: tuple[str, str, str]) -> pa.Table:
    return pa.Table.from_pylist([{"answer_id": a, "session_id": s, "status": status} for a, s, status in ids], ANSWERS)


def content(shards: Shards) -> list[tuple[str, str]]:
    table = shards.read(["answer_id", "status"])
    return sorted(zip(table["answer_id"].to_pylist(), table["status"].to_pylist(), strict=True))


def fill(shards: Shards, depth: int) -> list[tuple[str, str]]:
    """One file a session, each in its bucket."""
    for number, session in enumerate(SESSIONS):
        shards.within(bucket_bits(session)[:depth]).write(rows((f"a{number}", session, "done")))
    return content(shards)


def test_a_bucket_shows_its_own_files_and_those_that_hold_it(shards: Shards) -> None:
    shards.within("01").write(rows(("a", "s", "done")))
    shards.within("0").write(rows(("b", "s", "done")))
    shards.write(rows(("c", "s", "done")))
    shards.within("1").write(rows(("d", "s", "done")))
    assert [id for id, _ in content(shards.within("01"))] == ["a", "b", "c"]
    assert [id for id, _ in content(shards.within("00"))] == ["b", "c"]
    assert [id for id, _ in content(shards.within("0"))] == ["a", "b", "c"]
    assert [id for id, _ in content(shards)] == ["a", "b", "c", "d"]


def test_a_file_of_format_2_belongs_to_every_bucket() -> None:
    assert file_bits("b0110-3fa9c1.parquet") == "0110"
    assert file_bits("0110b3fa9c1d2.parquet") == ""
    assert file_bits("b-3fa9c1.parquet") == ""


def test_small_files_of_a_bucket_are_merged_once_there_are_many_and_no_row_is_lost(shards: Shards) -> None:
    for number in range(MANY_SMALL - 1):
        shards.within("01").write(rows((f"a{number:02d}", "s", "done")))
    shards.tidy(2)
    assert len(shards.files()) == MANY_SMALL - 1
    shards.within("01").write(rows(("a00", "s", "failed"), ("z", "s", "failed")))
    before = content(shards)
    shards.tidy(2)
    assert [file_bits(path.name) for path in shards.files()] == ["01"]
    assert content(shards) == [row for row in before if row != ("a00", "failed")]


def test_a_store_that_grows_has_its_files_split_among_the_finer_buckets(shards: Shards) -> None:
    before = fill(shards, 1)
    shards.tidy(4)
    assert {len(file_bits(path.name)) for path in shards.files()} == {4}
    assert content(shards) == before
    for path in shards.files():
        found = shards.read(["session_id"], [path])["session_id"].to_pylist()
        assert {bucket_bits(session)[:4] for session in found} == {file_bits(path.name)}


def test_what_stands_twice_after_a_kill_in_the_middle_goes_with_the_next_lock(shards: Shards) -> None:
    before = fill(shards, 1)
    old = shards.files()[0]
    kept = old.read_bytes()
    shards.tidy(4)
    old.write_bytes(kept)  # as if killed before the old file was removed
    (shards.folder / REARRANGING).touch()
    assert len(content(shards)) == len(before) + 1
    shards.finish_rearranging()
    assert content(shards) == before
    assert not (shards.folder / REARRANGING).exists()


def test_rows_that_belong_to_no_session_have_no_bucket_and_are_merged_all_the_same(tmp_path: Path) -> None:
    calls = Shards(tmp_path / "calls", CALLS, ("call_id",), has_failures=False, is_bucketed=False)
    for number in range(MANY_SMALL):
        calls.within("0110").write(pa.Table.from_pylist([{"call_id": f"c{number}"}], CALLS))
    calls.tidy(5)
    assert len(calls.files()) == 1
    assert sorted(calls.read(["call_id"])["call_id"].to_pylist()) == sorted(f"c{n}" for n in range(MANY_SMALL))
