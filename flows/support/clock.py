"""Time stamps in the form of the store and its journals."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta


def now() -> str:
    """The current time in UTC, ISO 8601, in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def utc_time(text: str | None) -> datetime | None:
    """Convert a recorded time to UTC without its offset; None for a text that is no time.

    One without an offset is taken as UTC.
    """
    try:
        found = datetime.fromisoformat(text) if text else None
        return found.astimezone(UTC).replace(tzinfo=None) if found and found.tzinfo else found
    except (ValueError, OverflowError):  # in UTC it may be of the year 0 or 10000
        return None


def later_than(time: str, others: Iterable[str]) -> str:
    """``time``, or a millisecond after the latest of ``others`` if that is later: clocks can be set back."""
    last = max(others, default="")
    if time > last:
        return time
    return (datetime.fromisoformat(last) + timedelta(milliseconds=1)).isoformat(timespec="milliseconds")
