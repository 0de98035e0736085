"""How every stage runs: a task a bucket, each in the process that knows the bucket's sessions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun

from flows import log
from flows.page import on_page
from flows.places import HERE
from flows.problems import Problem
from flows.runtime import OPEN_BATCHES, Run, current
from flows.timing import StageTime
from flows.work.process import Tally, told
from flows.work.stages import Stage, left_in, mend_bucket, work_bucket

RETRIES = 2
"""Further tries of a task whose worker died."""
RETRY_DELAY = 1.0
"""Seconds before each."""
SHIPPED_EVERY = 60.0
"""Seconds after which what has been paid for is shipped (``flows.shipping``), while a stage waits for a model."""
AHEAD = 2
"""Buckets that a process has in hand: one at work and one waiting, so that it never waits for Prefect."""


@dataclass(frozen=True)
class Unit:
    """One task's work."""

    key: str
    """By which its worker is chosen, and its weight counted."""
    weight: float
    n_items: int
    call: Callable[[str], Future[Tally]]
    """Begins it, given the key."""
    waits: bool = False
    """Whether it waits for a language model: it then runs in this process, and tells of each item."""


async def _is_worth_another_try(task: Task[Any, Any], run: TaskRun, state: State) -> bool:
    """A worker that died may have been ended by chance; whatever else is wrong would be wrong again."""
    try:
        await state.aresult()
    except BrokenProcessPool:
        return True
    except Exception:
        return False
    return False


@task(
    cache_policy=NO_CACHE, persist_result=False, task_run_name="{name}", retries=RETRIES,
    retry_delay_seconds=RETRY_DELAY, retry_condition_fn=_is_worth_another_try,
)  # fmt: skip
async def batch(name: str) -> Tally:
    """Let a worker process do one task's work."""
    run = current()
    try:
        return await asyncio.wrap_future(run.calls[name]())
    except BrokenProcessPool:
        run.workers.revive()
        run.restarts[name] += 1
        log.event("task_broke", level=logging.WARNING, task=name, error="the worker process died")
        raise


async def run_stage(run: Run, stage: Stage) -> Tally:
    """Do what the stage has left to do, bucket by bucket."""
    with run.timed(stage.key) as time:
        return await _run_stage(run, stage, time)


async def _run_stage(run: Run, stage: Stage, time: StageTime) -> Tally:
    known = run.buckets()
    buckets = left_in(run.store, run.study, stage, known)
    time.sessions = sum(len(bucket.sessions) for bucket in buckets)
    time.settled = sum(len(bucket.sessions) for bucket in known) - time.sessions
    waits = run.waits(stage.part)
    units = [
        Unit(
            bucket.key,
            bucket.weight,
            run.n_jobs(stage, bucket) if waits else len(bucket.sessions),
            lambda key, bucket=bucket: run.submit(  # type: ignore[misc]
                stage.part, key, work_bucket, run.root, run.study, bucket, stage.key
            ),
            waits,
        )
        for bucket in buckets
    ]
    time.unit = stage.unit
    tally = await fan_out(run, stage.name, stage.unit if waits else "sessions", units, key=stage.key)
    if run.is_spread:
        for bucket in buckets:
            await asyncio.to_thread(mend_bucket, run.root, run.study, bucket, stage.key)
    return tally


async def fan_out(run: Run, stage: str, unit: str, units: Sequence[Unit], key: str | None = None) -> Tally:
    """Run the tasks of a stage, heaviest first, and add up what they came to.

    ``key`` names it in the run's record, where that is not what people see it by.
    """
    if not units:
        run.tallies.setdefault(stage, Tally())
        return Tally()
    tallies: list[Tally] = []
    with run.timed(key or stage) as time:
        time.unit = time.unit or unit
        try:
            await _all_of(run, stage, unit, units, tallies)
        finally:
            whole = Tally.total(tallies)
            run.tallies[stage] = Tally.total([whole, run.tallies.get(stage, Tally())])
            time.add(whole.used, done=whole.done, failed=whole.failed, left=whole.counts.get("left", 0))
            time.tasks += len(tallies)
            time.retries += sum(run.restarts.pop(_name(stage, unit, one), 0) for one in units)
    return whole


def _name(stage: str, unit: str, one: Unit) -> str:
    """A task's name, as Prefect's page has it."""
    return f"{stage} {one.key}: {one.n_items:,} {unit}"


async def _all_of(run: Run, stage: str, unit: str, units: Sequence[Unit], tallies: list[Tally]) -> None:
    tracked = batch.with_options(name=stage) if run.foreseen is None else batch.fn
    computed = batch.fn if run.is_spread else tracked  # a cluster's tasks are Prefect's already
    lanes = run.workers.lanes() if any(not one.waits for one in units) else []
    slots = [asyncio.Semaphore(AHEAD * n) for n in lanes]
    open_batches = asyncio.Semaphore(OPEN_BATCHES)
    total = sum(one.n_items for one in units)
    async with on_page(stage, total, unit, is_on=run.foreseen is None) as page, _shipped(run):
        note = run.spending() if any(one.waits for one in units) else None
        with run.report.stage(stage, total, unit, note) as shown, told(shown.advance), told(page.advance):

            async def do(one: Unit) -> None:
                name = _name(stage, unit, one)
                run.calls[name] = partial(one.call, one.key)
                async with open_batches if one.waits else slots[run.workers.home(one.key, one.weight)]:
                    tallies.append(_logged(stage, one, await (tracked if one.waits else computed)(name)))
                del run.calls[name]
                if not one.waits:
                    shown.advance(one.n_items)
                    page.advance(one.n_items)

            await _together(stage, [do(one) for one in sorted(units, key=lambda one: -one.weight)])
            if lanes:
                run.workers.stage_over()


@asynccontextmanager
async def _shipped(run: Run) -> AsyncIterator[None]:
    """Bring what is paid for to where the store is, now and then and at the end, where that is not this machine."""
    if run.store.place is HERE:
        yield
        return

    async def now_and_then() -> None:
        while True:
            await asyncio.sleep(SHIPPED_EVERY)
            with suppress(Problem):  # the end of the stage tries again, and says it
                await asyncio.to_thread(run.ship)

    shipping = asyncio.create_task(now_and_then())
    try:
        yield
    finally:
        shipping.cancel()
    await asyncio.to_thread(run.ship)


def _logged(stage: str, one: Unit, tally: Tally) -> Tally:
    """A task's tally, of which the log has been told."""
    for fields in tally.items:
        log.event("item", level=log.ITEMS, **fields)
    tally.items = []
    log.event(
        "task_ended", stage=stage, bucket=one.key, done=tally.done, failed=tally.failed,
        left=tally.counts.get("left", 0), seconds=round(tally.used.busy_seconds, 3),
        cpu_seconds=round(tally.used.cpu_seconds, 3),
    )  # fmt: skip
    return tally


async def _together(stage: str, work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of it side by side; what breaks one ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except BaseExceptionGroup as errors:
        if isinstance(errors.exceptions[0], BrokenProcessPool):
            raise Problem(
                f"worker processes died again and again during {stage}, perhaps for want of memory; what was finished "
                "is kept: run again, with a smaller --concurrency if memory is short"
            ) from None
        raise errors.exceptions[0] from None
