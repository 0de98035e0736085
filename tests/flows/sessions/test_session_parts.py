from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compaction import Message, RecordedCompaction, ToolCall, Transcript, counted
from compaction.transcript import Usage
from flows.config.study import Study
from flows.execution.run import running
from flows.pipeline.engine import LazyCounter
from flows.pipeline.plan import sessions_in_scope, unread_inputs
from flows.pipeline.run_summary import scope_notes
from flows.pipeline.session_cache import SessionCache
from flows.pipeline.tasks.ingest import ingest_batch
from flows.sessions.deduplicate import deduplicate
from flows.sessions.part_writer import PartWriter
from flows.sessions.session_parts import (
    MOST_IN_FOOTER,
    Fingerprint,
    InputRecord,
    Part,
    load_session,
    read_parts,
    with_digests,
)
from flows.sources import discover
from flows.store.shards import ROW_GROUP
from flows.store.store import Store
from tests.flows.conftest import write_session

COUNTER = LazyCounter("o200k_base")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(str(tmp_path / "store"), "o200k_base")


def talk(session_id: str, number: int, word: str = "apple") -> Transcript:
    messages = tuple(
        counted(Message("user", f"{word} {i}", seq=i, source_ref=f"f:{i}"), COUNTER) for i in range(number)
    )
    return Transcript(session_id, messages, "test", "f", started_at="2026-03-01")


def put(store: Store, path: str, *transcripts: Transcript, generation: int = 1, size: int = 1) -> Part:
    print_of = Fingerprint(path, size, 1)
    writer = PartWriter(store, [print_of], generation, "o200k_base")
    for transcript in transcripts:
        writer.add_session(transcript, path)
    writer.add_input(InputRecord(print_of, "test", len(transcripts), sum(map(len, transcripts)), 0))
    return writer.finish()


def held(store: Store) -> dict[str, int]:
    return {info.session_id: info.n_messages for part in read_parts(store) for info in part.sessions}


def everything(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.transcripts.iterdir()}


def test_sessions_come_back_as_they_went_in_also_when_they_span_row_groups(store: Store) -> None:
    call = ToolCall("c", "Bash", '{"command": "ls"}')
    special = Transcript(
        "special",
        (counted(Message("assistant", "é", "hm", (call,), seq=0), COUNTER),),
        "test",
        "f",
        "A title",
        "2026-03-01T10:00:00Z",
        "2026-03-01T11:00:00Z",
        "model-x",
        "/srv/app",
        "parent",
        "review",
        Usage(9, 8, 7, 0.5),
        (RecordedCompaction(1, "so far", (0,), 9, "auto", 1, (0,), "[gone]", True), RecordedCompaction(1)),
        {"a demonstration": 2},
        12,
        14,
    )
    sessions = [talk("a", 3), talk("b", 2 * ROW_GROUP + 7), special, talk("c", 1)]
    part = put(store, "/x", *sessions)
    infos = {info.session_id: info for info in read_parts(store)[0].sessions}
    assert [load_session(store, infos[session.session_id]) for session in sessions] == sessions
    file = pq.ParquetFile(store.transcripts / part.name)
    assert max(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)) <= ROW_GROUP


def test_half_of_a_surrogate_pair_is_replaced_and_the_rest_goes_in(store: Store) -> None:
    broken = Transcript(
        "s", (Message("user", "ok \ud800", tool_calls=(ToolCall("c", "x", '"\udc00"'),), seq=0, tokens=3),)
    )
    put(store, "/x", broken)
    (info,) = read_parts(store)[0].sessions
    assert load_session(store, info).messages[0].text == "ok ?"


def test_of_an_input_that_was_read_again_the_latest_reading_holds(store: Store) -> None:
    put(store, "/x", talk("a", 3), talk("gone", 2, "pear"))
    put(store, "/x", talk("a", 5), generation=2, size=2)
    deduplicate(store)
    assert held(store) == {"a": 5}
    assert len(read_parts(store)) == 1


