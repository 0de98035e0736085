"""Text of transcripts and models, made harmless to look at: what has no shape of its own is shown as its name."""

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


def visible(text: str) -> str:
    """The text with every character that is not seen, or that turns others around, as ``‹U+202E›``.

    Zero-width joiners stay: emoji and several scripts need them.
    """
    return _ODD.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text.replace("\r\n", "\n"))


def clipped(text: str, most: int = MOST_CHARS) -> tuple[str, int]:
    """The text, visible, and how many characters were left out of its middle.

    Two thirds of what stays are the beginning: commands and first errors stand there.
    """
    if len(text) <= most:
        return visible(text), 0
    head = most * 2 // 3
    tail = most - head
    return f"{visible(text[:head])}\n⋯\n{visible(text[-tail:])}", len(text) - most
