"""Checks of a store for anything that would stop a night."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flows.cli.checkup.finding import Finding, users_with_access
from flows.database.scores_db import connect, violations
from flows.llm.cache.call_cache import FILE as CACHE_FILE
from flows.pipeline.load.provenance import Provenance, loaded_study
from flows.pipeline.load.tables import is_loaded
from flows.pipeline.plan import is_gone, stored_sessions
from flows.pipeline.run_summary import all_records, failed_checks
from flows.sessions.deduplicate import WORSE
from flows.sessions.session_parts import read_parts
from flows.store.call_cache_sync import cache_folder
from flows.store.damage import name_damaged_file
from flows.store.shards import REARRANGING, SMALL_BYTES
from flows.store.store import DATABASE, Store, is_object_store, store_path
from flows.support.atomic_files import OWNERS_UMASK, TMP, umask_for
from flows.support.errors import EvalError
from flows.support.plurals import first_few, quantity

LITTLE_SPACE = 1_000_000_000
"""Bytes of free disk under which the check warns, where no run tells how much one takes."""
ENOUGH_RUNS = 3
"""Runs like the largest of the last ones that the free disk should hold."""
LAST_RUNS = 10
"""Runs that are looked at."""
EVERY_NIGHT = 3
"""Runs in a row that left failed items behind, from which on a failure is no accident."""
MANY_FILES = 5_000
"""Small files from which on every reader is slow (1,000 small ones: 0.3 s a scan, one large one: 0.03 s)."""
AHEAD_OF_CLOCK = 120.0
"""Seconds that a file may be newer than the clock says: file servers have clocks of their own."""
LEAST_FREE_INODES = 0.05
"""Share of a disk's files that should be free."""

Run = dict[str, Any]


def check_place(location: str) -> tuple[Finding, Store | None]:
    """Check whether there is a usable store; also returns the store, if it can be read."""
    if is_object_store(location):
        return _check_elsewhere(location)
    path = store_path(location)
    if not path.exists():
        parent = next(folder for folder in path.absolute().parents if folder.exists())
        if os.access(parent, os.W_OK):
            return Finding("store", "ok", f"none yet at {path}; `compaction-eval run` makes it"), None
        return Finding("store", "broken", f"none at {path}, and {parent} cannot be written"), None
    try:
        store = Store.open(str(path))
        store.settings["tokenizer"]
    except EvalError as problem:
        return Finding("store", "broken", str(problem)), None
    if not os.access(path, os.W_OK):
        return Finding("store", "broken", f"{path} can be read but not written"), store
    return Finding("store", "ok", _describe(store)), store


def _check_elsewhere(location: str) -> tuple[Finding, Store | None]:
    """Check that an object store answers. Whether it can be written to is seen only when a run locks it."""
    try:
        store = Store.at(location)
        if not store.is_there:
            return Finding("store", "ok", f"none yet at {store.name}; `compaction-eval run` makes it"), None
        store = Store.open(location)
        return Finding("store", "ok", f"{_describe(store)}; working folder {store.root}"), store
    except EvalError as problem:
        return Finding("store", "broken", str(problem)), None


def _describe(store: Store) -> str:
    n_files = len(store.place.list_all_files(store.root))
    loaded = "" if store.place.stat(store.root / DATABASE) else "; no scores.duckdb yet"
    settings = store.settings
    return (
        f"{store.name}: format {settings['format']}, {n_files} Parquet files, tokens by {settings['tokenizer']}{loaded}"
    )


def check_store(store: Store) -> list[Finding]:
    """All checks of a readable store; a check that fails with an error is a finding itself."""
    try:
        runs = _last_runs(store)
    except EvalError as problem:
        return [Finding("runs", "broken", str(problem))]
    checks: list[Callable[[], list[Finding]]] = [
        lambda: _check_access(store),
        lambda: _check_lock(store),
        lambda: _check_leftovers(store),
        lambda: _check_files(store),
        lambda: _check_clock(store, runs),
        lambda: _check_runs(runs),
        lambda: _check_failing(store, runs),
        lambda: _check_quarantine(store, runs),
        lambda: _check_database(store),
        lambda: _check_invariants(store),
        lambda: _check_logs(store),
        lambda: _check_cache(store),
        lambda: _check_memory(runs),
    ]
    findings = []
    for check in checks:
        try:
            with name_damaged_file(store.root, store.place):
                findings += check()
        except (OSError, EvalError) as error:
            broken = Finding("store", "broken", " ".join(str(error).split()))
            findings += [] if broken in findings else [broken]  # several checks read the same damaged file
    return findings


