from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from flows.store import store as module
from flows.store.parquet_schemas import ANSWERS
from flows.store.store import STORE_FORMAT, Store
from flows.support.errors import StoreError, UsageError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(str(tmp_path / "store"), "o200k_base")


def answers(*rows: tuple[str, str]) -> pa.Table:
    return pa.Table.from_pylist(
        [{"answer_id": id, "status": status, "session_id": "s"} for id, status in rows], ANSWERS
    )


def left(store: Store) -> list[tuple[str, str]]:
    table = store.answers.read(["answer_id", "status"])
    return sorted(zip(table["answer_id"].to_pylist(), table["status"].to_pylist(), strict=True))


def test_an_empty_folder_reads_as_no_rows_with_all_columns(store: Store) -> None:
    assert store.answers.read().schema == ANSWERS
    assert store.answers.read(["answer_id", "file"]).column_names == ["answer_id", "file"]


def test_writing_the_same_units_again_replaces_the_shard(store: Store) -> None:
    assert store.answers.write(answers(("a", "done"), ("b", "done"))) == store.answers.write(
        answers(("b", "done"), ("a", "done"))
    )
    assert left(store) == [("a", "done"), ("b", "done")]


def test_an_unfinished_file_is_not_seen_and_is_removed_by_the_next_run(store: Store) -> None:
    store.answers.write(answers(("a", "done")))
    tmp = store.answers.folder / "x.parquet.17.tmp"
    tmp.write_bytes(b"half")
    assert left(store) == [("a", "done")]
    with store.locked("run"):
        assert not tmp.exists()


def test_a_failed_row_goes_when_its_unit_is_done(store: Store) -> None:
    store.answers.write(answers(("a", "failed"), ("b", "done")))
    store.answers.write(answers(("a", "done")))
    assert store.answers.drop_superseded() == 1
    assert left(store) == [("a", "done"), ("b", "done")]
    assert store.answers.drop_superseded() == 0


def test_of_two_failures_of_a_unit_the_later_stays(store: Store) -> None:
    first = store.answers.write(answers(("a", "failed"), ("b", "failed")))
    second = store.answers.write(answers(("a", "failed")))
    assert first is not None
    assert second is not None
    os.utime(first, ns=(1, 1))
    store.answers.drop_superseded()
    assert left(store) == [("a", "failed"), ("b", "failed")]
    assert store.answers.read(files=[second]).num_rows == 1


def test_a_second_writer_is_told_who_holds_the_store(store: Store) -> None:
    with store.locked("run"):
        assert store.is_locked()
        with (
            pytest.raises(StoreError, match=rf"is in use by `compaction-eval run` \(process {os.getpid()}\)"),
            store.locked("ingest"),
        ):
            pass
    assert not store.is_locked()


def test_a_store_of_a_newer_version_is_refused(store: Store) -> None:
    (store.root / "store.json").write_text(json.dumps({"format": STORE_FORMAT + 1, "tokenizer": "o200k_base"}))
    with pytest.raises(StoreError, match="made by a newer version of compaction-eval"):
        Store.open(str(store.root))
    with pytest.raises(StoreError, match="made by a newer version of compaction-eval"):
        Store.create(str(store.root), "o200k_base")


def test_a_store_of_an_earlier_format_is_refused_and_left_alone(store: Store) -> None:
    (store.root / "store.json").write_text(json.dumps({"format": STORE_FORMAT - 1, "tokenizer": "o200k_base"}))
    with pytest.raises(StoreError, match="made by an earlier version of compaction-eval"):
        Store.create(str(store.root), "o200k_base")


def test_a_store_keeps_its_tokenizer(store: Store) -> None:
    with pytest.raises(UsageError, match="counts tokens with o200k_base, the study with cl100k_base"):
        Store.create(str(store.root), "cl100k_base")


@pytest.mark.parametrize("content", ["", "[]", '{"format": "x"}', '{"format": 1}'])
def test_a_damaged_description_is_said(store: Store, content: str) -> None:
    (store.root / "store.json").write_text(content)
    with pytest.raises(StoreError, match=r"store\.json: not the description of a store"):
        Store.open(str(store.root))


def test_a_store_that_another_command_is_just_making_is_no_folder_of_other_things(tmp_path: Path) -> None:
    (tmp_path / "store.json.0a1b2c.tmp").write_text('{"form')
    assert Store.create(str(tmp_path), "o200k_base").settings["tokenizer"] == "o200k_base"


def test_a_folder_with_other_things_in_it_does_not_become_a_store(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StoreError, match="the folder holds other things"):
        Store.create(str(tmp_path), "o200k_base")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_store_can_be_a_file_url_or_in_an_object_store_and_nothing_else(tmp_path: Path) -> None:
    assert module.store_path(f"file://{tmp_path}/a%20b") == tmp_path / "a b"
    assert module.is_object_store("s3://bucket/store")
    with pytest.raises(UsageError, match=r"expected a folder, or a URL such as s3://bucket/prefix \(also gs, az\)"):
        Store.open("ftp://host/store")


def test_a_store_in_an_object_store_says_which_package_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "flows.store.object_storage", raising=False)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(UsageError, match=r"missing: pip install -c constraints.txt '\.\[cloud\]'"):
        Store.open("s3://bucket/store")


def test_opening_what_is_not_there_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no store at .*; `compaction-eval run` makes one"):
        Store.open(str(tmp_path / "none"))