def test_an_input_that_was_read_again_leaves_the_others_of_its_old_part(store: Store) -> None:
    prints = [Fingerprint("/x", 1, 1), Fingerprint("/y", 1, 1)]
    writer = PartWriter(store, prints, 1, "o200k_base")
    for print_of, transcript in zip(prints, (talk("a", 3), talk("b", 4, "pear")), strict=True):
        writer.add_session(transcript, print_of.path)
        writer.add_input(InputRecord(print_of, "test", 1, len(transcript), 0))
    writer.finish()
    put(store, "/x", talk("a", 6), generation=2, size=2)
    deduplicate(store)
    assert held(store) == {"a": 6, "b": 4}
    infos = [info for part in read_parts(store) for info in part.sessions]
    assert {len(load_session(store, info)) for info in infos} == {6, 4}
    rows = [row for path in store.transcripts.iterdir() for row in pq.read_table(path)["session_id"].to_pylist()]
    assert sorted(rows) == ["a"] * 6 + ["b"] * 4


def test_a_shorter_copy_is_folded_into_the_longer_one_and_said(store: Store) -> None:
    put(store, "/new", talk("a", 9))
    put(store, "/old", talk("a", 6))
    deduplicate(store)
    assert held(store) == {"a": 9}
    folded = [info for part in read_parts(store) for info in part.folded]
    assert [(info.input_path, info.recorded_id, info.folded_into) for info in folded] == [("/old", "a", "a")]


def test_different_sessions_with_one_id_both_stay_and_the_second_by_path_gets_a_suffix(store: Store) -> None:
    put(store, "/y", talk("a", 4, "pear"))
    put(store, "/x", talk("a", 3))
    deduplicate(store)
    ids = held(store)
    assert sorted(ids.values()) == [3, 4]
    assert ids["a"] == 3
    assert all(id == "a" or id.startswith("a~") for id in ids)
    said = " ".join(scope_notes(read_parts(store)))
    assert f"1 session under the id of another one, and called otherwise here: {max(ids)}" in said


def test_settling_is_a_function_of_what_was_read_and_not_of_the_order(tmp_path: Path) -> None:
    outcomes = []
    for name, order in (("one", (0, 1, 2)), ("two", (2, 1, 0))):
        store = Store.create(str(tmp_path / name), "o200k_base")
        readings = [("/x", talk("a", 3)), ("/y", talk("a", 4, "pear")), ("/z", talk("a", 8))]
        for generation, index in enumerate(order):
            path, transcript = readings[index]
            put(store, path, transcript, generation=generation)
            deduplicate(store)
        outcomes.append(held(store))
    assert outcomes[0] == outcomes[1]
    assert sorted(outcomes[0].values()) == [4, 8]


def test_settling_again_changes_no_file(store: Store) -> None:
    put(store, "/x", talk("a", 3))
    put(store, "/y", talk("a", 4, "pear"))
    put(store, "/z", talk("a", 2))
    deduplicate(store)
    before = everything(store)
    deduplicate(store)
    assert everything(store) == before


def test_an_input_is_known_again_until_it_changes(store: Store, tmp_path: Path) -> None:
    path = write_session(tmp_path / "logs" / "a.jsonl", "s", 4)
    inputs = discover([str(path)])
    ingest_batch(str(store.root), Study(), inputs, 1)
    assert unread_inputs(read_parts(store), discover([str(path)]), Study()) == []
    os.utime(path, ns=(5, 5))
    assert unread_inputs(read_parts(store), discover([str(path)]), Study()) == discover([str(path)])


def test_the_scope_is_all_that_is_stored_and_a_limit_takes_the_sources_own_first(store: Store, tmp_path: Path) -> None:
    short = write_session(tmp_path / "logs" / "short.jsonl", "s", 4)
    long = write_session(tmp_path / "logs" / "long.jsonl", "s", 8)
    other = write_session(tmp_path / "logs" / "other.jsonl", "t", 4, "pear")
    ingest_batch(str(store.root), Study(), discover([str(tmp_path / "logs")]), 1)
    deduplicate(store)
    parts = read_parts(store)

    def scope(*paths: Path, limit: int | None = None) -> list[str]:
        return [info.input_path for info in sessions_in_scope(parts, Study(sources=tuple(map(str, paths))), limit)]

    assert scope(short) == scope(long, other) == [str(long), str(other)]
    assert scope(short, limit=1) == [str(long)]  # what the short one is a copy of
    assert scope(other, limit=1) == [str(other)]
    long.unlink()  # a log that is gone has its place all the same
    assert scope(tmp_path / "logs", limit=1) == scope(tmp_path / "logs" / "l*", limit=1) == [str(long)]
    assert scope(tmp_path / "log", limit=2) == [str(long), str(other)]


