"""The structured log of a run: JSON lines, one an event (``docs/watching.md`` has the keys).

It is the standard library's logging, under the name ``compaction_eval``: whoever calls the flows from Python can attach
handlers of their own. A line tells ids, counts, times and reasons; never what was said in a session.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from flows.problems import UsageProblem

LOGGER = logging.getLogger("compaction_eval")
LOGGER.propagate = False
LOGGER.setLevel(logging.CRITICAL)
LOGGER.addHandler(logging.NullHandler())
ITEMS = logging.DEBUG
"""Level of the lines of single items; all others are ``INFO``, or ``WARNING`` where something failed."""
LONGEST_REASON = 200
"""Characters of a reason."""
_QUOTED = re.compile(r"['\"`“«].*", re.DOTALL)

_collected: list[dict[str, Any]] | None = None
"""In a worker process: the lines of its task, which go back with the task's tally."""


class JsonLines(logging.Formatter):
    """An event as a line of JSON: time, run, event, and the event's own keys; those without a value are left out."""

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self._run_id = run_id

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        own = {key: value for key, value in getattr(record, "fields", {}).items() if value is not None}
        line = {"time": time, "run_id": self._run_id, "event": record.getMessage(), **own}
        return json.dumps(line, ensure_ascii=True, separators=(",", ":"), default=str)


@contextmanager
def logging_to(target: str | None, run_id: str, *, items: bool = False) -> Iterator[None]:
    """Append a run's events to a file; ``-`` is stderr, None is nowhere. Raises UsageProblem for one that cannot be."""
    if target is None:
        yield
        return
    try:
        handler: logging.Handler = (
            logging.StreamHandler(sys.stderr) if target == "-" else logging.FileHandler(target, encoding="utf-8")
        )
    except OSError as error:
        raise UsageProblem(f"--log {target}: cannot be written: {error.strerror}") from None
    handler.setFormatter(JsonLines(run_id))
    before = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(ITEMS if items else logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(before)
        LOGGER.removeHandler(handler)
        handler.close()


def event(name: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event of the run; where no log is kept this costs nothing."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, name, extra={"fields": fields})


def wants_items() -> bool:
    """Whether a line an item is wanted."""
    return LOGGER.isEnabledFor(ITEMS)


def item(stage: str, **fields: Any) -> None:
    """Log one item; in a worker process the line is kept until its task is done."""
    if _collected is not None:
        _collected.append({"stage": stage, **fields})
    elif wants_items():
        event("item", level=ITEMS, stage=stage, **fields)


@contextmanager
def collecting() -> Iterator[list[dict[str, Any]]]:
    """Keep the lines of a worker's task, which does one at a time."""
    global _collected  # noqa: PLW0603 (a worker's own, for as long as a task lasts)
    found: list[dict[str, Any]] = []
    _collected = found
    try:
        yield found
    finally:
        _collected = None


def reason(text: str | None) -> str | None:
    """A reason without what it quotes, which may be of a session or of a model's answer."""
    if not text:
        return None
    return _QUOTED.sub("…", " ".join(text.split()))[:LONGEST_REASON]
