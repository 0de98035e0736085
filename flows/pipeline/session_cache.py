"""Sessions and contexts that stay in memory between the stages."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class SessionCache(Generic[Key, Value]):
    """A cache with a limit in bytes that drops the least recently used values.

    The stages ask for the same sessions one after the other. What the engine works out about a message hangs on the
    object, so that keeping the objects saves the analysis too.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._size = 0
        self._held: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, or None if it is absent or was dropped."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of about so many bytes, and drop others for it."""
        with self._lock:
            if key in self._held:
                self._size -= self._held.pop(key)[1]
            self._held[key] = (value, size)
            self._size += size
            while self._size > self._limit and len(self._held) > 1:
                self._size -= self._held.popitem(last=False)[1][1]
