"""From what a person names (files, folders, globs) to the inputs to read."""

from __future__ import annotations

import fnmatch
import glob
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from flows.sources.reading.database import unwritten
from flows.sources.reading.inputs import Input, SourceError, path_text, plain_name
from flows.sources.reading.opening import event_files
from flows.sources.registry import formats, is_member, recognise

# Files beside sessions that are no sessions: `auth.json` holds credentials and OpenHands' state can, Cline's files
# repeat its history for the screen, the others are indexes.
_NEVER_READ = set(
    """auth.json base_state.json sessions-index.json package.json package-lock.json ui_messages.json
    task_metadata.json context_history.json history_item.json""".split()
)
_SAYS_LITTLE = re.compile(
    r".*/(?:journal\.jsonl|wf_.*\.json|.*\.settings\.json|.*\.trajectory\.jsonl|(?:summary|signals|plan|prompt_context)\.json"
    r"|(?:updates|rewind_points|feedback)\.jsonl)|session_[^/]*/session\.json|(?:multi_)?agent_[^/]*/(?:multi_)?agent\.json"
    r"|(?:compaction_checkpoints|compaction_requests|recap_requests)/.*"
    r"|[^/]*/ses_[^/]*\.json|project/(?:global|[0-9a-f]{40})\.json"
)
"""What agents keep beside a log, as ``folder/file``: inputs only where a format knows it."""
_PIECE = re.compile(r"msg_[^/]*/prt_[^/]*\.json")
"""A part of a message in opencode's `storage`, as ``folder/file``: it is read with the message."""
_GLOB = "*?["
_COMPACTED = ".compaction.json"
"""Cline's context after a compaction, which is read with the history beside it."""
_STORE = "store.json"
_DATABASES = (".db", ".sqlite", ".sqlite3")
_REMEMBERED = 200_000


def discover(sources: Sequence[str]) -> list[Input]:
    """The inputs behind files, folders (searched to the bottom) and globs, sorted by path and each once.

    In a folder hidden entries are skipped, files whose name no known format uses, linked folders (they can lead round
    in a circle) and stores of this program. A folder of event files is one input. What has the name of a log and cannot
    be read (a broken link, a pipe, a folder without permission) is an input too: reading it says why. A file that is
    named outright is always taken.

    Raises:
        SourceError: A source leads to nothing.
    """
    found: dict[str, Input] = {}
    folders: dict[str, str] = {}
    for source in sources:
        any_input = False
        for one in _expand(source):
            any_input = True
            key = _identity(one.path, folders)
            if key not in found or (os.path.islink(found[key].path) and not os.path.islink(one.path)):
                found[key] = one
        if not any_input:
            endings = ", ".join((*_suffixes(shared=False), *_suffixes(shared=True)))
            raise SourceError(f"nothing to read in {source}: no file that ends in {endings} (or these with .gz, .zst)")
    return sorted(found.values(), key=lambda one: one.label)


def count_by_name(folder: Path) -> int:
    """How many inputs a folder has by their names. No log is opened: those whose content would decide do not count."""
    count = 0
    for here, entries in _walk(str(folder), _is_entered):
        names = [entry.name for entry in entries or () if not _is_folder(entry, or_link=True)]
        members = {name for name in names if is_member(os.path.basename(here), name)}
        count += bool(members)
        count += sum(_is_named_as_input(Path(here, name)) is True for name in names if name not in members)
    return count


def coverage_of(sources: Sequence[str]) -> Callable[[str], bool]:
    """Whether an input's path lies in one of some sources, also where nothing is there any more.

    Of a glob the folder before its first sign counts.
    """
    roots = [path_text(Path(*_split_pattern(_path(source).absolute())[0])) for source in sources]
    return lambda path: any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _identity(path: Path, folders: dict[str, str]) -> str:
    """The real path; that of a folder is found once for all files in it."""
    if os.path.islink(path):
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)


