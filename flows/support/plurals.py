"""Numbers with their nouns."""

from __future__ import annotations


def quantity(number: int, noun: str, plural: str = "") -> str:
    """``1 session``, ``2 sessions``, ``2 copies``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
