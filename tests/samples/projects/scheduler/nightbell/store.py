"""The job store: one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from .errors import DuplicateJob, LeaseLost, NoSuchJob
from .models import Job, JobState, Outcome, Run

SCHEMA_VERSION = 3

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    command       TEXT NOT NULL,
    cron          TEXT NOT NULL,
    zone          TEXT NOT NULL,
    state         TEXT NOT NULL,
    next_run      TEXT,
    attempt       INTEGER NOT NULL DEFAULT 0,
    max_attempts  INTEGER NOT NULL,
    backoff_base  REAL NOT NULL,
    backoff_cap   REAL NOT NULL,
    timeout       REAL
);
CREATE INDEX IF NOT EXISTS jobs_due ON jobs (state, next_run);

CREATE TABLE IF NOT EXISTS runs (
    id            INTEGER PRIMARY KEY,
    job_id        INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    scheduled_for TEXT NOT NULL,
    attempt       INTEGER NOT NULL,
    started_at    TEXT NOT NULL,
    finished_at   TEXT,
    outcome       TEXT NOT NULL,
    exit_code     INTEGER,
    output        TEXT NOT NULL DEFAULT '',
    UNIQUE (job_id, scheduled_for, attempt)
);

CREATE TABLE IF NOT EXISTS leases (
    name          TEXT PRIMARY KEY,
    holder        TEXT NOT NULL,
    expires_at    TEXT NOT NULL
);
"""


def _to_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise ValueError("the store takes aware datetimes only")
    return moment.isoformat(timespec="seconds")


def _from_text(text: str | None) -> datetime | None:
    if text is None:
        return None
    return datetime.fromisoformat(text)


class JobStore:
    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._db = sqlite3.connect(self.path, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.executescript(SCHEMA)
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # -- jobs ---------------------------------------------------------------

    @staticmethod
    def _job(row: sqlite3.Row) -> Job:
        return Job(
            id=row["id"],
            name=row["name"],
            command=json.loads(row["command"]),
            cron=row["cron"],
            zone=row["zone"],
            state=JobState(row["state"]),
            next_run=_from_text(row["next_run"]),
            attempt=row["attempt"],
            max_attempts=row["max_attempts"],
            backoff_base=row["backoff_base"],
            backoff_cap=row["backoff_cap"],
            timeout=row["timeout"],
        )

    def add(self, job: Job) -> Job:
        try:
            cursor = self._db.execute(
                "INSERT INTO jobs (name, command, cron, zone, state, next_run, attempt,"
                " max_attempts, backoff_base, backoff_cap, timeout)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    job.name,
                    json.dumps(job.command),
                    job.cron,
                    job.zone,
                    job.state.value,
                    _to_text(job.next_run),
                    job.attempt,
                    job.max_attempts,
                    job.backoff_base,
                    job.backoff_cap,
                    job.timeout,
                ),
            )
        except sqlite3.IntegrityError as error:
            raise DuplicateJob(job.name) from error
        job.id = cursor.lastrowid
        return job

    def get(self, name: str) -> Job:
        row = self._db.execute("SELECT * FROM jobs WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise NoSuchJob(name)
        return self._job(row)

    def all(self) -> list[Job]:
        return [self._job(row) for row in self._db.execute("SELECT * FROM jobs ORDER BY name")]

    def remove(self, name: str) -> None:
        cursor = self._db.execute("DELETE FROM jobs WHERE name = ?", (name,))
        if cursor.rowcount == 0:
            raise NoSuchJob(name)

    def set_state(self, name: str, state: JobState) -> None:
        cursor = self._db.execute(
            "UPDATE jobs SET state = ? WHERE name = ?", (state.value, name)
        )
        if cursor.rowcount == 0:
            raise NoSuchJob(name)

    def reschedule(self, job: Job, next_run: datetime | None, attempt: int) -> None:
        """Store when `job` is next due; its state is left as it is in the file."""
        self._db.execute(
            "UPDATE jobs SET next_run = ?, attempt = ? WHERE id = ?",
            (_to_text(next_run), attempt, job.id),
        )
        job.next_run = next_run
        job.attempt = attempt

    def due(self, now: datetime) -> list[Job]:
        """The active jobs whose time has come, the most overdue first."""
        rows = self._db.execute(
            "SELECT * FROM jobs WHERE state = 'active' AND next_run IS NOT NULL"
            " AND next_run <= ? ORDER BY next_run, name",
            (_to_text(now),),
        )
        return [self._job(row) for row in rows]

    def next_wakeup(self) -> datetime | None:
        row = self._db.execute(
            "SELECT MIN(next_run) AS soonest FROM jobs WHERE state = 'active'"
        ).fetchone()
        return _from_text(row["soonest"])

    # -- runs ---------------------------------------------------------------

    @staticmethod
    def _run(row: sqlite3.Row) -> Run:
        scheduled_for = _from_text(row["scheduled_for"])
        started_at = _from_text(row["started_at"])
        assert scheduled_for is not None and started_at is not None
        return Run(
            id=row["id"],
            job_id=row["job_id"],
            scheduled_for=scheduled_for,
            started_at=started_at,
            finished_at=_from_text(row["finished_at"]),
            attempt=row["attempt"],
            outcome=Outcome(row["outcome"]),
            exit_code=row["exit_code"],
            output=row["output"],
        )

    def start_run(self, run: Run) -> Run:
        """Claim the run. The UNIQUE constraint lets only one claim through."""
        cursor = self._db.execute(
            "INSERT INTO runs (job_id, scheduled_for, attempt, started_at, outcome)"
            " VALUES (?, ?, ?, ?, ?)",
            (
                run.job_id,
                _to_text(run.scheduled_for),
                run.attempt,
                _to_text(run.started_at),
                run.outcome.value,
            ),
        )
        run.id = cursor.lastrowid
        return run

    def finish_run(self, run: Run) -> None:
        self._db.execute(
            "UPDATE runs SET finished_at = ?, outcome = ?, exit_code = ?, output = ?"
            " WHERE id = ?",
            (
                _to_text(run.finished_at),
                run.outcome.value,
                run.exit_code,
                run.output,
                run.id,
            ),
        )

    def history(self, name: str, limit: int = 20) -> list[Run]:
        job = self.get(name)
        rows = self._db.execute(
            "SELECT * FROM runs WHERE job_id = ? ORDER BY id DESC LIMIT ?", (job.id, limit)
        )
        return [self._run(row) for row in rows]

    def mark_lost(self) -> int:
        cursor = self._db.execute(
            "UPDATE runs SET outcome = 'lost' WHERE outcome = 'running'"
        )
        return cursor.rowcount

    # -- the lease ----------------------------------------------------------

    def take_lease(self, holder: str, now: datetime, seconds: float) -> bool:
        with self._transaction() as db:
            row = db.execute("SELECT * FROM leases WHERE name = 'daemon'").fetchone()
            if row is not None and row["holder"] != holder:
                expires = _from_text(row["expires_at"])
                if expires is not None and expires > now:
                    return False
            db.execute(
                "INSERT INTO leases (name, holder, expires_at) VALUES ('daemon', ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder,"
                " expires_at = excluded.expires_at",
                (holder, _to_text(now + timedelta(seconds=seconds))),
            )
        return True

    def check_lease(self, holder: str) -> None:
        row = self._db.execute("SELECT holder FROM leases WHERE name = 'daemon'").fetchone()
        if row is None or row["holder"] != holder:
            raise LeaseLost("another daemon holds the lease")
