"""``ui_messages.json`` beside a Cline history: times, usage, and what the truncation of the context took away.

Its messages repeat the history for the screen and are never read as messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from compaction.transcript import Usage
from flows.sources.reading.base import Record, Source
from flows.sources.reading.siblings import load_sibling, sibling_path
from flows.sources.reading.usage import from_parts
from flows.sources.reading.values import as_dict, objects_in

_NAME = "ui_messages.json"


@dataclass
class Screen:
    """Details of the history's messages from those for the screen, by position in the history."""

    times: dict[int, Any] = field(default_factory=dict)
    """Milliseconds since the epoch."""
    usage: list[Usage] = field(default_factory=list)
    removed: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Position → first and last message that had left the context when the next request was sent."""
    condensed: dict[str, Record] = field(default_factory=dict)
    """Id of a summary or a truncation (Roo Code) → what is said of it, and when."""


def read_screen(source: Source) -> Screen:
    """The contents of the screen's file in the same folder; empty when there is no such file."""
    screen = Screen()
    path = sibling_path(source, _NAME) if source.name.lower() != _NAME else None
    records = load_sibling(path) if path is not None else None
    removed: tuple[int, int] | None = None
    for record in objects_in(records):
        index = record.get("conversationHistoryIndex")
        is_request = record.get("say") == "api_req_started"
        if is_request:
            _use(screen, record)
        for key, own in (("contextCondense", "condenseId"), ("contextTruncation", "truncationId")):
            about = as_dict(record.get(key))
            if isinstance(about.get(own), str):
                screen.condensed[about[own]] = {**about, "ts": record.get("ts")}
        if not isinstance(index, int) or isinstance(index, bool) or index < -1:
            continue
        # The index is that of the last message in the history; a request is reported before its prompt is added.
        screen.times.setdefault(index + 1, record.get("ts"))
        now = _range(record.get("conversationHistoryDeletedRange"))
        if now is not None and now != removed and index >= 0:
            removed = now
            screen.removed[index] = now
    return screen


def _use(screen: Screen, record: Record) -> None:
    try:
        figures = as_dict(orjson.loads(record.get("text") or ""))
    except (orjson.JSONDecodeError, TypeError):
        return
    own, read, written = (figures.get(key) for key in ("tokensIn", "cacheReads", "cacheWrites"))
    usage = from_parts(own, read, written, figures.get("tokensOut"), figures.get("cost"))
    if usage is not None:
        screen.usage.append(usage)


def _range(value: Any) -> tuple[int, int] | None:
    if isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value):
        return (value[0], value[1]) if 0 <= value[0] <= value[1] else None
    return None
