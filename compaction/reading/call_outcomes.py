"""Outcomes of tool calls: the failed ones, and the effects of a command line before its failure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from compaction.reading.shell.effects import Effect
from compaction.transcript import Message

_REFUSALS = (
    "The user doesn't want",
    "Permission to use",
    "<tool_use_error>",
    "[Request interrupted",
    "rejected by user",
    "Claude requested permissions",
    "This command requires approval",
    "User rejected",
    "exec_command failed",
)
_TOOL_FAILURES = (
    "Error:",
    "ERROR:",
    "Error ",
    "<tool_use_error>",
    "No replacement was performed",
    "Invalid `",
    "Could not find",
    "File not found",
    "String to replace not found",
    "apply_patch verification failed",
    "Failed to ",
    "Operation aborted",
)
_NOT_APPLIED = (
    "Your changes have NOT been applied",
    "Your proposed edit has introduced new syntax error",
    "edit was not applied",
)
_MISSING = (
    "No such file",
    "no such file or directory: ",
    "can't read",
    "cannot stat",
    "cannot access",
    "Is a directory",
    "did not match any file",
    "not found",
)

_SHELL_SAYS = re.compile(r"(?:-?(?:/bin/)?(?:bash|zsh|sh)|\(eval\)):(?:line )?[^/]{0,20}(?:no such file|[~./\w])")
_EXIT = re.compile(
    r"^\W{0,3}(?:(?:Process|(?:The )?[Cc]ommand) (?:exited|finished|completed) with (?:exit )?code"
    r"|[Ee]xit(?:ed with)? (?:code|status):?|<returncode>|returncode:?) ?(-?\d{1,5})\b",
    re.MULTILINE,
)
_EXIT_JSON = re.compile(r'"exit_code": ?(-?\d{1,5})\b')
_EXIT_HINTS = ("exit", "Exit", "returncode")


def exit_code(text: str) -> int | None:
    """The exit code as the agents' harnesses write it around a command's output; None where they write none.

    Only the first and the last 400 characters are looked at: in between is the command's own output.
    """
    for part in (text[:400], text[-400:]):
        if any(hint in part for hint in _EXIT_HINTS):
            match = _EXIT.search(part) or (_EXIT_JSON.search(part) if '"exit_code"' in part else None)
            if match:
                return int(match[1])
    return None


class ToolResults:
    """The results of the calls of some messages."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._by_id: dict[str, Message] = {}
        for message in messages:
            if message.role == "tool" and message.tool_call_id is not None:
                self._by_id.setdefault(message.tool_call_id, message)

    def get(self, call_id: str) -> Message | None:
        """The call's first result."""
        return self._by_id.get(call_id)

    def text(self, call_id: str) -> str:
        """The tool's answer; empty without a result."""
        found = self._by_id.get(call_id)
        return found.text if found else ""

    def is_error(self, call_id: str) -> bool:
        """Whether the log or the answer itself says that the call failed."""
        found = self._by_id.get(call_id)
        if found is None:
            return False
        return found.is_error or _says_failed(found.text)


def _says_failed(text: str) -> bool:
    head = text[:400].lstrip()
    return (
        head.startswith(_TOOL_FAILURES)
        or any(mark in text for mark in _NOT_APPLIED)
        or exit_code(text) not in (0, None)
    )


def effects_that_happened(effects: Sequence[Effect], failed: bool, result: str) -> Sequence[Effect]:
    """The effects of a command line that took place, as far as its output shows.

    A command line can fail at its end and have written its files before: what failed names itself in the output.
    """
    if not effects:
        return effects
    head = result[:300].lstrip()
    if failed and (head.startswith(_REFUSALS) or "syntax error near unexpected token" in result):
        return []
    missing: list[str] = []
    if any(phrase in result for phrase in _MISSING):
        missing = [line for line in result.split("\n") if any(phrase in line for phrase in _MISSING)]
    kept = []
    for effect in effects:
        if failed and effect.conditional:
            continue
        base = posixpath.basename(effect.path.rstrip("/"))
        named = [line for line in missing[:200] if base in line]
        if effect.verb in ("create_or_overwrite", "append"):  # only the shell itself can say that it could not write
            named = [line for line in named if _SHELL_SAYS.match(line)]
        if not named:
            kept.append(effect)
    return kept
