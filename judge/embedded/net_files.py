"""The net effect of all calls on the project's files, without changes that were undone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from compaction.points import LOOKAHEAD
from compaction.reading.changed_names import changed_definitions
from compaction.reading.file_effects import FileOp, same_file
from compaction.reading.message_facts import project_ops, read_message
from compaction.reading.shell.effects import Effect, only_reads
from compaction.reading.tool_calls import call_effects
from judge.embedded.facts import GitCall, SessionFacts

MAX_FILES = 30
MAX_NAMES = 5
"""Names of what changed in a file that a true answer gives; of more, nobody tells all."""

_ALL_UNDONE = re.compile(
    r"\bgit (?:reset --hard|checkout (?:HEAD )?(?:-- )?\.(?=\s|$)|restore \.(?=\s|$)|stash(?! *\w| *;))"
)
_RESTORED = re.compile(r"\b(?:cp|mv) +(?:-\w+ +)*((\S+)\.(?:bak|backup|orig|old|save)\w*) +\2(?=[\s;&|]|$)")
"""A file that is put back from its copy."""

_GLOB_REMOVED = re.compile(r"\brm +(?:-\w+ +)*([^;&|\n]*\*[^;&|\n]*)")
_LOCK = re.compile(
    r"(?:^|/)(?:(?:package-lock|npm-shrinkwrap)\.json|pnpm-lock\.yaml|go\.sum|(?:\w+\.lock|bun\.lockb)|Podfile\.lock)$"
)
"""Files that a package manager keeps; its log does not tell when it writes them."""

_PATCHES = re.compile(r"(?:^|[;&|\n]\s*)(?:patch\b|git apply\b)")
_HELD = re.compile(r"^ *(\d+) files? changed\b", re.MULTILINE)
_GONE = re.compile(r"^ *delete mode \d+ (.+)$", re.MULTILINE)
_TOOL_FOLDER = re.compile(
    r"(?:^|/)(?:\.(?!git(?:hub|lab)/)[\w-]+|node_modules|__pycache__|venv|dist|build|target|coverage)/"
)
"""Folders that projects often keep out of git."""

_SCAFFOLD = re.compile(r"\b(?:startapp|startproject|cargo (?:new|init)|create[- ][\w@/-]+)\s+([^\n;&|]+)")

_SCRATCH = re.compile(
    r"^[^/]*\.(?:py|js|ts|mjs|sh|rb|go|c|java|php|sql|txt|log|out|csv|html|patch|diff)$|\.(?:backup|bak|orig)$"
)
"""Files beside the folders of a project, as an agent makes them to try something out, and copies."""

Verb = Literal["created", "modified", "deleted"]


@dataclass
class NetFile:
    """A file and the changes of it that still hold."""

    path: str
    changes: list[FileOp] = field(default_factory=list)
    committed: int = 0
    """How many of the changes a commit holds."""
    touched: int = 0
    """``seq`` of the last change or undoing."""
    is_left: bool = False
    """Whether the last commit held fewer files than had been changed, so that nobody tells whether it held this."""
    is_new: bool = False
    """Whether the session made it."""
    tried: list[int] = field(default_factory=list)
    """``seq`` of all changes, also of those that were undone."""

    @property
    def verb(self) -> Verb:
        """The net change, seen from the beginning of the session."""
        if self.changes[-1].verb == "deleted":
            return "deleted"
        return "created" if self.changes[0].verb == "created" else "modified"

    @property
    def seqs(self) -> tuple[int, ...]:
        """``seq`` of the messages that changed it."""
        return tuple(dict.fromkeys(op.seq for op in self.changes))

    @property
    def is_tracked(self) -> bool:
        """Whether git can put it back: it was there before the session, or has been committed."""
        return bool(self.committed or not self.changes or self.changes[0].verb != "created")

    def take(self, op: FileOp) -> None:
        """Add a change."""
        self.tried.append(op.seq)
        self.is_new = self.is_new or (not self.changes and op.verb == "created")
        if op.verb == "deleted" and self.is_new:
            self.changes, self.committed = [], 0
        else:
            self.changes.append(op)


def net_files(session: SessionFacts, since: int, cut: int) -> list[NetFile]:
    """The project's files that calls between two positions changed, the last touched at the end."""
    left = [file for file in _follow_once(session, cut) if file.changes and file.touched >= since]
    return sorted(left, key=lambda file: (file.touched, file.path))


