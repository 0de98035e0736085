"""The Prefect task that carries out one task of a stage. Imported after Prefect has been set up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun

from flows.pipeline.tasks.task_context import Tally

RETRIES = 2
"""Further tries of a task whose worker died."""
RETRY_DELAY = 1.0
"""Seconds before each."""


async def _is_worth_another_try(task: Task[Any, Any], run: TaskRun, state: State) -> bool:
    """A worker that died may have been ended by chance; whatever else is wrong would be wrong again."""
    try:
        await state.aresult()
    except BrokenProcessPool:
        return True
    except Exception:
        return False
    return False


def batch_task(stage: str, calls: Mapping[str, Callable[[], Awaitable[Tally]]]) -> Callable[[str], Awaitable[Tally]]:
    """The task of a stage, given the name of its work."""

    @task(
        name=stage,
        cache_policy=NO_CACHE,
        persist_result=False,
        task_run_name="{name}",
        retries=RETRIES,
        retry_delay_seconds=RETRY_DELAY,
        retry_condition_fn=_is_worth_another_try,
    )
    async def batch(name: str) -> Tally:
        """Let a worker process do one task's work."""
        return await calls[name]()

    return batch
