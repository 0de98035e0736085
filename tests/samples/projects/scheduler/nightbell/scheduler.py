"""The loop that finds due jobs and runs them."""

from __future__ import annotations

import logging
import os
import random
import socket
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from .clock import Clock, SystemClock
from .models import Job, JobState, Outcome, Run
from .retry import may_retry, retry_time
from .runner import Runner, SubprocessRunner
from .store import JobStore

log = logging.getLogger("nightbell")

LEASE_SECONDS = 30.0
LONGEST_SLEEP = 60.0


class Scheduler:
    def __init__(
        self,
        store: JobStore,
        zone: str = "UTC",
        clock: Clock | None = None,
        runner: Runner | None = None,
        rng: random.Random | None = None,
        misfire_grace: float = 3600.0,
    ) -> None:
        self.store = store
        self.zone = ZoneInfo(zone)
        self.clock = clock or SystemClock()
        self.runner = runner or SubprocessRunner()
        self.rng = rng
        self.misfire_grace = timedelta(seconds=misfire_grace)
        self.holder = f"{socket.gethostname()}:{os.getpid()}"
        self._stopping = False

    # -- life ---------------------------------------------------------------

    def start(self) -> None:
        lost = self.store.mark_lost()
        if lost:
            log.warning("%d runs were under way when the last daemon ended", lost)
        now = self.clock.now()
        for job in self.store.all():
            if job.state is not JobState.ACTIVE:
                continue
            if job.next_run is None:
                self._plan(job, now)
            elif now - job.next_run > self.misfire_grace:
                log.warning("job %s missed its time %s", job.name, job.next_run)
                self._plan(job, now)

    def stop(self) -> None:
        self._stopping = True

    def serve(self) -> None:
        while not self.store.take_lease(self.holder, self.clock.now(), LEASE_SECONDS):
            self.clock.sleep(LEASE_SECONDS / 2)
        self.start()
        while not self._stopping:
            self.store.take_lease(self.holder, self.clock.now(), LEASE_SECONDS)
            self.tick()
            self.clock.sleep(self._pause())

    def _pause(self) -> float:
        wakeup = self.store.next_wakeup()
        if wakeup is None:
            return LONGEST_SLEEP
        seconds = (wakeup - self.clock.now()).total_seconds()
        return min(max(seconds, 1.0), LONGEST_SLEEP)

    # -- work ---------------------------------------------------------------

    def tick(self) -> list[Run]:
        """Run everything that is due now, one after the other."""
        now = self.clock.now()
        return [self._fire(job) for job in self.store.due(now.astimezone(self.zone))]

    def fire(self, name: str) -> Run:
        """Run a job now, outside its schedule."""
        job = self.store.get(name)
        run = self._execute(job, self.clock.now().astimezone(job.zone_info), attempt=1)
        return run

    def _fire(self, job: Job) -> Run:
        assert job.next_run is not None
        attempt = job.attempt + 1
        run = self._execute(job, job.next_run, attempt)
        if run.outcome is Outcome.OK:
            self._plan(job, self.clock.now())
        elif may_retry(job, attempt):
            when = retry_time(job, self.clock.now(), attempt, self.rng)
            log.info("job %s failed, attempt %d; again at %s", job.name, attempt, when)
            self.store.reschedule(job, when, attempt)
        else:
            log.error("job %s failed %d times, giving up", job.name, attempt)
            self._plan(job, self.clock.now())
        return run

    def _execute(self, job: Job, scheduled_for: datetime, attempt: int) -> Run:
        assert job.id is not None
        run = Run(
            job_id=job.id,
            scheduled_for=scheduled_for,
            started_at=self.clock.now(),
            attempt=attempt,
        )
        self.store.start_run(run)
        result = self.runner.run(job)
        run.finished_at = self.clock.now()
        run.outcome = result.outcome
        run.exit_code = result.exit_code
        run.output = result.output
        self.store.finish_run(run)
        return run

    def _plan(self, job: Job, after: datetime) -> None:
        """Set the next regular time of `job`."""
        when = job.expression.next_after(after, job.zone_info)
        if when is None:
            log.warning("job %s will never run again", job.name)
            self.store.set_state(job.name, JobState.EXHAUSTED)
        self.store.reschedule(job, when, 0)
