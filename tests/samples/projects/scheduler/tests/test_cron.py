from __future__ import annotations

from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import pytest

from nightbell.cron import CronExpression
from nightbell.errors import CronSyntaxError

UTC = ZoneInfo("UTC")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def next_text(cron, after, zone=UTC):
    moment = CronExpression.parse(cron).next_after(at(after), zone)
    return None if moment is None else moment.strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("* * * * *", "2025-06-02 08:00", "2025-06-02 08:01"),
        ("0 * * * *", "2025-06-02 08:00", "2025-06-02 09:00"),
        ("*/15 * * * *", "2025-06-02 08:01", "2025-06-02 08:15"),
        ("30 2 * * *", "2025-06-02 08:00", "2025-06-03 02:30"),
        ("0 9 * * mon", "2025-06-02 10:00", "2025-06-09 09:00"),
        ("0 9 * * 1-5", "2025-06-06 10:00", "2025-06-09 09:00"),
        ("0 0 1 * *", "2025-06-02 10:00", "2025-07-01 00:00"),
        ("0 0 31 * *", "2025-06-02 10:00", "2025-07-31 00:00"),
        ("0 0 29 feb *", "2025-06-02 10:00", "2028-02-29 00:00"),
        ("0 12 13 * fri", "2025-06-02 10:00", "2025-06-06 12:00"),
        ("5,35 8-10/2 * * *", "2025-06-02 08:06", "2025-06-02 08:35"),
        ("0 0 * * 7", "2025-06-02 10:00", "2025-06-08 00:00"),
        ("@daily", "2025-06-02 10:00", "2025-06-03 00:00"),
        ("@weekly", "2025-06-02 10:00", "2025-06-08 00:00"),
    ],
)
def test_next_after(cron, after, expected):
    assert next_text(cron, after) == expected


def test_never():
    assert next_text("0 0 31 feb *", "2025-06-02 10:00") is None


def test_seconds_are_dropped():
    moment = CronExpression.parse("* * * * *").next_after(at("2025-06-02 08:00:59"), UTC)
    assert (moment.second, moment.minute) == (0, 1)


def test_local_zone():
    assert next_text("0 9 * * *", "2025-06-02 06:30", ZoneInfo("Europe/Berlin")) == (
        "2025-06-02 09:00"
    )


def test_upcoming_counts():
    found = CronExpression.parse("0 6 * * *").upcoming(at("2025-06-02 08:00"), UTC, 3)
    assert [moment.day for moment in found] == [3, 4, 5]


@pytest.mark.parametrize(
    "cron",
    [
        "",
        "* * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "*/0 * * * *",
        "a * * * *",
        "1,,2 * * * *",
        "10-5 * * * *",
        "@never",
    ],
)
def test_rejects(cron):
    with pytest.raises(CronSyntaxError):
        CronExpression.parse(cron)


@pytest.mark.parametrize(
    ("cron", "text"),
    [
        ("@hourly", "hourly"),
        ("5 4 * * *", "at 4:05 every day"),
        ("5 4 * * mon", "at 4:05 on weekdays mon"),
        ("5 * * * *", "at minute 5 of hours *"),
    ],
)
def test_describe(cron, text):
    assert CronExpression.parse(cron).describe() == text
