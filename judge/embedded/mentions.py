"""Files and list items in prose: what a summary or a spoken sentence says was created, changed or looked at."""

from __future__ import annotations

import re
from functools import lru_cache

from compaction.model import SectionKind
from compaction.reading.file_effects import FileOp, FileVerb
from compaction.transcript import Message

_PATH = re.compile(r"(?<![\w/.@-])(?:\.{0,2}/)?(?:[\w@.+-]+/)*[\w@+-][\w@.+-]*\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])")
_SOURCE = frozenset(
    """c cc cfg clj conf cpp cs css csv dart env ex exs go gradle graphql h hpp html ini ipynb java jl js json jsonl jsx
    kt less lock lua md mdx mjs mk ml php pl proto ps1 py pyi r rb rs rst sass scala scss sh sql svelte swift tf toml
    traj ts tsx txt vue xml yaml yml zig""".split()
)
"""Endings by which a name without a slash is taken for a file: prose has names with dots that are none."""

_NUMBERED_HEADING = re.compile(
    r"\d{1,2}[.)] .{1,76}:\**\s*\Z"
)  # "7. Pending Tasks:", as some agents' summaries have them
_HEADING = re.compile(r"(?:#{1,6}\s*|\d{1,3}[.)]\s+)?\**([A-Za-z][\w &/'-]{2,60})")
MAX_LINE = 2_000
"""Characters; a longer line is data, not prose."""

_BULLET = re.compile(r"^\s*(?:[-*•+]|\d+[.)])\s+(.*)$")
_CODE = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")
_EMPTY = re.compile(r"^\(?(?:none|nothing|n/?a|empty|-)\b", re.IGNORECASE)

_VERBS: tuple[tuple[FileVerb, re.Pattern[str]], ...] = (
    ("deleted", re.compile(r"\b(?:delet|remov)(?:ed|ing)\b(?! from| the| a\b)", re.IGNORECASE)),
    ("created", re.compile(r"\b(?:creat(?:ed|ing)|new file|added file|wrote)\b", re.IGNORECASE)),
    (
        "modified",
        re.compile(
            r"\b(?:modif\w+|updat(?:ed|ing)|edit(?:ed|s)|chang(?:ed|es)|fix(?:ed|es)|refactor\w*|"
            r"patch(?:ed)?|rewrote|rewritten|extended|replaced|added)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "examined",
        re.compile(r"\b(?:examin\w+|read|view(?:ed)?|inspect\w+|look(?:ed)? at|review\w+|unchanged)\b", re.IGNORECASE),
    ),
)

_SECTION_WORDS: dict[SectionKind, re.Pattern[str]] = {
    "intent": re.compile(r"intent|goal|task overview|request|user.?context|objective", re.IGNORECASE),
    "files": re.compile(r"file|artifact|modification|changes|code.?state", re.IGNORECASE),
    "decisions": re.compile(r"decision|discover|rationale|reason|findings", re.IGNORECASE),
    "next_steps": re.compile(r"next|pending|to.?do|remaining|open|unfinished", re.IGNORECASE),
    "errors": re.compile(r"error|fail|problem|tests", re.IGNORECASE),
    "state": re.compile(r"state|progress|completed|status", re.IGNORECASE),
    "details": re.compile(r"detail|context to preserve|critical|preserve|key", re.IGNORECASE),
}


def file_mentions(message: Message) -> list[FileOp]:
    """Files that prose speaks of, with what is said to have been done to them.

    In a message that a strategy made, a heading ("Files modified") says it for the lines below; in what a person or
    an agent said only a sentence with both the path and the verb counts.
    """
    if "." not in message.text:
        return []
    return _mentions(message.text, message.seq)


@lru_cache(maxsize=32_768)
def _mentions(text: str, seq: int | None) -> list[FileOp]:
    made = seq is None
    found: list[FileOp] = []
    heading = ""
    for line in text.splitlines():
        if len(line) > MAX_LINE or ("." not in line and not made):
            continue
        title = _title(line) if made else None
        if title:
            heading = title
            continue
        paths = [p for p in dict.fromkeys(_PATH.findall(line)) if "/" in p or p.rsplit(".", 1)[-1].lower() in _SOURCE]
        if not paths:
            continue
        verb = _verb(line.split("—", 1)[-1] if "—" in line else line) or (_verb(heading) if made else None)
        if verb is None and made and _SECTION_WORDS["files"].search(heading):
            verb = "modified"
        if verb is None:
            continue
        names = tuple(dict.fromkeys(name for name in _CODE.findall(line) if name not in paths))
        found += [FileOp(p.removeprefix("./"), verb, seq or 0, names[:8]) for p in (paths if made else paths[:3])]
    return found


def _title(line: str) -> str | None:
    """The words of a line that is nothing but a heading."""
    plain = line.strip().rstrip(":* ")
    match = _HEADING.fullmatch(plain) if len(plain) <= 80 else None
    return match[1] if match else None


def _verb(text: str) -> FileVerb | None:
    return next((verb for verb, pattern in _VERBS if pattern.search(text)), None)


@lru_cache(maxsize=32_768)
def section_items(text: str, kind: SectionKind) -> list[str]:
    """The list items under a summary's heading of that kind; empty when it has none."""
    wanted = _SECTION_WORDS.get(kind)
    items: list[str] = []
    inside = False
    for line in text.splitlines():
        if len(line) > MAX_LINE:
            continue
        title = _title(line)
        if title and (_NUMBERED_HEADING.match(line) or not _BULLET.match(line)):
            inside = bool(wanted and wanted.search(title))
            continue
        bullet = _BULLET.match(line)
        if inside and line.strip():
            item = (bullet[1] if bullet else line).strip()
            if not _EMPTY.match(item):
                items.append(item)
    return items
