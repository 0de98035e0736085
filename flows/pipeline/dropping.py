"""Taking sessions out of a store: their messages, all that came of them, and their place in the results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from flows.pipeline.plan import is_gone, stored_sessions
from flows.pipeline.stages import STAGES
from flows.sessions.deduplicate import deduplicate, rewrite_part
from flows.sessions.session_parts import InputRecord, Part, SessionInfo, read_parts, with_digests
from flows.store.store import Store
from flows.support.errors import UsageError
from flows.support.ids import content_id

DROPPING = "dropping.json"
"""In the store while sessions are being taken out: which; a command that was killed is finished by the next one."""
DROPPED = "session taken out by `store drop`"
"""Reason under which the messages of a log that is still there are set aside."""


@dataclass(frozen=True)
class DropSelection:
    """The sessions and logs to be taken out of a store."""

    sessions: tuple[SessionInfo, ...]
    inputs: tuple[str, ...]
    """Paths of logs of which nothing stays behind: they are gone, and so are their sessions."""

    @property
    def present(self) -> tuple[SessionInfo, ...]:
        """Sessions whose log is still there."""
        return tuple(info for info in self.sessions if not is_gone(info.input_path))


def choose_sessions(parts: Sequence[Part], words: Sequence[str], *, gone: bool) -> DropSelection:
    """Find the named sessions, and with ``gone`` those whose logs are all gone.

    Args:
        parts: Of the store.
        words: Ids of sessions, paths of logs or of folders with logs, or globs of either.
        gone: Whether a session is taken when its log, and that of every copy of it, is gone.

    Raises:
        UsageError: a word names no session of the store.
    """
    stored = stored_sessions(parts)
    found: dict[str, SessionInfo] = {}
    for word in words:
        named = [info for info in stored if _is_named(info, word)]
        if not named:
            raise UsageError(
                f"store drop: no session of the store has the id, log or folder {word!r}; the table sessions has all"
            )
        found |= {info.session_id: info for info in named}
    if gone:
        still = {info.folded_into for part in parts for info in part.folded if not is_gone(info.input_path)}
        left = (info for info in stored if is_gone(info.input_path) and info.session_id not in still)
        found |= {info.session_id: info for info in left}
    return DropSelection(tuple(found.values()), _without_sessions(parts, found.keys(), gone=gone))


def _is_named(info: SessionInfo, word: str) -> bool:
    folder = str(Path(word).expanduser().absolute())
    return (
        fnmatchcase(info.session_id, word)
        or fnmatchcase(info.input_path, folder)
        or info.input_path.startswith(folder.rstrip("/") + "/")
    )


def _without_sessions(parts: Sequence[Part], dropped: Collection[str], *, gone: bool) -> tuple[str, ...]:
    """The logs that are gone and have no session left; without ``gone`` only those that lose one now."""
    losing: set[str] = set()
    keeping: set[str] = set()
    for part in parts:
        for info in (*part.sessions, *part.folded):
            here = losing if (info.folded_into or info.session_id) in dropped else keeping
            here.add(info.input_path)
    paths = {record.fingerprint.path for part in parts for record in part.inputs} if gone else losing
    return tuple(sorted(path for path in paths - keeping if is_gone(path)))


def drop_sessions(store: Store, dropped: DropSelection) -> int:
    """Take sessions out of a locked store, and return the number of result rows that went with them."""
    ids = [info.session_id for info in dropped.sessions]
    content = {"sessions": ids, "inputs": dropped.inputs}
    store.place.write(store.root / DROPPING, json.dumps(content).encode())
    return finish_dropping(store)


def finish_dropping(store: Store) -> int:
    """Finish a drop that ``drop_sessions`` has written down, and return the number of result rows dropped."""
    content = store.place.read(store.root / DROPPING)
    if content is None:
        return 0
    found = json.loads(content)
    sessions, inputs = frozenset(found["sessions"]), frozenset(found["inputs"])
    for seen in store.place.list_files(store.transcripts):
        part = with_digests(seen, store.place)
        left = _part_without(part, sessions, inputs)
        if left != part:
            rewrite_part(store, left)
    for path in inputs:
        store.place.remove(store.quarantine / f"{content_id(path)}.jsonl")
    n_rows = sum(shards.drop_sessions(sessions) for shards in store.folders if shards.is_bucketed)
    for name in ("", *STAGES):
        store.place.clear(store.root / "settled" / name)  # a session that comes back is to be looked at again
    store.place.remove(store.root / DROPPING)
    deduplicate(store)
    return n_rows


def _part_without(part: Part, sessions: Collection[str], inputs: Collection[str]) -> Part:
    """A part without some sessions and their copies, and without some inputs."""
    taken: dict[str, list[SessionInfo]] = {}
    for info in (*part.sessions, *part.folded):
        if (info.folded_into or info.session_id) in sessions:
            taken.setdefault(info.input_path, []).append(info)
    return replace(
        part,
        inputs=tuple(
            _record_without(record, taken.get(record.fingerprint.path, ()))
            for record in part.inputs
            if record.fingerprint.path not in inputs
        ),
        sessions=tuple(info for info in part.sessions if info.session_id not in sessions),
        folded=tuple(info for info in part.folded if info.folded_into not in sessions),
    )


def _record_without(record: InputRecord, taken: Sequence[SessionInfo]) -> InputRecord:
    """Copy a log's record, and account for the sessions that were taken out."""
    if not taken:
        return record
    kinds = sum((Counter(info.by_kind()) for info in taken), Counter[str]())
    aside = Counter({(kind, reason): number for kind, reason, number in record.aside})
    aside.update({(kind, DROPPED): number for kind, number in kinds.items() if number})
    return replace(
        record,
        n_sessions=record.n_sessions - len(taken),
        n_messages=record.n_messages - sum(info.n_messages for info in taken),
        aside=tuple((kind, reason, number) for (kind, reason), number in sorted(aside.items())),
    )


def select_sessions(store: Store, words: Sequence[str], *, gone: bool) -> DropSelection:
    """Select the sessions that ``store drop`` would take out.

    Raises UsageError when nothing is named, or a word names nothing.
    """
    if not words and not gone:
        raise UsageError("store drop: say what to take out: sessions, logs or folders, or --gone")
    return choose_sessions(read_parts(store), words, gone=gone)
