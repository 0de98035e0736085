"""Files in prose: what a summary or a spoken sentence says was created, changed or looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from compaction.reading.file_effects import FileOp, FileVerb
from compaction.transcript import Message
from judge.measures.labelled_statements import MAX_LINE, Said, joined, statements

_PATH = re.compile(r"(?<![\w/.@-])(?:\.{0,2}/)?(?:[\w@.+-]+/)*[\w@+-][\w@.+-]*\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])")
_LISTED = re.compile(
    r"`?(/?(?:[\w@.+-]+/)+[\w@.+-]+|\.[A-Za-z][\w.-]+|(?:Make|Docker|Gem|Rake|Proc|Vagrant|Jenkins)file|LICENSE|NOTICE)"
    r"`?(?=\s*(?:[(:,–—-]|\Z))"
)
"""A file without an ending, as an item of a list begins with it."""
_MAY_NAME = re.compile(r"\.[A-Za-z]|/|[A-Z]\w+file\b|LICENSE|NOTICE")
"""What every line has that one of these can be found in."""
_SOURCE = frozenset(
    """c cc cfg clj conf cpp cs css csv dart env ex exs go gradle graphql h hpp html ini ipynb java jl js json jsonl jsx
    kt less lock lua md mdx mjs mk ml php pl proto ps1 py pyi r rb rs rst sass scala scss sh sql svelte swift tf toml
    traj ts tsx txt vue xml yaml yml zig""".split()
)
"""Endings by which a name without a slash is taken for a file: prose has names with dots that are none."""

_CODE = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")
_VERBS: tuple[tuple[FileVerb, re.Pattern[str]], ...] = (
    ("deleted", re.compile(r"\b(?:delet|remov)(?:ed|ing)\b(?! from| the| a\b)", re.IGNORECASE)),
    (
        "created",
        re.compile(
            r"\b(?:creat(?:ed|ing)|new files?|added files?|wrote)\b|[(\[]new(?=[)\],;:])|\bnew\Z", re.IGNORECASE
        ),
    ),
    (
        "modified",
        re.compile(
            r"\b(?:modif(?:ied|ies|y|ying)|updat(?:ed|ing)|edit(?:ed|s)|chang(?:ed|es)|fix(?:ed|es)|refactor\w*|"
            r"patch(?:ed)?|rewrote|rewritten|extended|replaced|added)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "examined",
        re.compile(r"\b(?:examin\w+|read|view(?:ed)?|inspect\w+|look(?:ed)? at|review\w+|unchanged)\b", re.IGNORECASE),
    ),
)

_NAME = re.compile(rf"{_PATH.pattern}|(?<![\w.)/])/[\w@.+:{{}}/-]+|`[^`\s]*[^`\sA-Za-z][^`\s]*`")
"""Files, routes and code: words in them say nothing of what was done."""

_STATUS = re.compile(r"\A(?:(A|\?\?|\+)|(M|~)|(D))[AMD]?\s+[`*]*\Z")
"""What stands before a file as in ``git status``: of one that was created, modified, deleted."""

_ALONE = re.compile(r"[`*]*\s*(?:[(:,;–—-]|\Z)")
"""What stands behind such a file: no sentence about it."""

_IS_WHERE = re.compile(r"\s(?:from|in|into|to)\s", re.IGNORECASE)
"""Between a word of deleting or creating and a file: it is said of something else, and the file is where."""

_ELSEWHERE: Mapping[FileVerb, FileVerb | None] = {"deleted": "modified", "created": None}
"""What such a word says of the file: tests that were created in a file are in a new file or in an old one."""

_FILES = re.compile(r"file|artifact|modification|changes|code.?state|touched|paths?\b", re.IGNORECASE)
"""Words of a label below which files stand."""


def file_mentions(message: Message) -> list[FileOp]:
    """The files that prose names, with the operations that it ascribes to them.

    In a message that a strategy made, a label ("Files modified", a column, a key) says it where the statement does not;
    in what a person or an agent said only a sentence with both the path and the verb counts.
    """
    made = message.seq is None
    found = []
    for heading, said in statements(message.text, _MAY_NAME) if made or "." in message.text else ():
        for label, path, told, names in _named_in(said, made):
            verb = told or (_verb_of_label(joined(heading, label)) if made else None)
            if verb is not None:
                found.append(FileOp(path, verb, 0, names))
    return found


@lru_cache(maxsize=16_384)
def _named_in(said: Said, made: bool) -> tuple[tuple[str, str, FileVerb | None, tuple[str, ...]], ...]:
    """The files that a line names, each with the label of its statement."""
    return tuple((one.label, *told) for one in said for told in _find_named(one.text, made))


def _find_named(said: str, made: bool) -> tuple[tuple[str, FileVerb | None, tuple[str, ...]], ...]:
    """The files of a statement, each with its verb, if there is one, and the names told with it."""
    if len(said) > MAX_LINE or not _MAY_NAME.search(said):
        return ()
    places = {
        m.start(): m[0] for m in _PATH.finditer(said) if "/" in m[0] or m[0].rsplit(".", 1)[-1].lower() in _SOURCE
    }
    if made and not places and (listed := _LISTED.match(said)):
        places = {listed.start(1): listed[1]}
    if not places:
        return ()
    prose = _NAME.sub(lambda m: "." * len(m[0]), said)
    verbs = sorted((m.start(), verb) for verb, pattern in _VERBS for m in pattern.finditer(prose))
    named = list(places.items())[: None if made else 3]
    found = []
    for n, (start, path) in enumerate(named):
        end = named[n + 1][0] if n + 1 < len(named) else len(said)
        about = said[start:end] if len(named) > 1 else said
        names = dict.fromkeys(name for name in _CODE.findall(about) if name not in places.values())
        verb = (_status(said, start, path) if made else None) or _verb_of(start, path, verbs, said)
        found.append((path.removeprefix("./"), verb, tuple(names)[:8]))
    return tuple(found)


_PASSIVE = re.compile(r"[`'\"*)\]]*[\s,(\[:—-]*(?:(?:was|were|has been|have been|is|got|newly|only|just)\s+){0,3}\Z")


def _verb_of(start: int, path: str, verbs: list[tuple[int, FileVerb]], said: str) -> FileVerb | None:
    """The verb of the path at ``start``: right after it, else last before it, else after it."""
    end = start + len(path)
    after = [(at, verb) for at, verb in verbs if at >= end]
    if after and _PASSIVE.match(said[end : after[0][0]]):
        return after[0][1]
    before = [(at, verb) for at, verb in verbs if at < start]
    if before and before[-1][1] in _ELSEWHERE and _IS_WHERE.search(said[before[-1][0] : start]):
        return _ELSEWHERE[before[-1][1]]
    return before[-1][1] if before else after[0][1] if after else None


def _status(said: str, start: int, path: str) -> FileVerb | None:
    mark = _STATUS.match(said[:start]) if _ALONE.match(said[start + len(path) :]) else None
    return ("created" if mark[1] else "modified" if mark[2] else "deleted") if mark else None


@lru_cache(maxsize=2_048)
def _verb_of_label(label: str) -> FileVerb | None:
    verb = next((verb for verb, pattern in _VERBS if pattern.search(label)), None)
    return verb or ("modified" if _FILES.search(label) else None)
