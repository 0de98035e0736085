"""What a run needs of its workers, whether they are processes of this machine or those of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, Protocol

from flows.pipeline.tasks.task_context import Tally

P = ParamSpec("P")


class WorkerPool(Protocol):
    """Workers, of which each does one task at a time.

    ``flows.execution.pools.local`` and ``flows.execution.pools.cluster`` have one each.
    """

    def __len__(self) -> int:
        """How many workers there are."""

    def queue_sizes(self) -> list[int]:
        """Workers of each queue."""

    def queue_of(self, key: str, weight: float = 1.0) -> int:
        """The index of the queue that a key belongs to. The weight is that of the key's work, beside others like it."""

    def submit(self, key: str, function: Callable[P, Tally], *args: P.args, **kwargs: P.kwargs) -> Future[Tally]:
        """Run a function in a worker of the key's queue."""

    def replace_dead(self) -> None:
        """Replace the workers that have died."""

    def stage_over(self) -> None:
        """Do what is due between two stages, when no worker is at work."""
