"""A bounded cache for results of functions of messages."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar, TypeVarTuple

from compaction.transcript import Message

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

OVERHEAD = 500
"""Characters counted for each cached result beside its messages' texts."""


class Memo(Generic[T]):
    """Results of functions; a result is found again for the same function, the same message objects and equal values.

    The function and its arguments are the whole key, so a result can depend on nothing else, and two functions never
    share one. When it is full everything is dropped: the messages of one session are used at the same time.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        """Characters of the messages that are held on to."""
        self._held = 0
        self._values: dict[Hashable, tuple[object, T]] = {}

    def of(self, make: Callable[[*Ts], T], *args: *Ts) -> T:
        """Return the function's value for messages, hashable values, and tuples of both, from memory if it is there.

        Raises TypeError for a function that uses variables of another one: the key would not have them.
        """
        key = _key((make, args))
        found = self._values.get(key)
        if found is not None:
            return found[1]
        value = make(*args)
        if self._held > self.room:
            self._values.clear()
            self._held = 0
        self._held += sum(len(message.text) + len(message.reasoning) + OVERHEAD for message in _messages(args))
        self._values[key] = args, value  # the arguments are kept, so that the ids of their messages stay taken
        return value


def _key(value: Any) -> Hashable:
    if isinstance(value, Message):
        return Message, id(value)
    if isinstance(value, tuple):
        return tuple, *map(_key, value)
    if getattr(value, "__closure__", None):
        raise TypeError(f"{value.__qualname__} uses variables of another function: pass them as arguments")
    return type(value), value


def _messages(value: Any) -> Iterator[Message]:
    if isinstance(value, Message):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _messages(part)
