from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from nightbell.models import JobState, Outcome
from nightbell.runner import ScriptedRunner
from nightbell.scheduler import Scheduler


@pytest.fixture
def scheduler(store, clock, runner):
    return Scheduler(store, clock=clock, runner=runner)


def test_start_plans_jobs_without_a_time(store, scheduler, make_job):
    make_job("a", "0 9 * * *")
    scheduler.start()
    assert store.get("a").next_run == datetime(2025, 6, 2, 9, 0, tzinfo=timezone.utc)


def test_start_skips_jobs_missed_long_ago(store, scheduler, make_job, clock, runner):
    make_job("a", "0 9 * * *", next_run=clock.now() - timedelta(days=3))
    scheduler.start()
    scheduler.tick()
    assert runner.calls == []


def test_start_keeps_jobs_missed_a_moment_ago(scheduler, make_job, clock, runner):
    make_job("a", "0 9 * * *", next_run=clock.now() - timedelta(minutes=5))
    scheduler.start()
    scheduler.tick()
    assert runner.calls == ["a"]


def test_tick_runs_due_jobs_and_plans_the_next_time(store, scheduler, make_job, clock, runner):
    make_job("a", "0 9 * * *")
    scheduler.start()
    clock.advance(hours=1)
    runs = scheduler.tick()
    assert [run.outcome for run in runs] == [Outcome.OK]
    assert runner.calls == ["a"]
    assert store.get("a").next_run == datetime(2025, 6, 3, 9, 0, tzinfo=timezone.utc)


def test_nothing_due(scheduler, make_job):
    make_job("a", "0 9 * * *")
    scheduler.start()
    assert scheduler.tick() == []


def test_paused_jobs_do_not_run(store, scheduler, make_job, clock, runner):
    make_job("a", "0 9 * * *")
    scheduler.start()
    store.set_state("a", JobState.PAUSED)
    clock.advance(hours=2)
    scheduler.tick()
    assert runner.calls == []


def test_failed_job_is_tried_again(store, clock, make_job):
    runner = ScriptedRunner([1, 0])
    scheduler = Scheduler(store, clock=clock, runner=runner)
    make_job("a", "0 9 * * *")
    scheduler.start()
    clock.advance(hours=1)
    scheduler.tick()
    assert store.get("a").attempt == 1
    clock.advance(minutes=15)
    scheduler.tick()
    assert runner.calls == ["a", "a"]
    assert store.get("a").attempt == 0


def test_gives_up_after_max_attempts(store, clock, make_job):
    runner = ScriptedRunner([1, 1, 1])
    scheduler = Scheduler(store, clock=clock, runner=runner)
    make_job("a", "0 9 * * *", max_attempts=2)
    scheduler.start()
    clock.advance(hours=1)
    scheduler.tick()
    clock.advance(minutes=30)
    scheduler.tick()
    clock.advance(minutes=30)
    scheduler.tick()
    assert runner.calls == ["a", "a"]
    assert store.get("a").next_run == datetime(2025, 6, 3, 9, 0, tzinfo=timezone.utc)


def test_fire_leaves_the_schedule_alone(store, scheduler, make_job, runner):
    make_job("a", "0 9 * * *")
    scheduler.start()
    before = store.get("a").next_run
    scheduler.fire("a")
    assert runner.calls == ["a"]
    assert store.get("a").next_run == before


def test_exhausted(store, scheduler, make_job):
    make_job("a", "0 0 31 feb *")
    scheduler.start()
    assert store.get("a").state is JobState.EXHAUSTED


def test_serve_sleeps_until_the_next_job(store, scheduler, make_job, clock):
    make_job("a", "1 8 * * *")

    real = scheduler.tick

    def tick():
        if clock.now().minute >= 1:
            scheduler.stop()
        return real()

    scheduler.tick = tick
    scheduler.serve()
    assert clock.slept[0] == 60.0
    assert [run.outcome for run in store.history("a")] == [Outcome.OK]
