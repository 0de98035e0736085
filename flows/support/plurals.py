"""Numbers with their nouns."""

from __future__ import annotations


def quantity(number: int, noun: str) -> str:
    """``1 session``, ``2 sessions``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
