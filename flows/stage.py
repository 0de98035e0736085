"""How every stage runs: a task a bucket, each in the process that knows the bucket's sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun

from flows.problems import Problem
from flows.runtime import OPEN_BATCHES, Run, current
from flows.work.process import Tally, told
from flows.work.stages import Stage, left_in, work_bucket

RETRIES = 2
"""Further tries of a task whose worker died."""
RETRY_DELAY = 1.0
"""Seconds before each."""
SHIPPED_EVERY = 60.0
"""Seconds after which what has been paid for is shipped (``flows.shipping``), where a batch has ended."""
AHEAD = 2
"""Buckets that a process has in hand: one at work and one waiting, so that it never waits for Prefect."""


@dataclass(frozen=True)
class Unit:
    """One task's work."""

    key: str
    weight: float
    n_items: int
    call: Callable[[], Future[Tally]]
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
        raise


async def run_stage(run: Run, stage: Stage) -> Tally:
    """Do what the stage has left to do, bucket by bucket."""
    buckets = left_in(run.store, run.study, stage, run.buckets())
    waits = run.waits(stage.part)
    units = [
        Unit(
            bucket.key,
            bucket.weight,
            run.n_jobs(stage, bucket) if waits else len(bucket.sessions),
            lambda bucket=bucket: run.submit(  # type: ignore[misc]
                stage.part, bucket.key, work_bucket, run.root, run.study, bucket, stage.key
            ),
            waits,
        )
        for bucket in buckets
    ]
    return await fan_out(run, stage.name, stage.unit if waits else "sessions", units)


async def fan_out(run: Run, stage: str, unit: str, units: Sequence[Unit]) -> Tally:
    """Run the tasks of a stage, heaviest first, and add up what they came to."""
    if not units:
        run.tallies.setdefault(stage, Tally())
        return Tally()
    work = batch.with_options(name=stage) if run.foreseen is None else batch.fn
    slots = [asyncio.Semaphore(AHEAD) for _ in range(len(run.workers))] if any(not one.waits for one in units) else []
    open_batches = asyncio.Semaphore(OPEN_BATCHES)
    tallies: list[Tally] = []

    with run.report.stage(stage, sum(one.n_items for one in units), unit) as shown, told(shown.advance):

        async def do(one: Unit) -> None:
            name = f"{stage} {one.key}"
            run.calls[name] = one.call
            async with open_batches if one.waits else slots[run.workers.home(one.key, one.weight)]:
                tallies.append(await work(name))
            if one.waits:
                run.ship(SHIPPED_EVERY)
            del run.calls[name]
            if not one.waits:
                shown.advance(one.n_items)

        try:
            async with asyncio.TaskGroup() as group:
                for one in sorted(units, key=lambda one: -one.weight):
                    group.create_task(do(one))
        except BaseExceptionGroup as errors:
            if isinstance(errors.exceptions[0], BrokenProcessPool):
                raise Problem(
                    f"worker processes died again and again during {stage}, perhaps for want of memory; what was "
                    "finished is kept: run again, with a smaller --concurrency if memory is short"
                ) from None
            raise errors.exceptions[0] from None
    run.ship()
    run.tallies[stage] = Tally.total([*tallies, run.tallies.get(stage, Tally())])
    return Tally.total(tallies)
