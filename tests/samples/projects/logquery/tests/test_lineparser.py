import datetime as dt

import pytest

from logquery.lineparser import BadLine, parse_fields, parse_line, parse_lines, parse_time

UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-02-01T10:20:30Z", dt.datetime(2026, 2, 1, 10, 20, 30, tzinfo=UTC)),
        ("2026-02-01T10:20:30.250Z", dt.datetime(2026, 2, 1, 10, 20, 30, 250000, tzinfo=UTC)),
        ("2026-02-01T12:20:30+02:00", dt.datetime(2026, 2, 1, 10, 20, 30, tzinfo=UTC)),
        ("2026-02-01T10:20:30", dt.datetime(2026, 2, 1, 10, 20, 30, tzinfo=UTC)),
        ("2026-02-01T10:20", dt.datetime(2026, 2, 1, 10, 20, tzinfo=UTC)),
    ],
)
def test_times(text, time):
    assert parse_time(text) == time


@pytest.mark.parametrize("text", ["yesterday", "2026-02-30T00:00:00", "2026-02-01", ""])
def test_bad_times(text):
    with pytest.raises(BadLine):
        parse_time(text)


def test_fields():
    assert parse_fields('status=200 took=12 msg="all is well"') == {"status": "200", "took": "12", "msg": "all is well"}


def test_dotted_names():
    assert parse_fields("http.status=200") == {"http.status": "200"}


def test_line():
    record = parse_line('2026-02-01T10:20:30Z WARN gateway status=503 msg="x y"\n')
    assert (record.level, record.service, record.get("status"), record.get("msg")) == ("warn", "gateway", "503", "x y")


def test_bad_lines_are_collected():
    errors = []
    records = list(parse_lines(["nonsense", "", "2026-02-01T10:20:30Z LOUD gateway"], errors))
    assert records == []
    assert [number for number, _ in errors] == [1, 3]
