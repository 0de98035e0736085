from __future__ import annotations

from datetime import datetime, timezone

import pytest

from nightbell.models import Job
from nightbell.retry import Backoff, backoff_for, may_retry, retry_time


def job(**more):
    return Job(name="a", command=["true"], cron="@daily", **more)


def test_delays_grow():
    backoff = Backoff(base=10, cap=1000)
    delays = [backoff.delay(attempt) for attempt in (1, 2, 3, 4)]
    assert delays == sorted(delays)
    assert delays[1] == 2 * delays[0]


def test_cap():
    assert Backoff(base=10, cap=60).delay(9) == 60


def test_attempts_count_from_one():
    with pytest.raises(ValueError):
        Backoff(base=10, cap=60).delay(0)


def test_backoff_for_takes_the_jobs_numbers():
    assert backoff_for(job(backoff_base=5, backoff_cap=50)) == Backoff(base=5, cap=50)


def test_may_retry():
    assert may_retry(job(max_attempts=3), 2)
    assert not may_retry(job(max_attempts=3), 3)


def test_retry_time_is_later():
    failed = datetime(2025, 6, 2, 12, 0, tzinfo=timezone.utc)
    assert retry_time(job(zone="Europe/Berlin"), failed, 1) > failed
