"""Reads tool output: which lines are errors, what a run ended with, which versions are named.

Strict on purpose: a probe asks for an error word by word, so a line of source that only mentions errors must not be
taken for one. Every reader first looks for plain substrings, then runs anchored patterns on the few lines left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from compaction.reading.call_outcomes import exit_code
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
from compaction.reading.run_reports import failing_tests, test_totals, without_colours

__all__ = ["ErrorLine", "error_lines", "exit_code", "failing_tests", "test_totals", "versions"]


MAX_LINE = 300
"""Characters of an error line that are kept."""


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
    for start, end in _lines_with(text, HINTS, tracebacks):
        raw = text[start : min(end, start + 2000)]
        kind: ErrorKind | None = "exception" if start in tracebacks else _kind(raw, text, end)
        line = raw.strip()[:MAX_LINE]
        if kind is not None and line not in found:
            found[line] = ErrorLine(kind, line)
    return list(found.values())


def _lines_with(text: str, hints: tuple[str, ...], more: set[int] | None = None) -> Iterator[tuple[int, int]]:
    """Start and end of every line that holds one of the hints, in order; linear in the text for each hint."""
    starts = set(more or ())
    for hint in hints:
        position = text.find(hint)
        while position >= 0:
            starts.add(text.rfind("\n", 0, position) + 1)
            line_end = text.find("\n", position)
            position = text.find(hint, line_end + 1) if line_end >= 0 else -1
    for start in sorted(starts):
        end = text.find("\n", start)
        yield start, len(text) if end < 0 else end


def _ends_of_tracebacks(text: str) -> set[int]:
    """Where the line with the exception begins, of every Python traceback."""
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


_VERSION_HINTS = ("==", ">=", "~=", "── ", "nstalled ", "atisfied", "ersion ", "Python ", "platform ")
_SHORT = 1500
"""Characters of an answer that is short enough to be the answer to ``--version``: every line of it is read."""

_NUMBER = r"v?(\d+\.\d+[\w.+-]{0,30})"
_LINE_NUMBER = re.compile(r"\s*\d{1,6}(?:→|\t)")
_VERSION_LINES = (
    re.compile(
        r"\s*[\"']?([A-Za-z][\w.-]{0,80})(?:\[[\w, -]{1,80}\])?\s?(?:==|>=|~=|===)\s?"
        + _NUMBER
        + r"(?:\s*[,;#<!].{0,200})?[\"']?,?$"
    ),
    re.compile(r"[\s│|]*[├└+`]─*[┬─]*\s?(@?[\w./-]{1,100})@" + _NUMBER),
    re.compile(
        r"(Python|rustc|cargo|pytest|ruff|mypy|black|deno|bun|npm|yarn|pnpm|Poetry|uv|tsc) (?:\(?version )?" + _NUMBER
    ),
    re.compile(r"(git|go|Docker|node|GNU Make|gcc|clang) version (?:go)?" + _NUMBER),
    re.compile(r"\s*(?:require )?([\w-]+\.[a-z]{2,10}/[\w./-]{1,120}) " + _NUMBER + r"(?:\s*//.{0,60})?$"),
)
_SATISFIED = re.compile(r"Requirement already satisfied: ([A-Za-z][\w.-]{0,80})\S* .{0,300}\((\d+\.[\w.+-]{1,30})\)")
_INSTALLED = re.compile(r"([A-Za-z][\w.]*(?:-[A-Za-z][\w.]*)*)-(\d+(?:\.\w+){0,5})(?=\s|,|$)")
_JSON_VERSION = re.compile(r'\s*"(@?[\w./-]{1,100})": ?"([~^]?\d+\.\d+[\w.+-]{0,30})",?$')
_TOML_VERSION = re.compile(r'\s*([A-Za-z][\w.-]{0,80}) = (?:\{ ?version = )?"([~^>=]{0,2}\d+\.\d+[\w.*+-]{0,30})"')
_TABLE_ROW = re.compile(r"([A-Za-z][\w.-]{0,80})\s+(\d+(?:\.[\w.+-]+)?)(?:\s+\S+)?$")


_DOTTED = re.compile(r"\d\.\d")


def versions(text: str) -> list[tuple[str, str]]:
    """Names and versions that a listing, a manifest or a tool's own answer gives, in order, each once."""
    if len(text) < _SHORT and not _DOTTED.search(text):
        return []
    whole = text.strip() if len(text) < 40 else ""
    if whole and re.fullmatch(r"v\d+\.\d+\.\d+", whole):
        return [("node", whole[1:])]
    found: dict[tuple[str, str], None] = {}
    table = _table_rows(text)
    manifest = 'ependencies"' in text
    toml = "[tool.poetry" in text or "ependencies]" in text
    hints = _VERSION_HINTS + (('": "',) if manifest else ()) + ((' = "', " = {") if toml else ())
    hints += (" v",) if "require" in text else ()
    for start, end in _lines_with(text, ("",) if len(text) < _SHORT else hints):
        line = text[start : min(end, start + 1000)].rstrip("\r")
        if not _DOTTED.search(line):
            continue
        numbered = _LINE_NUMBER.match(line)
        line = line[numbered.end() :] if numbered else line
        for pair in _line_versions(line, manifest, toml):
            found.setdefault(pair, None)
    for pair in table:
        found.setdefault(pair, None)
    return list(found)


def _line_versions(line: str, manifest: bool, toml: bool) -> Iterator[tuple[str, str]]:
    if line.startswith(("Successfully installed ", "platform ")):
        for match in _INSTALLED.finditer(line):
            yield match[1], match[2]
        python = re.search(r"-- Python (\d+\.\d+\.\d+)", line)
        if python:
            yield "Python", python[1]
        return
    patterns = (
        *_VERSION_LINES,
        _SATISFIED,
        *((_JSON_VERSION,) if manifest else ()),
        *((_TOML_VERSION,) if toml else ()),
    )
    for pattern in patterns:
        found = pattern.match(line)
        if found and found[1] not in ("version", "name"):
            yield found[1], found[2].rstrip(".,")
            return


def _table_rows(text: str) -> Iterator[tuple[str, str]]:
    """The rows of ``pip list``: a header, a rule, then one package a line."""
    position = text.find("Package ")
    while position >= 0:
        header_end = text.find("\n", position)
        if header_end >= 0 and "Version" in text[position : min(header_end, position + 200)]:
            line = header_end + 1
            while line > 0 and line < len(text):
                end = text.find("\n", line)
                row = text[line : min(end if end >= 0 else len(text), line + 300)].rstrip()
                match = _TABLE_ROW.match(row)
                if match:
                    yield match[1], match[2]
                elif not row.startswith("---"):
                    break
                line = end + 1
            position = text.find("Package ", max(line, header_end))
        else:
            position = text.find("Package ", position + 8)
