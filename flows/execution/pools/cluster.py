"""The workers of a Dask cluster, in the place of worker processes of this machine (``flows.execution.pools.local``).

One cluster for the whole run: it is connected to, or started, before the first task. Each task is a Prefect task that
Prefect's own task runner for Dask sends there. A task whose worker is lost is done again by Dask, not by Prefect, so
that tries do not multiply.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self

from flows.config.runner_spec import Runner
from flows.config.study import Study
from flows.execution.pools.cluster_worker import SourceUnseenError, ingest_seen, misfit, packed, terms_of
from flows.execution.prefect_server import answers, configured_url
from flows.pipeline.tasks.ingest import ingest_batch
from flows.pipeline.tasks.task_context import Tally
from flows.store.store import Store
from flows.store.write_permits import end_permits, open_permits, process_name, withdraw_permits
from flows.support.errors import EvalError
from flows.support.plurals import quantity

if TYPE_CHECKING:
    from flows.execution.pools.dask_cluster import Dask

P = ParamSpec("P")

CONNECT_TIMEOUT = 5.0
"""Seconds in which a cluster must answer."""
MOST_WAITING = 256
"""Tasks that are under way on a cluster at most; a thread of this process waits for each."""
INSTEAD: dict[Callable[..., Tally], Callable[..., Tally]] = {ingest_batch: ingest_seen}
"""What a worker elsewhere does in the place of a function."""


class Cluster:
    """The workers of a cluster, by the methods of ``flows.execution.pools.local.Workers``."""

    def __init__(self, runner: Runner, study: Study, n_workers: int, say: Callable[[str], None]) -> None:
        """Connect, or start one with so many workers, and see that every worker is fit for the run.

        Raises:
            Problem: Nobody answers, or a worker does not see the store or runs something else.
            UsageError: The packages are not installed.
        """
        runner.check_installed()
        self._store = Store.at(study.store)
        self._study = _by_absolute_paths(study, self._store)
        self._stack = ExitStack()
        with ExitStack() as until_ready:
            self._backend = _connected(runner, n_workers, say)
            until_ready.callback(self._backend.close)
            token = open_permits(self._store.root, self._store.place)
            until_ready.callback(end_permits, self._store.root, self._store.place)
            self._terms = terms_of(self._study, self._store.address, token)
            self._check_workers(say)
            self._waiters = ThreadPoolExecutor(MOST_WAITING, thread_name_prefix="cluster")
            until_ready.callback(self._waiters.shutdown, wait=False, cancel_futures=True)
            self._stack = until_ready.pop_all()

    def _check_workers(self, say: Callable[[str], None]) -> None:
        looks = self._backend.on_each(misfit_here, self._terms)
        for where, why in looks:
            if why:
                raise EvalError(f"{self._backend.name}: the worker {where} {why}")
        machines = {where.partition(" ")[0] for where, _ in looks}
        say(f"{self._backend.name}: {quantity(len(self), 'worker')} on {quantity(len(machines), 'machine')}")

    def __len__(self) -> int:
        return self._backend.size()

    def queue_sizes(self) -> list[int]:
        """Workers that share a queue: all of them."""
        return [min(len(self), MOST_WAITING // 2)]

    def queue_of(self, key: str, weight: float = 1.0) -> int:
        """The queue of a key: there is one."""
        return 0

    def replace_dead(self) -> None:
        """Does nothing: a cluster replaces its own workers."""

    def submit(self, key: str, function: Callable[P, Tally], *args: P.args, **kwargs: P.kwargs) -> Future[Tally]:
        """Have a worker do a task: a function of store, study and more. Must be called where a flow is under way."""
        from flows.execution.pools.cluster_task import cluster_task  # noqa: PLC0415 (Prefect reads its settings when it is imported)

        assert not kwargs
        there = (self._terms.root, self._study, *args[2:])
        work = packed(self._terms, key, INSTEAD.get(function, function), there)
        sent = self._task_runner.submit(cluster_task(key), {"work": work})
        return self._waiters.submit(self._outcome, sent, function, args)

    def _outcome(self, sent: Any, function: Callable[..., Tally], args: tuple[Any, ...]) -> Tally:
        try:
            tally: Tally = sent.result()
        except SourceUnseenError:
            if all(input.path.exists() for input in args[2]):
                raise
            return function(*args)  # it is gone for everybody, which is then said of it
        except BaseException as error:
            if why := self._backend.explained(error):
                raise EvalError(f"{self._backend.name}: {why}; what was finished is kept, so run again") from None
            raise
        return tally

    @cached_property
    def _task_runner(self) -> Any:
        url = os.environ.get("PREFECT_API_URL") or configured_url() or ""
        for where, is_there in self._backend.on_each(reaches, url):
            if not is_there:
                raise EvalError(
                    f"{self._backend.name}: the worker {where} does not reach Prefect's API at {url}: start a server "
                    "that all workers reach (docs/cluster.md: `prefect server start --host 0.0.0.0`, with a password), "
                    "set PREFECT_API_URL to its address, and run again without --ephemeral"
                )
        return self._stack.enter_context(self._backend.task_runner())

    def stage_over(self) -> None:
        """No try of any task may add to the store any more: one may be at work whose worker was believed dead."""
        withdraw_permits(self._store.root, self._store.place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def misfit_here(terms: Any) -> tuple[str, str]:
    """A worker, and why it must not work for a run."""
    return process_name(), misfit(terms)


def reaches(url: str) -> tuple[str, bool]:
    """A worker, and whether it reaches Prefect's API."""
    return process_name(), answers(url)


def _by_absolute_paths(study: Study, store: Store) -> Study:
    rubric = str(Path(study.rubric).absolute()) if study.rubric.endswith(".toml") else study.rubric
    return replace(study, store=store.full_name, rubric=rubric)


def _connected(runner: Runner, n_workers: int, say: Callable[[str], None]) -> Dask:
    endpoint = runner.endpoint
    if endpoint is not None:
        host, port = endpoint
        try:
            socket.create_connection(endpoint, timeout=CONNECT_TIMEOUT).close()
        except OSError as error:
            raise EvalError(
                f"--runner {runner.kind}:{runner.address}: nobody answers at {host}, port {port} "
                f"({error.strerror or error}); is the cluster's scheduler there, and its port open to this "
                "machine?"
            ) from None
    elif not runner.address:
        say(f"starting Dask with {quantity(n_workers, 'worker')} …")
    from flows.execution.pools.dask_cluster import Dask  # noqa: PLC0415 (an optional package)

    return Dask(runner.address, n_workers)
