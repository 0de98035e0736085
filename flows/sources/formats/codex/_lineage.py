"""Finds the lines of a rollout that a sub-agent or a fork copied from its parent's session.

Such a rollout begins with its own header; the headers and the lines of that other session follow, most often with the
time at which they were copied, and then its own work.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from flows.sources.reading.base import Record
from flows.sources.reading.values import first_text, int_or_none, nested, text_or_none
from flows.support.clock import utc_time

_BURST = timedelta(seconds=1)
"""A copy is written at once: a longer pause between two lines ends it."""
_TIMED_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
"""A UUID of version 7: later ones sort behind earlier ones."""


class Lineage:
    """Says line by line whether a line was copied from another session."""

    def __init__(self) -> None:
        self.own: str | None = None
        self.parent: str | None = None
        """The id of the session that this one comes from."""
        self.is_fork = True
        """Whether it comes from that session as a fork, and not as a sub-agent."""
        self.is_copied: bool | None = False
        """Of the last line; None while nothing has told yet."""
        self._born: datetime | None = None
        self.begins = False
        """Whether the session's own work begins with the last line, and all before it was copied."""
        self._start: int | None = None
        self._before: datetime | None = None
        self._since_applied: bool | None = None
        """Whether there were answers since settings were applied that alone have ended the copy; else None."""

    def begin(self, meta: Record, time: str | None) -> None:
        """Takes the first header, which is the rollout's own."""
        self.own = text_or_none(meta.get("id"))
        started_by = first_text(_find(meta.get("source"), "parent_thread_id"), meta.get("parent_thread_id"))
        self.parent = started_by or text_or_none(meta.get("forked_from_id"))
        self.is_fork = started_by is None and not isinstance(meta.get("source"), dict)
        self._born = utc_time(text_or_none(meta.get("timestamp")) or time)
        starts = (meta.get("subagent_history_start_ordinal"), nested(meta, "history_base", "end_ordinal_exclusive"))
        self._start = next((start for start in map(int_or_none, starts) if start is not None), None)
        self._before = utc_time(time)
        if self.parent is not None:  # a fork is always given a history, a sub-agent need not be
            self.is_copied = True if text_or_none(meta.get("forked_from_id")) else None

    def follow(self, kind: str, payload: Record, ordinal: Any, time: str | None) -> bool | None:
        """Takes the next line behind the first header; returns whether it was copied."""
        at = utc_time(time)
        told = self._tell_copied(kind, payload, int_or_none(ordinal), at)
        pauses = bool(at and self._before and at - self._before >= _BURST)
        if told is None and pauses and self.is_copied is not False:
            told = False
        self.begins = self.is_copied is True and told is False
        if told is not None:
            self.is_copied, self._since_applied = told, None
        else:
            self._may_end(kind, payload, pauses)
        self._before = at or self._before
        return self.is_copied

    def _may_end(self, kind: str, payload: Record, pauses: bool) -> None:
        """Ends the copy where settings are applied.

        They may be the other session's: the next ones end it anew, and so does a pause behind answers, since no model
        answers while a copy is written.
        """
        is_applied = payload.get("type") == "thread_settings_applied"
        if self.is_copied or self._since_applied is not None:
            if is_applied or (pauses and self._since_applied):
                self.begins, self.is_copied, self._since_applied = True, False, None if pauses else False
            elif pauses:
                self._since_applied = None
            elif self._since_applied is not None:
                self._since_applied = self._since_applied or payload.get("role") == "assistant"

    def _tell_copied(self, kind: str, payload: Record, ordinal: int | None, at: datetime | None) -> bool | None:
        """Whether the line itself shows that it was copied; None if it does not tell."""
        if kind == "session_meta":
            other = text_or_none(payload.get("id"))
            if other is None or other == self.own:
                return None
            self.parent = self.parent or other
            return True
        if self.parent is None:
            return None
        if self._start is not None and ordinal is not None:
            return ordinal < self._start
        if at and self._born and at < self._born:
            return True
        turn = payload.get("turn_id")
        if isinstance(turn, str) and self.own and _TIMED_ID.fullmatch(turn) and _TIMED_ID.fullmatch(self.own):
            return turn < self.own
        return None


def _find(value: Any, key: str) -> str | None:
    """A text under a key, however deep: the origin of a sub-agent is nested differently by version."""
    if isinstance(value, dict):
        if isinstance(value.get(key), str):
            return str(value[key])
        return next((found for item in value.values() if (found := _find(item, key))), None)
    return None
