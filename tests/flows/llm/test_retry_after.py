"""Waits that providers ask for, where a server's own clock matters."""

from __future__ import annotations

import pytest

from flows.llm.retry_after import pause_asked, wait_asked

DATE = "Mon, 21 Sep 2026 14:13:20 GMT"


def raw(**headers: str) -> list[tuple[bytes, bytes]]:
    return [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        (raw(Date=DATE, Retry_After="Mon, 21 Sep 2026 14:13:27 GMT"), 7.0),
        (raw(Date=DATE, Retry_After="Mon, 21 Sep 2026 14:13:00 GMT"), 0.0),
        (
            raw(
                date=DATE,
                anthropic_ratelimit_tokens_remaining="0",
                anthropic_ratelimit_tokens_reset="2026-09-21T14:13:50Z",
            ),
            30.0,
        ),
        (raw(date=DATE, x_ratelimit_remaining="0", x_ratelimit_reset="1790000004000"), 4.0),
        (raw(date=DATE, x_ratelimit_remaining="0", x_ratelimit_reset="1790000004"), 4.0),
        (raw(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="1h0m1s"), 3601.0),
        (raw(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="12.5"), 12.5),
        (raw(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="-"), None),
        (raw(retry_after="nan"), None),
        (raw(retry_after="-5"), None),
        (raw(retry_after="Mon, 99 Sep 2026"), None),
    ],
)
def test_points_in_time_are_on_the_servers_clock(headers: list[tuple[bytes, bytes]], wait: float | None) -> None:
    assert wait_asked(headers) == wait


def test_an_answer_without_limits_asks_for_no_pause() -> None:
    assert pause_asked(raw(date=DATE, content_type="application/json")) == 0.0
