"""Compares a context's files (created, modified, read) with the session's calls.

The reader of the calls is the same for the session and for the context (``reading.file_effects.file_ops``), so a
context as it was tells exactly the truth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from compaction.measures.needs import SessionNeeds
from compaction.measures.said import said_text
from compaction.reading.file_effects import FileOp, Ledger, file_ops, same_file
from compaction.reading.file_paths import Roots
from compaction.reading.message_facts import project_ops
from compaction.transcript import Message
from judge.measures.file_mentions import file_mentions

FileUse = Literal["created", "modified", "read", "gone", "any"]
FILE_USES: tuple[FileUse, ...] = ("created", "modified", "read", "any")
"""Uses that are counted."""

_STRENGTH: tuple[FileUse, ...] = ("read", "modified", "created", "gone")
"""What is said of one file in several places counts by the strongest: one that was created and then changed was
created."""
USE: Mapping[str, FileUse] = {
    "created": "created",
    "modified": "modified",
    "moved": "modified",
    "examined": "read",
    "deleted": "gone",
}

Files = Mapping[FileUse, frozenset[str]]
"""Use → the paths of the files, each by one name; ``any`` has all that are not gone."""

_NAMED = re.compile(r"(?<![\w.@~+/-])~?[\w.@+/-]{3,200}", re.ASCII)
_FILE = re.compile(r"(?:[\w.@+~-]*/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}", re.ASCII)


@dataclass(frozen=True, slots=True)
class UseCounts:
    """Counts of the files of one use: in truth, in a context, and in both."""

    n_true: int
    n_told: int
    n_right: int


class KeptFiles:
    """The files of one session, at any of its points and in any context."""

    def __init__(self, session: SessionNeeds) -> None:
        self.session = session
        self._true: dict[int, Files] = {}
        self._by_name: dict[int, dict[str, list[str]]] = {}
        self._mentioned: dict[tuple[object, ...], tuple[list[FileOp], Set[str]]] = {}
        self._said_by: dict[tuple[object, ...], tuple[Mapping[str, FileUse], Set[str]]] = {}

    def true(self, cut: int) -> Files:
        """The net effect of the calls before the cut: files created, modified, or read and never changed.

        Temporary files outside of the project and files of the machine do not count, as in the probe of files.
        """
        if cut not in self._true:
            self._true[cut] = _files(self.session.ledger(cut))
        return self._true[cut]

    def told(self, context: Sequence[Message], cut: int) -> Files:
        """The files that a context names: in its calls, and in the strategy's text.

        A call that stays as it was, with its result, tells what it did in the session.
        A path in a summary counts as created, modified or read where the words or the heading around it say so, and
        otherwise for ``any`` alone. A short name is taken for the one file of the session that ends so; one that fits
        several tells none.
        """
        kept, others = self.session.parted(context)
        results = {m.tool_call_id for m in context if m.role == "tool" and m.seq in kept}
        anew = [m for m in context if m.seq not in kept or any(call.id not in results for call in m.tool_calls)]
        left = kept.difference(m.seq for m in anew)
        ops = [op for seq in left for op in self.session.ops.get(seq, ())]
        edited = file_ops(anew, roots=self.session.roots)
        ledger = Ledger().extend(sorted([*ops, *edited], key=lambda op: op.seq))
        found: dict[str, FileUse] = {
            path: use for use, paths in _files(ledger).items() if use != "any" for path in paths
        }
        also: set[str] = set()
        for message in others:
            if message.tool_calls or message.role == "tool":
                continue  # its calls have been read; the rest of a shortened output is no account of the work
            uses, named = self._read_uses(message, cut)
            for path, use in uses.items():
                if path not in found or _STRENGTH.index(use) > _STRENGTH.index(found[path]):
                    found[path] = use
            also |= named
        told: dict[FileUse, frozenset[str]] = {
            use: frozenset(path for path, done in found.items() if done == use)
            for use in ("created", "modified", "read", "gone")
        }
        return {**told, "any": frozenset(also | found.keys()) - told["gone"]}

    def _read_uses(self, message: Message, cut: int) -> tuple[Mapping[str, FileUse], Set[str]]:
        """The uses of files that prose states, the strongest of each, and all files that it names."""
        text = message.reasoning, message.text, message.seq is None
        if (cut, *text) not in self._said_by:
            if text not in self._mentioned:
                lines = (line for line in said_text(message).split("\n") if "/" in line)
                self._mentioned[text] = file_mentions(message), set[str]().union(*map(_named_files, lines))
            ops, named = self._mentioned[text]
            uses: dict[str, FileUse] = {}
            for op in ops:
                if path := self._resolve(op.path, cut):
                    uses[path] = max(USE[op.verb], uses.get(path, "read"), key=_STRENGTH.index)
            self._said_by[cut, *text] = uses, {path for name in named if (path := self._resolve(name, cut))}
        return self._said_by[cut, *text]

    def _resolve(self, path: str, cut: int) -> str:
        """The session's name for a path; the path itself for one that no call touched, empty for an ambiguous one."""
        name = self.session.roots.name(path)[0].removeprefix("./")
        known = self._known(cut).get(name.rsplit("/", 1)[-1], [])
        if name in known:
            return name
        fitting = [other for other in known if same_file(name, other)]
        if len(fitting) > 1:
            return ""
        return fitting[0] if fitting else (name if project_ops([_op(name, self.session.roots)]) else "")

    def _known(self, cut: int) -> dict[str, list[str]]:
        """Last part of a path → the paths that calls before the cut were about."""
        if cut not in self._by_name:
            found: dict[str, list[str]] = {}
            for op in (op for seq, ops in self.session.ops.items() if seq < cut for op in ops):
                for path in filter(None, (op.path, op.moved_to)):
                    same = found.setdefault(path.rsplit("/", 1)[-1], [])
                    if path not in same:
                        same.append(path)
            self._by_name[cut] = found
        return self._by_name[cut]


def compare_uses(true: Files, told: Files) -> dict[FileUse, UseCounts]:
    """The counts of each use; precision is right / told, recall right / true."""
    return {use: UseCounts(len(true[use]), len(told[use]), len(true[use] & told[use])) for use in FILE_USES}


def _op(path: str, roots: Roots) -> FileOp:
    return FileOp(path, "examined", -1, scratch=roots.name(path)[1])


def _files(ledger: Ledger) -> dict[FileUse, frozenset[str]]:
    there = ledger.created.keys() | ledger.modified.keys() | ledger.examined.keys()
    groups: tuple[tuple[FileUse, dict[str, FileOp]], ...] = (
        ("created", ledger.created),
        ("modified", ledger.modified),
        ("read", ledger.examined),
        ("gone", {**{path: op for path, op in ledger.moved.items() if path not in there}, **ledger.deleted}),
    )
    found: dict[FileUse, frozenset[str]] = {
        use: frozenset(path for path, op in ops.items() if project_ops([_rename(op, path)])) for use, ops in groups
    }
    return {**found, "any": found["created"] | found["modified"] | found["read"]}


def _rename(op: FileOp, path: str) -> FileOp:
    return op if op.path == path else FileOp(path, op.verb, op.seq, scratch=op.scratch)


@lru_cache(maxsize=32_768)
def _named_files(line: str) -> tuple[str, ...]:
    """File names in a line, with their directories; contexts of many methods repeat lines."""
    words = {word.rstrip(".:-+@/").lstrip(":-+@") for word in _NAMED.findall(line)}
    return tuple(word for word in words if "/" in word and "//" not in word and _FILE.fullmatch(word))
