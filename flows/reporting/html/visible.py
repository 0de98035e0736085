"""Text of transcripts and models, made safe to display: invisible characters are shown by their code points."""

from __future__ import annotations

import re

MOST_CHARS = 1_600
"""Characters of one message of a history that a page holds; of longer ones the beginning and the end."""
MOST_CHARS_READ = 8_000
"""The same for what is there to be read in full: answers, truths, summaries, messages that prove a truth."""

_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line end
    "\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"  # order, width, breaks
    "\U000e0000-\U000e007f"  # tags: text that nobody sees
    "\ud800-\udfff]"  # half of a pair
)


def show_invisible(text: str) -> str:
    """The text with every invisible or direction-changing character written as ``‹U+202E›``.

    Zero-width joiners stay: emoji and several scripts need them.
    """
    return _ODD.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text.replace("\r\n", "\n"))


def clip(text: str, most: int = MOST_CHARS) -> tuple[str, int]:
    """The text with visible characters, and the number of characters that were left out of its middle.

    Two thirds of the kept text are its beginning, where commands and first errors are.
    """
    if len(text) <= most:
        return show_invisible(text), 0
    head = most * 2 // 3
    tail = most - head
    return f"{show_invisible(text[:head])}\n⋯\n{show_invisible(text[-tail:])}", len(text) - most
