"""The Prefect task that a worker of a cluster does. Imported after Prefect has been set up."""

from __future__ import annotations

from typing import Any

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext

from flows.execution.pools.cluster_worker import carry_out
from flows.pipeline.tasks.task_context import Tally


@task(cache_policy=NO_CACHE, persist_result=False, retries=0)
def at_worker(work: bytes) -> Tally:
    """Do one task's work."""
    return carry_out(work)


def cluster_task(key: str) -> Task[Any, Any]:
    """The task, under the name of the flow that is under way."""
    context = FlowRunContext.get()
    name = context.flow.name if context is not None and context.flow is not None else "work"
    return at_worker.with_options(name=name, task_run_name=f"{name} {key}")
