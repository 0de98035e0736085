"""Clocks. Everything that asks for the time is handed one of these."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import Protocol

UTC = timezone.utc


class Clock(Protocol):
    def now(self) -> datetime:
        """The time as an aware datetime in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class FakeClock:
    """A clock for tests: it moves when it is told to, or when someone sleeps."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("FakeClock needs an aware datetime")
        self._now = start.astimezone(UTC)
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds=seconds)

    def advance(self, **delta: float) -> None:
        self._now += timedelta(**delta)

    def set(self, when: datetime) -> None:
        self._now = when.astimezone(UTC)
