"""The command line."""

from __future__ import annotations

import argparse
import logging
import sys
from datetime import datetime

from . import __version__
from .clock import UTC, SystemClock
from .config import load_config
from .errors import DuplicateJob, NightbellError
from .models import Job, JobState
from .scheduler import Scheduler
from .store import JobStore


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nightbell")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--db", default="jobs.sqlite3", help="the SQLite file")
    commands = parser.add_subparsers(dest="command_name", required=True)

    add = commands.add_parser("add", help="add a job")
    add.add_argument("name")
    add.add_argument("cron")
    add.add_argument("--zone", default="UTC")
    add.add_argument("--max-attempts", type=int, default=3)
    add.add_argument("argv", nargs="+")

    for name, text in (
        ("remove", "remove a job and its history"),
        ("pause", "stop a job from being run"),
        ("resume", "let a paused job run again"),
        ("fire", "run a job now"),
    ):
        commands.add_parser(name, help=text).add_argument("name")

    commands.add_parser("list", help="all jobs")
    upcoming = commands.add_parser("next", help="the next times of all jobs")
    upcoming.add_argument("--count", type=int, default=3)
    upcoming.add_argument("--after", help="an ISO time; now if left out")

    history = commands.add_parser("history", help="the last runs of a job")
    history.add_argument("name")
    history.add_argument("--limit", type=int, default=20)

    load = commands.add_parser("load", help="add the jobs of a TOML file")
    load.add_argument("file")

    serve = commands.add_parser("serve", help="run the daemon")
    serve.add_argument("--zone", default="UTC")
    return parser


def _when(text: str | None) -> datetime:
    if text is None:
        return SystemClock().now()
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _show(moment: datetime | None) -> str:
    return "-" if moment is None else moment.isoformat(sep=" ", timespec="minutes")


def run_command(options: argparse.Namespace, store: JobStore) -> int:
    name = options.command_name
    if name == "add":
        job = Job(
            name=options.name,
            command=options.argv,
            cron=options.cron,
            zone=options.zone,
            max_attempts=options.max_attempts,
        )
        job.next_run = job.expression.next_after(SystemClock().now(), job.zone_info)
        store.add(job)
        print(f"added {job.name}, first run {_show(job.next_run)}")
    elif name == "remove":
        store.remove(options.name)
    elif name == "pause":
        store.set_state(options.name, JobState.PAUSED)
    elif name == "resume":
        store.set_state(options.name, JobState.ACTIVE)
    elif name == "fire":
        run = Scheduler(store).fire(options.name)
        print(f"{run.outcome.value} ({run.exit_code})")
        return 0 if run.exit_code == 0 else 1
    elif name == "list":
        for job in store.all():
            print(f"{job.name:<24} {job.state.value:<9} {job.cron:<16} {_show(job.next_run)}")
    elif name == "next":
        after = _when(options.after)
        for job in store.all():
            for moment in job.expression.upcoming(after, job.zone_info, options.count):
                print(f"{_show(moment)}  {job.name}")
    elif name == "history":
        for run in store.history(options.name, options.limit):
            code = "" if run.exit_code is None else f" exit {run.exit_code}"
            print(f"{_show(run.scheduled_for)}  {run.outcome.value}{code} try {run.attempt}")
    elif name == "load":
        config = load_config(options.file)
        added = 0
        for job in config.jobs:
            job.next_run = job.expression.next_after(SystemClock().now(), job.zone_info)
            try:
                store.add(job)
                added += 1
            except DuplicateJob:
                print(f"kept {job.name}, it exists already")
        print(f"added {added} of {len(config.jobs)} jobs")
    elif name == "serve":
        Scheduler(store, zone=options.zone).serve()
    return 0


def main(argv: list[str] | None = None) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    options = build_parser().parse_args(argv)
    store = JobStore(options.db)
    try:
        return run_command(options, store)
    except NightbellError as error:
        print(f"nightbell: {error}", file=sys.stderr)
        return 2
    finally:
        store.close()


if __name__ == "__main__":
    raise SystemExit(main())
