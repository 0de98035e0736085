"""Finds copies and forms of one session, and the ids that sessions are stored under.

A session can be there many times: it grew and its file was read again, a checkpoint holds the session so far, a
resumed or forked session begins with a copy of another, two agents' logs or an export tell of the same one. It is
stored once, in its fullest form, and every other form is noted as folded into that one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile

import pyarrow as pa
import pyarrow.parquet as pq

from flows.sessions.part_writer import PartFile
from flows.sessions.session_parts import DIGEST, InputRecord, Part, SessionInfo, open_part, split_digests, with_digests
from flows.sources.registry import formats
from flows.store import parquet_schemas
from flows.store.row_codec import with_author
from flows.store.store import Store
from flows.support.atomic_files import temporary_path
from flows.support.ids import content_id
from flows.support.plurals import quantity

SAME_SESSION = 0.5
"""Share of the shorter session that the longer one must hold for the two to be one session."""
NEARLY_ALL = 0.8
"""Least share of the longest form's assistant messages for a form in another format to replace it."""
LEAST_EVIDENCE = 3
"""Least number of assistant messages that sessions with different ids must share to be one session."""
LEAST_BEGINNING = 6
"""Least number of messages that sessions must share from the first on for a part of one to be the other's."""
_RULES = 2
"""Version of what is decided here: it rises when the same parts are settled otherwise."""
COMPARED_FIRST = 8
"""Number of evidence digests by which a session is looked up. Copies share their first ones."""
COMPARED_AT_ONCE = 1_024
"""Sessions whose digests are held ready: those of one piece of boilerplate are compared with all that have it."""
MOST_ALIKE = 64
"""Most sessions compared because they share one digest. If more share it, it is boilerplate."""
WORSE = "reads worse than before, so its last good form is kept"
"""Beginning of the reason why a later reading of an input is refused."""
_MADE_UP_ID = re.compile(r"-[0-9a-f]{16}\Z")

Place = tuple[str, int]


def deduplicate(store: Store) -> None:
    """Remove copies of sessions from all parts. The result depends only on what was read, not on order or repetition.

    - Of an input that was read again the latest reading holds, unless it reads worse (``_why_worse``).
    - Of sessions that are one (``is_copy``) the fullest stays, the others are noted as folded into it, without rows.
    - Different sessions with the same recorded id stay both; all but the first by path get a suffix.
    - Of sessions that begin alike and are not one, all but the one that ended first were given that beginning.
    - Where a folded session has to come back (the other one is gone or has changed), its input counts as not read.
    """
    as_settled = store.root / "settled" / "parts.json"
    if store.place.read(as_settled) == _stamp(store):
        return
    parts = [with_digests(seen, store.place) for seen in store.place.list_files(store.transcripts)]
    holds = _records_in_force(parts)
    for record, _ in holds.values():
        if record.kept_because:
            _note_kept(store, record)
    live = [info for part in parts for info in (*part.sessions, *part.folded) if holds[info.input_path][1] == part.name]
    stay, folds = _without_copies(live)
    here = [info for info in stay if not info.folded_into]
    names, given = _session_ids(here), _find_common_beginnings(here)
    lost = {_place(info) for info in stay if info.folded_into}
    unread = {info.input_path for info in stay if info.folded_into}
    for part in parts:
        inputs = tuple(
            replace(held, fingerprint=replace(held.fingerprint, reader="")) if path in unread else held
            for path in (record.fingerprint.path for record in part.inputs)
            for held, name in [holds[path]]
            if name == part.name
        )
        sessions, folded = [], []
        for info in (*part.sessions, *part.folded):
            place = _place(info)
            if place in names:
                number, giver = given.get(place, (0, None))
                given_by = names[giver] if giver else None
                sessions.append(replace(info, session_id=names[place], n_given=number, given_by=given_by))
            elif place in folds:
                winner = folds[place]
                apart = Counter(info.evidence_list()) - Counter(winner.evidence_list())
                folded.append(
                    replace(info, folded_into=names[_place(winner)], n_apart=apart.total(), n_given=0, given_by=None)
                )
            elif place in lost:
                folded.append(info)  # comes back when its input is read again
        if (inputs, tuple(sessions), tuple(folded)) != (part.inputs, part.sessions, part.folded):
            rewrite_part(store, replace(part, inputs=inputs, sessions=tuple(sessions), folded=tuple(folded)))
    if parts:
        store.place.write(as_settled, _stamp(store))


