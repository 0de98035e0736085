"""Where a store's files are: the same holds of a folder and of objects; and what holds of objects alone."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("obstore", reason="the package for object stores is an extra: cloud")

import obstore
from obstore.store import MemoryStore

from flows.config.study import Study
from flows.execution.pools.cluster_worker import carry_out, ingest_seen, misfit, packed, terms_of
from flows.sessions.deduplicate import deduplicate
from flows.sessions.session_parts import load_session, read_parts, with_digests
from flows.sources import discover
from flows.store import local_copies, object_lease, object_storage
from flows.store.call_cache_sync import forget_pruned, has_cache, open_cache, ship_calls
from flows.store.local_copies import working_folder
from flows.store.object_storage import ObjectStorage
from flows.store.parquet_schemas import ANSWERS
from flows.store.shards import MANY_SMALL, REARRANGING, Shards
from flows.store.storage import LOCAL, Storage, display_name
from flows.store.store import Store
from flows.store.write_permits import PermitError, end_permits, hold_permit, open_permits, run_of, withdraw_permits
from flows.support.atomic_files import TMP
from flows.support.errors import StoreError, UsageError
from tests.flows.conftest import write_session
from tests.flows.llm.cache.test_call_cache import call, entry
from tests.flows.sessions.test_session_parts import put, talk

Where = tuple[Path, Storage]
URL = "s3://bucket/store"


def machine(tmp_path: Path, name: str, server: MemoryStore) -> ObjectStorage:
    """The place as a machine of its own sees it."""
    return ObjectStorage(URL, tmp_path / name, server)


def store_at(place: ObjectStorage) -> Store:
    return Store(place.root, place=place)


@pytest.fixture
def server() -> MemoryStore:
    return MemoryStore()


@pytest.fixture(params=["folder", "objects"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Where:
    if request.param == "folder":
        return tmp_path, LOCAL
    place = machine(tmp_path, "work", MemoryStore())
    return place.root, place


def publish(root: Path, place: Storage, name: str, content: bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.with_name(path.name + ".tmp")
    tmp.write_bytes(content)
    place.publish(tmp, path)
    return path


def rows(*ids: tuple[str, str]) -> pa.Table:
    return pa.Table.from_pylist([{"answer_id": id, "session_id": "s", "status": status} for id, status in ids], ANSWERS)


def test_what_is_published_is_seen_read_replaced_and_removed(where: Where) -> None:
    root, place = where
    path = publish(root, place, "points/a.parquet", b"one")
    place.write(root / "points" / "b.json", b"{}")
    assert not path.with_name(path.name + ".tmp").exists()
    assert place.paths(root / "points") == [path]
    assert [one.path.name for one in place.list_files(root / "points", "")] == ["a.parquet", "b.json"]
    (before,) = place.list_files(root / "points")
    assert before.size == 3
    assert [found.read_bytes() for found in place.local_paths([path])] == [b"one"]
    assert [place.store_path(found) for found in place.local_paths([path])] == [path]
    publish(root, place, "points/a.parquet", b"second")
    assert place.stat(path) != before
    assert place.read(path) == b"second"
    assert list(place.contents(root / "points", ".parquet")) == [(path, b"second")]
    place.remove(path)
    place.remove(path)
    assert (place.stat(path), place.read(path), place.paths(root / "points")) == (None, None, [])


def test_shards_are_rewritten_and_merged_in_any_place(where: Where) -> None:
    root, place = where
    shards = Shards(root / "answers", ANSWERS, ("answer_id",), place=place).within("01")
    for number in range(MANY_SMALL - 1):
        shards.write(rows((f"a{number:02d}", "done")))
    shards.write(rows(("a00", "failed"), ("z", "failed")))
    assert shards.drop_superseded() == 1
    shards.tidy(2)
    assert len(shards.files()) == 1
    table = shards.read(["answer_id", "status"])
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == [
        *((f"a{number:02d}", "done") for number in range(MANY_SMALL - 1)),
        ("z", "failed"),
    ]


def test_a_file_is_fetched_once_and_again_when_it_has_changed(
    tmp_path: Path, server: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (machine(tmp_path, name, server) for name in ("one", "other"))
    publish(one.root, one, "points/a.parquet", b"first")
    path = other.root / "points" / "a.parquet"
    (copy,) = other.local_paths(other.paths(path.parent))
    written = copy.stat().st_mtime_ns
    assert other.local_paths(other.paths(path.parent)) == [copy]
    assert copy.stat().st_mtime_ns == written
    publish(one.root, one, "points/a.parquet", b"other")
    (newer,) = other.local_paths(other.paths(path.parent))
    assert (newer.read_bytes(), copy.read_bytes()) == (b"other", b"first"), "who has the old copy open goes on with it"
    other.sweep(other.root)
    assert copy.exists(), "a reader may be about to open it"
    monkeypatch.setattr(local_copies, "KEPT", -1.0)
    other.sweep(other.root)
    assert newer.exists()
    assert not copy.exists()


def test_a_machine_that_only_reads_does_not_keep_old_copies_for_ever(
    tmp_path: Path, server: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_copies, "KEPT", -1.0)
    one, reader = (machine(tmp_path, name, server) for name in ("one", "reader"))
    copies = []
    for content in (b"first", b"other", b"third"):
        publish(one.root, one, "scores.duckdb", content)
        assert reader.stat(reader.root / "scores.duckdb")
        copies += reader.local_paths([reader.root / "scores.duckdb"])
        if content == b"other":
            assert all(copy.exists() for copy in copies)
            os.utime(reader.root / local_copies.PRUNED, (0, 0))
    assert [copy.exists() for copy in copies] == [False, False, True]


def test_a_merge_that_was_killed_loses_nothing_and_is_finished(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    root, place = where
    shards = Shards(root / "answers", ANSWERS, ("answer_id",), place=place).within("01")
    for number in range(MANY_SMALL):
        shards.write(rows((f"a{number:02d}", "done")))
    with monkeypatch.context() as killed:
        killed.setattr(place, "remove", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            shards.tidy(2)
    assert len(shards.files()) == MANY_SMALL + 1
    shards.finish_rearranging()
    assert sorted(shards.read()["answer_id"].to_pylist()) == [f"a{number:02d}" for number in range(MANY_SMALL)]
    shards.tidy(2)
    assert len(shards.files()) == 1
    assert place.stat(root / "answers" / REARRANGING) is None


def test_what_a_killed_command_left_is_swept_and_nothing_else(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    root, place = where
    monkeypatch.setattr(local_copies, "KEPT", -1.0)
    monkeypatch.setattr(object_storage, "A_DAY", -1.0)
    publish(root, place, "points/a.parquet", b"kept")
    (root / "points").mkdir(exist_ok=True)
    left = [root / "points" / f"b.parquet.x{TMP}", root / f".scores.x{TMP}", root / f".backlog.x{TMP}.d" / "b.parquet"]
    left[2].parent.mkdir()
    for path in left:
        path.write_bytes(b"unfinished")
    for name in (f".backlog.y{TMP}.d/b.parquet", ".clock-1"):
        if place is not LOCAL:
            place.write(root / name, b"left behind")
    place.sweep(root)
    assert not any(path.exists() for path in left)
    assert place.read(root / "points" / "a.parquet") == b"kept"
    assert [one.path for one in place.list_all_files(root, "")] == [root / "points" / "a.parquet"]
    assert place.stat(root / ".clock-1") is None


def test_a_task_that_was_given_up_makes_no_file_visible_in_any_place(where: Where) -> None:
    root, place = where
    run = open_permits(root, place)
    assert run_of(root, place) == run
    with hold_permit(root, run, "t", place) as is_repetition:
        assert not is_repetition
        publish(root, place, "points/a.parquet", b"permitted")
        with hold_permit(root, run, "t", place) as second:
            assert second
            with pytest.raises(PermitError):
                publish(root, place, "points/b.parquet", b"of the first try")
    for end in (withdraw_permits, end_permits):
        with hold_permit(root, run, "t", place):
            end(root, place)
            with pytest.raises(PermitError, match="taken over the task t, or the run is over"):
                publish(root, place, "points/c.parquet", b"too late")
            with pytest.raises(PermitError):
                place.write(root / "points" / "d.parquet", b"too late")
    with pytest.raises(PermitError, match="is over"), hold_permit(root, run, "t", place):
        pass
    assert [path.name for path in place.paths(root / "points")] == ["a.parquet"]


def test_rows_are_read_in_pieces_and_a_file_that_was_replaced_meanwhile_is_never_mixed(
    tmp_path: Path, server: MemoryStore
) -> None:
    one, other = (machine(tmp_path, name, server) for name in ("one", "other"))
    tmp = one.root / "t.tmp"
    pq.write_table(pa.table({"n": list(range(50_000))}), tmp, row_group_size=1_000, compression="none")
    one.publish(tmp, one.root / "transcripts" / "p.parquet")
    (seen,) = other.list_files(other.root / "transcripts")
    with pq.ParquetFile(other.open(seen)) as file:
        assert file.read_row_group(3)["n"].to_pylist() == list(range(3_000, 4_000))
    assert not list(other.root.glob("copies/**/*.parquet")), "nothing was fetched as a whole"
    with pq.ParquetFile(other.open(seen)) as file:
        publish(one.root, one, "transcripts/p.parquet", b"PAR1 of something else")
        with pytest.raises(StoreError, match=r"s3://bucket/store/transcripts/p.parquet was replaced while it was"):
            file.read_row_group(7)


def test_a_long_description_of_a_part_is_read_without_its_rows(tmp_path: Path, server: MemoryStore) -> None:
    one, other = (machine(tmp_path, name, server) for name in ("one", "other"))
    put(store_at(one), "/x", talk("one", 2_100))
    (seen,) = other.list_files(other.root / "transcripts")
    assert len(with_digests(seen, other).sessions[0].digest_list()) == 2_100
    assert not list(other.root.glob("copies/**/*.parquet")), "nothing was fetched as a whole"


def test_a_file_that_is_read_often_is_fetched(tmp_path: Path, server: MemoryStore) -> None:
    one, other = (machine(tmp_path, name, server) for name in ("one", "other"))
    publish(one.root, one, "transcripts/p.parquet", b"x" * 100)
    (seen,) = other.list_files(other.root / "transcripts")
    found = [isinstance(other.open(seen), Path) for _ in range(object_storage.BY_PIECES + 2)]
    assert found == [*[False] * object_storage.BY_PIECES, True, True]


def test_people_are_told_the_url_and_not_the_working_folder(tmp_path: Path, server: MemoryStore) -> None:
    place = machine(tmp_path, "work", server)
    store = store_at(place)
    assert store.name == URL
    assert display_name(store.database) == f"{URL}/scores.duckdb"
    publish(place.root, place, "scores.duckdb", b"no database")
    assert display_name(store.database) == place.display_name(store.database) == f"{URL}/scores.duckdb"
    assert display_name(tmp_path / "scores.duckdb") == str(tmp_path / "scores.duckdb")


def test_a_second_writer_is_told_who_holds_the_store_and_comes_in_when_it_has_ended(
    tmp_path: Path, server: MemoryStore
) -> None:
    one, other = (store_at(machine(tmp_path, name, server)) for name in ("one", "other"))
    with one.locked("run"):
        assert (other.holder() or "").startswith("`compaction-eval run` (process ")
        with pytest.raises(StoreError, match=rf"store {URL} is in use by `compaction-eval run` \(process \d+ on "):
            other.locked("backfill").__enter__()
    assert not other.is_locked()
    with other.locked("backfill"):
        assert one.is_locked()


def test_a_lock_that_nobody_renews_is_taken_over_and_its_writer_writes_nothing_more(
    tmp_path: Path, server: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_lease, "RENEWED", 100.0)
    monkeypatch.setattr(object_lease, "STALE", 0.3)
    monkeypatch.setattr(object_storage, "CHECK_SECONDS", 0.0)
    one, other = (store_at(machine(tmp_path, name, server)) for name in ("one", "other"))
    with one.locked("run"):
        one.record("runs", "r1", {"at": 1})
        worker = machine(tmp_path, "worker", server)
        worker.token = one.address.partition("#")[2]
        time.sleep(0.4)
        with other.locked("backfill"):
            for place in (one.place, worker):
                with pytest.raises(StoreError, match=r"backfill` .* has taken it over, .* nothing more was written"):
                    place.write(place.root / "runs" / "r2.json", b"{}")  # type: ignore[attr-defined]
            other.record("runs", "r3", {"at": 3})
    assert [row["at"] for row in other.records("runs")] == [1, 3]


def test_a_writer_that_is_gone_is_known_to_be_on_its_own_machine(tmp_path: Path, server: MemoryStore) -> None:
    place = machine(tmp_path, "work", server)
    gone = object_lease.Lease(server, URL, "run", place.work.id)
    gone._put("create")
    with store_at(place).locked("run"):
        held = object_lease.holder_of(server)
    assert held is not None
    assert held["token"] != gone.token


def test_a_renewed_lock_stays_also_when_the_answer_to_a_renewal_was_lost(
    tmp_path: Path, server: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_lease, "RENEWED", 0.05)
    with store_at(machine(tmp_path, "one", server)).locked("run"):
        first = obstore.head(server, ".lock")["e_tag"]
        obstore.put(server, ".lock", obstore.get(server, ".lock").bytes())
        second = obstore.head(server, ".lock")["e_tag"]
        deadline = time.monotonic() + 20
        while obstore.head(server, ".lock")["e_tag"] in {first, second} and time.monotonic() < deadline:
            time.sleep(0.05)
        assert obstore.head(server, ".lock")["e_tag"] not in {first, second}


def test_a_worker_of_another_machine_is_fit_and_what_it_has_written_is_settled_by_the_run(
    tmp_path: Path, server: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be(machine: str) -> None:
        monkeypatch.setenv("COMPACTION_EVAL_WORK", str(tmp_path / machine))

    monkeypatch.setattr(object_storage, "_opened", lambda url: server if url == URL else MemoryStore())
    for name, turns in {"begun": 8, "grown": 12}.items():
        write_session(tmp_path / "logs" / f"{name}.jsonl", "s", turns)
    inputs = discover([str(tmp_path / "logs")])
    be("run")
    store, study = Store.create(URL, "o200k_base"), Study(store=URL, strategies=("none",))
    with store.locked("run"):
        terms = terms_of(study, store.address, open_permits(store.root, store.place))
        be("worker")
        assert misfit(terms) == ""
        assert "sees another folder or bucket" in misfit(replace(terms, token="other"))
        assert "does not see the store" in misfit(replace(terms, root="s3://bucket/none", token="none"))
        for input in inputs:
            carry_out(packed(terms, input.label, ingest_seen, (terms.root, study, [input], 1)))
        be("run")
        assert len(read_parts(store)) == 2
        deduplicate(store)
        (info,) = [info for part in read_parts(store) for info in part.sessions]
        assert len(load_session(store, info).messages) == info.n_messages
        end_permits(store.root, store.place)
        be("worker")
        with pytest.raises(PermitError, match="is over"):
            carry_out(packed(terms, "late", ingest_seen, (terms.root, study, inputs[:1], 1)))


def test_answers_that_one_machine_has_paid_for_are_in_the_cache_of_the_next(
    tmp_path: Path, server: MemoryStore
) -> None:
    one, other = (store_at(machine(tmp_path, name, server)) for name in ("one", "other"))
    assert not has_cache(one)
    with one.locked("run"), open_cache(one) as cache:
        for number in range(3):
            cache.put(f"k{number}", call(f"answer {number}"), entry(f"k{number}"))
        ship_calls(one, cache)
        ship_calls(one, cache)
        cache.put("k3", call("answer 3"), entry("k3"))
    assert has_cache(other)
    assert len(one.calls.read()) == 3
    with one.locked("run"):
        ship_calls(one)  # of the run before, which was killed before it could
    with open_cache(other) as cache:
        assert {key: found.text for key, found in cache.get_many([f"k{n}" for n in range(4)]).items()} == {
            f"k{n}": f"answer {n}" for n in range(4)
        }
        with other.locked("cache prune"):
            cache.prune(everything=True)
            forget_pruned(other)
            ship_calls(other, cache)
    third = store_at(machine(tmp_path, "third", server))
    assert not has_cache(third)


def test_a_url_that_is_none_of_an_object_store_is_refused_and_two_servers_are_two_stores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for location in ("ftp://host/store", "s3://", "s3:///store"):
        with pytest.raises(UsageError, match=r"expected a folder, or a URL such as s3://bucket/prefix"):
            Store.at(location)
    monkeypatch.setenv("COMPACTION_EVAL_WORK", str(tmp_path))
    first = working_folder(URL)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert first.parent == tmp_path
    assert working_folder(URL) != first
