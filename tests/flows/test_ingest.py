"""An ingestion's tasks: which worker process gets which inputs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from flows.config.study import make_study
from flows.execution.pools.local import P, Workers
from flows.execution.run import running
from flows.execution.stage_executor import PlainCalls
from flows.pipeline.tasks.task_context import Tally
from flows.sessions.session_parts import read_parts
from tests.flows.conftest import write_session


class Noting(Workers):
    """Does all work here and notes for which of two processes it was."""

    def __init__(self) -> None:
        super().__init__(2)
        self.taken: Counter[int] = Counter()

    def submit(self, key: str, function: Callable[P, Tally], *args: P.args, **kwargs: P.kwargs) -> Future[Tally]:  # type: ignore[override]
        """Do it."""
        done: Future[Tally] = Future()
        done.set_result(function(*args, **kwargs))
        self.taken[self.queue_of(key)] += done.result().done
        return done


def test_inputs_of_unequal_sizes_are_read_by_all_workers_alike(tmp_path: Path) -> None:
    from flows.ingest import ingest

    for number in range(12):
        write_session(tmp_path / "logs" / f"{number}.jsonl", f"session-{number:02}", 20 + number)
    study = make_study({"sources": (str(tmp_path / "logs"),), "store": str(tmp_path / "store"), "concurrency": 2}, None)
    noting = Noting()
    with running(study, executor=PlainCalls()) as run:
        run.__dict__["workers"] = noting
        asyncio.run(ingest.fn(run.study))
        assert sum(len(part.sessions) for part in read_parts(run.store)) == 12
    assert sorted(noting.taken.values()) in ([5, 7], [6, 6]), noting.taken
