"""However long a text is and whatever it repeats, it is read in time that grows with it."""

from __future__ import annotations

import pytest

from flows.redaction.detector import find
from tests.flows.redaction.made_up import REDACTOR


@pytest.mark.timeout(240)
@pytest.mark.parametrize("unit", ["a", " ", "\n", '"', '\\"', "key=", '{"a":', "--", "password: ", "[SECRET:", "é"])
def test_ten_million_characters_are_read_in_time_that_grows_with_them(unit: str) -> None:
    """A pattern that goes back over what it has read would take days here; the timeout only ends it."""
    text = unit * (10_000_000 // len(unit))
    assert REDACTOR.redact(text) is text
    part = text[:300_000]
    assert REDACTOR.redact_json(part) is part


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "unit",
    [
        "eyJ",
        "eyJ" * 2000 + " ",
        "eyJhbGciOi.",
        "-----BEGIN PRIVATE KEY-----\n",
        "?token=",
        "--password ",
        "<a",
        "-----BEGIN PRIVATE KEY-----\n" + "+" * 99,
        "<password>",
        'key="token" ',
        "machine a login ",
        "cookie:a=b;",
        "mysql ",
        "http://a:",
        "docker login ",
        "password is ",
        "AccountKey=",
        "sk-ant-",
        "token=!",
        "password='\\\\'",
        "pass_",
        "secret: ",
        "1:-> ",
        "\\\\n",
        "-u a:",
        "cookie a=",
        "://a:b",
        "a-1-",
        "1\n",
        "authorization: ",
        "machine a",
        "name: secret ",
        "${",
        "%3D",
        "token=%26",
        "%3Dtoken=%2525",
        "%20",
        "a,b?",
        "a-b_",
        "<a.b:",
    ],
)
def test_hostile_repeats_are_read_in_time_that_grows_with_them(unit: str) -> None:
    text = unit * (600_000 // len(unit))
    found = find(text)
    assert all(0 <= one.start < one.end <= len(text) for one in found)


def test_text_that_is_encoded_many_times_is_decoded_once() -> None:
    text = "".join("%" + "25" * number + "3D" for number in range(700))
    assert REDACTOR.redact(text) is text