def check_space(path: Path, store: Store | None) -> Finding:
    """Compare the free disk with the largest growth of the last runs; ``path`` is the store's folder here."""
    place = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    said = f"{free / 1e9:,.1f} GB free at {place}"
    grew = _largest_growth(store) if store else 0
    wanted = LITTLE_SPACE
    if store and grew:
        # The database is made anew beside the old one, and may put as much again on disk while it is made.
        database = store.place.stat(store.root / DATABASE)
        wanted = ENOUGH_RUNS * grew + 2 * (database.size if database else 0)
        said += f"; the largest of the last runs left {_format_size(grew)}"
    if free < wanted:
        return Finding(
            "disk", "warning", said, f"make room: {_format_size(wanted)} are wanted for {ENOUGH_RUNS} such runs"
        )
    inodes = os.statvfs(place)
    if inodes.f_files and inodes.f_favail < LEAST_FREE_INODES * inodes.f_files:
        return Finding("disk", "warning", f"{said}; {inodes.f_favail:,} files can still be made", "make room for files")
    return Finding("disk", "ok", said)


def _largest_growth(store: Store) -> int:
    """Bytes written by the largest of the last runs, counted by the files that still exist."""
    spans = [
        (_timestamp_of(row["started_at"]), _timestamp_of(row["ended_at"]))
        for row in _last_runs(store)
        if row["ended_at"]
    ]
    sums = [0] * len(spans)
    for one in store.place.list_all_files(store.root):
        for index, (start, end) in enumerate(spans):
            if start <= one.written_ns / 1e9 <= end:
                sums[index] += one.size
    return max(sums, default=0)


def _last_runs(store: Store) -> list[Run]:
    """The records of the last runs, oldest first."""
    return sorted(store.records("runs"), key=lambda row: str(row["started_at"]))[-LAST_RUNS:]


def _check_access(store: Store) -> list[Finding]:
    """Warn if other users of this machine can read the store's folder, or the working folder of a bucket."""
    who = users_with_access(store.root)
    if not who:
        return []
    said = f"{store.root} holds texts of sessions, and is open to {who}"
    is_shared = umask_for(store.root) != OWNERS_UMASK
    if is_shared and "all users" not in who:
        return [Finding("access", "ok", f"{said}, to be shared with it")]
    do = f"chmod {'o-rwx' if is_shared else '700'} {store.root}; how to share it: docs/operating.md"
    return [Finding("access", "warning", said, do)]


def _check_lock(store: Store) -> list[Finding]:
    holder = store.holder()
    if holder is None:
        return []
    number = holder.rpartition("process ")[2].rstrip(")")
    if number.isdigit() and not Path("/proc", number).exists() and Path("/proc/self").exists():
        return [
            Finding(
                "lock",
                "warning",
                f"held by {holder}, which does not run on this machine",
                "see who else has this folder: another machine, or a container",
            )
        ]
    return [Finding("lock", "warning", f"the store is being written by {holder}", "a run that starts now is refused")]


def _check_leftovers(store: Store) -> list[Finding]:
    if store.is_locked():
        return []
    marks = sorted(one.path.parent.name for one in store.place.list_all_files(store.root, REARRANGING))
    tmp = [*store.root.glob(f"*/*{TMP}"), *store.root.glob(f".*{TMP}*")]
    size = sum(path.stat().st_size for path in tmp if path.is_file())
    findings = []
    if marks:
        said = f"the tidying of {', '.join(marks)} was interrupted"
        findings.append(Finding("leftovers", "warning", said, "nothing is lost; the next run finishes it"))
    if tmp:
        said = f"{len(tmp):,} unfinished files of a killed run, {_format_size(size)}"
        findings.append(Finding("leftovers", "warning", said, "the next run removes them"))
    return findings


