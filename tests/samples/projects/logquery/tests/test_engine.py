import datetime as dt

import pytest

from logquery import engine
from logquery.cli import main
from logquery.query import parse_query

LINES = [
    '2026-02-01T10:00:02Z INFO gateway status=200 msg="b"',
    '2026-02-01T10:00:01Z ERROR payments status=503 msg="a"',
    "broken",
    '2026-02-01T10:00:03Z ERROR gateway status=500 msg="c"',
]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "app.log"
    path.write_text("\n".join(LINES) + "\n")
    return str(path)


def test_load_orders_by_time(log):
    assert [r.get("msg") for r in engine.load([log])] == ["a", "b", "c"]


def test_select_period(log):
    start = dt.datetime(2026, 2, 1, 10, 0, 2, tzinfo=dt.timezone.utc)
    assert [r.get("msg") for r in engine.select(engine.load([log]), None, start)] == ["b", "c"]


def test_count_by(log):
    records = engine.select(engine.load([log]), parse_query("level=error"))
    assert engine.count_by(records, "service") == [("gateway", 1), ("payments", 1)]


def test_cli(log, capsys):
    assert main(["level=error", log, "--count-by", "status", "--show-errors"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == ["1  500", "1  503"]
    assert err.startswith("line 3: ")


def test_cli_bad_query(log, capsys):
    assert main(["level=", log]) == 2
    assert "logquery:" in capsys.readouterr().err
