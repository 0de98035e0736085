"""Changes that agents write as text: Codex's patches, unified diffs, SEARCH/REPLACE blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True)
class PatchChange:
    """The change of one file in a patch."""

    path: str
    kind: Literal["add", "update", "delete"]
    moved_to: str = ""
    added_lines: list[str] = field(default_factory=list)
    removed_lines: list[str] = field(default_factory=list)

    @property
    def added(self) -> str:
        """The new lines."""
        return "\n".join(self.added_lines)

    @property
    def removed(self) -> str:
        """The old lines."""
        return "\n".join(self.removed_lines)


def patch_changes(text: str) -> list[PatchChange]:
    """The changes of a patch in any of the formats; an empty list for text that is none.

    SEARCH/REPLACE blocks name no file: their one change has an empty path.
    """
    if "*** Begin Patch" in text or "*** Update File:" in text or "*** Add File:" in text:
        return _codex(text)
    if ">>> REPLACE" in text:
        return _search_replace(text)
    if "+++ " in text:
        return _unified(text)
    return []


def _codex(text: str) -> list[PatchChange]:
    changes: list[PatchChange] = []
    for line in text.split("\n"):
        if line.startswith("*** "):
            head, _, rest = line[4:].partition(": ")
            path = rest.strip()
            if not path:
                continue
            if head == "Add File":
                changes.append(PatchChange(path, "add"))
            elif head == "Update File":
                changes.append(PatchChange(path, "update"))
            elif head == "Delete File":
                changes.append(PatchChange(path, "delete"))
            elif head == "Move to" and changes:
                changes[-1].moved_to = path
        elif changes and line.startswith("+"):
            changes[-1].added_lines.append(line[1:])
        elif changes and line.startswith("-"):
            changes[-1].removed_lines.append(line[1:])
    return changes


def _search_replace(text: str) -> list[PatchChange]:
    change, side = PatchChange("", "update"), ""
    for line in text.split("\n"):
        if line.startswith("<<<<<") and line.rstrip().endswith("SEARCH"):
            side = "old"
        elif side == "old" and line.startswith("====="):
            side = "new"
        elif line.startswith(">>>>>") and line.rstrip().endswith("REPLACE"):
            side = ""
        elif side:
            (change.removed_lines if side == "old" else change.added_lines).append(line)
    return [change]


def _unified(text: str) -> list[PatchChange]:
    changes: list[PatchChange] = []
    old = ""
    for line in text.split("\n"):
        if line.startswith("--- "):
            old = _diff_path(line)
        elif line.startswith("+++ "):
            new = _diff_path(line)
            if new == "/dev/null" and old:
                changes.append(PatchChange(old, "delete"))
            elif new:
                changes.append(PatchChange(new, "add" if old == "/dev/null" else "update"))
        elif changes and line.startswith("+"):
            changes[-1].added_lines.append(line[1:])
        elif changes and line.startswith("-"):
            changes[-1].removed_lines.append(line[1:])
    return changes


def _diff_path(line: str) -> str:
    path = line[4:].split("\t", 1)[0].strip()
    return path[2:] if path.startswith(("a/", "b/")) else path
