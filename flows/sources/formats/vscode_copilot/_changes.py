"""A log of changes to one value, as VS Code writes it: the value, then what was set, put into a list, or deleted."""

from __future__ import annotations

from typing import Any

from flows.sources.reading.base import MalformedError, Record, kind_of
from flows.sources.reading.values import as_list, need_list, need_object, nested, objects_in

VALUE, SET, PUSH, DELETE = range(4)
"""The kinds of entries (src/vs/workbench/contrib/chat/common/model/objectMutationLog.ts)."""


class Changes:
    """The value after the entries so far, and the requests that were taken out of it."""

    def __init__(self) -> None:
        self.value: Any = None
        self.removed: list[Record] = []

    def apply(self, entry: Record) -> None:
        """Makes one change.

        Raises:
            MalformedError: It leads to nothing that is there, or is of an unknown kind.
        """
        kind, path = entry.get("kind"), entry.get("k")
        if kind == VALUE:
            self._keep_requests()
            self.value = need_object(entry.get("v"), "the value")
            return
        if kind not in (SET, PUSH, DELETE) or isinstance(kind, bool):
            raise MalformedError(f"kind is {kind!r}, expected 0, 1, 2 or 3")
        *way, last = need_list(path, "k", "a path") or [None]
        if way == [] and last == "requests":
            self._keep_requests(entry.get("i") if kind == PUSH else 0)
        holder = self.value
        for key in way:
            holder = _under(holder, key, {})
        if kind == PUSH:
            _push(_under(holder, last, []), entry)
        elif isinstance(holder, list):
            self._set_item(holder, last, entry)
        elif isinstance(holder, dict) and isinstance(last, str):
            if kind == SET:
                holder[last] = entry.get("v")
            else:
                holder.pop(last, None)
        else:
            raise MalformedError(f"the path ends in {kind_of(holder)}")

    def _set_item(self, holder: list[Any], at: Any, entry: Record) -> None:
        if type(at) is not int or not 0 <= at <= len(holder):
            raise MalformedError(f"{at!r} is no place of a list of {len(holder):,}")
        holder[at : at + 1] = [entry.get("v")]

    def _keep_requests(self, first: Any = 0) -> None:
        """Keeps the requests from one on, which are about to go; without a number none goes."""
        if type(first) is int and first >= 0:
            self.removed += objects_in(as_list(nested(self.value, "requests"))[first:])


def _under(holder: Any, key: Any, made: Any) -> Any:
    """The value of a key; an object gets ``made`` for a key that it lacks."""
    if isinstance(holder, dict) and isinstance(key, str):
        return holder.setdefault(key, made)
    if isinstance(holder, list) and type(key) is int and 0 <= key < len(holder):
        return holder[key]
    raise MalformedError(f"the path leads to nothing: {key!r} in {kind_of(holder)}")


def _push(held: Any, entry: Record) -> None:
    """Adds to a list, behind its first ``i`` items where there is one."""
    items, first = need_list(held, "what is added to"), entry.get("i")
    if type(first) is int and first >= 0:
        del items[first:]
    items += as_list(entry.get("v"))
