"""Reads tool output: which lines are errors.

Strict on purpose: a probe asks for an error word by word, so a line of source that only mentions errors must not be
taken for one. Every reader first looks for plain substrings, then runs anchored patterns on the few lines left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compaction.reading.error_patterns import (
    CODE_END,
    CODE_WORD,
    END_OF_TRACEBACK,
    HINTS,
    INDENTED,
    LOG_HTTP,
    NUMBERED,
    PATTERNS,
    SEARCH_HIT,
    STACK_EXCEPTION,
    TRACEBACK,
    ErrorKind,
)
from compaction.reading.run_reports import without_colours

MAX_LINE = 300
"""Characters of an error line that are kept."""

_APPENDED = "[Python Interpreter: "
"""What OpenHands writes behind the last line of an output, without a line break."""


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """One line that reports an error."""

    kind: ErrorKind
    line: str
    """The line as printed, without colours and outer spaces, at most 300 characters."""


def error_lines(text: str) -> list[ErrorLine]:
    """The lines of some tool output that report an error, in order, each once."""
    text = without_colours(text)
    tracebacks = _ends_of_tracebacks(text)
    found: dict[str, ErrorLine] = {}
    for start, end in _hinted_lines(text, tracebacks):
        raw = text[start : min(end, start + 2000)]
        kind: ErrorKind | None = "exception" if start in tracebacks else _kind(raw, text, end)
        line = raw.partition(_APPENDED)[0].strip()[:MAX_LINE]
        if kind is not None and line not in found:
            found[line] = ErrorLine(kind, line)
    return list(found.values())


def _hinted_lines(text: str, more: set[int]) -> Iterator[tuple[int, int]]:
    """Start and end of more lines and of every one with a hint, in order; linear in the text for each hint."""
    starts = set(more)
    for hint in HINTS:
        position = text.find(hint)
        while position >= 0:
            starts.add(text.rfind("\n", 0, position) + 1)
            line_end = text.find("\n", position)
            position = text.find(hint, line_end + 1) if line_end >= 0 else -1
    for start in sorted(starts):
        end = text.find("\n", start)
        yield start, len(text) if end < 0 else end


def _ends_of_tracebacks(text: str) -> set[int]:
    """Find the line with the exception of every Python traceback."""
    ends: set[int] = set()
    position = text.find(TRACEBACK)
    while position >= 0:
        indent = text[text.rfind("\n", max(0, position - 60), position) + 1 : position] if position else ""
        line = next_line = text.find("\n", position) + 1
        if line > 0 and indent.strip() == "" and len(indent) < 40:
            for _ in range(400):
                end = text.find("\n", line)
                head = text[line : min(end if end >= 0 else len(text), line + 300)]
                if head.startswith(indent) and head.strip() and head[len(indent)] not in " \t\r":
                    if END_OF_TRACEBACK.match(head, len(indent)) and not head.startswith(TRACEBACK, len(indent)):
                        ends.add(line)
                    break
                if end < 0:
                    break
                line = end + 1
        position = text.find(TRACEBACK, next_line) if next_line else -1
    return ends


def _kind(raw: str, text: str, end: int) -> ErrorKind | None:
    line = raw.strip()
    if (
        not line
        or NUMBERED.match(raw)
        or CODE_WORD.match(line)
        or CODE_END.search(line[-20:])
        or SEARCH_HIT.match(line)
    ):
        return None
    if raw[0] in " \t":
        if INDENTED.match(line):
            return "test" if not line[0].isdigit() else "compiler"
        following = text[end + 1 : end + 200].lstrip()
        return "exception" if STACK_EXCEPTION.match(raw) and following.startswith("at ") else None
    if LOG_HTTP.search(line):
        return "http"
    for kind, pattern in PATTERNS:
        if pattern.match(line):
            return kind
    return None