def _expand(source: str) -> Iterator[Input]:
    path = _path(source)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        if any(sign in source for sign in _GLOB):
            yield from _matches(source, path)
            return
        reason = getattr(error, "strerror", None) or str(error)
        why = "" if isinstance(error, FileNotFoundError) else f" ({reason})"
        raise SourceError(f"no such file or folder: {path_text(source)}{why}") from None
    if stat.S_ISDIR(mode):
        try:
            os.scandir(path).close()
        except OSError as error:
            raise SourceError(f"the folder {path_text(source)} cannot be opened: {error.strerror}") from None
        if _is_store(str(path)):
            raise SourceError(f"{path_text(source)} is a store; name the folder that the sessions come from")
        yield from _folder(path)
    elif stat.S_ISREG(mode):
        yield _file(path)
    else:
        raise SourceError(f"neither a file nor a folder: {path_text(source)}; write what it gives into a file first")


def _path(source: str) -> Path:
    """The path without ``..`` and ``~``: a file must have one name in the store."""
    try:
        path = Path(source).expanduser()
    except RuntimeError:  # ~somebody who does not exist
        path = Path(source)
    if ".." in path.parts and "\0" not in source:
        path = Path(os.path.realpath(path)) if path.is_dir() else Path(os.path.realpath(path.parent)) / path.name
    return path


def _matches(source: str, pattern: Path) -> Iterator[Input]:
    fixed = Path(*_split_pattern(pattern)[0])
    matches = sorted(_match_recursive(pattern) if "**" in pattern.parts else glob.glob(str(pattern)))
    if not matches:
        raise SourceError(f"no file matches {path_text(source)}")
    seen: set[Path] = set()
    for match in map(Path, matches):
        inside = (folder for folder in match.parents if folder != fixed and folder.is_relative_to(fixed))
        if any(_is_store(str(folder)) for folder in inside):
            continue
        if match.is_dir():
            yield from _folder(match)
        elif is_member(match.parent.name, match.name):
            if match.parent not in seen:
                seen.add(match.parent)
                yield from _events(match.parent)
        elif _is_input(match) or (match.suffix and pattern.name.endswith(match.suffix)):
            yield _file(match)


