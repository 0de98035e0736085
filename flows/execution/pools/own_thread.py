"""The worker of a small run: a thread of the run's own process, which has most of what the work needs imported.

To start a process and to import all of it once more takes more than the work.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, Self

from flows.pipeline.tasks.task_context import Tally

P = ParamSpec("P")


class OwnThread:
    """One worker, by the methods of ``flows.execution.pools.local.Workers``. It never dies alone."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "worker")

    def __len__(self) -> int:
        return 1

    def warm(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a function without waiting."""
        self._thread.submit(function, *args, **kwargs)

    def queue_sizes(self) -> list[int]:
        """One queue of one worker."""
        return [1]

    def queue_of(self, key: str, weight: float = 1.0) -> int:
        """The only queue."""
        return 0

    def submit(self, key: str, function: Callable[P, Tally], *args: P.args, **kwargs: P.kwargs) -> Future[Tally]:
        """Run a function in the thread."""

        def call() -> Tally:
            tally = function(*args, **kwargs)
            tally.used.cpu_seconds = 0.0  # the run counts the time of its own process
            return tally

        return self._thread.submit(call)

    def replace_dead(self) -> None:
        """Nothing to do."""

    def stage_over(self) -> None:
        """Nothing to do."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.shutdown(cancel_futures=True)  # waits for the task under way, which is short in a small run
