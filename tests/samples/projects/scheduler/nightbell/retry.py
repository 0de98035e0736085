"""When to try a failed job again."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from .models import Job

JITTER = 0.10


@dataclass(frozen=True)
class Backoff:
    base: float
    cap: float
    factor: float = 2.0
    jitter: float = JITTER

    def delay(self, attempt: int, rng: random.Random | None = None) -> float:
        """Seconds to wait after failed attempt number `attempt` (the first is 1)."""
        if attempt < 1:
            raise ValueError("attempts are counted from 1")
        seconds = min(self.base * self.factor**attempt, self.cap)
        if rng is not None and self.jitter:
            seconds *= 1.0 + rng.uniform(-self.jitter, self.jitter)
        return seconds


def backoff_for(job: Job) -> Backoff:
    return Backoff(base=job.backoff_base, cap=job.backoff_cap)


def retry_time(
    job: Job, failed_at: datetime, attempt: int, rng: random.Random | None = None
) -> datetime:
    """The local time at which `job` is to be tried again."""
    zone = ZoneInfo(job.zone)
    delay = backoff_for(job).delay(attempt, rng)
    return failed_at.astimezone(zone) + timedelta(seconds=delay)


def may_retry(job: Job, attempt: int) -> bool:
    return attempt < job.max_attempts
