"""Job definitions in a TOML file."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .cron import CronExpression
from .errors import ConfigError, CronSyntaxError
from .models import Job

JOB_KEYS = {
    "cron",
    "command",
    "zone",
    "max_attempts",
    "backoff_base",
    "backoff_cap",
    "timeout",
}


@dataclass
class Config:
    zone: str = "UTC"
    jobs: list[Job] = field(default_factory=list)


def _zone(where: str, name: Any) -> str:
    if not isinstance(name, str):
        raise ConfigError(where, "zone must be a string")
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, IsADirectoryError) as error:
        raise ConfigError(where, f"unknown time zone {name!r}") from error
    return name


def _number(where: str, table: dict[str, Any], key: str, default: float, least: float) -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(where, f"{key} must be a number")
    if value < least:
        raise ConfigError(where, f"{key} must be at least {least}")
    return value


def _command(where: str, value: Any) -> list[str]:
    if isinstance(value, str):
        parts = shlex.split(value)
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        parts = list(value)
    else:
        raise ConfigError(where, "command must be a string or a list of strings")
    if not parts:
        raise ConfigError(where, "command is empty")
    return parts


def parse_config(data: dict[str, Any], source: str = "config") -> Config:
    zone = _zone(source, data.get("zone", "UTC"))
    config = Config(zone=zone)
    jobs = data.get("job", {})
    if not isinstance(jobs, dict):
        raise ConfigError(source, "[job] must be a table of tables")
    for name, table in jobs.items():
        where = f"{source}: job.{name}"
        unknown = sorted(set(table) - JOB_KEYS)
        if unknown:
            raise ConfigError(where, f"unknown keys: {', '.join(unknown)}")
        for key in ("cron", "command"):
            if key not in table:
                raise ConfigError(where, f"{key} is missing")
        try:
            CronExpression.parse(table["cron"])
        except CronSyntaxError as error:
            raise ConfigError(where, str(error)) from error
        base = _number(where, table, "backoff_base", 30.0, 1)
        cap = _number(where, table, "backoff_cap", 900.0, 1)
        if cap < base:
            raise ConfigError(where, "backoff_cap is smaller than backoff_base")
        timeout = table.get("timeout")
        config.jobs.append(
            Job(
                name=name,
                command=_command(where, table["command"]),
                cron=table["cron"],
                zone=_zone(where, table.get("zone", zone)),
                max_attempts=int(_number(where, table, "max_attempts", 3, 1)),
                backoff_base=float(base),
                backoff_cap=float(cap),
                timeout=float(timeout) if timeout is not None else None,
            )
        )
    return config


def load_config(path: str | Path) -> Config:
    try:
        with open(path, "rb") as stream:
            data = tomllib.load(stream)
    except OSError as error:
        raise ConfigError(str(path), error.strerror or "cannot be read") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), str(error)) from error
    return parse_config(data, str(path))
