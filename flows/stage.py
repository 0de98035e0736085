"""How every stage runs: a task a batch, each in the process that knows the batch's sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from prefect import task
from prefect.cache_policies import NO_CACHE

from flows.problems import Problem
from flows.runtime import OPEN_BATCHES, Run, current
from flows.work.process import Tally, told

AHEAD = 2
"""Batches that a process has in hand: one at work and one waiting, so that it never waits for Prefect."""


@dataclass(frozen=True)
class Unit:
    """One task's work."""

    key: str
    weight: float
    n_items: int
    call: Callable[[], Future[Tally]]
    waits: bool = False
    """Whether it waits for a language model: it then runs in this process, and tells of each item."""


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="{name}")
async def batch(name: str) -> Tally:
    """Let a worker process do one batch."""
    try:
        return await asyncio.wrap_future(current().calls[name]())
    except BrokenProcessPool:
        raise Problem(
            f"a worker process died during {name}, perhaps for want of memory; what was finished is kept: run again, "
            "with a smaller --concurrency if memory is short"
        ) from None


async def fan_out(run: Run, stage: str, unit: str, units: Sequence[Unit]) -> Tally:
    """Run the batches of a stage, heaviest first, and add up what they came to."""
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
            del run.calls[name]
            if not one.waits:
                shown.advance(one.n_items)

        try:
            async with asyncio.TaskGroup() as group:
                for one in sorted(units, key=lambda one: -one.weight):
                    group.create_task(do(one))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
    run.tallies[stage] = Tally.total([*tallies, run.tallies.get(stage, Tally())])
    return Tally.total(tallies)
