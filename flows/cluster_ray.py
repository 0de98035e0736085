"""Ray, as a cluster that is there or as one that is started for the run."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of what a later version will do
import ray
from ray.exceptions import (
    NodeDiedError,
    OutOfMemoryError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from flows.problems import Problem, install_extra

P = ParamSpec("P")
R = TypeVar("R")

OBJECT_STORE_BYTES = 100_000_000
"""Shared memory of a Ray that is started for the run: what is sent is a few hundred kilobytes a task."""
START_TRIES = 3
"""How often a Ray is started: it waits for itself for 30 seconds, which a busy machine may need more than once."""
CHECK_TIMEOUT = 120.0
"""Seconds in which every machine must have answered: the first time it starts a process and imports everything."""


class Ray:
    """A Ray cluster."""

    def __init__(self, address: str, n_workers: int) -> None:
        """Connect, or start one with so many workers. Raises Problem when that fails."""
        own: dict[str, Any] = {
            "num_cpus": n_workers, "include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES,
        }  # fmt: skip
        for left in reversed(range(1 if address else START_TRIES)):
            try:
                ray.init(
                    address or "local", namespace="compaction-eval", log_to_driver=False,
                    logging_level=logging.CRITICAL, **({} if address else own),
                )  # fmt: skip
                break
            except Exception as error:  # Ray's own are of all kinds, up to Exception itself
                ray.shutdown()
                if not left:
                    where = f"ray:{address}" if address else "ray"
                    said = " ".join(str(error).split())
                    raise Problem(f"--runner {where}: cannot be used: {said}") from None
        self.name = f"Ray at {address}" if address else "Ray"

    def size(self) -> int:
        """Its processor cores: Ray gives a task to each."""
        return max(int(ray.cluster_resources().get("CPU", 0)), 1)

    def on_each(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> list[R]:
        """What a function gives in a process of every machine."""
        nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        asked = [
            ray.remote(function)
            .options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False), max_retries=1)
            .remote(*args, **kwargs)
            for node in nodes
        ]
        try:
            found: list[R] = ray.get(asked, timeout=CHECK_TIMEOUT)
        except RayTaskError as error:
            if isinstance(error.cause, ModuleNotFoundError):
                raise Problem(
                    f"{self.name}: its workers have no package {error.cause.name}: install the same everywhere, with: "
                    f"{install_extra('ray')}"
                ) from None
            raise
        return found

    def task_runner(self) -> Any:
        """Prefect's task runner for it."""
        from prefect_ray import RayTaskRunner  # noqa: PLC0415 (imports Prefect)

        return RayTaskRunner()

    def explained(self, error: BaseException) -> str:
        """What an error of the cluster itself means."""
        if isinstance(error, WorkerCrashedError | NodeDiedError | OutOfMemoryError):
            return (
                "workers that had the same task died again and again, perhaps for want of memory; give them more, or "
                "start fewer on a machine"
            )
        if isinstance(error, RayError) and not isinstance(error, RayTaskError):
            return f"the cluster was lost ({type(error).__name__})"
        return ""

    def close(self) -> None:
        """Leave it; one that was started for the run ends."""
        ray.shutdown()
