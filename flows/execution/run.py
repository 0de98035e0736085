"""The objects that live while a run lasts: the locked store, the worker processes, the report.

Flows take plain data. The things that cannot be written down hang here, and every flow of a run finds the same ones;
a flow that is started on its own (by a deployment, say) makes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from compaction.code_version import code_sha256
from flows.config.runner_spec import Runner
from flows.config.study import Study
from flows.execution.batch_rounds import Batching
from flows.execution.model_calls import ModelCalls
from flows.execution.pools.local import OwnThread, Workers, cores
from flows.execution.run_estimate import EMBEDDED, LEAST_LEFT, earlier_seconds, format_left, seconds_left
from flows.execution.stage_executor import PrefectTasks, StageExecutor
from flows.execution.stage_log import StageLog
from flows.llm.remote_model import Calls
from flows.pipeline.dropping import finish_dropping
from flows.pipeline.engine import Engine, Role, engine_calling
from flows.pipeline.load.nights import take_night
from flows.pipeline.load.provenance import Provenance
from flows.pipeline.load.tables import NewDatabase, rebuild_database, stored_violations
from flows.pipeline.plan import method_rows
from flows.pipeline.run_summary import Summary, all_records, records_of, summarize_run
from flows.pipeline.scope import Scope
from flows.pipeline.stages import Stage
from flows.pipeline.tasks.task_context import Items, Tally, TaskContext, warm_up, with_item_log
from flows.sessions.buckets import Bucket
from flows.sessions.deduplicate import deduplicate
from flows.sources import Input
from flows.store.call_cache_sync import ship_calls
from flows.store.call_journal import export_calls
from flows.store.store import Store
from flows.support import event_log
from flows.support.clock import now
from flows.support.ids import content_id
from flows.support.progress import Report, Silent
from flows.support.resource_use import StageTime
from flows.support.versions import VERSION, versions

if TYPE_CHECKING:
    from flows.execution.pools.cluster import Cluster

SAME_QUESTIONS = "same_questions_scored"
"""The check that a judge's figures rest on the same questions for every method."""


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
    scope: Scope
    """The sessions that it is about."""
    calls: ModelCalls
    engine: Engine
    """The parts that the study works with."""
    executor: StageExecutor
    log: StageLog = field(init=False)
    is_recorded: bool = False
    """Whether the run has a row: one that has is kept up to date."""
    is_part: bool = False
    """Whether only a part is to be scored, so that the methods cannot rest on the same questions yet."""

    def __post_init__(self) -> None:
        self.log = StageLog(self._end_stage)

    @cached_property
    def workers(self) -> Workers | Cluster:
        """The workers, started when they are first asked for: a run with nothing to do needs none."""
        if self.study.on_cluster:
            from flows.execution.pools.cluster import Cluster  # noqa: PLC0415 (imports optional packages)

            runner = Runner.parse(self.study.runner)
            return self.stack.enter_context(Cluster(runner, self.study, self._wanted_workers, self.report.say))
        is_small = self.scope.is_small and not self.study.concurrency
        workers = OwnThread() if is_small else Workers(self._wanted_workers)
        self.stack.enter_context(workers)
        workers.warm(warm_up, self.study)
        return workers

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.workers) if self.study.on_cluster else self._wanted_workers

    @property
    def _wanted_workers(self) -> int:
        most = self.study.concurrency or (1 if self.scope.is_small else cores())
        return min(most, cores()) if self.engine.remote else most

    @cached_property
    def makers(self) -> Provenance:
        """The versions whose rows the database will show."""
        return (self.scope.is_whole_store and Provenance.noted(self.store)) or Provenance.now(self.study)

    @property
    def stopped(self) -> str:
        """Return the reason why no more calls were made, and how much is left; blank if nothing stopped them."""
        left = [f"{n:,} in {stage}" for stage, n in self.log.left().items()]
        if not left or not (self.calls.budget.stopped or self.calls.stopped):
            return ""
        if self.calls.stopped:
            return f"stopped: {self.calls.stopped}: left are {', '.join(left)}; run again to go on from there"
        limits = {"$": self.study.budget_usd, "tokens": self.study.budget_tokens}
        most = " and ".join(f"${n:,.2f}" if unit == "$" else f"{n:,} {unit}" for unit, n in limits.items() if n)
        return f"stopped at the budget of {most}: left are {', '.join(left)}; run again to go on from there"

    def waits(self, part: Role | None) -> bool:
        """Whether a part of the engine is a language model."""
        return part in self.engine.remote

    def submit(self, part: Role | None, key: str, function: Callable[..., Tally], *args: Any) -> Future[Tally]:
        """Do one batch: in the key's worker process, or in a thread where its part waits for a language model."""
        if self.waits(part):
            return self.calls.submit(self.engine, function, *args)
        if event_log.wants_items():
            return self.workers.submit(key, partial(with_item_log, function), *args)
        return self.workers.submit(key, function, *args)

    @property
    def root(self) -> str:
        """The store, for the workers."""
        return self.store.address

    def summary(self, new: NewDatabase | None = None) -> Summary:
        """Summarise the run from the database, or from the one that is being made."""
        parts = self.scope.parts
        draft, checks = new or (None, stored_violations(self.store))
        checks = [check for check in checks if not (self.is_part and check[0] == SAME_QUESTIONS)]
        records = all_records(parts) if self.scope.is_whole_store else records_of(parts, self.scope.inputs)
        return summarize_run(
            self.store, self.study, parts, self.scope.sessions, records, checks, draft, self.stopped, self.run_id
        )

    def n_jobs(self, stage: Stage, bucket: Bucket) -> int:
        """Count the jobs that a stage has left in a bucket."""
        task = TaskContext(self.store.within(bucket.bits), self.study, self.engine, Items())
        return sum(map(len, stage.plan(task, bucket.sessions).values()))

    def record(self, status: str, exit_code: int | None = None) -> None:
        """Write the run's row."""
        row = {
            "run_id": self.run_id,
            "study": self.study.as_dict(),
            "study_key": self.study.study_key,
            "is_whole_store": self.scope.is_whole_store,
            "versions": {**versions(), "code_sha256": code_sha256("compaction", "judge", "flows")},
            "makers": asdict(self.makers),
            **self.log.as_dict(),
            "started_at": self.started_at,
            "ended_at": None if status == "running" else now(),
            "status": status,
            "exit_code": exit_code,
        }
        self.store.record("runs", self.run_id, row, replace=True)
        self.is_recorded = True
        if status != "running":
            event_log.event("run_ended", status=status, exit_code=exit_code)

    @contextmanager
    def logged(self, target: str | None, *, items: bool = False) -> Iterator[None]:
        """Append the run's events to a file (``flows.support.event_log``).

        Raises UsageError for one that cannot be written.
        """
        with event_log.logging_to(target, self.run_id, items=items):
            event_log.event("run_started", store=self.store.name, study_key=self.study.study_key, version=VERSION)
            yield

    @cached_property
    def _earlier(self) -> dict[str, float]:
        """Stage → seconds, of a run that tells how long this one takes."""
        known = earlier_seconds(self.store.records("runs"), self.study.study_key)
        return known or ({} if self.engine.remote else EMBEDDED)

    def _end_stage(self) -> None:
        """Write down what is known at the end of a stage, and say when the run will end."""
        if not self.is_recorded:
            return
        self.record("running")
        left = seconds_left(list(self.log.times.values()), self._earlier)
        if left is not None and left >= LEAST_LEFT:
            self.report.say(format_left(left))


