"""Runs every stage: a task a bucket, each in the process that knows the bucket's sessions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flows.execution.model_calls import OPEN_BATCHES
from flows.execution.pools.local import OwnThread
from flows.execution.run import Run
from flows.execution.stage_executor import PlainCalls
from flows.pipeline.stages import Stage, drop_repeated_rows, unfinished_buckets, work_bucket
from flows.pipeline.tasks.task_context import Tally
from flows.sessions.buckets import Bucket
from flows.store.storage import LOCAL
from flows.support import event_log
from flows.support.errors import EvalError

SHIPPED_EVERY = 60.0
"""Seconds between two copies of the call cache to the store, while a stage waits for a model."""
AHEAD = 2
"""Buckets that a process has in hand: one at work and one waiting, so that it never waits for Prefect."""


@dataclass(frozen=True)
class Unit:
    """One task's work."""

    key: str
    """Selects the worker."""
    weight: float
    """Its share of the work, in the unit of the stage; heavy ones begin first."""
    n_items: int
    call: Callable[[str], Future[Tally]]
    """Submits the work; takes the key."""
    waits: bool = False
    """Whether it waits for a language model. It then runs in this process and reports each item."""


async def run_stage(run: Run, stage: Stage) -> Tally:
    """Do the remaining work of a stage, bucket by bucket."""
    with run.log.timed(stage.key) as time:
        known = run.scope.buckets()
        buckets = unfinished_buckets(run.store, run.study, stage, known)
        time.sessions = sum(len(bucket.sessions) for bucket in buckets)
        time.settled = sum(len(bucket.sessions) for bucket in known) - time.sessions
        waits = run.waits(stage.part)
        units = [
            Unit(
                bucket.key,
                bucket.weight,
                run.n_jobs(stage, bucket) if waits else len(bucket.sessions),
                partial(_submit_bucket, run, stage, bucket),
                waits,
            )
            for bucket in buckets
        ]
        time.unit = stage.unit
        tally = await fan_out(run, stage.name, stage.unit if waits else "sessions", units, key=stage.key)
        for bucket in buckets if run.study.on_cluster else ():
            await asyncio.to_thread(drop_repeated_rows, run.root, run.study, bucket, stage.key)
        return tally


def _submit_bucket(run: Run, stage: Stage, bucket: Bucket, key: str) -> Future[Tally]:
    return run.submit(stage.part, key, work_bucket, run.root, run.study, bucket, stage.key)


async def fan_out(run: Run, stage: str, unit: str, units: Sequence[Unit], key: str | None = None) -> Tally:
    """Run the tasks of a stage, heaviest first, and return the sum of their tallies.

    Tasks that left items, because their calls are held for batches, are run again once these have been answered.

    ``key`` names it in the run's record, where that is not what people see it by.
    """
    if not units:
        run.log.tallies.setdefault(stage, Tally())
        return Tally()
    earlier = run.log.tallies.get(stage, Tally())
    whole = Tally()
    with run.log.timed(key or stage) as time:
        time.unit = time.unit or unit
        while units:
            tallies: dict[str, Tally] = {}
            try:
                await _all_of(run, stage, unit, units, tallies)
            finally:
                done = Tally.total(tallies.values())
                whole = Tally.total([whole, done])
                run.log.tallies[stage] = Tally.total([whole, earlier])
                time.add(done.used, done=done.done, failed=done.failed, left=done.left)
                time.tasks += len(tallies)
                time.retries += sum(run.log.restarts.pop(_name(stage, unit, one), 0) for one in units)
            if not (done.left and await run.calls.fill_batches()):
                break
            # In the next round what was left is begun anew, and beside it what has failed.
            units = [
                replace(one, n_items=tally.left + tally.failed) for one in units if (tally := tallies[one.key]).left
            ]
            n_failed = sum(tallies[one.key].failed for one in units)
            time.left, time.failed = time.left - done.left, time.failed - n_failed
            whole.counts["left"], whole.failed = 0, whole.failed - n_failed
    return whole


