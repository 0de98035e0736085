"""Edits that a model writes into its answer as text (SEARCH/REPLACE blocks, whole files, diffs), cut out of it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

_HEAD = re.compile(r"<{5,9} SEARCH>?\s*\Z")
_DIVIDER = re.compile(r"={5,9}\s*\Z")
_TAIL = re.compile(r">{5,9} REPLACE\s*\Z")
_FENCE = re.compile(r"(`{3,}|<(?:source|code|pre|codeblock|sourcecode)>)")
_CLOSING = re.compile(r"(?:`{3,}|</(?:source|code|pre|codeblock|sourcecode)>)\s*\Z")


@dataclass
class FileEdit:
    """The changes of one file in an answer."""

    path: str
    edits: list[dict[str, str]] = field(default_factory=list)
    content: str | None = None
    """The whole new file."""
    diff: str | None = None

    def arguments(self) -> dict[str, Any]:
        """The edit as the arguments of a call."""
        if len(self.edits) == 1:
            return {"path": self.path, **self.edits[0]}
        if self.edits:
            return {"path": self.path, "edits": self.edits}
        if self.content is not None:
            return {"path": self.path, "content": self.content}
        return {"path": self.path, "diff": self.diff or ""}


def cut_edits(text: str, applied: Collection[str]) -> tuple[str, list[FileEdit]]:
    """Takes the edits of the applied files out of an answer, with their file names and fences.

    An edit of any other file (one that did not apply, a suggestion) stays in the text.

    Args:
        text: The answer.
        applied: Paths of the files that the log says were edited.

    Returns:
        The text that is left, and an edit for each applied path in its order; one that the answer does not show is
        empty.
    """
    lines = text.split("\n")
    found = {path: FileEdit(path) for path in applied}
    gone: set[int] = set()
    if ">>> REPLACE" in text or ">>>> REPLACE" in text:
        _cut_blocks(lines, found, gone)
    if any(not edit.edits for edit in found.values()):
        _cut_fences(lines, found, gone)
    return "\n".join(_remaining_lines(lines, gone)).strip("\n"), list(found.values())


def _remaining_lines(lines: list[str], gone: set[int]) -> list[str]:
    """The lines that stay, without the second of the blank lines round what was cut out."""
    left: list[str] = []
    was_cut = False
    for at, line in enumerate(lines):
        if at in gone:
            was_cut = True
        elif line.strip() or not was_cut or (left and left[-1].strip()):
            left.append(line)
            was_cut = was_cut and not line.strip()
    return left


def _cut_blocks(lines: list[str], found: dict[str, FileEdit], gone: set[int]) -> None:
    path: str | None = None
    at = 0
    while at < len(lines):
        block = _block(lines, at) if lines[at].startswith("<<<<<") and _HEAD.match(lines[at]) else None
        if block is None:
            at += 1
            continue
        divider, end = block
        first, named = _opening(lines, at)
        path = _resolve(named, found) if named is not None else path
        if path is not None:
            search, replace = lines[at + 1 : divider], lines[divider + 1 : end]
            found[path].edits.append({"search": "\n".join(search), "replace": "\n".join(replace)})
            last = end + 1 if end + 1 < len(lines) and _CLOSING.match(lines[end + 1]) else end
            gone.update(range(first, last + 1))
        at = end + 1


def _block(lines: list[str], start: int) -> tuple[int, int] | None:
    """Find the divider and the end of a block; None if it is cut."""
    divider = None
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if divider is None and _DIVIDER.match(line):
            divider = at
        elif divider is not None and _TAIL.match(line):
            return divider, at
        elif _HEAD.match(line):
            return None
    return None


def _opening(lines: list[str], start: int) -> tuple[int, str | None]:
    """The first line that belongs to a block (its file name or fence), and the name if there is one."""
    first, named = start, None
    for at in range(start - 1, max(-1, start - 4), -1):
        line = lines[at]
        if _FENCE.match(line):
            if named is not None:
                return at, named  # the name was inside of the fence
            if first < start:
                break
            first = at
        elif line.strip() and named is None and not _TAIL.match(line):
            first, named = at, line
            if at + 1 < start:
                break
        else:
            break
    return first, named


def _resolve(line: str, found: dict[str, FileEdit]) -> str | None:
    name = _clean(line)
    if name in found:
        return name
    return next((path for path in found if name and (path.endswith("/" + name) or name.endswith("/" + path))), None)


def _clean(line: str) -> str:
    """A file name without what models put round it."""
    return line.strip().rstrip(":").strip("#`* ").rstrip(":").replace("\\_", "_")


def _cut_fences(lines: list[str], found: dict[str, FileEdit], gone: set[int]) -> None:
    """Whole files under their name, and diffs that name their file."""
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at]) if at not in gone else None
        if opening is None:
            at += 1
            continue
        end = _closing(lines, at, opening[1])
        if end is None:
            return
        body = lines[at + 1 : end]
        named = _resolve(lines[at - 1], found) if at and lines[at - 1].strip() else None
        if named is not None and not found[named].edits and found[named].content is None:
            found[named].content = "\n".join([*body, ""])
            gone.update(range(at - 1, end + 1))
        elif any(line.startswith("+++ ") for line in body[:4]):
            target = next(line for line in body if line.startswith("+++ "))
            path = _resolve(target[4:].partition("\t")[0].removeprefix("b/"), found)
            if path is not None and not found[path].edits and found[path].content is None:
                found[path].diff = "\n".join(filter(None, [found[path].diff, "\n".join(body)]))
                gone.update(range(at, end + 1))
        at = end + 1


def _closing(lines: list[str], start: int, fence: str) -> int | None:
    mark = fence if fence.startswith("`") else fence.replace("<", "</")
    for at in range(start + 1, len(lines)):
        if lines[at].startswith(mark) and _CLOSING.match(lines[at]):
            return at
    return None
