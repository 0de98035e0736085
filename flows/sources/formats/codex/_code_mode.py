"""Code mode: the model calls ``exec`` with a program, and what the program ran stands in events of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flows.sources.reading.base import Record
from flows.sources.reading.session import MessageDraft, SessionDraft
from flows.sources.reading.values import objects_in, text_or_none

_HEADS = {"add": ("Add File", "A"), "delete": ("Delete File", "D"), "update": ("Update File", "M")}


def is_program(item: Record) -> bool:
    """Whether an item is a call that holds a program."""
    return item.get("type") in ("custom_tool_call", "function_call") and item.get("name") == "exec"


def add_what_ran(session: SessionDraft, draft: MessageDraft, item: Any, ref: str, time: str | None) -> bool:
    """Adds a command or a change of files that a program made, as a call of the response that called the program.

    Its output is not repeated: the program's own output is what the model saw.

    Returns:
        Whether the item is one, of no call that the log has, and not of the person, who runs commands too.
    """
    ran = what_ran(item)
    if ran is None or session.has_call(item.get("id")) or str(item.get("source")).startswith("user"):
        return False
    own = session.call(draft, item.get("id"), ran.name, ran.arguments)
    session.result(own, ran.text, ref, time, is_error=ran.failed, name=ran.name)
    return True


@dataclass(frozen=True, slots=True)
class Ran:
    """A command or a change of files, as a call, and how it ended."""

    name: str
    arguments: dict[str, Any]
    text: str
    failed: bool


def what_ran(item: Any, *, with_lines: bool = False) -> Ran | None:
    """The command or the change of files that an item tells of; None for any other item.

    Args:
        item: The item.
        with_lines: Whether the patch gets the changed lines. A log of a code-mode program has them already.
    """
    kind = str(item.get("type")).replace("_", "").lower() if isinstance(item, dict) else ""
    failed = kind in ("commandexecution", "filechange") and str(item.get("status")).lower() in ("failed", "declined")
    if kind == "commandexecution":
        code = item.get("exit_code", item.get("exitCode"))
        arguments = {"cmd": item.get("command")}
        folder = text_or_none(item.get("cwd"))
        if folder:
            arguments["workdir"] = folder.removeprefix("file://")
        text = f"Exit code: {code}" if isinstance(code, int) else str(item.get("status"))
        return Ran("exec_command", arguments, text, failed or (isinstance(code, int) and code != 0))
    if kind == "filechange":
        changes = list(_changes(item.get("changes")))
        text = "\n".join(f"{sign} {moved or path}" for _, sign, path, moved, _ in changes)
        heads = [
            f"*** {head}: {path}" + (f"\n*** Move to: {moved}" if moved else "") + (body if with_lines else "")
            for head, _, path, moved, body in changes
        ]
        return Ran("apply_patch", {"input": "\n".join(["*** Begin Patch", *heads, "*** End Patch"])}, text, failed)
    return None


def _changes(changes: Any) -> Iterator[tuple[str, str, str, str | None, str]]:
    """(head of a patch, sign of a list, path, new path, lines) of each file, from a map by path or a list."""
    if isinstance(changes, dict):
        pairs = [(path, change, None) for path, change in changes.items()]
    else:
        pairs = [(change.get("path"), change.get("kind", change), change.get("diff")) for change in objects_in(changes)]
    for path, change, diff in pairs:
        kind, moved = change, None
        if isinstance(change, dict):
            kind = change.get("type") or next((key for key in change if key in _HEADS), None)
            inner = change.get(str(kind))
            moved = (inner if isinstance(inner, dict) else change).get("move_path")
        if isinstance(path, str) and isinstance(kind, str) and kind in _HEADS:
            yield *_HEADS[kind], path, text_or_none(moved), _body(kind, diff)


def _body(kind: str, diff: Any) -> str:
    """The lines of a change as a patch has them: of a new file the text, of a changed one the difference."""
    if not isinstance(diff, str) or kind == "delete":
        return ""
    lines = [line for line in diff.splitlines() if not line.startswith(("--- ", "+++ "))]
    return "".join(f"\n{'+' if kind == 'add' else ''}{line}" for line in lines)