def _split_pattern(pattern: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parts of a path before the first one with a sign of a glob, and the others."""
    parts = pattern.parts
    at = next((i for i, part in enumerate(parts) if any(sign in part for sign in _GLOB)), len(parts))
    return parts[:at], parts[at:]


def _match_recursive(pattern: Path) -> Iterator[str]:
    """What matches a pattern with ``**``.

    Unlike ``glob`` it follows no linked folder: two that lead back up would give 2⁴⁰ paths.
    """
    fixed, wanted = _split_pattern(pattern)
    top = str(Path(*fixed))
    for folder, entries in _walk(top, lambda _: True):
        inner = Path(folder).relative_to(top).parts
        for entry in entries or ():
            if _matches_names((*inner, entry.name), wanted) and not (
                wanted[-1] == "**" and _is_folder(entry, or_link=True)
            ):
                yield os.path.join(folder, entry.name)


def _matches_names(names: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    if not wanted:
        return not names
    if wanted[0] == "**":
        passed = bool(names) and not names[0].startswith(".") and _matches_names(names[1:], wanted)
        return passed or (_matches_names(names, wanted[1:]) if wanted[1:] else not names)
    if not names or (names[0].startswith(".") and not wanted[0].startswith(".")):
        return False
    return fnmatch.fnmatchcase(names[0], wanted[0]) and _matches_names(names[1:], wanted[1:])


def _folder(top: Path) -> Iterator[Input]:
    for folder, entries in _walk(str(top), _is_entered):
        here = Path(folder)
        if entries is None:
            yield Input(here, "folder", 0, 0)
            continue
        members = {entry.name for entry in entries if is_member(here.name, entry.name)}
        if members:
            yield from _events(here)
        for entry in entries:
            name = entry.name
            if name in members or _is_folder(entry, or_link=True):
                continue
            if _is_input(path := here / name):
                one = _file(path)
                if one.mtime_ns or not _is_gone(path):
                    yield one


def _walk(top: str, is_entered: Callable[[str], bool]) -> Iterator[tuple[str, list[os.DirEntry[str]] | None]]:
    """Every folder with its entries by name, from the top down; None for one that cannot be opened.

    ``os.walk`` passes over folders without permission, and on Python 3.11 it recurses.
    """
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue
        except OSError:
            yield folder, None
            continue
        if any(entry.name == _STORE for entry in entries) and _is_store(folder):
            continue
        yield folder, entries
        inner = [entry.name for entry in entries if _is_folder(entry) and is_entered(entry.name)]
        waiting += (os.path.join(folder, name) for name in reversed(inner))


def _is_gone(path: Path) -> bool:
    """Whether somebody has removed it since the folder was listed."""
    try:
        path.lstat()
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def _is_folder(entry: os.DirEntry[str], *, or_link: bool = False) -> bool:
    try:
        return entry.is_dir(follow_symlinks=or_link)
    except OSError:
        return False


def _is_store(folder: str) -> bool:
    """Whether a folder is a store of this program: its quarantine and records are JSON, and no logs."""
    try:
        with open(os.path.join(folder, _STORE), "rb") as file:
            settings = json.loads(file.read(_REMEMBERED))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(settings, dict) and {"format", "tokenizer"} <= settings.keys()


def _is_entered(name: str) -> bool:
    return not name.startswith(".") or _is_known_hidden(name)


def _is_known_hidden(name: str) -> bool:
    return any(known.hidden is not None and known.hidden.match(name) for known in formats())


def _is_input(path: Path) -> bool:
    """Whether a file in a folder is an input by its name, or by its content where the name says little."""
    named = _is_named_as_input(path)
    if named is not None:
        return named
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and (
        not os.access(path, os.R_OK) or _is_log(path, found.st_mtime_ns, found.st_size)
    )


def _is_named_as_input(path: Path) -> bool | None:
    """Whether a file in a folder has the name of an input; None where its content decides."""
    plain = plain_name(path.name)
    if plain in _NEVER_READ or plain.endswith(".meta.json") or (plain[:1] == "." and not _is_known_hidden(plain)):
        return False
    if plain.endswith(_COMPACTED) and path.with_name(path.name[: -len(_COMPACTED)] + ".messages.json").exists():
        return False
    if _PIECE.fullmatch(f"{path.parent.name}/{plain}"):
        return False
    says_little = _SAYS_LITTLE.fullmatch(f"{path.parent.name}/{plain}") is not None
    if plain.endswith(_suffixes(shared=False)) and not says_little:
        return True
    return None if plain.endswith((*_suffixes(shared=True), *_suffixes(shared=False))) else False


@lru_cache(maxsize=_REMEMBERED)
def _is_log(path: Path, mtime_ns: int, size: int) -> bool:
    """Asked several times in a run about every file with such a name."""
    return recognise(path) is not None


@cache
def _suffixes(*, shared: bool) -> tuple[str, ...]:
    lists = [known.shared_suffixes if shared else known.suffixes for known in formats()]
    return tuple(sorted({suffix for suffixes in lists for suffix in suffixes}))


def _events(folder: Path) -> Iterator[Input]:
    size = latest = 0
    is_open = True
    members = event_files(folder, is_member)
    for path in members:
        try:
            found = path.stat()
        except OSError:  # gone since
            continue
        size += found.st_size
        latest = max(latest, found.st_mtime_ns)
        is_open = is_open and os.access(path, os.R_OK)
    if members:
        yield Input(folder, "folder", size, latest if is_open else 0)


def _file(path: Path) -> Input:
    """A file as it is now. One that cannot be read has no time, so that it is read when that has been mended."""
    try:
        found = path.stat()
    except OSError:
        return Input(path, "file", 0, 0)
    if not stat.S_ISREG(found.st_mode):
        return Input(path, "file", 0, 0)
    more, latest = unwritten(path) if path.suffix in _DATABASES else (0, 0)
    written = max(found.st_mtime_ns, latest) if os.access(path, os.R_OK) else 0
    return Input(path, "file", found.st_size + more, written)