def undone_files(session: SessionFacts, cut: int) -> list[NetFile]:
    """The project's files that were changed, put back as they had been, and named by no later command but looks."""
    found = [file for file in _follow_once(session, cut) if file.tried and not file.changes and not file.is_new]
    later = [(seq, command) for seq, command, _ in session.commands if seq < cut and not only_reads(command)]
    return [f for f in found if not any(f.touched < seq and f.path in command for seq, command in later)]


def _follow_once(session: SessionFacts, cut: int) -> list[NetFile]:
    """The project's files with the remaining changes before ``cut``; worked out once a point."""
    if cut not in session.followed:
        session.followed[cut] = list(_follow(session, cut))
    return session.followed[cut]


def _follow(session: SessionFacts, cut: int) -> Iterable[NetFile]:
    files: dict[str, NetFile] = {}
    made = _find_scaffolds(session, cut)
    lost = set[str]()  # files that a call would have created which was not carried out
    for seq in range(cut):
        texts = [c for _, c in read_message(session.messages[seq]).commands] if session.happened(seq) else []
        if any(map(_ALL_UNDONE.search, texts)):
            for file in files.values():
                if file.is_tracked:
                    file.changes, file.touched = file.changes[: file.committed], seq
        ops = [*_plain(project_ops(session.ops.get(seq, ()))), *_find_globbed(files, seq, texts)]
        if any(map(_PATCHES.search, texts)) and _has_failed(session, seq):
            ops = [op for op in ops if op.verb != "modified"]
        if not session.happened(seq):
            lost.update(op.path for op in ops if op.verb == "created")
            continue
        for op in ops:
            if not _is_own(op.path, session) or _LOCK.search(op.path):
                continue
            file = files.setdefault(op.path, NetFile(op.path))
            file.touched = seq
            copied = _copied_at(files, op.path, texts)
            if copied is not None:
                file.changes = [change for change in file.changes if change.seq < copied]
            elif op.details == ("reverted",):
                file.changes = file.changes[: file.committed] if file.is_tracked else file.changes
            elif file.changes and _undoes(session, op, file.changes[-1]):
                file.changes.pop()
            else:
                is_new = op.path.split("/")[0] in made or (op.path in lost and not file.changes)
                file.take(_as_new(op) if is_new else op)
        if seq in session.commits:
            output = session.commits[seq].output
            for gone in _GONE.findall(output):
                for file in files.values():
                    if file.changes and same_file(gone, file.path) and file.verb != "deleted":
                        file.take(FileOp(file.path, "deleted", seq))
            pending = [file for file in files.values() if file.is_left or len(file.changes) > file.committed]
            held = _HELD.findall(output)
            for file in pending:
                file.committed = len(file.changes)
                file.is_left = bool(held) and sum(map(int, held)) < len(pending)
    return files.values()


def definitions(session: SessionFacts, file: NetFile) -> tuple[str, ...]:
    """The definitions on lines that the changes of a file touch, latest first.

    Empty where a change is not told line by line, or where it is more than anybody tells.
    """
    is_new: dict[str, bool] = {}
    for op in file.changes:
        edits = _edits(session, op)
        if not edits or not all(map(_is_line_by_line, edits)):
            return ()
        for edit in edits:
            put_in, taken_out = changed_definitions(edit.content, edit.removed, file.path)
            for name in sorted(taken_out - put_in):
                was_new = is_new.pop(name, False)
                if not was_new:
                    is_new[name] = False
            for name in sorted(put_in):
                is_new[name] = is_new.pop(name, name not in taken_out)
    names = tuple(reversed(is_new))
    return names if len(names) <= MAX_NAMES else ()


def is_scratch(session: SessionFacts, file: NetFile, cut: int) -> bool:
    """Whether a file was made beside the project's folders to try something out, and nothing soon uses it again."""
    coming = (call for message in session.messages[cut : cut + LOOKAHEAD] for call in message.tool_calls)
    return lies_beside(session, file, cut) and not any(file.path in call.arguments for call in coming)


def lies_beside(session: SessionFacts, file: NetFile, cut: int) -> bool:
    """Whether a file was made beside the project's folders, and no commit holds it."""
    has_folders = any("/" in path for path in session.ledger(cut).examined | session.ledger(cut).modified)
    return has_folders and file.verb == "created" and not file.committed and _SCRATCH.search(file.path) is not None


def may_be_ignored(file: NetFile) -> bool:
    """Whether a file lies where projects often tell git to look away."""
    return _TOOL_FOLDER.search(file.path) is not None


