"""The worker of a small run is a thread of the run's own process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from flows.config.study import Study
from flows.execution.pools.local import OwnThread
from flows.execution.run import running
from flows.pipeline.tasks.task_context import Tally
from flows.support.sample_sessions import sample_folder


def counted() -> Tally:
    """A task that says in its counts where it was done."""
    return Tally(counts={"process": os.getpid(), "thread": threading.get_ident()})


def broken() -> Tally:
    raise KeyError("missing")


def test_tasks_are_done_one_after_the_other_in_one_thread_of_this_process() -> None:
    with OwnThread() as worker:
        done = [worker.submit(key, counted).result() for key in "abc"]
        assert {one.counts["process"] for one in done} == {os.getpid()}
        assert len({one.counts["thread"] for one in done} - {threading.get_ident()}) == 1


def test_what_breaks_is_raised_and_what_waits_at_the_end_is_dropped() -> None:
    go_on = threading.Event()
    with OwnThread() as worker:
        with pytest.raises(KeyError, match="missing"):
            worker.submit("a", broken).result()
        worker.warm(go_on.wait)
        waiting = worker.submit("b", counted)
        threading.Timer(0.2, go_on.set).start()
    assert waiting.cancelled()


@pytest.mark.parametrize(("concurrency", "is_own"), [(None, True), (1, False)])
def test_a_sample_has_it_unless_processes_are_asked_for(tmp_path: Path, concurrency: int | None, is_own: bool) -> None:
    sample = str(Path(sample_folder()) / "scheduler.jsonl")
    with running(Study(sources=(sample,), store=str(tmp_path / "store"), concurrency=concurrency)) as run:
        assert isinstance(run.workers, OwnThread) is is_own
