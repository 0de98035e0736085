"""One name for one file: paths relative to the project, however a call wrote them."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compaction.reading.tool_calls import shell_command
from compaction.transcript import Message

_CD = re.compile(r"(?:^|[;&|(\n]\s*)cd\s+[\"']?(/[^\s\"';&|)$`*]+)")
_HERE = re.compile(r"\(Current directory: (/[^\s)]+)\)")
_PATH_ARGUMENT = re.compile(
    r"\"(?:file_path|path|filePath|filename|notebook_path|absolute_path)\":\s*\"(/[^\"\\]{1,300})\""
)
_WORKTREE = re.compile(r"(/.+?)(?:/|__)\.?(?:claude/)?worktrees/[^/]+$")
"""A second checkout of a repository, kept beside or below it: its files go by the same names."""

_CHECKOUTS = re.compile(r"/?\.(?:claude/)?worktrees/.*")
"""From where on a directory names one of several checkouts of a project."""

_WORKDIR = re.compile(r"\"(?:workdir|cwd)\":\s*\"(/[^\"\\]{1,300})\"")
_SHARED = re.compile(r"/(?:[^/]*|(?:home|Users|private|mnt|var|usr|opt|private/tmp|var/folders)/[^/]*)/?$")
"""Directories that hold other projects than one; a single level such as /repo or /testbed may still be a project."""

_OWN_TOP = re.compile(r"/(?!tmp$|home$|Users$|root$|usr$|var$|opt$|etc$|mnt$|private$|bin$|dev$|proc$)[^/]+$")
_SCRATCH = ("/tmp/", "/private/tmp/", "/var/tmp/", "/var/folders/", "/dev/", "/proc/")  # noqa: S108 - names, not used


def same_file(a: str, b: str) -> bool:
    """Whether two paths can name one file: one is the other's end, at a slash."""
    if a == b:
        return True
    short, long = sorted((a.removeprefix("./"), b.removeprefix("./")), key=len)
    return bool(short) and long.endswith(short) and (len(short) == len(long) or long[-len(short) - 1] == "/")


@dataclass(frozen=True, slots=True)
class Roots:
    """The base directories of relative paths."""

    directories: tuple[str, ...] = ()
    """Longest first; the working copies of one project count as one place."""
    cwd: str | None = None
    """Where the session's commands start."""

    def name(self, path: str) -> tuple[str, bool]:
        """The path that identifies a file, and whether it is scratch: a temporary file outside of the project."""
        directory = path.endswith("/")
        clean = posixpath.normpath(path) + ("/" if directory else "")
        if not clean.startswith("/"):
            return clean, False
        for root in self.directories:
            if clean.startswith(root + "/"):
                return clean[len(root) + 1 :], False
        return clean, clean.startswith(_SCRATCH)


def find_project(cwd: str | None) -> str | None:
    """The folder of the project that a session's directory belongs to, one for all of its worktrees.

    None where nothing is known of it: no directory, or one that other projects are in too (``/home/me``, ``/testbed``).
    """
    path = _CHECKOUTS.sub("", (cwd or "").replace("\\", "/")).rstrip("/")
    return None if not path or _SHARED.match(path) else path


def find_roots(messages: Sequence[Message], cwd: str | None = None) -> Roots:
    """Work out where the project lies from where commands were run and which absolute paths were used.

    Args:
        messages: The session, or what is left of it.
        cwd: The session's directory as the log records it, if it does.
    """
    entered: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for message in messages:
        for call in message.tool_calls:
            text = call.arguments
            if "cd " in text:
                entered.update(_clean(_CD.findall(shell_command(call) or "")))
            if "workdir" in text or '"cwd"' in text:
                entered.update(_clean(_WORKDIR.findall(text)))
            if "path" in text or "file" in text:
                named.update(_clean(_PATH_ARGUMENT.findall(text)))
        if message.role == "tool" and "(Current directory: /" in message.text[-600:]:
            entered.update(_clean(_HERE.findall(message.text[-600:])))
    candidates = [d for d, _ in entered.most_common() if _may_be_root(d)]
    if cwd and _may_be_root(cwd.rstrip("/")):
        main = cwd.rstrip("/")
    else:
        found = candidates or _from_files(messages, named)
        if not found:
            return Roots((), cwd)
        main = _outermost(found[0], candidates)
    copies = {d for d in candidates if d.startswith((main + "_", main + "-"))}
    roots = {main, *(_outermost(d, sorted(copies)) for d in copies)}
    worktree = _WORKTREE.match(main)
    if worktree:
        roots.add(worktree[1])
    return Roots(tuple(sorted(roots, key=len, reverse=True)), cwd or main)


def _clean(paths: Iterable[str]) -> list[str]:
    return [posixpath.normpath(p) for p in paths]


def _may_be_root(directory: str) -> bool:
    if _OWN_TOP.match(directory):
        return True
    return bool(directory) and not _SHARED.match(directory) and directory.count("/") >= 2 and directory != "/tmp"  # noqa: S108


def _under(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def _outermost(directory: str, candidates: Sequence[str]) -> str:
    return min((c for c in candidates if _under(directory, c)), key=len, default=directory)


def _from_files(messages: Sequence[Message], named: Counter[str]) -> list[str]:
    """The directory that holds all the files named, or the parent of it that the task names."""
    files = [path for path in named if not path.startswith(_SCRATCH) or path.count("/") > 3]
    if not files:
        return []
    common = posixpath.commonpath(files) if len(files) > 1 else posixpath.dirname(files[0])
    task = "\n".join(m.text[:20_000] for m in messages[:4] if m.role in ("user", "system"))
    up = common
    while up.count("/") >= 1 and up != "/":
        if _may_be_root(up) and re.search(re.escape(up) + r"(?=[\s\"'`<),.]|$)", task):
            return [up]
        up = posixpath.dirname(up)
    return [common] if len(files) > 1 and _may_be_root(common) else []
