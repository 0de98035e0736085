"""Names that an edit touches: functions, classes, variables, keys, read off its new and its removed lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from compaction.reading.shell.programs import word_set

MAX_NAMES = 8
"""Names kept of one edit, most specific first: enough to say what changed, short enough to ask about."""

MAX_LINES = 4000
"""Lines of one side of an edit that are looked at."""

MAX_LINE = 400
"""Characters of a line that is looked at."""

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|static|async|abstract|pub(?:\([\w: ]{1,30}\))?|unsafe|inline|final"
    r"|override|declare|readonly)\s+){0,6}"
)
_DEFINITION = re.compile(
    r"\s*"
    + _MODIFIERS
    + r"(?:def|class|function\*?|func|fn|interface|type|struct|enum|trait|impl|module|mod|macro_rules!)"
    r"\s+(?:\([^)]{0,120}\)\s*)?([A-Za-z_$][\w$]*)"
)
_VARIABLE = re.compile(r"\s*" + _MODIFIERS + r"(?:const|let|var|val)\s+(?:mut\s+)?([A-Za-z_$][\w$]*)")
_METHOD = re.compile(r"\s+" + _MODIFIERS + r"([A-Za-z_$][\w$]*)\([^()]{0,200}\)(?:\s*:\s*[^{;]{1,80})?\s*\{$")
_ASSIGNMENT = re.compile(
    r"\s*(?:self\.|this\.)?([A-Za-z_$][\w$.-]{1,60})"
    r"(?:\s*:\s*[^=]{1,60}| +[A-Za-z_][\w.]{1,40})?\s*(?:=|:=|\+=)(?![=>])"
)
_KEY = re.compile(r"""\s*(?:-\s+)?["']?([A-Za-z_$@][\w$./@-]{1,60})["']?\s*\??:(?:\s|$)""")
_FIELD = re.compile(r"\s+([A-Z]\w{1,60})\s+[*\[\]\w.{}]{2,60}(?:\s+[`/].*)?$")
_IMPORT = re.compile(r"\s*(?:from\s+[\w.@/\"'-]{1,80}\s+)?import\s+(.{1,300})")
_IMPORTED = re.compile(r"(?<!\bas )\b(?!(?:as|type|from)\b)[A-Za-z_]\w{2,60}")
_COMPOUND = re.compile(r"\b[A-Za-z_]+(?:_[A-Za-z0-9]+|[a-z][A-Z][a-zA-Z]+)\w*")
_SECTION = re.compile(r"\s*\[{1,2}([\w.\"' -]{1,60})\]{1,2}\s*$")
_NAMED = re.compile("|".join(p.pattern for p in (_DEFINITION, _METHOD, _VARIABLE, _ASSIGNMENT, _SECTION, _KEY, _FIELD)))
"""All of these at once, in the order of how much they say: the number of the group that matched is the rank."""

_COMMENT = re.compile(r"\s*(?://|/\*|\*[ /]|#[ !]|-- |<!--)")
_HEADING = re.compile(r"#{1,6}\s+(.{2,60}?)\s*#*$")
_NOT_NAMES = word_set(
    "if for while switch catch return else elif try except finally with case default break continue await yield raise"
    " self this true false null none not and or in is import from lambda pass print throw new do"
)
_PROSE = (".md", ".mdx", ".rst", ".txt")


@lru_cache(maxsize=4_096)
def changed_names(new: str, old: str = "", path: str = "") -> tuple[str, ...]:
    """Names that a change touches, at most eight, definitions first, then variables, then keys.

    Args:
        new: The text after the change (the whole file where it was written anew).
        old: The text that it replaces.
        path: The file's name; of prose the headings count.
    """
    after, before = new.split("\n")[:MAX_LINES], old.split("\n")[:MAX_LINES]
    same = set(after) & set(before) if old else set()
    changed = [line for line in after if line not in same] + [line for line in before if line not in same]
    prose = path.endswith(_PROSE)
    if not prose:
        changed = [line for line in changed if not _COMMENT.match(line)]
    ranked = _rank_names(changed, prose)
    if not ranked and not prose:
        # Nothing is named on the changed lines themselves: the definitions that stand around them say where they are.
        ranked = [pair for pair in _rank_names([line for line in after if line in same], prose) if pair[0] == 0]
    if not ranked and not prose:
        ranked = [(0, name) for line in changed[:40] for name in _COMPOUND.findall(line[:400])[:MAX_NAMES]]
    ranked.sort(key=lambda pair: pair[0])
    return tuple(dict.fromkeys(name for _, name in ranked))[:MAX_NAMES]


_FUNCTION_VALUE = re.compile(
    r"=\s*(?:(?:React\.)?(?:useCallback|memo|forwardRef|debounce|throttle)\b"
    r"|(?:async\s+)?(?:function\b|(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|[\w$]+)(?:\s*:[^=]{1,80})?\s*=>))"
)
"""A value that is a function itself, and no call that is given one."""


def changed_definitions(new: str, old: str, path: str = "") -> tuple[set[str], set[str]]:
    """The functions, classes, types and headings on the lines that a change puts in, and on those that it takes out.

    What is in both has another first line than before.
    """
    after, before = new.split("\n")[:MAX_LINES], old.split("\n")[:MAX_LINES]
    same = set(after) & set(before)
    put_in, taken_out = (set(_defined([s for s in lines if s not in same], path)) for lines in (after, before))
    return put_in, taken_out


def _defined(lines: list[str], path: str) -> Iterator[str]:
    if path.endswith(_PROSE):
        yield from (name for _, name in _rank_names(lines, prose=True))
        return
    for line in lines:
        match = None if len(line) > MAX_LINE or _COMMENT.match(line) else _DEFINITION.match(line) or _METHOD.match(line)
        variable = _VARIABLE.match(line) if match is None and _FUNCTION_VALUE.search(line[:MAX_LINE]) else None
        if (found := match or variable) and found[1].lower() not in _NOT_NAMES:
            yield found[1]


def _rank_names(lines: list[str], prose: bool) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    fenced = False
    for line in lines:
        if len(line) > MAX_LINE or not line.strip():
            continue
        if prose:
            fenced ^= line.startswith("```")
            heading = None if fenced else _HEADING.match(line)
            if heading:
                found.append((0, heading[1]))
            continue
        if "import " in line:
            imported = _IMPORT.match(line)
            if imported:
                found.extend((8, name) for name in _IMPORTED.findall(imported[1].split("from ")[0])[:4])
                continue
        match = _NAMED.match(line)
        if match and match.lastindex and match[match.lastindex].lower() not in _NOT_NAMES:
            rank = match.lastindex - 1
            # A name at the margin belongs to the whole file; one further in to something that is named already.
            inner = rank > 1 and line[0] in " \t"
            found.append((max(0, rank - 1) * 2 + inner, match[match.lastindex].strip("\"' ")))
    return found
