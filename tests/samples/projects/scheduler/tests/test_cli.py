from __future__ import annotations

import pytest

from nightbell.cli import main


@pytest.fixture
def cli(tmp_path, capsys):
    def call(*argv):
        code = main(["--db", str(tmp_path / "jobs.sqlite3"), *argv])
        return code, capsys.readouterr()

    return call


def test_add_and_list(cli):
    assert cli("add", "a", "0 9 * * *", "--", "echo", "hi")[0] == 0
    code, output = cli("list")
    assert code == 0
    assert output.out.startswith("a ")


def test_add_twice(cli):
    cli("add", "a", "0 9 * * *", "--", "true")
    code, output = cli("add", "a", "0 9 * * *", "--", "true")
    assert code == 2
    assert "exists already" in output.err


def test_bad_cron(cli):
    code, output = cli("add", "a", "99 9 * * *", "--", "true")
    assert code == 2
    assert "not within 0-59" in output.err


def test_next(cli):
    cli("add", "a", "0 9 * * *", "--zone", "Europe/Berlin", "--", "true")
    code, output = cli("next", "--count", "2", "--after", "2025-06-02T06:00:00")
    assert output.out.splitlines() == [
        "2025-06-02 09:00+02:00  a",
        "2025-06-03 09:00+02:00  a",
    ]


def test_fire_and_history(cli):
    cli("add", "a", "0 9 * * *", "--", "sh", "-c", "exit 3")
    code, output = cli("fire", "a")
    assert (code, output.out) == (1, "failed (3)\n")
    assert "failed exit 3 try 1" in cli("history", "a")[1].out


def test_pause_unknown(cli):
    assert cli("pause", "zzz")[0] == 2
