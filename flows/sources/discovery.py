"""From what a person names (files, folders, globs) to the inputs to read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from flows.sources.base import Input, SourceError, event_files, plain_name
from flows.sources.registry import formats, is_member, recognise

# Beside sessions and never one: OpenHands' state can hold credentials, Cline's repeat its history for the screen, the
# others are lists of what is there.
_NEVER_READ = {
    "base_state.json", "sessions-index.json", "package.json", "package-lock.json",
    "ui_messages.json", "task_metadata.json", "context_history.json", "history_item.json",
}  # fmt: skip
_GLOB = "*?["


def discover(sources: Sequence[str]) -> list[Input]:
    """The inputs behind files, folders (searched to the bottom) and globs, sorted by path and each once.

    In a folder hidden entries are skipped, and files whose name no known format uses. A folder of event files is one
    input. A file that is named outright is always taken.

    Raises:
        SourceError: A source leads to nothing.
    """
    found: dict[str, Input] = {}
    for source in sources:
        inputs = list(_expand(source))
        if not inputs:
            endings = ", ".join((*_suffixes(shared=False), *_suffixes(shared=True)))
            raise SourceError(f"nothing to read in {source}: no file that ends in {endings} (or these with .gz, .zst)")
        for one in inputs:
            found.setdefault(os.path.realpath(one.path), one)
    return sorted(found.values(), key=lambda one: one.label)


def _expand(source: str) -> Iterator[Input]:
    path = Path(source).expanduser()
    if path.is_dir():
        yield from _folder(path)
    elif path.exists():
        yield _file(path)
    elif any(sign in source for sign in _GLOB):
        yield from _matches(source, path)
    else:
        raise SourceError(f"no such file or folder: {source}")


def _matches(source: str, pattern: Path) -> Iterator[Input]:
    matches = sorted(glob.glob(str(pattern), recursive=True))
    if not matches:
        raise SourceError(f"no file matches {source}")
    for match in map(Path, matches):
        if match.is_dir():
            yield from _folder(match)
        elif is_member(match):
            yield from _events(match.parent)
        elif match.is_file() and (_readable(match) or (match.suffix and pattern.name.endswith(match.suffix))):
            yield _file(match)


def _folder(folder: Path) -> Iterator[Input]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") or _is_known_hidden(name))
        here = Path(at)
        members = {name for name in names if is_member(here / name)}
        if members:
            yield from _events(here)
        for name in names:
            path = here / name
            if name not in members and _readable(path) and path.is_file():
                yield _file(path)


def _is_known_hidden(name: str) -> bool:
    return any(known.hidden is not None and known.hidden.match(name) for known in formats())


def _readable(path: Path) -> bool:
    plain = plain_name(path.name)
    if plain in _NEVER_READ or plain.endswith(".meta.json") or (plain[:1] == "." and not _is_known_hidden(plain)):
        return False
    if plain.endswith(_suffixes(shared=False)):
        return True
    return plain.endswith(_suffixes(shared=True)) and path.is_file() and recognise(path) is not None


@cache
def _suffixes(*, shared: bool) -> tuple[str, ...]:
    lists = [known.shared_suffixes if shared else known.suffixes for known in formats()]
    return tuple(sorted({suffix for suffixes in lists for suffix in suffixes}))


def _events(folder: Path) -> Iterator[Input]:
    stats = [path.stat() for path in event_files(folder, is_member)]
    if stats:
        yield Input(folder, "folder", sum(stat.st_size for stat in stats), max(stat.st_mtime_ns for stat in stats))


def _file(path: Path) -> Input:
    stat = path.stat()
    return Input(path, "file", stat.st_size, stat.st_mtime_ns)
