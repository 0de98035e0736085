"""What a backfill finds to do: in the order in which it takes it up, and without what the store has already."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from flows.pipeline.backfill.backlog import NO_DAY, backlog_of
from flows.pipeline.backfill.selection import Selection, with_methods_of
from flows.pipeline.engine import engine_for
from flows.pipeline.load.tables import rebuild_database
from flows.pipeline.plan import stored_sessions
from flows.reporting.backfill_progress import progress_of
from flows.reporting.text_tables import Layout
from flows.sessions.buckets import buckets_of
from flows.sessions.session_parts import read_parts
from flows.support.errors import UsageError
from tests.flows.small_store import JUDGE, SmallStore

DAYS = {"none-p1": datetime(2026, 5, 1, 9), "empty-p1": datetime(2026, 5, 1, 10), "none-p2": datetime(2026, 5, 3)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two points and two methods; the answers of the later point are newer, and of one the time was not noted."""
    small = SmallStore(tmp_path_factory.mktemp("backlog")).fill()
    for path in small.store.answers.files():
        path.unlink()
    pairs = [(method, point) for method in ("none", "empty") for point in ("p1", "p2")]
    small.write("answers", *(small.answer(m, p, answered_at=DAYS.get(f"{m}-{p}")) for m, p in pairs))
    rebuild_database(small.store, small.study)
    return small.store.root


@pytest.fixture
def small(made: Path, tmp_path: Path) -> SmallStore:
    """A copy for each test."""
    shutil.copytree(made, tmp_path / "store")
    return SmallStore(tmp_path)


def found(small: SmallStore, **narrowed: object) -> tuple[list[str], tuple[tuple[str, int], ...]]:
    """The answers to be judged, and the days."""
    sessions, engine = stored_sessions(read_parts(small.store)), engine_for(small.study)
    selection = Selection(**narrowed)  # type: ignore[arg-type]
    with backlog_of(small.store, small.study, engine, selection, sessions) as backlog:
        jobs = backlog.jobs(small.study)
        return sorted(job.answer_id for found in jobs.values() for job in found), backlog.days


def verdict(small: SmallStore, method: str, point: str, status: str = "done") -> None:
    """A verdict of the judge that is asked, in the store and not in the database."""
    judge = engine_for(small.study).judge_id
    small.write("scores", small.score(method, point, judge_id=judge, status=status))


def test_all_answers_are_found_for_a_judge_that_has_judged_none(small: SmallStore) -> None:
    answers, days = found(small)
    assert answers == ["a-empty-p1", "a-empty-p2", "a-none-p1", "a-none-p2"]
    assert days == (("2026-05-03", 1), ("2026-05-01", 2), (NO_DAY, 1))


def test_verdicts_that_are_not_loaded_yet_are_known(small: SmallStore) -> None:
    verdict(small, "none", "p1")
    assert found(small)[0] == ["a-empty-p1", "a-empty-p2", "a-none-p2"]


def test_at_most_takes_the_newest_day_and_whole_points(small: SmallStore) -> None:
    assert found(small, at_most=1)[0] == ["a-none-p2"]
    assert found(small, at_most=2)[0] == ["a-none-p2"], "the next point has two answers"
    assert found(small, at_most=3)[0] == ["a-empty-p1", "a-none-p1", "a-none-p2"]


def test_the_first_point_is_cut_where_it_alone_is_too_much(small: SmallStore) -> None:
    assert len(found(small, at_most=1, until="2026-05-02")[0]) == 1


def test_what_failed_comes_after_what_was_never_asked(small: SmallStore) -> None:
    verdict(small, "none", "p2", "failed")
    assert found(small, at_most=2)[0] == ["a-empty-p1", "a-none-p1"]
    assert "a-none-p2" in found(small)[0]


def test_a_selection_narrows_by_time_and_method(small: SmallStore) -> None:
    assert found(small, since="2026-05-02")[0] == ["a-none-p2"]
    assert found(small, until="2026-05-01T10:00")[0] == ["a-none-p1"]
    assert found(small, methods=("empty",))[0] == ["a-empty-p1", "a-empty-p2"]
    with pytest.raises(UsageError, match="no results of 'nothing'"):
        found(small, methods=("nothing",))


def test_every_bucket_reads_its_share_and_nothing_is_left_behind(small: SmallStore) -> None:
    sessions = stored_sessions(read_parts(small.store))
    with backlog_of(small.store, small.study, engine_for(small.study), Selection(), sessions) as backlog:
        (bucket,) = buckets_of(sessions, 5)
        other = "1" * 5 if bucket.bits != "1" * 5 else "0" * 5
        assert backlog.shares([bucket]) == [4]
        assert len(backlog.jobs(small.study, bucket.bits)["s1"]) == 4
        assert backlog.jobs(small.study, other) == {}
        assert len(backlog.jobs(small.study, bucket.bits, "2026-05-01")["s1"]) == 2
    assert not list(small.store.root.glob(".backlog*"))


def test_the_progress_of_a_judge_is_told_by_day_and_method(small: SmallStore) -> None:
    done = json.loads(progress_of(small.store, JUDGE, Selection(), Layout("json")))
    assert [(row["day"], row["method"], row["answers"], row["judged"], row["left"]) for row in done] == [
        ("2026-05-03", "none", 1, 1, 0),
        ("2026-05-01", "empty", 1, 1, 0),
        ("2026-05-01", "none", 1, 1, 0),
        (None, "empty", 1, 1, 0),
    ]
    fresh = json.loads(progress_of(small.store, "another", Selection(methods=("empty",)), Layout("json")))
    assert [(row["judged"], row["left"]) for row in fresh] == [(0, 1), (0, 1)]


def test_answers_of_methods_that_are_not_current_are_left_out_unless_asked_for(small: SmallStore) -> None:
    rebuild_database(small.store, replace(small.study, strategies=("none",)))
    of_none, everything = ["a-none-p1", "a-none-p2"], ["a-empty-p1", "a-empty-p2", "a-none-p1", "a-none-p2"]
    small.study = with_methods_of(small.study, small.store, "current")
    assert found(small)[0] == of_none
    shown = json.loads(progress_of(small.store, JUDGE, Selection(), Layout("json")))
    assert {row["method"] for row in shown} == {"none"}
    small.study = with_methods_of(small.study, small.store)
    assert found(small, versions="all")[0] == everything
    assert found(small, methods=("empty",), versions="all")[0] == everything[:2]
    shown = json.loads(progress_of(small.store, JUDGE, Selection(versions="all"), Layout("json")))
    assert {row["method"] for row in shown} == {"none", "empty"}
