"""Messages to a webhook: what arrives, and what is said when none does."""

from __future__ import annotations

import logging

import pytest

from flows.execution.webhook import is_webhook, send_message
from tests.flows.receiver import receiving


def test_a_text_arrives_and_calls_nobody() -> None:
    with receiving() as receiver:
        assert send_message(receiver.url, "best: ours & <!channel>") == ""
        assert receiver.texts == ["best: ours &amp; &lt;!channel&gt;"]


def test_what_went_wrong_is_said_without_the_address(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with receiving() as receiver:
        receiver.code = 404
        problems = [send_message(receiver.url, "x")]
    problems += [send_message(url, "x") for url in (receiver.url, "http://no-such-host.invalid/T0SECRET", "T0SECRET")]
    assert problems[0] == "it answered 404"
    assert problems[1] == "it could not be reached (ConnectionRefusedError)"
    assert all(problems)
    assert "SECRET" not in " ".join([*problems, caplog.text])


@pytest.mark.parametrize(
    "url",
    ["", "hooks.slack.com/x", "file:///etc/passwd", "ftp://a/b", "http://", "http://a:b/", "http://a/\n", "http://ä/"],
)
def test_what_is_no_address_of_a_webhook(url: str) -> None:
    assert not is_webhook(url)
    assert is_webhook("https://hooks.slack.com/services/T/B/x")
