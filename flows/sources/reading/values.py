"""Access to decoded JSON values of uncertain kind."""

from __future__ import annotations

from typing import Any

from flows.sources.reading.base import MalformedError, Record, kind_of


def as_dict(value: Any) -> Record:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_in(value: Any) -> list[Record]:
    """The objects of a list; none if the value is no list."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def nested(value: Any, *keys: str) -> Any:
    """The value under several keys, one inside the other; None where an object or its key is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_or_none(value: Any) -> str | None:
    """The value if it is a string with something in it."""
    return value if isinstance(value, str) and value else None


def first_text(*values: Any) -> str | None:
    """The first of the values that is a string with something in it."""
    return next((value for value in values if isinstance(value, str) and value), None)


def first_item(value: Any, default: Any = None) -> Any:
    """The first item of a list; the default for an empty list and for anything else."""
    return value[0] if isinstance(value, list) and value else default


def int_or_none(value: Any) -> int | None:
    """The value if it is a whole number (``true`` is none)."""
    return value if type(value) is int else None


def need_object(value: Any, what: str) -> Record:
    """The value, an object.

    Raises:
        MalformedError: It is something else; the message calls it ``what``.
    """
    if not isinstance(value, dict):
        raise MalformedError(f"{what} is {kind_of(value)}, expected an object")
    return value


def need_list(value: Any, what: str, expected: str = "a list") -> list[Any]:
    """The value, a list.

    Raises:
        MalformedError: It is something else; the message calls it ``what``.
    """
    if not isinstance(value, list):
        raise MalformedError(f"{what} is {kind_of(value)}, expected {expected}")
    return value
