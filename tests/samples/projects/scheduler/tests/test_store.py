from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from nightbell.errors import DuplicateJob, LeaseLost, NoSuchJob
from nightbell.models import Job, JobState, Outcome, Run
from nightbell.store import JobStore

NOON = datetime(2025, 6, 2, 12, 0, tzinfo=timezone.utc)


def test_round_trip(store):
    job = Job(
        name="a", command=["echo", "ü"], cron="* * * * *", zone="Europe/Berlin", next_run=NOON
    )
    store.add(job)
    assert store.get("a") == job


def test_duplicate(store, make_job):
    make_job("a")
    with pytest.raises(DuplicateJob):
        make_job("a")


def test_missing(store):
    with pytest.raises(NoSuchJob):
        store.get("nobody")
    with pytest.raises(NoSuchJob):
        store.remove("nobody")
    with pytest.raises(NoSuchJob):
        store.set_state("nobody", JobState.PAUSED)


def test_due_takes_active_jobs_only(store, make_job):
    make_job("a", next_run=NOON)
    make_job("b", next_run=NOON, state=JobState.PAUSED)
    make_job("c", next_run=NOON + timedelta(minutes=1))
    make_job("d")
    assert [job.name for job in store.due(NOON)] == ["a"]


def test_due_orders_by_time(store, make_job):
    make_job("late", next_run=NOON - timedelta(minutes=1))
    make_job("later", next_run=NOON - timedelta(hours=1))
    assert [job.name for job in store.due(NOON)] == ["later", "late"]


def test_naive_times_are_refused(store, make_job):
    with pytest.raises(ValueError):
        make_job("a", next_run=datetime(2025, 6, 2, 12, 0))


def test_next_wakeup(store, make_job):
    assert store.next_wakeup() is None
    make_job("a", next_run=NOON)
    make_job("b", next_run=NOON - timedelta(hours=2), state=JobState.PAUSED)
    assert store.next_wakeup() == NOON


def test_history_is_newest_first(store, make_job):
    job = make_job("a")
    for hour in range(3):
        run = store.start_run(Run(job.id, NOON + timedelta(hours=hour), NOON, attempt=1))
        run.outcome = Outcome.OK
        run.exit_code = 0
        run.finished_at = NOON + timedelta(seconds=5)
        store.finish_run(run)
    history = store.history("a", limit=2)
    assert [run.scheduled_for.hour for run in history] == [14, 13]
    assert history[0].seconds == 5.0


def test_mark_lost(store, make_job):
    job = make_job("a")
    store.start_run(Run(job.id, NOON, NOON, attempt=1))
    assert store.mark_lost() == 1
    assert store.history("a")[0].outcome is Outcome.LOST


def test_removing_a_job_removes_its_runs(store, make_job):
    job = make_job("a")
    store.start_run(Run(job.id, NOON, NOON, attempt=1))
    store.remove("a")
    make_job("a")
    assert store.history("a") == []


def test_lease(store):
    assert store.take_lease("one", NOON, 30)
    assert not store.take_lease("two", NOON + timedelta(seconds=29), 30)
    assert store.take_lease("two", NOON + timedelta(seconds=31), 30)
    with pytest.raises(LeaseLost):
        store.check_lease("one")


def test_reopening_keeps_jobs(tmp_path):
    path = tmp_path / "jobs.sqlite3"
    first = JobStore(path)
    first.add(Job(name="a", command=["true"], cron="@daily", next_run=NOON))
    first.close()
    second = JobStore(path)
    assert second.get("a").next_run == NOON
    second.close()