@dataclass(frozen=True)
class _Reading:
    """One reading of an input: its record, and the sessions in the part that it was written to."""

    record: InputRecord
    part: str
    sessions: tuple[SessionInfo, ...]


def _records_in_force(parts: Sequence[Part]) -> dict[str, tuple[InputRecord, str]]:
    """Path of an input → its valid record, and the name of the part that stores its sessions."""
    found: dict[str, _Reading] = {}
    for part in sorted(parts, key=lambda part: (part.generation, part.name)):
        sessions: dict[str, list[SessionInfo]] = {}
        for info in (*part.sessions, *part.folded):
            sessions.setdefault(info.input_path, []).append(info)
        for record in part.inputs:
            path = record.fingerprint.path
            now = _Reading(record, part.name, tuple(sessions.get(path, ())))
            why = _why_worse(found[path], now) if path in found else ""
            if why:
                found[path] = replace(found[path], record=_keep_stored(found[path].record, record, why))
            else:
                found[path] = now
    return {path: (reading.record, reading.part) for path, reading in found.items()}


def _why_worse(then: _Reading, now: _Reading) -> str:
    """Return the reason to refuse the later reading of an input; empty if it is accepted.

    It reads worse when it adds nothing and lacks something: each of its sessions is the beginning of a stored one, or
    the same, and one is shorter or missing. Or when more of it could not be read than before, and a session has lost
    messages; the last one of a session that grew may be another, as it may have been half-written before. All other
    content is a change, and is taken. So is whatever newer readers make of the same file.
    """
    old, new = then.record.fingerprint, now.record.fingerprint
    if not then.sessions or (not old.reader and any(info.folded_into for info in then.sessions)):
        return ""  # a folded session has no rows that could be kept
    if (old.size, old.mtime_ns) == (new.size, new.mtime_ns) and new.reader:
        return ""
    found = {info.recorded_id: info for info in now.sessions}
    if all(_begins_with(found.get(info.recorded_id), info.digests) for info in then.sessions):
        return ""
    stored = {info.recorded_id: info.digests for info in then.sessions}
    adds = any(not stored.get(info.recorded_id, "").startswith(info.digests) for info in now.sessions)
    if not adds:
        number, of = (sum(info.n_messages for info in some) for some in (now.sessions, then.sessions))
        return f"{number:,} of the {of:,} messages that it had, and nothing new"
    lost = [info for info in then.sessions if not _has_grown(info, found.get(info.recorded_id))]
    if not lost or now.record.n_set_aside <= then.record.n_set_aside:
        return ""
    return f"more of it cannot be read than before, and {quantity(len(lost), 'session')} of it lost messages"


def _begins_with(info: SessionInfo | None, digests: str) -> bool:
    return info is not None and info.digests.startswith(digests)


def _has_grown(then: SessionInfo, now: SessionInfo | None) -> bool:
    """Whether all messages but the last are still there, and as many or more."""
    return now is not None and now.n_messages >= then.n_messages and _begins_with(now, then.digests[:-DIGEST])


def _keep_stored(held: InputRecord, refused: InputRecord, why: str) -> InputRecord:
    """The stored record with the current fingerprint of the file, so that it is read again only after a change."""
    return replace(
        held, fingerprint=refused.fingerprint, kept_because=f"{WORSE}: {why}", n_refused=refused.n_set_aside + 1
    )


def _note_kept(store: Store, record: InputRecord) -> None:
    """Say in the quarantine, after what could not be read, that the last good form of an input is kept."""
    path = record.fingerprint.path
    file = store.quarantine / f"{content_id(path)}.jsonl"
    rows = (store.place.read(file) or b"").decode().splitlines()
    row = {"path": path, "line": None, "reason": record.kept_because, "excerpt": "", "input": path}
    line = json.dumps(row, ensure_ascii=True)
    if line not in rows:
        store.place.write(file, "\n".join([*rows, line, ""]).encode())


def _stamp(store: Store) -> bytes:
    """Hash of the list of parts. While it is the same, digests need not be compared again."""
    found = store.place.list_files(store.transcripts)
    return content_id(
        [_RULES, *((one.path.name, one.size, one.written_ns, one.version or one.inode) for one in found)]
    ).encode()