def _check_files(store: Store) -> list[Finding]:
    numbers = Counter(one.path.parent.name for one in store.place.list_all_files(store.root) if one.size < SMALL_BYTES)
    if numbers.total() < MANY_FILES:
        return [Finding("files", "ok", f"{numbers.total():,} small Parquet files")]
    where = ", ".join(f"{name} {number:,}" for name, number in numbers.most_common(3))
    do = "each run merges those of a bucket that has many; where the sessions come in small portions, run less often"
    return [Finding("files", "warning", f"{numbers.total():,} small Parquet files ({where}) slow every reader", do)]


def _check_clock(store: Store, runs: Sequence[Run]) -> list[Finding]:
    now = time.time()
    ahead = [one for one in store.place.list_all_files(store.root) if one.written_ns / 1e9 > now + AHEAD_OF_CLOCK]
    later = [row["run_id"] for row in runs if _timestamp_of(row["started_at"]) > now + AHEAD_OF_CLOCK]
    if not ahead and not later:
        return []
    said = f"{quantity(len(ahead), 'file')} and {quantity(len(later), 'run')} of the store are from the future"
    do = "set this machine's clock: nights, days of anchors and what is the latest go by it"
    return [Finding("clock", "warning", said, do)]


def _check_runs(runs: Sequence[Run]) -> list[Finding]:
    if not runs:
        return [Finding("runs", "ok", "none yet")]
    ended = Counter(row["status"] for row in runs)
    said = f"of the last {len(runs)}: " + ", ".join(f"{number} {status}" for status, number in ended.most_common())
    last = runs[-1]
    if last["status"] in ("killed", "failed"):
        got = [stage["stage"] for stage in last.get("stages", ())]
        at = f" in or after {got[-1]}" if got else ""
        do = "run again: it goes on from there; if it is killed each time, see memory and the machine's log"
        return [Finding("runs", "warning", f"{said}; the last one was {last['status']}{at}", do)]
    if ended["killed"] > 1:
        return [Finding("runs", "warning", said, "see memory, the machine's log, and who ends processes there")]
    return [Finding("runs", "ok", f"{said}{_format_skipped(last)}")]


def _format_skipped(run: Run) -> str:
    stages = [stage for stage in run.get("stages", ()) if stage["sessions"] is not None]
    looked, passed = (sum(stage[name] or 0 for stage in stages) for name in ("sessions", "settled"))
    return f"; the last one passed over {passed / (looked + passed):.0%} of what was settled" if looked + passed else ""


def _check_failing(store: Store, runs: Sequence[Run]) -> list[Finding]:
    """Warn of stages with failed items in each of the last runs, with the commonest reason."""
    recent = [row for row in runs if row.get("stages")][-EVERY_NIGHT:]
    failed = [
        {stage["stage"] for stage in row["stages"] if stage["failed"] and stage["stage"] != "ingest"} for row in recent
    ]
    stages = set.intersection(*failed) if len(failed) == EVERY_NIGHT else set()
    if not stages or not store.database.is_file():
        return []
    with connect(store.database) as connection:
        rows = connection.execute(
            "SELECT coalesce(error, ''), count(*) AS n FROM ("
            "SELECT error FROM compactions WHERE status = 'failed' UNION ALL "
            "SELECT error FROM answers WHERE status = 'failed' UNION ALL "
            "SELECT error FROM measures WHERE status = 'failed' UNION ALL "
            "SELECT error FROM next_actions WHERE status = 'failed' UNION ALL "
            "SELECT unscored_reason FROM scores WHERE starts_with(unscored_reason, 'the judge failed')"
            ") GROUP BY ALL ORDER BY n DESC LIMIT 1"
        ).fetchall()
    why = f"; the commonest reason: {rows[0][1]:,} × {rows[0][0][:200]}" if rows else ""
    said = f"items of {', '.join(sorted(stages))} failed in each of the last {EVERY_NIGHT} runs{why}"
    return [Finding("failures", "warning", said, "they are tried, and perhaps paid for, again each night")]


