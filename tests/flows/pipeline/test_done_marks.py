"""What a night knows to be done without looking at it, and when it looks again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flows.config.study import Study
from flows.pipeline.done_marks import MOST_STUDIES, DoneMarks
from flows.pipeline.stages import ANSWER, COMPACT, POINTS, PROBE, STAGES, _mark, done_marks_of
from flows.pipeline.tasks.task_context import TaskContext
from flows.sessions.buckets import Bucket, bucket_slices, buckets_of, depth_for
from flows.sessions.session_parts import SessionInfo
from flows.store.parquet_schemas import ANSWERS
from flows.store.store import Store


def info(name: str, sha: str = "0" * 64, tokens: int = 10) -> SessionInfo:
    return SessionInfo(name, name, sha, "/x", 0, "part", 0, 3, tokens, "o200k_base", "codex", "/x", {}, 0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(str(tmp_path / "store"), "o200k_base")


def marks(store: Store, asks: str = "study") -> DoneMarks:
    return DoneMarks(store, "answer", "01", asks, [path.name for path in store.within("01").answers.files()])


def write(store: Store, id: str) -> Path:
    path = store.within("01").answers.write(
        pa.Table.from_pylist([{"answer_id": id, "session_id": "s", "status": "done"}], ANSWERS)
    )
    assert path is not None
    return path


def test_a_session_is_looked_at_again_when_its_content_changes(store: Store) -> None:
    write(store, "a")
    marks(store).mark([info("s"), info("t")])
    assert marks(store).not_done([info("s"), info("t", "1" * 64), info("u")]) == [info("t", "1" * 64), info("u")]


def test_a_session_is_looked_at_again_when_what_it_was_given_changes(store: Store) -> None:
    marks(store).mark([info("s")])
    assert marks(store).not_done([replace(info("s"), n_given=6)]) == [replace(info("s"), n_given=6)]


def test_a_study_that_asks_for_other_things_has_its_own_marks(store: Store) -> None:
    marks(store).mark([info("s")])
    assert marks(store, "other").not_done([info("s")]) == [info("s")]
    marks(store, "other").mark([info("s")])
    assert marks(store).not_done([info("s")]) == []
    for number in range(MOST_STUDIES):
        marks(store, f"{number}").mark([info("s")])
    assert marks(store).not_done([info("s")]) == [info("s")]


def test_where_a_file_is_gone_the_bucket_is_looked_at_again_and_where_one_came_it_is_not(store: Store) -> None:
    path = write(store, "a")
    marks(store).mark([info("s")])
    write(store, "b")
    assert marks(store).not_done([info("s")]) == []
    path.unlink()
    assert marks(store).not_done([info("s")]) == [info("s")]


def test_marks_that_cannot_be_read_are_none(store: Store) -> None:
    marks(store).mark([info("s")])
    (store.root / "settled" / "answer" / "b01.json").write_text('{"half')
    assert marks(store).not_done([info("s")]) == [info("s")]


def test_a_session_is_not_through_with_a_stage_before_it_is_with_those_before(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(store=str(store.root), strategies=("none",))
    task = TaskContext.of_bucket(str(store.root), study, "")
    bucket = Bucket("", (info("s"), info("t")))
    left: dict[str, Any] = {"t": ["a failed compaction"]}
    monkeypatch.setitem(STAGES, "compact", replace(COMPACT, plan=lambda *_: left))
    for stage in (POINTS, STAGES["compact"], PROBE, ANSWER):
        _mark(task, replace(stage, plan=stage.plan if stage.key == "compact" else lambda *_: {}), bucket)
    assert done_marks_of(store, study, COMPACT, "").not_done(bucket.sessions) == [info("t")]
    assert done_marks_of(store, study, ANSWER, "").not_done(bucket.sessions) == [info("t")]
    left.clear()
    for stage in (STAGES["compact"], ANSWER):
        _mark(task, replace(stage, plan=lambda *_: {}), bucket)
    assert done_marks_of(store, study, ANSWER, "").not_done(bucket.sessions) == []


def test_a_bucket_holds_every_session_once_and_the_same_ones_every_time() -> None:
    infos = [info(f"s{n}") for n in range(500)]
    found = buckets_of(infos, 3)
    assert [one.bits for one in found] == sorted(f"{n:03b}" for n in range(8))
    assert sorted(one.session_id for bucket in found for one in bucket.sessions) == sorted(i.session_id for i in infos)
    assert buckets_of(infos[:250], 3)[0].sessions == tuple(i for i in found[0].sessions if i in infos[:250])
    assert max(len(one.sessions) for one in found) < 2 * min(len(one.sessions) for one in found)


@pytest.mark.parametrize(
    ("n_tokens", "workers", "depth"),
    [
        (0, 1, 2),
        (0, 2, 3),
        (0, 16, 6),
        (20_000_000, 2, 3),
        (80_000_000, 2, 5),
        (1_000_000_000, 2, 8),
        (4_000_000_000, 2, 8),
        (40_000_000_000, 2, 12),
        (10**13, 2, 12),
    ],
)
def test_a_new_store_has_as_many_buckets_as_its_tokens_ask_for(
    store: Store, n_tokens: int, workers: int, depth: int
) -> None:
    assert depth_for(store, n_tokens, workers) == depth


def test_the_buckets_of_a_store_are_never_fewer_than_its_files_say(store: Store) -> None:
    write(store, "a")
    assert depth_for(store, 0, 64) == 2


def test_work_is_cut_in_slices_of_about_a_million_tokens_without_the_sessions_that_have_nothing_to_do() -> None:
    infos = [info(f"s{n}", tokens=400_000) for n in range(10)]
    jobs: dict[str, list[str]] = {one.session_id: ["job"] for one in infos if one.session_id != "s4"}
    found = list(bucket_slices(infos, jobs))
    assert [[one.session_id for one, _ in work.items] for work in found] == [
        ["s0", "s1", "s2"],
        ["s3", "s5", "s6"],
        ["s7", "s8", "s9"],
    ]
