"""Files that an agent without tools writes: fenced diffs, SEARCH/REPLACE blocks, code blocks under a file's name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compaction.reading.changed_names import changed_names
from compaction.reading.file_effects import FileOp, FileVerb
from compaction.reading.patches import PatchChange, patch_changes
from compaction.transcript import Message

_BLOCK = re.compile(r"^(```+|~~~+)([^\n`]*)\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?<![\w/.])(?:[\w@~.-]+/)*[\w@.-]*\w\.[A-Za-z]\w{0,9}(?![\w/])")
_VERBS: dict[str, FileVerb] = {"add": "created", "update": "modified", "delete": "deleted"}

LOOKED_AT = 400
"""Characters before a block in which its file may be named."""


def written_files(message: Message) -> Iterator[FileOp]:
    """Yield the changes of files in an assistant's blocks; the block or the line above names the file."""
    if message.role != "assistant" or ("```" not in message.text and "~~~" not in message.text):
        return
    for block in _BLOCK.finditer(message.text):
        above = message.text[max(0, block.start() - LOOKED_AT) : block.start()].split("\n")
        near = [line for line in above if line.strip(" -\t")][-1:]
        for change in _changes(block[2].strip(), block[3], near[0] if near else ""):
            names = changed_names(change.added, change.removed, change.path)
            yield FileOp(change.path, _VERBS[change.kind], -1 if message.seq is None else message.seq, names)


def _changes(info: str, body: str, above: str) -> list[PatchChange]:
    """The changes of one block; a block of code counts as a file only where a file's name is its title."""
    changes = patch_changes(body)
    is_diff = bool(changes) or info.startswith(("diff", "patch"))
    title = above.strip(" `*#:")
    named = [title] if _FILE.fullmatch(title) else _FILE.findall(info)
    if not named and is_diff:
        named = _FILE.findall(above)[-1:]
    if changes and changes[0].path:
        return changes
    if not named:
        return []
    if not changes and not is_diff:
        return [PatchChange(named[0], "add", added_lines=body.split("\n"))]
    if not changes:
        lines = body.split("\n")
        added, removed = ([line[1:] for line in lines if line.startswith(sign)] for sign in "+-")
        changes = [PatchChange("", "update", "", added, removed)]
    is_new = not any(line.strip() for line in changes[0].removed_lines)
    return [PatchChange(named[0], "add" if is_new else "update", "", changes[0].added_lines, changes[0].removed_lines)]
