"""The stage that replays sessions: which it takes, what it writes, that it goes on where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flows.database.scores_db import connect
from flows.pipeline.engine import engine_for
from flows.pipeline.load.tables import rebuild_database
from flows.pipeline.replay_plan import ReplayJob, is_drawn, replays_to_do
from flows.pipeline.stages import stages_of
from flows.pipeline.tasks import replay as work
from flows.pipeline.tasks.replay import replay_all
from flows.pipeline.tasks.task_context import TaskContext
from flows.sessions.buckets import Slice
from tests.flows.test_measure import Stage

METHODS = ("none", "head_tail", "mask_sweagent(n=1)")


class Replays(Stage):
    """A store in which everything up to the replays has been made."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.study = replace(self.study, strategies=METHODS, replay=1.0)
        self.ingest()

    def left(self) -> dict[str, list[ReplayJob]]:
        return replays_to_do(self.store, self.study, self.sessions(), self.points())

    def replay(self) -> None:
        task = TaskContext.of_bucket(self.root, self.study, "")
        replay_all(task, Slice(tuple((info, self.left()[info.session_id]) for info in self.sessions())))


@pytest.fixture
def stage(tmp_path: Path) -> Replays:
    found = Replays(tmp_path)
    found.compact()
    return found


def test_a_session_is_replayed_once_under_every_method_and_the_database_shows_it(stage: Replays) -> None:
    stage.replay()
    assert not any(stage.left().values())
    rebuild_database(stage.store, stage.study)
    with connect(stage.store.database) as connection:
        found = connection.execute(
            "SELECT method, read_tokens + written_tokens, read_tokens, n_sessions FROM replay_cost "
            "WHERE price_list = 'openai:gpt-5-mini' ORDER BY 2 DESC"
        ).fetchall()
    (none, all_sent, all_read, n), *others = found
    assert (none, n) == ("none", 1)
    assert {name for name, *_ in others} == set(METHODS[1:])
    masked, _, mask_read, _ = next(row for row in found if row[0].startswith("mask"))
    assert mask_read / all_sent < all_read / all_sent, f"{masked} moves at every call"


def test_nothing_is_replayed_before_it_is_compacted(tmp_path: Path) -> None:
    assert not any(Replays(tmp_path).left().values())


def test_a_method_that_fails_costs_its_own_replay_and_is_tried_again(
    stage: Replays, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay_calls = work.replay_calls

    def fails(messages: Sequence[object], contexts: object, view: object, first: int) -> list[object]:
        if view is not None:
            raise ValueError("lost")
        return list(replay_calls(messages, contexts, view, first))  # type: ignore[arg-type]

    monkeypatch.setattr(work, "replay_calls", fails)
    stage.replay()
    rows = stage.store.replays.read().to_pylist()
    assert [row["status"] for row in rows] == ["done", "done", "failed"]
    assert rows[-1]["error"] == "ValueError: lost"
    assert [job.method for jobs in stage.left().values() for job in jobs] == [2]


def test_a_larger_share_adds_sessions() -> None:
    names = [f"session {number}" for number in range(1_000)]
    few, many = ({name for name in names if is_drawn(name, share)} for share in (0.1, 0.4))
    assert few < many
    assert 60 < len(few) < 140
    assert all(is_drawn(name, 1.0) for name in names)
    assert not any(is_drawn(name, 0.0) for name in names)


def test_the_stage_is_there_only_where_it_is_asked_for(stage: Replays) -> None:
    for share, is_there in ((0.0, False), (0.5, True)):
        study = replace(stage.study, replay=share)
        assert ("replay" in [one.key for one in stages_of(study, engine_for(study))]) is is_there
