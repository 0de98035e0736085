from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from flows.execution.pools import local
from flows.execution.pools.local import Workers
from tests.flows.conftest import ROOT


@pytest.mark.slow
def test_a_key_stays_with_one_process_and_keys_are_spread_by_weight() -> None:
    with Workers(2) as workers:
        first = [workers.submit(key, os.getpid).result() for key in ("x-a", "x-b", "x-a", "x-b")]
        assert first[0] == first[2] != first[1] == first[3]
        assert os.getpid() not in first
    spread = Workers(2)
    assert [spread.queue_of(key, weight) for key, weight in (("x-a", 5), ("x-b", 2), ("x-c", 2), ("x-d", 2))] == [
        0,
        1,
        1,
        1,
    ]
    assert spread.queue_of("y-a", 1) == 0, "weights of another family are in another unit"


@pytest.mark.slow
def test_a_process_that_has_done_many_tasks_is_followed_by_a_new_one_between_two_stages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "TASKS_A_PROCESS", 3)
    with Workers(2) as found:
        found.warm(os.nice, 3)
        first = [found.submit(key, os.getpid).result() for key in ("x-a", "x-b", "x-a")]
        found.stage_over()
        assert [found.submit(key, os.getpid).result() for key in ("x-a", "x-b")] == first[:2]
        found.stage_over()
        second = [found.submit(key, os.getpid).result() for key in ("x-a", "x-b")]
        assert second[0] not in first, "three tasks are enough"
        assert found.submit("x-a", os.nice, 0).result() == os.nice(0) + 3, "it is warm"
        assert second[1] == first[1]
        deadline = time.monotonic() + 30
        while alive(first[0]):
            assert time.monotonic() < deadline
            time.sleep(0.05)


PARENT = """
import os, time
from flows.execution.pools.local import Workers

if __name__ == "__main__":
    workers = Workers(2)
    print(*[workers.submit(str(n), os.getpid).result() for n in range(2)], flush=True)
    time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked after does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)
