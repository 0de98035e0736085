"""Code mode: the model calls ``exec`` with a program, and what the program ran stands in events of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flows.sources.reading.base import Record
from flows.sources.reading.session import MessageDraft, SessionDraft
from flows.sources.reading.values import objects_in, text_or_none

_HEADS = {"add": ("Add File", "A"), "delete": ("Delete File", "D"), "update": ("Update File", "M")}


def is_program(item: Record) -> bool:
    """Whether an item is a call that holds a program."""
    return item.get("type") == "custom_tool_call" and item.get("name") == "exec"


def add_what_ran(session: SessionDraft, draft: MessageDraft, item: Any, ref: str, time: str | None) -> bool:
    """Adds a command or a change of files that a program made, as a call of the response that called the program.

    Its output is not repeated: the program's own output is what the model saw.

    Returns:
        Whether the item is one, and of no call that the log has.
    """
    kind = str(item.get("type")).replace("_", "").lower() if isinstance(item, dict) else ""
    if kind not in ("commandexecution", "filechange") or session.has_call(item.get("id")):
        return False
    failed = str(item.get("status")).lower() in ("failed", "declined")
    if kind == "commandexecution":
        code = item.get("exit_code", item.get("exitCode"))
        name, text = "exec_command", f"Exit code: {code}" if isinstance(code, int) else str(item.get("status"))
        failed = failed or (isinstance(code, int) and code != 0)
        arguments = {"cmd": item.get("command")}
        folder = text_or_none(item.get("cwd"))
        if folder:
            arguments["workdir"] = folder.removeprefix("file://")
    else:
        changes = list(_changes(item.get("changes")))
        name, text = "apply_patch", "\n".join(f"{sign} {moved or path}" for _, sign, path, moved in changes)
        heads = [
            f"*** {head}: {path}" + (f"\n*** Move to: {moved}" if moved else "") for head, _, path, moved in changes
        ]
        arguments = {"input": "\n".join(["*** Begin Patch", *heads, "*** End Patch"])}
    own = session.call(draft, item.get("id"), name, arguments)
    session.result(own, text, ref, time, is_error=failed, name=name)
    return True


def _changes(changes: Any) -> Iterator[tuple[str, str, str, str | None]]:
    """(head of a patch, sign of a list, path, new path) of each file, from a map by path or a list."""
    if isinstance(changes, dict):
        pairs = list(changes.items())
    else:
        pairs = [(change.get("path"), change.get("kind", change)) for change in objects_in(changes)]
    for path, change in pairs:
        kind, moved = change, None
        if isinstance(change, dict):
            kind = change.get("type") or next((key for key in change if key in _HEADS), None)
            inner = change.get(str(kind))
            moved = (inner if isinstance(inner, dict) else change).get("move_path")
        if isinstance(path, str) and kind in _HEADS:
            yield *_HEADS[kind], path, text_or_none(moved)