def _place(info: SessionInfo) -> Place:
    return info.part, info.ordinal


def _without_copies(infos: Iterable[SessionInfo]) -> tuple[list[SessionInfo], dict[Place, SessionInfo]]:
    """Split sessions into those that stay and copies, each with its original."""
    longest: list[SessionInfo] = []
    copies: dict[Place, list[SessionInfo]] = {}
    alike: dict[str, list[SessionInfo]] = {}
    for info in sorted(infos, key=_preference):
        keys = (info.recorded_id, *info.evidence_list()[:COMPARED_FIRST])
        candidates = {_place(other): other for key in keys for other in alike.get(key, ())}
        winner = next((other for other in candidates.values() if is_copy(info, other)), None)
        if winner is not None:
            copies.setdefault(_place(winner), []).append(info)
            continue
        longest.append(info)
        if info.folded_into:
            continue  # it has no rows now, so that nothing can be kept in its place
        for key in keys:
            group = alike.setdefault(key, [])
            if len(group) < MOST_ALIKE:
                group.append(info)
    stay: list[SessionInfo] = []
    folds: dict[Place, SessionInfo] = {}
    for info in longest:
        forms = [info, *copies.get(_place(info), ())]
        kept = _fullest(forms)
        stay.append(kept)
        folds |= {_place(form): kept for form in forms if form is not kept}
    return stay, folds


def _preference(info: SessionInfo) -> tuple[int, int, int, str, int]:
    """Sort key: the longest first, then sessions with compactions, then those with more content, then by path."""
    return -info.n_messages, -len(info.compactions), -info.n_tokens, info.input_path, info.ordinal


def _fullest(forms: Sequence[SessionInfo]) -> SessionInfo:
    """Choose the form of a session to store, among its forms, the longest first.

    Forms of one format differ in how far the session had got: the longest has it all. Formats differ in what they
    record: one that is made of other logs may have lost the reasoning and still have more messages, of a branch that
    was left for one. So another format's longest form is taken in its place, if it has nearly all of its answers: the
    agent's own log before what is made of it, then the form with the most compactions, then with the most tokens.
    """
    longest = forms[0]
    if all(form.source_format == longest.source_format for form in forms):
        return longest
    made_of_others = {known.name for known in formats() if known.is_made_of_others}
    of_formats: dict[str, SessionInfo] = {}
    for form in forms:
        if not form.folded_into:  # else it has no rows
            of_formats.setdefault(form.source_format, form)
    answers = _tally(longest.evidence).total()
    full = [form for form in of_formats.values() if _n_shared(form.evidence, longest.evidence) >= NEARLY_ALL * answers]
    return min(
        full,
        key=lambda form: (
            form.source_format in made_of_others,
            -len(form.compactions),
            -form.n_tokens,
            *_preference(form),
        ),
    )


def is_copy(short: SessionInfo, long: SessionInfo) -> bool:
    """Whether a session is another one that is at least as long, at an earlier time or in another log.

    Under one id: the start of the longer one is enough, and where the log gave the id, half of the messages. Under
    different ids, of different files and neither parent and child nor children of one parent: three assistant messages
    and half of the shorter one's. Sessions of one file that have ids of their own are what the file says that they are.
    """
    if short.recorded_id == long.recorded_id:
        if long.digests.startswith(short.digests):
            return True
        if short.input_path == long.input_path or _MADE_UP_ID.search(short.recorded_id):
            return False
        shared = _n_shared(short.digests, long.digests)
        return shared >= SAME_SESSION * short.n_messages > 0
    if short.input_path == long.input_path:
        return False
    parents = {short.parent_session_id, long.parent_session_id}
    if parents & {short.recorded_id, long.recorded_id} or (len(parents) == 1 and None not in parents):
        return False
    shared = _n_shared(short.evidence, long.evidence)
    return shared >= LEAST_EVIDENCE and shared >= SAME_SESSION * _tally(short.evidence).total()