def _check_quarantine(store: Store, runs: Sequence[Run]) -> list[Finding]:
    files = store.place.list_files(store.quarantine, ".jsonl")
    if not files:
        return []
    since = _timestamp_of(runs[-1]["started_at"]) if runs else 0.0
    new = sum(one.written_ns / 1e9 >= since for one in files)
    said = f"{quantity(len(files), 'input')} with places that could not be read, {new:,} of them new with the last run"
    if len(runs) > 1 and new >= len(files) / 2:
        return [Finding("quarantine", "warning", said, "see the table quarantine: a format may have changed")]
    return [Finding("quarantine", "ok", said)]


def _check_database(store: Store) -> list[Finding]:
    study = loaded_study(store)
    if study is None:
        return []
    if is_loaded(store, study, Provenance.noted(store), is_whole_store=True):
        return [Finding("results", "ok", "scores.duckdb is as new as the other files")]
    do = "the next run makes it anew, or now: compaction-eval rebuild"
    return [Finding("results", "warning", "scores.duckdb is older than the other files, or damaged", do)]


def _check_invariants(store: Store) -> list[Finding]:
    """Check every invariant of the results."""
    if not store.database.is_file():
        return []
    with connect(store.database) as connection:
        found = failed_checks(violations(connection))
    if not found:
        return [Finding("checks", "ok", "every check of the results holds")]
    [item] = found
    names = ", ".join(f"{name} {number:,}" for name, number in item.reasons)
    return [Finding("checks", "broken", f"{item.count:,} {item.what} ({names})", f"see: {item.look}; then run again")]


def _check_logs(store: Store) -> list[Finding]:
    """Warn of sessions whose log is gone, and of logs that can be read less well than when they were stored."""
    parts = read_parts(store)
    stored = stored_sessions(parts)
    lost = [info for info in stored if is_gone(info.input_path)]
    kept = [record.fingerprint.path for record in all_records(parts) if record.kept_because]
    findings = []
    if lost:
        paths = sorted({info.input_path for info in lost})
        said = f"{quantity(len(lost), 'session')} of {len(stored):,} have no log any more: {first_few(paths)}"
        do = "they stay in the results; to take them out: compaction-eval store drop --gone"
        findings.append(Finding("logs", "warning", said, do))
    if kept:
        do = "mend it; until then what was stored of it stays in the results"
        said = f"{quantity(len(kept), 'log')} {WORSE}: {first_few(kept)}"
        findings.append(Finding("logs", "warning", said, do))
    return findings or [Finding("logs", "ok", f"all logs of {quantity(len(stored), 'session')} are there")]


def _check_cache(store: Store) -> list[Finding]:
    path = cache_folder(store) / CACHE_FILE
    if not path.is_file():
        return []
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)
        try:
            connection.execute("SELECT key FROM answers LIMIT 1").fetchall()
            (waiting,) = connection.execute("SELECT count(*) FROM journal").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        do = "put a whole copy of it back: what it held is paid for again otherwise"
        return [Finding("call cache", "broken", f"{path} cannot be read: {error}", do)]
    said = f"{_format_size(path.stat().st_size)}"
    return [
        Finding("call cache", "ok", said + (f", {quantity(waiting, 'call')} not in the tables yet" if waiting else ""))
    ]


def _check_memory(runs: Sequence[Run]) -> list[Finding]:
    """Compare the memory that workers used in the last runs with the machine's."""
    peak = max((stage["peak_memory_bytes"] or 0 for row in runs for stage in row.get("stages", ())), default=0)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if not peak:
        return []
    workers = max((row["study"].get("concurrency") or 0 for row in runs), default=0) or os.cpu_count() or 1
    workers = min(workers, os.cpu_count() or 1)
    said = f"a worker took up to {_format_size(peak)}; {workers} of them, of {_format_size(total)}"
    if peak * workers > 0.8 * total:
        return [Finding("memory", "warning", said, "set a smaller concurrency, or give the machine more memory")]
    return [Finding("memory", "ok", said)]


def _timestamp_of(text: str) -> float:
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _format_size(number: int) -> str:
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:,.1f} MB"