def test_what_is_kept_in_memory_is_the_most_recently_used_within_the_limit() -> None:
    kept: SessionCache[str, int] = SessionCache(10)
    for name, size in (("a", 4), ("b", 4)):
        kept.put(name, size, size)
    assert kept.get("a") == 4
    kept.put("c", 4, 4)
    assert [kept.get(name) for name in "abc"] == [4, None, 4]
    kept.put("huge", 1, 99)
    assert kept.get("huge") == 1
    assert kept.get("a") is None


def test_what_an_ingestion_that_was_killed_before_settling_left_is_settled_by_the_next_command(store: Store) -> None:
    put(store, "/x", talk("a", 3))
    put(store, "/x", talk("a", 5), generation=2, size=2)
    with running(Study(store=str(store.root))):
        assert held(store) == {"a": 5}


def test_a_session_that_cannot_be_stored_leaves_the_part_as_it_was(store: Store) -> None:
    print_of = Fingerprint("/x", 1, 1)
    bad = replace(talk("bad", 2), messages=(*talk("bad", 2).messages, replace(talk("bad", 1).messages[0], timestamp=5)))  # type: ignore[arg-type]
    with PartWriter(store, [print_of], 1, "o200k_base") as writer:
        writer.add_session(talk("one", 3), "/x")
        with pytest.raises(pa.ArrowException):
            writer.add_session(bad, "/x")
        writer.add_session(talk("two", 4), "/x")
        writer.add_input(InputRecord(print_of, "test", 2, 7, 0))
        writer.finish()
    infos = {info.session_id: info for info in read_parts(store)[0].sessions}
    assert [load_session(store, infos[name]) for name in ("one", "two")] == [talk("one", 3), talk("two", 4)]


def test_a_part_that_is_given_up_leaves_nothing(store: Store) -> None:
    def give_up() -> None:
        with PartWriter(store, [Fingerprint("/x", 1, 1)], 1, "o200k_base") as writer:
            writer.add_session(talk("one", 3), "/x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        give_up()
    assert list(store.transcripts.iterdir()) == []


def test_a_description_of_more_than_a_hundred_megabytes_is_read(store: Store) -> None:
    print_of = Fingerprint("/" + "x" * 101_000_000, 1, 1)
    with PartWriter(store, [Fingerprint("/x", 1, 1)], 1, "o200k_base") as writer:
        writer.add_session(talk("one", 3), "/x")
        writer.add_input(InputRecord(print_of, "test", 1, 3, 0))
        writer.finish()
    (part,) = read_parts(store)
    assert len(part.inputs[0].fingerprint.path) == 101_000_001
    assert load_session(store, part.sessions[0]) == talk("one", 3)


def test_a_long_description_lies_before_the_footer_and_one_in_the_footer_is_read_too(store: Store) -> None:
    put(store, "/x", talk("one", 2_100))
    (seen,) = store.place.list_files(store.transcripts)
    part = with_digests(seen)
    assert len(part.sessions[0].digest_list()) == 2_100
    assert pq.read_metadata(seen.path).serialized_size < MOST_IN_FOOTER
    rows = pq.read_table(seen.path)
    with pq.ParquetWriter(seen.path, rows.schema) as file:  # as version 0.2.0 did
        file.write_table(rows)
        file.add_key_value_metadata(part.metadata())
    (seen,) = store.place.list_files(store.transcripts)
    assert pq.read_metadata(seen.path).serialized_size > MOST_IN_FOOTER
    assert with_digests(seen) == part


def test_a_part_that_was_replaced_is_read_again(store: Store) -> None:
    put(store, "/x", talk("one", 3))
    assert held(store) == {"one": 3}
    put(store, "/x", talk("one", 4))
    assert held(store) == {"one": 4}