def _find_common_beginnings(stay: Iterable[SessionInfo]) -> dict[Place, tuple[int, Place]]:
    """Find the sessions that begin like another one, with the number of common messages and the other's place.

    A fork that its log does not mark begins so. Of one file only sessions count whose first messages have one time
    (a database has a fork beside its origin): the runs of a dataset may begin alike by themselves.
    """
    alike: dict[str, list[SessionInfo]] = {}
    found: dict[Place, tuple[int, Place]] = {}
    for info in sorted(stay, key=lambda i: (i.ended_at or "", i.input_path, i.ordinal)):
        start = info.digests[: LEAST_BEGINNING * DIGEST]
        if len(start) < LEAST_BEGINNING * DIGEST:
            continue
        group = alike.setdefault(start, [])
        others = [other for other in group if other.input_path != info.input_path or _began_with(info, other)]
        if others:
            giver = max(others, key=lambda other: _length_shared(info.digests, other.digests))
            found[_place(info)] = _length_shared(info.digests, giver.digests), _place(giver)
        if len(group) < MOST_ALIKE:
            group.append(info)
    return found


def _began_with(one: SessionInfo, other: SessionInfo) -> bool:
    return one.said_from is not None and one.said_from == other.said_from


def _length_shared(one: str, other: str) -> int:
    """Count the common first messages of two sessions."""
    pairs = zip(split_digests(one), split_digests(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _n_shared(one: str, other: str) -> int:
    """Count the common digests of two sessions."""
    here, there = _tally(one), _tally(other)
    return sum(min(here[digest], there[digest]) for digest in here.keys() & there.keys())


@lru_cache(maxsize=COMPARED_AT_ONCE)
def _tally(digests: str) -> Counter[str]:
    return Counter(split_digests(digests))


def _session_ids(stay: Sequence[SessionInfo]) -> dict[Place, str]:
    """An id for each session: the recorded one, with a suffix where it is taken."""
    names: dict[Place, str] = {}
    taken: set[str] = set()
    for info in sorted(stay, key=lambda i: (i.input_path, i.ordinal)):
        id = info.recorded_id
        if id in taken:
            id = f"{info.recorded_id}~{content_id(info.digest_list()[:3])[:8]}"
        if id in taken:
            id = f"{info.recorded_id}~{info.content_sha256[:12]}"
        number = 2
        while id in taken:
            id, number = f"{info.recorded_id}~{info.content_sha256[:12]}-{number}", number + 1
        taken.add(id)
        names[_place(info)] = id
    return names


def rewrite_part(store: Store, part: Part) -> None:
    """Replace the part of the same name atomically, with fewer inputs or sessions, or with other ids."""
    path = store.transcripts / part.name
    if not part.inputs:
        store.place.remove(path)
        return
    seen = store.place.stat(path)
    assert seen is not None
    tmp = temporary_path(path)
    tmp.parent.mkdir(parents=True, exist_ok=True)  # of an object store it may be another machine that wrote the part
    sessions, row = [], 0
    for info in sorted(part.sessions, key=lambda info: info.first_row):
        sessions.append(replace(info, first_row=row))
        row += info.n_messages
    with open_part(seen, store.place) as old, closing(PartFile(tmp)) as new:
        for rows in _rows_of(old, part.sessions):
            new.add_rows(rows, rows.nbytes)
        new.finish(replace(part, sessions=tuple(sessions)))
    store.place.publish(tmp, path)


def _rows_of(file: pq.ParquetFile, sessions: Iterable[SessionInfo]) -> Iterator[pa.Table]:
    """The rows of these sessions with their current ids, read by row groups."""
    wanted = sorted(sessions, key=lambda info: info.first_row)
    start = at = 0
    for index in range(file.num_row_groups):
        end = start + file.metadata.row_group(index).num_rows
        while at < len(wanted) and wanted[at].first_row + wanted[at].n_messages <= start:
            at += 1
        inside = []
        for info in wanted[at:]:
            if info.first_row >= end:
                break
            inside.append(info)
        if inside:
            group = file.read_row_group(index)
            for info in inside:
                first, last = max(info.first_row, start), min(info.first_row + info.n_messages, end)
                ids = pa.array([info.session_id] * (last - first), pa.string())
                rows = with_author(group.slice(first - start, last - first))
                yield rows.set_column(0, parquet_schemas.MESSAGES.field("session_id"), ids).cast(
                    parquet_schemas.MESSAGES
                )
        start = end
