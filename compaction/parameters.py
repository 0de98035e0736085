"""The type of a strategy's parameter, and the range in its annotation.

A parameter without a range has that of its type: a whole number is a count (0 or more), a fraction is a share (0 to
1), and all are finite. ``Annotated[float, Range(0, 10)]`` says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from compaction.closest import did_you_mean

MOST = 10**9
"""The largest count: more tokens, messages or characters than any session has."""
LONGEST_TEXT = 100_000
"""Characters of a parameter that is a text."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""What no text of a user's may hold: control characters except tab and line feed, and halves of characters."""


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a parameter takes."""

    least: float
    most: float = MOST
    open: bool = False
    """Whether both ends are left out."""

    def holds(self, value: float) -> bool:
        """Whether a number is in the range; NaN never is."""
        return self.least < value < self.most if self.open else self.least <= value <= self.most


Positive = Annotated[int, Range(1)]
"""A count of at least one."""
InnerShare = Annotated[float, Range(0, 1, open=True)]
"""A share, neither nothing nor all."""
_DEFAULTS: dict[Any, Range] = {int: Range(0), float: Range(0, 1)}


def convert_value(name: str, value: Any, expected: Any) -> Any:
    """A parameter's value in its type: a whole number for a float, the text of a type that is made of text.

    Raises ValueError, saying what the parameter takes.
    """
    kinds = get_args(expected) if get_origin(expected) in (Union, UnionType) else (expected,)
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if choices and type(value) in map(type, choices) and value in choices:
        return value
    for kind in kinds:
        plain, *notes = get_args(kind) if get_origin(kind) is Annotated else (kind,)
        if plain in _DEFAULTS:
            if isinstance(value, int | plain) and not isinstance(value, bool):
                range = next((note for note in notes if isinstance(note, Range)), _DEFAULTS[plain])
                return plain(_within(name, value, range))
        elif isinstance(value, str) and isinstance(plain, type) and issubclass(plain, str):
            return _text(name, value, plain)
        elif plain is Any or (get_origin(plain) is not Literal and isinstance(value, get_origin(plain) or plain)):
            return value
    if choices:
        meant = did_you_mean(value, map(str, choices)) if isinstance(value, str) else ""
        raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}, not {value_text(value)}{meant}")
    raise ValueError(f"{name} must be {' or '.join(map(_name, kinds))}, not {value_text(value)}")


def value_text(value: Any) -> str:
    """A value in a message; long ones are cut, and a number of thousands of digits is not written out."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number with thousands of digits"
    return text if len(text) <= 100 else f"{text[:100]}…"


def _within(name: str, value: float, range: Range) -> float:
    if range.holds(value):
        return value
    if range.most == MOST and value < range.least:
        raise ValueError(f"{name} must be at least {range.least}, not {value_text(value)}")
    between = "between" if range.open else "from"
    to = "and" if range.open else "to"
    raise ValueError(f"{name} must be {between} {range.least:,} {to} {range.most:,}, not {value_text(value)}")


def _text(name: str, value: str, kind: type[str]) -> str:
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"{name} is longer than {LONGEST_TEXT:,} characters")
    if CONTROL.search(value):
        raise ValueError(f"{name} holds control characters: {value_text(value)}")
    try:
        return kind(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _name(kind: Any) -> str:
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return "None" if plain is type(None) else getattr(plain, "__name__", str(plain))
