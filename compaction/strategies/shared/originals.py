"""Counting and cutting of text as the original systems do it, where a marker or a limit depends on it."""

from __future__ import annotations

import json
from typing import Any


def utf16_length(text: str) -> int:
    """The length that JavaScript gives a text: characters outside of the basic plane count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def json_length(value: Any) -> int:
    """The length of JavaScript's ``JSON.stringify(value)``."""
    return utf16_length(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def quarter_tokens(characters: int) -> int:
    """Tokens at four characters each, rounded up."""
    return -(-characters // 4)


def cut_head(text: str, max_chars: int, mark: str) -> str:
    """The first ``max_chars`` characters of a longer text, and ``mark`` with ``{}`` for the number of the others."""
    return text if len(text) <= max_chars else text[:max_chars] + mark.format(len(text) - max_chars)


def cut_middle(text: str, max_chars: int, mark: str) -> str:
    """A longer text with ``mark`` in the place of its middle, and half of ``max_chars`` on each side."""
    half = max_chars // 2
    return text if len(text) <= max_chars else text[:half] + mark + text[len(text) - half :]
