"""Worker processes with affinity: one batch of sessions always meets the same process.

``concurrent.futures.ProcessPoolExecutor`` gives a task to whichever process is free. Here each process has an executor
of its own, so that the sessions which a process has loaded and analysed in one stage are still there in the next.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

import pyarrow as pa

from flows.support.resource_use import COLLECT_AT

P = ParamSpec("P")
R = TypeVar("R")

TASKS_A_PROCESS = 64
"""Tasks after which a process is followed by a new one, between two stages: Python does not give all memory back. To
start one takes about a second; of 100 million tokens each of two has done so many after four stages."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin() -> None:
    """Set a worker process up: it ends when the one that started it has ended, even by kill -9, else it would wait.

    Ctrl-C reaches every process of a terminal; that one decides what becomes of it. What is freed in Arrow's own
    allocator stays with the process; jemalloc gives it back.
    """
    gc.set_threshold(*COLLECT_AT)
    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def wait() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=wait, daemon=True).start()


def _pool() -> Executor:
    # Spawned, not forked: the parent has threads by now, and Arrow's do not survive a fork.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(max_workers=1, mp_context=context, initializer=_begin)


class Workers:
    """A number of worker processes; each key stays with one of them."""

    def __init__(self, number: int, start: Callable[[], Executor] | None = None) -> None:
        """``start`` gives the executor of one worker; a process without it."""
        self._start = start or _pool
        self._pools = [self._start() for _ in range(number)]
        self._n_tasks = [0] * number
        self._warm_up: Callable[[Executor], object] = lambda pool: None
        self._loads: dict[str, list[float]] = {}
        self._home: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._pools)

    def warm(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a function once in every process, without waiting: start it, import what the work needs."""
        self._warm_up = lambda pool: pool.submit(function, *args, **kwargs)
        for pool in self._pools:
            self._warm_up(pool)

    def queue_sizes(self) -> list[int]:
        """Workers that share a queue: each has its own."""
        return [1] * len(self)

    def queue_of(self, key: str, weight: float = 1.0) -> int:
        """The queue, and so the process, that a key belongs to: at first sight the one with the least weight.

        Weights are added up by family, the part of the key before its hyphen: those of inputs are bytes, those of
        batches tokens.
        """
        if key not in self._home:
            loads = self._loads.setdefault(key.partition("-")[0], [0.0] * len(self._pools))
            index = min(range(len(loads)), key=loads.__getitem__)
            self._home[key] = index
            loads[index] += weight
        return self._home[key]

    def replace_dead(self) -> None:
        """Put a new process in the place of each that has died."""
        for index, pool in enumerate(self._pools):
            try:
                pool.submit(os.getpid)
            except BrokenProcessPool:
                pool.shutdown(wait=False)
                self._pools[index] = self._start()

    def stage_over(self) -> None:
        """Let new processes follow those that have done many tasks; none is at work now."""
        for index, number in enumerate(self._n_tasks):
            if number >= TASKS_A_PROCESS:
                self._pools[index].shutdown()  # first, so that there are never two of them
                self._pools[index] = self._start()
                self._warm_up(self._pools[index])
                self._n_tasks[index] = 0

    def submit(self, key: str, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Run a function in the key's process."""
        index = self.queue_of(key)
        self._n_tasks[index] += 1
        return self._pools[index].submit(function, *args, **kwargs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pool in self._pools:
            if kind is not None:  # a batch can take minutes, and its part is not visible before it is through
                for process in list((getattr(pool, "_processes", None) or {}).values()):
                    process.terminate()
            pool.shutdown(cancel_futures=True)  # waits: a pool that is left to the interpreter's end may fail there


class OwnThread(Workers):
    """The worker of a small run: a thread of the run's own process, whose imports it shares.

    To start a process and to import all of it once more takes more than the work.
    """

    def __init__(self) -> None:
        super().__init__(1, partial(ThreadPoolExecutor, 1, "worker"))