def is_passed_over(session: SessionFacts, file: NetFile, cut: int) -> bool:
    """Whether `git status`, asked after the last change of a file, does not name it: git holds or ignores it."""
    *folders, name = file.path.split("/")
    words = "|".join(map(re.escape, [name, *(f"{folder}/" for folder in folders)]))
    named = re.compile(rf"(?:^|[\s/\"])(?:{words})", re.MULTILINE)
    asked = (call for call in session.git if call.subcommand == "git status" and file.touched < call.seq < cut)
    return any(_tells_all(call) and not named.search(call.output) for call in asked)


def _tells_all(status: GitCall) -> bool:
    only_tracked = ("-uno", "--untracked-files=no")
    return status.is_whole and all(word.startswith("-") and word not in only_tracked for word in status.words)


def _has_failed(session: SessionFacts, seq: int) -> bool:
    results = [session.results.get(call.id) for call in session.messages[seq].tool_calls]
    return any(result is not None and result.is_error for result in results)


def _find_globbed(files: dict[str, NetFile], seq: int, commands: list[str]) -> list[FileOp]:
    """The known files that commands remove by a pattern."""
    words = [word for c in commands for m in _GLOB_REMOVED.finditer(c) for word in m[1].split()]
    patterns = [word.strip("'\"").removeprefix("./") for word in words]
    return [
        FileOp(path, "deleted", seq)
        for path, file in files.items()
        if file.changes and any(p.count("/") == path.count("/") and fnmatchcase(path, p) for p in patterns)
    ]


def _copied_at(files: dict[str, NetFile], path: str, commands: list[str]) -> int | None:
    """``seq`` of the change whose copy the commands restored a file from; None without such a change."""
    copies = [m[1] for c in commands for m in _RESTORED.finditer(c) if same_file(m[2], path)]
    found = [f.changes[0].seq for f in files.values() if f.changes and any(same_file(c, f.path) for c in copies)]
    return max(found, default=None)


def _plain(ops: list[FileOp]) -> Iterator[FileOp]:
    """Operations that change something; a move is a file that went and one that came."""
    for op in ops:
        if op.verb == "moved" and op.moved_to:
            yield FileOp(op.path, "deleted", op.seq)
            yield FileOp(op.moved_to, "created", op.seq, op.details)
        elif op.verb != "examined":
            yield op


def _is_own(path: str, session: SessionFacts) -> bool:
    if path.startswith(".git/"):
        return False
    if not session.roots.directories:
        return not path.startswith(("~", "../"))
    return not path.startswith(("/", "~", "../")) and not re.match(r"[A-Za-z]:[\\/]", path)


def _as_new(op: FileOp) -> FileOp:
    return FileOp(op.path, "created" if op.verb == "modified" else op.verb, op.seq, op.details)


def _find_scaffolds(session: SessionFacts, cut: int) -> set[str]:
    """Directories that a generator made."""
    return {
        word.strip("./'\"")
        for seq, command, _ in session.commands
        if seq < cut
        for match in _SCAFFOLD.finditer(command)
        for word in match[1].split()
        if not word.startswith("-") and word.strip("./'\"")
    }


def _undoes(session: SessionFacts, op: FileOp, before: FileOp) -> bool:
    """Whether an operation takes back the one before it: an editor's undo, or the same edit the other way round."""
    if op.verb != "modified" or before.verb != "modified":
        return False
    new, old = _edit(session, op), _edit(session, before)
    if new is None or old is None:
        return False
    return new.program == "undo_edit" or (new.removed == old.content != "" and new.content == old.removed != "")


def _edit(session: SessionFacts, op: FileOp) -> Effect | None:
    """The only edit of a file that a message makes."""
    found = [effect for effect in _edits(session, op) if effect.verb == "edit"]
    return found[0] if len(found) == 1 else None


def _edits(session: SessionFacts, op: FileOp) -> list[Effect]:
    """The effects of a message's calls on the file of an operation, without reads."""
    return [
        effect
        for call in session.messages[op.seq].tool_calls
        if op.path.rsplit("/", 1)[-1] in call.arguments
        for effect in call_effects(call, session.roots.cwd, None, session.results.text(call.id))
        if effect.verb != "read" and same_file(session.roots.name(effect.path)[0], op.path)
    ]


def _is_line_by_line(edit: Effect) -> bool:
    """Whether an edit tells the lines that it puts in and those that it takes out."""
    inserted = edit.verb == "append" or edit.program in ("insert", "apply_patch")
    return bool(edit.removed) or (inserted and bool(edit.content))
