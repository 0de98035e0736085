"""Numbers with their nouns, and lists that may be long."""

from __future__ import annotations

from collections.abc import Sequence


def quantity(number: int, noun: str, plural: str = "") -> str:
    """``1 session``, ``2 sessions``, ``2 copies``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def first_few(names: Sequence[str], most: int = 3) -> str:
    """``a, b, c and 2 more``."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
