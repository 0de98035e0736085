"""What has been worked out about messages, remembered by their identity within a bounded room."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from compaction.transcript import Message

T = TypeVar("T")

OVERHEAD = 500
"""Characters that a remembered thing counts for beyond its messages' texts."""


class Memo(Generic[T]):
    """Values by key, together with the messages whose ids are in the keys, so that these ids stay taken.

    When the room is full everything is forgotten: a session's messages come together and go together.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        """Characters of the messages that are held on to."""
        self._held = 0
        self._values: dict[Hashable, tuple[Sequence[Message], T]] = {}

    def get(self, key: Hashable) -> T | None:
        """What is remembered under a key."""
        found = self._values.get(key)
        return None if found is None else found[1]

    def put(self, key: Hashable, originals: Sequence[Message], value: T) -> T:
        """Remember a value that was made from some messages; returns it."""
        if self._held > self.room:
            self._values.clear()
            self._held = 0
        self._held += sum(len(message.text) + len(message.reasoning) + OVERHEAD for message in originals)
        self._values[key] = originals, value
        return value
