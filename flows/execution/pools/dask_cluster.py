"""Dask, as a cluster that is there or as one that is started for the run.

A Dask scheduler or worker runs whatever is sent to it. So one that is started here takes connections by TLS only, and
only from those that have a certificate of this start, which is in the memory of the run and of its workers alone.
Its scheduler and workers import from their scratch folder first, which so is a new one for the user alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar

import dask
import distributed
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from flows.support.errors import EvalError, install_extra

P = ParamSpec("P")
R = TypeVar("R")

TIMEOUT = 10.0
"""Seconds in which a scheduler must answer, and have a worker."""
NO_PAGES: dict[str, Any] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""Without them Dask shows anybody its tasks and logs over HTTP, also where it has no dashboard."""


class Dask:
    """A Dask cluster."""

    def __init__(self, address: str, n_workers: int) -> None:
        """Connect, or start one with so many workers. Raises Problem when that fails."""
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what concerns the run is said by the run
        self._stack = ExitStack()
        try:
            if address:
                self._client = self._entered(distributed.Client(address, timeout=TIMEOUT, set_as_default=False))
                self._client.wait_for_workers(1, timeout=TIMEOUT)
            else:
                scratch = self._entered(TemporaryDirectory(prefix="compaction-eval-dask-", ignore_cleanup_errors=True))
                with dask.config.set(NO_PAGES | {"temporary-directory": scratch}):
                    cluster = self._entered(
                        distributed.LocalCluster(
                            n_workers=n_workers,
                            threads_per_worker=1,
                            processes=True,
                            memory_limit=0,
                            dashboard_address=None,
                            silence_logs=logging.CRITICAL,
                            security=distributed.Security.temporary(),
                        )
                    )
                self._client = self._entered(distributed.Client(cluster, set_as_default=False))
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            self._stack.close()
            where = f"dask:{address}" if address else "dask"
            raise EvalError(f"--runner {where}: cannot be used: {error or 'it has no worker'}") from None
        self._address = self._client.scheduler.address
        self.name = f"Dask at {self._address}"

    def _entered(self, context: Any) -> Any:
        return self._stack.enter_context(context)

    def size(self) -> int:
        """Number of worker processes: each works on one task at a time, whatever its threads."""
        return max(len(self._client.scheduler_info(n_workers=-1)["workers"]), 1)

    def on_each(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> list[R]:
        """Call a function on every worker, and return the results."""
        try:
            return list(self._client.run(function, *args, **kwargs).values())
        except ModuleNotFoundError as error:
            raise EvalError(
                f"{self.name}: its workers have no package {error.name}: install the same everywhere, with: "
                f"{install_extra('dask')}"
            ) from None

    def task_runner(self) -> Any:
        """Prefect's task runner for it."""
        from prefect_dask import DaskTaskRunner  # noqa: PLC0415 (imports Prefect)

        return DaskTaskRunner(address=self._address, client_kwargs={"security": self._client.security})

    def explained(self, error: BaseException) -> str:
        """Explain an error of the cluster itself; blank for any other error."""
        if isinstance(error, KilledWorker):
            return (
                "workers that had the same task died again and again, perhaps for want of memory; give them more, or "
                "start fewer on a machine"
            )
        if isinstance(error, CancelledError | CommClosedError):
            return "the connection to its scheduler was lost"
        return ""

    def close(self) -> None:
        """Disconnect; a cluster that was started for the run ends."""
        self._stack.close()
