"""The purpose of a thread's model calls: stage and item, for their rows in the journal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_calling_for: ContextVar[tuple[str, str]] = ContextVar("calling_for", default=("", ""))


@contextmanager
def calling_for(stage: str, item_id: str) -> Iterator[None]:
    """Set the stage and item of the calls of this thread, for their rows in the journal."""
    token = _calling_for.set((stage, item_id))
    try:
        yield
    finally:
        _calling_for.reset(token)


def called_for() -> tuple[str, str]:
    """Stage and item set by ``calling_for`` in this thread."""
    return _calling_for.get()
