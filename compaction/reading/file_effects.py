"""Files that a session created, modified, examined, moved and deleted, as its tool calls show.

`file_ops` reads a session and so knows which files existed before; `OpReader` reads messages one by one, given how
their calls ended; `Ledger` sums operations up to the state at a point.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from compaction.reading.call_outcomes import ToolResults, effects_that_happened
from compaction.reading.changed_names import MAX_NAMES, changed_names
from compaction.reading.file_paths import Roots, find_roots, same_file
from compaction.reading.inline_scripts import python_effects
from compaction.reading.shell.effects import Effect, patch_effects
from compaction.reading.tool_calls import (
    call_effects,
    editor_says,
    is_editor_command,
    opened_file,
    shell_command,
    tool_name,
)
from compaction.transcript import Message, ToolCall

__all__ = ["FileOp", "FileVerb", "Ledger", "OpReader", "ToolResults", "file_ops", "same_file"]

FileVerb = Literal["created", "modified", "deleted", "moved", "examined"]


@dataclass(frozen=True, slots=True)
class FileOp:
    """One thing that happened to one file."""

    path: str
    """Relative to the project where that is known; absolute or from ``~`` where the file is elsewhere."""
    verb: FileVerb
    seq: int
    """Position of the message with the call; -1 for a message that has none."""
    details: tuple[str, ...] = ()
    """Names that the change touches, most specific first."""
    moved_to: str | None = None
    scratch: bool = False
    """A temporary file outside of the project."""


MAX_SCRIPT = 100_000
"""Characters of a script that is remembered, to know what it does when it is run."""

_RUNNABLE = (".py", ".patch", ".diff", ".txt")
_OVERWRITTEN = re.compile(r"has been (?:updated|overwritten|replaced)|[Oo]verw(?:rote|ritten)|Successfully overwrote")
_CREATED = re.compile(r"created successfully|[Cc]reated (?:new )?file|New file created|Successfully created and wrote")
_BEFORE_LISTED = re.compile(r"(?:(?:[ MARC]{1,2}|\?\?) | )?(?:[\w./~@+-]*/)?")
_AFTER_LISTED = re.compile(r"(?=\r?\n|\Z|:\d+[:-]| +\| +\d)")
_LONG_LIVED_SHELLS = frozenset({"Bash", "execute_bash", "terminal"})


def file_ops(messages: Sequence[Message], cwd: str | None = None, roots: Roots | None = None) -> list[FileOp]:
    """The file operations of a session, in order.

    Args:
        messages: The session's messages.
        cwd: The session's directory as the log records it, if it does.
        roots: Where the project lies; found from messages and cwd when None.
    """
    results = ToolResults(messages)
    reader = OpReader(roots or find_roots(messages, cwd))
    return [op for message in messages for op in reader.read(message, results.is_error, results.text)]


class OpReader:
    """Reads messages in order and remembers which files exist, which one is open and the directory of the shell.

    One that does not remember reads each message alone: there a file that is written whole counts as created unless the
    tool's answer says otherwise.
    """

    def __init__(self, roots: Roots, remembers: bool = True) -> None:
        self.roots = roots
        self.remembers = remembers
        self.cwd = roots.cwd
        self.open_file: str | None = None
        self._exists: dict[str, bool] = {}
        self._listings: list[tuple[str, bool]] = []
        self._by_name: dict[str, list[str]] = {}
        self._root_listings: set[str] = set()
        self._scripts: dict[str, str] = {}

    def read(self, message: Message, is_error: Callable[[str], bool], text: Callable[[str], str]) -> list[FileOp]:
        """The operations of the next message."""
        if message.role == "tool":
            if self.remembers:
                self._listings.append((message.text, message.tool_call_id in self._root_listings))
                if "Shell cwd was reset to " in message.text[-400:]:
                    self.cwd = message.text.rpartition("Shell cwd was reset to ")[2].strip() or self.cwd
            return []
        found: list[FileOp] = []
        seq = -1 if message.seq is None else message.seq
        for call in message.tool_calls:
            found.extend(self._call(call, seq, is_error(call.id), text(call.id)))
        return found

    def _call(self, call: ToolCall, seq: int, failed: bool, result: str) -> Iterator[FileOp]:
        effects: Sequence[Effect]
        command, effects = _read_call(call, self.cwd, self.open_file, editor_says(result))
        if self.remembers and command is not None:
            self._follow(call, command, result)
        if command is None or is_editor_command(command, result):
            effects = () if failed or result.startswith("Here's the files and directories") else effects
        else:
            effects = effects_that_happened(effects, failed, result)
        for effect in effects:
            if effect.verb == "run" and not failed:
                yield from self._ops(self._inside(effect), seq, "")
        yield from self._ops(effects, seq, result)
        if command is not None and "patching file " in result and re.search(r"\bpatch\b", command):
            for match in re.finditer(r"^patching file '?([^'\n]{1,300})", result, re.MULTILINE):
                path, scratch = self._name(match[1].strip())
                if not any(e.verb == "edit" and same_file(e.path, path) for e in effects):
                    yield self._know(FileOp(path, "modified", seq, scratch=scratch))

    def _inside(self, run: Effect) -> list[Effect]:
        """The effects of a script or patch that the session wrote before and runs now."""
        body = self._scripts.get(self._name(run.path)[0], "")
        if run.program == "git apply":
            return patch_effects(body)
        if "chdir(" in body:
            return []
        done = [Effect(path, verb, "python") for path, verb in python_effects(body) if verb != "read"]
        return [e for e in done if e.verb != "delete" or self._existed(self._name(e.path)[0])]

    def _follow(self, call: ToolCall, command: str, result: str) -> None:
        """Notes which file is open, and the directory of a shell that keeps it between calls."""
        self.open_file = opened_file(result) or self.open_file
        where = (
            re.search(r"\(Current directory: (/[^\n)]+)\)", result[-300:]) if "(Current directory: " in result else None
        )
        if where:
            self.cwd = where[1]
        elif (
            tool_name(call) in _LONG_LIVED_SHELLS and command.startswith("cd ") and "Shell cwd was reset" not in result
        ):
            target = re.match(r"cd\s+[\"']?([^\s\"';&|$`]+)", command)
            if target and target[1] != "-":
                self.cwd = posixpath.normpath(posixpath.join(self.cwd or "", target[1]))
        if re.match(r"(?:cd [^\s;&|]+ && )?ls(?: -\w+)*\s*(?:$|[|;&\n])", command):
            self._root_listings.add(call.id)

    def _name(self, path: str) -> tuple[str, bool]:
        if not path.startswith(("/", "~")) and self.cwd and self.cwd.startswith("/"):
            path = posixpath.join(self.cwd, path)
        name, scratch = self.roots.name(path)
        if self.roots.directories or not self.remembers:
            return name, scratch
        # Nothing says where the project lies: the first name that a file was given stands for the others.
        for other in self._by_name.get(posixpath.basename(name), ()):
            if name.startswith("/") != other.startswith("/") and same_file(name, other):
                return other, scratch
        return name, scratch

    def _ops(self, effects: Sequence[Effect], seq: int, result: str) -> Iterator[FileOp]:
        moved_from: str | None = None
        for effect in effects:
            path, scratch = self._name(effect.path)
            if effect.verb == "run":
                continue
            if not path or path in (".", "/") or any(root.startswith(path + "/") for root in self.roots.directories):
                continue
            if effect.verb == "move_from":
                moved_from = path
                continue
            if effect.verb == "move_to":
                if moved_from is not None and moved_from != path:
                    details = changed_names(effect.content, effect.removed, path)
                    yield from self._move(FileOp(moved_from, "moved", seq, details, path, scratch))
                continue
            if path.endswith("/"):
                if effect.verb == "delete":
                    for file in self._below(path):
                        yield self._know(FileOp(file, "deleted", seq, scratch=scratch))
                continue
            op = self._op(effect, path, seq, scratch, result)
            if op is not None:
                yield self._know(op)

    def _op(self, effect: Effect, path: str, seq: int, scratch: bool, result: str) -> FileOp | None:
        if effect.verb == "read":
            return FileOp(path, "examined", seq, scratch=scratch)
        if effect.verb == "create_or_overwrite" and path.endswith(_RUNNABLE) and len(effect.content) < MAX_SCRIPT:
            self._scripts[path] = effect.content
        else:
            self._scripts.pop(path, None)
        if effect.verb == "delete":
            if effect.program == "rm -f" and self.remembers and not self._existed(path):
                return None
            return FileOp(path, "deleted", seq, scratch=scratch)
        if effect.program == "touch":
            return None if self._existed(path) else FileOp(path, "created", seq, scratch=scratch)
        verb: FileVerb = "modified"
        if effect.verb == "create_or_overwrite":
            verb = "modified" if self._overwrites(effect, path, result) else "created"
        if effect.program == "git restore":
            details: tuple[str, ...] = ("reverted",)
        elif effect.program == "sed":
            details = _sed_names(effect.content)
        else:
            details = changed_names(effect.content, effect.removed, path)
        return FileOp(path, verb, seq, details, scratch=scratch)

    def _overwrites(self, effect: Effect, path: str, result: str) -> bool:
        """Whether a file that is written whole was there before."""
        if effect.program == "create" or (effect.program not in ("cat", "tee") and _CREATED.search(result[:400])):
            return False
        if effect.program.lower().startswith(("write", "save")) and _OVERWRITTEN.search(result[:400]):
            return True
        return self._existed(path)

    def _existed(self, path: str) -> bool:
        known = self._exists.get(path)
        return self._listed(path) if known is None else known

    def _listed(self, path: str) -> bool:
        """Whether an earlier tool output names the path as one that exists: a listing, a search hit, a diff.

        Costs one substring search over the output so far for each file that is created.
        """
        for text, is_root in self._listings:
            position = text.find(path)
            for _ in range(50):
                if position < 0:
                    break
                line = text.rfind("\n", max(0, position - 400), position) + 1
                before = _BEFORE_LISTED.fullmatch(text, line, position)
                # A name alone may be one in some directory.
                bare = before and "/" not in path and not is_root and not before[0].strip("./ ")
                if before and (not bare or before[0]) and _AFTER_LISTED.match(text, position + len(path)):
                    return True
                position = text.find(path, position + len(path))
        return False

    def _below(self, directory: str) -> list[str]:
        """The files known to exist below a directory, which ends in ``/``."""
        return [path for path, exists in self._exists.items() if exists and path.startswith(directory)]

    def _move(self, op: FileOp) -> Iterator[FileOp]:
        source, target = op.path.rstrip("/"), (op.moved_to or "").rstrip("/")
        inside = self._below(source + "/")
        if not inside and (self._exists.get(source) or "." in posixpath.basename(source)):
            yield self._know(replace(op, path=source, moved_to=target))
        for path in inside:
            yield self._know(replace(op, path=path, moved_to=target + path[len(source) :]))

    def _know(self, op: FileOp) -> FileOp:
        if self.remembers:
            self._exists[op.path] = op.verb not in ("deleted", "moved")
            names = [op.path]
            if op.moved_to:
                self._exists[op.moved_to] = True
                names.append(op.moved_to)
            for name in names:
                known = self._by_name.setdefault(posixpath.basename(name), [])
                if name not in known and len(known) < 50:
                    known.append(name)
        return op


@lru_cache(maxsize=4_096)
def _read_call(
    call: ToolCall, cwd: str | None, open_file: str | None, result: str
) -> tuple[str | None, tuple[Effect, ...]]:
    """The command line of a call, if it has one, and its effects: contexts of many methods have the same calls."""
    arguments = call.parsed()
    return shell_command(call, arguments), tuple(call_effects(call, cwd, open_file, result, arguments))


_SED_TEXT = re.compile(r"(?:^|[\d/$}])[aic]\\(.{1,2000})")


def _sed_names(script: str) -> tuple[str, ...]:
    """Names in a sed script: those that a substitution adds, or else removes."""
    names: list[str] = []
    for match in re.finditer(
        r"s([/|#,@!~])((?:\\.|(?!\1)[^\\\n]){0,400})\1((?:\\.|(?!\1)[^\\\n]){0,400})\1", script[:20_000]
    ):
        names.extend(changed_names(match[3].replace("\\", ""), match[2].replace("\\", "")))
    for match in _SED_TEXT.finditer(script[:20_000]):
        names.extend(changed_names(match[1].replace("\\n", "\n").replace("\\ ", " ")))
    return tuple(dict.fromkeys(names))[:MAX_NAMES]


@dataclass(slots=True)
class Ledger:
    """The sum of operations.

    Each dict is path → the last operation, with the names of all changes merged and the verb that says what came of the
    file.

    A created file that is deleted later is in none; one that is edited later stays created; a file that is moved is
    known by its new path.
    """

    created: dict[str, FileOp] = field(default_factory=dict)
    modified: dict[str, FileOp] = field(default_factory=dict)
    examined: dict[str, FileOp] = field(default_factory=dict)
    """Looked at and never changed."""
    deleted: dict[str, FileOp] = field(default_factory=dict)
    moved: dict[str, FileOp] = field(default_factory=dict)
    """Path before the move → operation; the file itself stands under its new path among created or modified."""

    def copy(self) -> Ledger:
        """A copy, which can be extended without changing this one."""
        return Ledger(
            dict(self.created), dict(self.modified), dict(self.examined), dict(self.deleted), dict(self.moved)
        )

    def extend(self, ops: Iterable[FileOp]) -> Ledger:
        """Adds more operations, in order; returns itself."""
        for op in ops:
            if op.verb == "examined":
                if op.path not in self.created and op.path not in self.modified:
                    self.examined[op.path] = op
            elif op.verb == "deleted":
                self._delete(op)
            elif op.verb == "moved" and op.moved_to is not None:
                self._move(op, op.moved_to)
            else:
                self._change(op)
        return self

    def _change(self, op: FileOp) -> None:
        self.examined.pop(op.path, None)
        # A file that was there before the session, was deleted and is written again has been modified.
        was_there = self.deleted.pop(op.path, None) is not None
        if op.path in self.created:
            place = self.created
        elif op.path in self.modified or was_there or op.verb == "modified":
            place = self.modified
        else:
            place = self.created
        verb: FileVerb = "created" if place is self.created else "modified"
        place[op.path] = replace(_merge(place.get(op.path), op), verb=verb)

    def _delete(self, op: FileOp) -> None:
        self.examined.pop(op.path, None)
        if self.created.pop(op.path, None) is None:
            self.modified.pop(op.path, None)
            self.deleted[op.path] = op

    def _move(self, op: FileOp, target: str) -> None:
        if op.path == target:
            return
        was_there = target in self.modified or target in self.examined or target in self.deleted
        for place in (self.deleted, self.examined, self.modified, self.created):
            place.pop(target, None)
        self.examined.pop(op.path, None)
        before = self.created.pop(op.path, None)
        if before is None:
            self.moved[op.path] = op
            before = self.modified.pop(op.path, None)
            place = self.modified
        else:  # what takes the place of a file that was there before changes that file
            place = self.modified if was_there else self.created
        place[target] = replace(_merge(before, op), path=target, verb="created" if place is self.created else "moved")


def _merge(before: FileOp | None, op: FileOp) -> FileOp:
    if before is None:
        return op
    return replace(op, details=tuple(dict.fromkeys((*op.details, *before.details)))[:MAX_NAMES])
