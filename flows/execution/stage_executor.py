"""Executors of a stage's tasks: Prefect, or plain calls for a dry run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from flows.pipeline.tasks.task_context import Tally

TaskCalls = Mapping[str, Callable[[], Awaitable[Tally]]]
"""Name of a task → its work. Looked up by name: Prefect walks through a task's arguments item by item."""
Advance = Callable[[int], None]
"""Is told how many more items are done."""


class StageExecutor(Protocol):
    """Carries out the tasks of a stage."""

    def carry_out(self, stage: str, calls: TaskCalls) -> Callable[[str], Awaitable[Tally]]:
        """Make the function that does a task of the stage, given its name."""

    def page(self, stage: str, total: int, unit: str) -> AbstractAsyncContextManager[Advance]:
        """Show the progress of the stage on a page of its own."""


class PlainCalls:
    """Calls each task as it is, without Prefect."""

    def carry_out(self, stage: str, calls: TaskCalls) -> Callable[[str], Awaitable[Tally]]:
        """Call the task directly."""
        return lambda name: calls[name]()

    def page(self, stage: str, total: int, unit: str) -> AbstractAsyncContextManager[Advance]:
        """Show no page."""
        return nullcontext(lambda number: None)


class PrefectTasks:
    """Makes each task a Prefect task of the flow run under way. Prefect takes seconds to import, so it is late."""

    def carry_out(self, stage: str, calls: TaskCalls) -> Callable[[str], Awaitable[Tally]]:
        """A task run, tried again when its worker died."""
        from flows.execution.prefect_tasks import batch_task  # noqa: PLC0415

        return batch_task(stage, calls)

    def page(self, stage: str, total: int, unit: str) -> AbstractAsyncContextManager[Advance]:
        """The page of the flow run."""
        from flows.execution.prefect_page import on_page  # noqa: PLC0415

        return on_page(stage, total, unit)
