"""The two things the store keeps: jobs and runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .cron import CronExpression
from .errors import NightbellError


class JobState(str, Enum):
    ACTIVE = "active"
    PAUSED = "paused"
    EXHAUSTED = "exhausted"


class Outcome(str, Enum):
    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    LOST = "lost"


@dataclass
class Job:
    name: str
    command: list[str]
    cron: str
    zone: str = "UTC"
    state: JobState = JobState.ACTIVE
    next_run: datetime | None = None
    attempt: int = 0
    max_attempts: int = 3
    backoff_base: float = 30.0
    backoff_cap: float = 900.0
    timeout: float | None = None
    id: int | None = None

    @property
    def expression(self) -> CronExpression:
        return CronExpression.parse(self.cron)

    @property
    def zone_info(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise NightbellError(f"job {self.name}: unknown time zone {self.zone!r}") from error


@dataclass
class Run:
    job_id: int
    scheduled_for: datetime
    started_at: datetime
    attempt: int
    finished_at: datetime | None = None
    outcome: Outcome = Outcome.RUNNING
    exit_code: int | None = None
    output: str = ""
    id: int | None = None

    @property
    def seconds(self) -> float | None:
        if self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()
