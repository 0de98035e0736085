"""The structured log of a run: JSON lines, one an event (``docs/watching.md`` lists the keys).

It uses the standard library's logging under the name ``compaction_eval``, so callers of the flows can attach their own
handlers. A line has ids, counts, times and reasons, never content of a session.
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

from flows.support.errors import UsageError

LOGGER = logging.getLogger("compaction_eval")
LOGGER.propagate = False
LOGGER.setLevel(logging.CRITICAL)
LOGGER.addHandler(logging.NullHandler())
ITEMS = logging.DEBUG
"""Level of the lines of single items; all others are ``INFO``, or ``WARNING`` where something failed."""
LONGEST_REASON = 200
"""Characters of a reason."""
_QUOTED = re.compile(r"['\"`“«].*", re.DOTALL)


class JsonLines(logging.Formatter):
    """Formats an event as a line of JSON: time, run, event, and the event's own keys that have a value."""

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self._run_id = run_id

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a JSON line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        own = {key: value for key, value in getattr(record, "fields", {}).items() if value is not None}
        line = {"time": time, "run_id": self._run_id, "event": record.getMessage(), **own}
        return json.dumps(line, ensure_ascii=True, separators=(",", ":"), default=str)


@contextmanager
def logging_to(target: str | None, run_id: str, *, items: bool = False) -> Iterator[None]:
    """Append a run's events to a file; ``-`` is stderr, None is no log.

    Raises UsageError when the file cannot be written.
    """
    if target is None:
        yield
        return
    try:
        handler: logging.Handler = (
            logging.StreamHandler(sys.stderr) if target == "-" else logging.FileHandler(target, encoding="utf-8")
        )
    except OSError as error:
        raise UsageError(f"--log {target}: cannot be written: {error.strerror}") from None
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
    """Log an event of the run. Costs almost nothing without a log."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, name, extra={"fields": fields})


def wants_items() -> bool:
    """Whether items are logged one by one."""
    return LOGGER.isEnabledFor(ITEMS)


def item(stage: str, **fields: Any) -> None:
    """Log one item; a line is written only if the log has items."""
    event("item", level=ITEMS, stage=stage, **fields)


def unquoted_reason(text: str | None) -> str | None:
    """A reason cut before its first quotation, which may come from a session or a model's answer."""
    if not text:
        return None
    return _QUOTED.sub("…", " ".join(text.split()))[:LONGEST_REASON]
