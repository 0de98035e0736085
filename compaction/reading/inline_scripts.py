"""Files that a script on the command line writes: the ``open(…, "w")`` of ``python - <<'PY'``, read by pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

ScriptVerb = Literal["create_or_overwrite", "append", "edit", "delete", "read"]

_PY_NAME = re.compile(
    r"^[ \t]*(\w+)[ \t]*=[ \t]*(?:(?:pathlib\.)?Path\([ \t]*)?r?(['\"])([^'\"\n\\{}]{1,300})\2[ \t]*\)?[ \t]*;?[ \t]*$",
    re.M,
)
_PY_OPEN = re.compile(
    r"\bopen\(\s*(?:r?(['\"])([^'\"\n\\{}]{1,300})\1|(\w+))\s*(?:,\s*(?:mode\s*=\s*)?['\"]([rwaxbt+]{1,3})['\"])?"
)
_PY_PATH = re.compile(
    r"(?:\bPath\(\s*r?(['\"])([^'\"\n\\{}]{1,300})\1\s*\)|\b(\w+))\.(write_text|write_bytes|read_text|unlink)\("
)
_PY_REMOVE = re.compile(r"\bos\.(?:remove|unlink)\(\s*(?:r?(['\"])([^'\"\n\\{}]{1,300})\1|(\w+))\s*\)")


def python_effects(body: str) -> Iterator[tuple[str, ScriptVerb]]:
    """Files that a short Python script names in so many words when it opens, writes or removes them."""
    if not any(
        hint in body for hint in ("open(", ".write_text(", ".write_bytes(", ".unlink(", ".read_text(", "os.remove(")
    ):
        return
    names = {m[1]: m[3] for m in _PY_NAME.finditer(body)}
    read: dict[str, None] = {}
    written: dict[str, ScriptVerb] = {}
    for match in _PY_OPEN.finditer(body):
        path, mode = match[2] or names.get(match[3] or ""), match[4] or "r"
        if path and mode[0] in "wx":
            written[path] = "create_or_overwrite"
        elif path and (mode[0] == "a" or "+" in mode):
            written.setdefault(path, "append" if mode[0] == "a" else "edit")
        elif path:
            read[path] = None
    for match in _PY_PATH.finditer(body):
        path = match[2] or names.get(match[3] or "")
        if path and match[4] in ("write_text", "write_bytes"):
            written[path] = "create_or_overwrite"
        elif path and match[4] == "read_text":
            read[path] = None
        elif path:
            written[path] = "delete"
    for match in _PY_REMOVE.finditer(body):
        path = match[2] or names.get(match[3] or "")
        if path:
            written[path] = "delete"
    for path, verb in written.items():
        yield path, "edit" if path in read and verb == "create_or_overwrite" else verb
    yield from ((path, "read") for path in read if path not in written)
