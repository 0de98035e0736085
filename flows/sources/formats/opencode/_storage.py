"""opencode's files before 1.2, a folder ``storage``: ``message/<session>/<message>.json`` is an input.

What belongs to it stands beside: the parts of a message in ``part/<message>/<part>.json``, the session itself in
``session/<project>/<session>.json``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.opencode._reading import Placed, Reading
from flows.sources.reading.base import Record, Source
from flows.sources.reading.siblings import load_sibling
from flows.sources.reading.stored import number
from flows.sources.reading.values import as_dict, need_object, nested, text_or_none

MEMBER = re.compile(r"ses_[^/]+/msg_[^/]+\.json\Z")
_ID = re.compile(r"[\w-]+")


def is_stored(value: Any) -> bool:
    """Whether a value is the file of a message."""
    is_said = nested(value, "role") in ("user", "assistant") and isinstance(nested(value, "time"), dict)
    names = [str(nested(value, key)) for key in ("id", "sessionID")]
    return is_said and names[0].startswith("msg_") and names[1].startswith("ses_") and "parts" not in value


def read_folder(source: Source) -> list[Transcript]:
    """The session of a folder of messages."""
    storage = source.input.path.absolute().parents[1]
    name = source.input.path.name
    reading = Reading(source, _describe(storage, name) or {"id": name})
    placed: list[tuple[float, str, Placed]] = []
    for where, record in source.records():
        own = text_or_none(record.get("id")) or source.members[where].stem
        message = {"info": record, "parts": _parts(source, where, storage / "part", own)}
        created = number(nested(record, "time", "created"))
        placed.append((created, own, (where, message, source.ref(where))))
    return reading.read([one for _, _, one in sorted(placed, key=lambda one: one[:2])])


def _describe(storage: Path, session: str) -> Record | None:
    for path in sorted(storage.glob(f"session/*/{session}.json")):
        if not path.is_symlink():
            return as_dict(load_sibling(path)) or None
    return None


def _parts(source: Source, where: int, folder: Path, message: str) -> list[Record]:
    found: list[Record] = []
    if _ID.fullmatch(message) is None:
        return found
    for path in sorted((folder / message).glob("*.json")):
        if not path.is_symlink():
            with source.setting_aside(where, f"its part {path.name}", ""):
                found.append(need_object(load_sibling(path), "what can be read of it"))
    return found
