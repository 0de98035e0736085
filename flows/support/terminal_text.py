"""Text that is shown on a terminal."""

from __future__ import annotations

import re

WIDTH = 100
"""Columns where there is no terminal to ask."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a transcript can hold to take over a terminal: shown as text, but for tabs and line ends."""


def without_controls(text: str) -> str:
    r"""The text with control characters written out, such as ``\x1b``."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
