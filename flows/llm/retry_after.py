"""The wait that a provider asks for in its headers, in seconds.

Retry-After is in seconds or a date (RFC 9110), ``retry-after-ms`` in milliseconds. The limits of OpenAI and of those
that copy it are told in ``x-ratelimit-remaining-…`` and ``x-ratelimit-reset-…`` (durations such as ``1m2.5s``; some
send seconds, or a point in time), Anthropic's in ``anthropic-ratelimit-…-remaining`` and ``…-reset`` (RFC 3339).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_SAID = re.compile(r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:h|ms|m|s)(?![a-z]))+)", re.IGNORECASE)

Raw = Iterable[tuple[bytes, bytes]]
"""Headers as they came."""


def wait_asked(raw: Raw, message: str = "") -> float | None:
    """Seconds that an error response asks to wait before the next try; None when it says nothing.

    Where no header says so, the time until the limits that are used up are reset, else what the message says
    ("try again in 1.2s").
    """
    headers = _wanted(raw)
    now = _now(headers)
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    asked = _seconds(headers.get("retry-after", ""), now)
    if asked is None:
        asked = _until_reset(headers, now)
    if asked is None and (said := _SAID.search(message)):
        asked = _duration(said[1])
    return asked


def pause_asked(raw: Raw) -> float:
    """Seconds until the limits that an answer used up are reset; 0 when something is left of all of them."""
    headers = _wanted(raw)
    return _until_reset(headers, _now(headers)) or 0.0


def _wanted(raw: Raw) -> dict[str, str]:
    """The headers that matter, found in one pass: this runs for every call."""
    found = {}
    for name, value in raw:
        lower = name.lower()
        if b"ratelimit" in lower or lower in (b"date", b"retry-after", b"retry-after-ms"):
            found[lower.decode("latin-1")] = value.decode("latin-1").strip()
    return found


def _until_reset(headers: Mapping[str, str], now: datetime) -> float | None:
    waits = []
    for name, value in headers.items():
        if "remaining" in name and (left := _number(value)) is not None and left == 0:
            wait = _seconds(headers.get(name.replace("remaining", "reset"), ""), now)
            if wait is not None:
                waits.append(wait)
    return max(waits, default=None)


def _now(headers: Mapping[str, str]) -> datetime:
    """The server's clock where it tells it: points in time are on its clock."""
    return _moment(headers.get("date", "")) or datetime.fromtimestamp(time.time(), UTC)


def _seconds(value: str, now: datetime) -> float | None:
    if (number := _number(value)) is not None:
        if number > 1e9:  # a point in time, in milliseconds or seconds since 1970
            number = max(0.0, (number / 1000 if number > 1e12 else number) - now.timestamp())
        return number
    if (duration := _duration(value)) is not None:
        return duration
    then = _moment(value)
    return None if then is None else max(0.0, (then - now).total_seconds())


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _duration(value: str) -> float | None:
    parts = _PART.findall(value)
    if not parts or "".join(number + unit for number, unit in parts) != value:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _moment(value: str) -> datetime | None:
    """A date of HTTP (``Fri, 27 Nov 2026 …``), or one of RFC 3339."""
    try:
        found = parsedate_to_datetime(value) if "," in value else datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
