"""The check of the value of a key, and the sentence that says what was expected."""

from __future__ import annotations

from typing import Any

from compaction.closest import did_you_mean
from compaction.parameters import CONTROL, value_text
from flows.support.errors import UsageError
from flows.support.keys import Key


def check_value(key: Key, value: Any, place: str) -> Any:
    """The value in the type of its key: a whole number as a float, a text as a list of one.

    Raises UsageError, which begins with ``place``, where it is of another type or out of bounds.
    """
    found = value_text(value)
    if key.choices:
        if value not in key.choices:
            meant = did_you_mean(value, key.choices) if isinstance(value, str) else ""
            raise UsageError(f"{place}: expected {' or '.join(key.choices)}, found {found}{meant}")
        return value
    if key.type in (int, float):
        if not isinstance(value, int | key.type) or isinstance(value, bool) or not _holds(key, value):
            raise UsageError(f"{place}: expected {_number(key, value)}, found {found}")
        return key.type(value)
    if key.type is bool:
        if not isinstance(value, bool):
            raise UsageError(f"{place}: expected true or false, found {found}")
        return value
    if key.type is str:
        return _text(key, value, place)
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{place}: expected a text or a list of texts, found {found}")
    for item in items:
        if not item.strip() or "\0" in item or len(item) > key.longest:
            raise UsageError(f"{place}: expected a text, found {value_text(item)}")
    return tuple(items)


def _holds(key: Key, number: float) -> bool:
    """Whether a number is within the bounds; NaN never is."""
    assert key.least is not None
    assert key.most is not None
    return key.least <= number <= key.most and not (key.is_open and number == key.least)


def _number(key: Key, value: Any) -> str:
    noun = key.noun or ("a whole number" if key.type is int else "a number")
    is_large = isinstance(value, int | float) and key.most is not None and value > key.most
    most = f" and at most {key.most:,}" if is_large else ""
    return f"{noun} {'above' if key.is_open else 'of at least'} {key.least}{most}"


def _text(key: Key, value: Any, place: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{place}: expected a text, found {value_text(value)}")
    if len(value) > key.longest:
        raise UsageError(f"{place}: longer than {key.longest:,} characters: {value_text(value)}")
    if CONTROL.search(value):
        raise UsageError(f"{place}: a text with control characters: {value_text(value)}")
    return value