_current: ContextVar[Run | None] = ContextVar("run", default=None)
"""The run under way. Prefect starts a flow with plain data only, so a flow inside another finds the run here."""


@contextmanager
def running(
    study: Study,
    report: Report | None = None,
    what: str = "run",
    *,
    inputs: list[Input] | None = None,
    is_whole_store: bool = False,
    executor: StageExecutor | None = None,
    calls: Calls | None = None,
    engine: Engine | None = None,
    batching: Batching = Batching(),  # noqa: B008 (frozen)
) -> Iterator[Run]:
    """The run under way, or a new one, with the store locked.

    ``inputs``: those of the study's sources, where they have just been looked for.
    ``is_whole_store``: about all sessions of the store (a backfill), not about those of the study's sources.
    A dry run has an ``executor`` in the place of Prefect, ``calls`` in that of a gateway, and an ``engine`` of its own.

    Raises StoreError when another process writes to the store, or a newer version made it.
    """
    present = _current.get()
    if present is not None:
        yield present
        return
    store = Store.create(study.store, study.tokenizer)
    with store.locked(what), ExitStack() as stack:
        started = now()
        run_id = content_id("run", started, os.getpid())
        report = report or Silent()
        model_calls = ModelCalls(study, store, stack, run_id, calls, batching, report.say)
        run = Run(
            study,
            store,
            stack,
            report,
            run_id,
            started,
            Scope(store, study, inputs, is_whole_store=is_whole_store, n_workers=lambda: run.n_workers),
            model_calls,
            engine or engine_calling(study, model_calls.gateway),
            executor or PrefectTasks(),
        )
        _close_killed(store)
        finish_dropping(store)  # what was killed left undone: a `store drop` …
        deduplicate(store)  # … and an ingestion
        token = _current.set(run)
        try:
            yield run
        finally:
            _current.reset(token)


def load_database(run: Run) -> None:
    """Make ``scores.duckdb`` from the store, with this run's outcome in it."""
    time = run.log.times.setdefault("load", StageTime("load", now(), unit="databases"))

    def note_outcome(new: NewDatabase) -> None:
        summary = run.summary(new)
        clock.close()  # the run's record has to stand in the database that is being made
        time.done += 1
        event_log.event("stage_ended", **time.as_dict())
        run.record("stopped" if run.stopped else "done", summary.exit_code)

    event_log.event("stage_started", stage=time.stage)
    with ExitStack() as clock:
        clock.enter_context(time.clock())
        export_calls(run.store, run.calls.cache)
        ship_calls(run.store, run.calls.cache)
        night = None
        if not run.scope.is_whole_store:
            engine = f"{run.engine.prober.name}; {run.engine.responder.name}"
            methods = {row["method_id"]: row["method"] for row in method_rows(run.study)}
            night = take_night(run.store, run.study.study_key, run.run_id, engine, methods)
        rebuild_database(
            run.store,
            run.study,
            note_outcome,
            makers=run.makers,
            night=night,
            is_whole_store=run.scope.is_whole_store,
            report=run.report,
        )


def _close_killed(store: Store) -> None:
    """Runs that say they are under way while nobody held the lock have been killed."""
    for row in store.records("runs"):
        if row["status"] == "running":
            store.record("runs", row["run_id"], {**row, "status": "killed"}, replace=True)
