from __future__ import annotations

import pytest

from nightbell.config import load_config, parse_config
from nightbell.errors import ConfigError


def test_defaults():
    config = parse_config({"job": {"a": {"cron": "@daily", "command": "echo 'x y'"}}})
    (job,) = config.jobs
    assert job.command == ["echo", "x y"]
    assert (job.zone, job.max_attempts, job.backoff_base) == ("UTC", 3, 30.0)


def test_zone_is_inherited():
    config = parse_config(
        {
            "zone": "Europe/Berlin",
            "job": {
                "a": {"cron": "@daily", "command": "x"},
                "b": {"cron": "@daily", "command": "x", "zone": "America/New_York"},
            },
        }
    )
    assert [job.zone for job in config.jobs] == ["Europe/Berlin", "America/New_York"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"command": "x"}, "cron is missing"),
        ({"cron": "@daily"}, "command is missing"),
        ({"cron": "@daily", "command": ""}, "command is empty"),
        ({"cron": "@daily", "command": 3}, "command must be"),
        ({"cron": "x", "command": "x"}, "five fields"),
        ({"cron": "@daily", "command": "x", "zone": "Mars/Base"}, "unknown time zone"),
        ({"cron": "@daily", "command": "x", "retries": 2}, "unknown keys: retries"),
        ({"cron": "@daily", "command": "x", "max_attempts": 0}, "at least 1"),
        ({"cron": "@daily", "command": "x", "backoff_base": 9, "backoff_cap": 3}, "smaller"),
    ],
)
def test_errors(table, message):
    with pytest.raises(ConfigError, match=message):
        parse_config({"job": {"a": table}})


def test_load(tmp_path):
    path = tmp_path / "jobs.toml"
    path.write_text('[job.a]\ncron = "@hourly"\ncommand = ["true"]\n')
    assert [job.name for job in load_config(path).jobs] == ["a"]
    with pytest.raises(ConfigError):
        load_config(tmp_path / "none.toml")
