"""The meaning and bounds of a study's keys, said once for the study file, the command's options and the check.

This module imports nothing of the project, so that help and completion start at once.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, replace
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

LONGEST_TEXT = 4_096
"""Characters of a text in a study: as many as a path may have."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key, in the annotation of an attribute: ``Annotated[int, Key("How often each …", least=1, most=1_000)]``."""

    about: str
    """One or two sentences, with the unit."""
    unset: str = ""
    """What holds where the key is not set and has no default."""
    metavar: str = ""
    """What stands for its value in the help of the command."""
    noun: str = ""
    """What a number is in a message: ``a price``."""
    least: float | None = None
    most: float | None = None
    """A larger number is a slip of the hand."""
    is_open: bool = False
    """Whether ``least`` itself is too little."""
    longest: int = LONGEST_TEXT
    """Characters of a text."""
    choices: tuple[str, ...] = ()
    """All that it may be; those of a ``Literal`` are taken from there."""
    example: Any = None
    """What a study file to begin with shows where there is no default."""
    heading: str = "What is compared"
    """Under which the help of a command shows it."""
    off: str = ""
    """Of a switch that is on by default: what the option ``--no-…`` does."""
    type: Any = None
    """``str``, ``int``, ``float``, ``bool`` or ``tuple[str, ...]``; read off the annotation."""
    default: Any = None
    """Read off the attribute."""


def keys_of(kind: type) -> dict[str, Key]:
    """Attribute → its key, of a dataclass; attributes without one are passed over."""
    hints = get_type_hints(kind, include_extras=True)
    found = {}
    for field in fields(kind):
        if get_origin(hints[field.name]) is Annotated:
            plain, key = get_args(hints[field.name])
            known = [one for one in get_args(plain) if one is not NoneType]
            if get_origin(plain) is Literal:
                key = replace(key, choices=get_args(plain), type=str)
            else:
                key = replace(key, type=known[0] if NoneType in get_args(plain) else plain)
            found[field.name] = replace(key, default=None if field.default is MISSING else field.default)
    return found
