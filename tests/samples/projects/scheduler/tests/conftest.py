from __future__ import annotations

from datetime import datetime, timezone

import pytest

from nightbell.clock import FakeClock
from nightbell.models import Job
from nightbell.runner import ScriptedRunner
from nightbell.store import JobStore


@pytest.fixture
def store():
    store = JobStore(":memory:")
    yield store
    store.close()


@pytest.fixture
def clock():
    return FakeClock(datetime(2025, 6, 2, 8, 0, tzinfo=timezone.utc))


@pytest.fixture
def runner():
    return ScriptedRunner()


@pytest.fixture
def make_job(store):
    def make(name="export", cron="30 2 * * *", **more):
        return store.add(Job(name=name, command=["true"], cron=cron, **more))

    return make
