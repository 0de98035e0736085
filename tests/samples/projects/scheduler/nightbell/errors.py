"""Everything nightbell raises on purpose."""

from __future__ import annotations


class NightbellError(Exception):
    """Base of all errors that end up as a message and not as a traceback."""


class CronSyntaxError(NightbellError):
    def __init__(self, expression: str, reason: str) -> None:
        super().__init__(f"bad cron expression {expression!r}: {reason}")
        self.expression = expression
        self.reason = reason


class NoSuchJob(NightbellError):
    def __init__(self, name: str) -> None:
        super().__init__(f"no job named {name!r}")
        self.name = name


class DuplicateJob(NightbellError):
    def __init__(self, name: str) -> None:
        super().__init__(f"a job named {name!r} exists already")
        self.name = name


class LeaseLost(NightbellError):
    """Another daemon took over the store."""


class ConfigError(NightbellError):
    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason
