"""Text of methods as people write it: values, lists and nesting, split outside of quotes and brackets."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from typing import Any

_OPENING, _CLOSING = "([{", ")]}"
_PLAIN = re.compile(r"[^\s,()\[\]{}=\"'#]+")
_CONSTANTS = {"true": True, "false": False}


def split_outside(text: str, separator: str) -> list[str]:
    """The stripped parts of a text between a separator, wherever it stands outside of quotes and brackets.

    Raises ValueError when a quote or bracket is not closed.
    """
    parts: list[str] = []
    start = position = depth = 0
    quote = ""
    while position < len(text):
        letter = text[position]
        if quote:
            if letter == "\\":
                position += 1
            elif letter == quote:
                quote = ""
        elif letter in "\"'":
            quote = letter
        elif depth == 0 and text.startswith(separator, position):
            parts.append(text[start:position].strip())
            position += len(separator)
            start = position
            continue
        else:
            depth += (letter in _OPENING) - (letter in _CLOSING)
            if depth < 0:
                raise ValueError(f"{text!r} closes a bracket that it did not open")
        position += 1
    if quote or depth:
        raise ValueError(f"{text!r} does not close a {'quote' if quote else 'bracket'}")
    return [*parts, text[start:].strip()]


def read_value(text: str) -> Any:
    """A value as it is written: a Python or TOML literal, else the text itself."""
    text = text.strip()
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: nested without end
        return text


def write_value(value: Any) -> str:
    """A value so that ``read_value`` gives it again."""
    if not isinstance(value, str):
        return str(value)
    text = str.__str__(value)
    return text if _PLAIN.fullmatch(text) and read_value(text) == text else json.dumps(text, ensure_ascii=False)


def read_items(text: str) -> dict[str, Any]:
    """Read ``name=value,…``; raises ValueError naming the item that has no name."""
    found: dict[str, Any] = {}
    for item in filter(None, split_outside(text, ",")):
        name, equals, value = item.partition("=")
        if not equals:
            raise ValueError(f"expected name=value, found {item!r}")
        found[name.strip()] = read_value(value)
    return found