def _name(stage: str, unit: str, one: Unit) -> str:
    """A task's name, as Prefect's page has it."""
    return f"{stage} {one.key}: {one.n_items:,} {unit}"


async def _all_of(run: Run, stage: str, unit: str, units: Sequence[Unit], tallies: dict[str, Tally]) -> None:
    names = {one.key: _name(stage, unit, one) for one in units}
    calls = {names[one.key]: partial(_carry_out, run, one, names[one.key]) for one in units}
    tracked = run.executor.carry_out(stage, calls)
    computed = (
        PlainCalls().carry_out(stage, calls) if run.study.on_cluster else tracked
    )  # a cluster's tasks are Prefect's
    lanes = run.workers.queue_sizes() if any(not one.waits for one in units) else []
    slots = [asyncio.Semaphore(AHEAD * n) for n in lanes]
    open_batches = asyncio.Semaphore(OPEN_BATCHES)
    total = sum(one.n_items for one in units)
    async with run.executor.page(stage, total, unit) as advance_page, _ship_regularly(run):
        note = run.calls.spending() if any(one.waits for one in units) else None
        with (
            run.report.stage(stage, total, unit, note) as shown,
            run.calls.items.reporting(shown.advance),
            run.calls.items.reporting(advance_page),
        ):

            async def do(one: Unit) -> None:
                async with open_batches if one.waits else slots[run.workers.queue_of(one.key, one.weight)]:
                    tally = await (tracked if one.waits else computed)(names[one.key])
                    if one.waits or isinstance(run.workers, OwnThread):
                        tally.used.cpu_seconds = 0.0  # tasks share the run's own process, whose time the run counts
                    tallies[one.key] = _log_tally(stage, one, tally)
                del calls[names[one.key]]
                if not one.waits:
                    shown.advance(one.n_items)
                    advance_page(one.n_items)

            await _together(stage, [do(one) for one in sorted(units, key=lambda one: -one.weight)])
            if lanes:
                run.workers.stage_over()


async def _carry_out(run: Run, one: Unit, name: str) -> Tally:
    """Let a worker do one task; one that has died is replaced before the task is tried again."""
    try:
        return await asyncio.wrap_future(one.call(one.key))
    except BrokenProcessPool:
        run.workers.replace_dead()
        run.log.restarts[name] += 1
        event_log.event("task_broke", level=logging.WARNING, task=name, error="the worker process died")
        raise


@asynccontextmanager
async def _ship_regularly(run: Run) -> AsyncIterator[None]:
    """Upload paid answers now and then, and at the end, if the store is not on this machine."""
    if run.store.place is LOCAL:
        yield
        return

    async def now_and_then() -> None:
        while True:
            await asyncio.sleep(SHIPPED_EVERY)
            with suppress(EvalError):  # the end of the stage tries again, and says it
                await asyncio.to_thread(run.calls.ship)

    shipping = asyncio.create_task(now_and_then())
    try:
        yield
    finally:
        shipping.cancel()
    await asyncio.to_thread(run.calls.ship)


def _log_tally(stage: str, one: Unit, tally: Tally) -> Tally:
    """Log a task's tally, and return it."""
    for fields in tally.items:
        event_log.event("item", level=event_log.ITEMS, **fields)
    tally.items = []
    event_log.event(
        "task_ended",
        stage=stage,
        bucket=one.key,
        done=tally.done,
        failed=tally.failed,
        left=tally.left,
        seconds=round(tally.used.busy_seconds, 3),
        cpu_seconds=round(tally.used.cpu_seconds, 3),
    )
    return tally


async def _together(stage: str, work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines side by side; the first error ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except BaseExceptionGroup as errors:
        if isinstance(errors.exceptions[0], BrokenProcessPool):
            raise EvalError(
                f"worker processes died again and again during {stage}, perhaps for want of memory; what was finished "
                "is kept: run again, with a smaller --concurrency if memory is short"
            ) from None
        raise errors.exceptions[0] from None
