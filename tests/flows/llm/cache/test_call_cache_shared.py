"""Threads and processes with one call cache: a call is made once, and nothing is lost or mixed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flows.llm.cache.call_cache import CallCache
from tests.flows.llm.cache.entries import call, entry

ROOT = Path(__file__).parents[4]


def other(folder: Path, code: str) -> subprocess.Popen[str]:
    """A process of its own, with a cache on the same folder as ``cache``."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{PRELUDE}\ncache = CallCache(Path({str(folder)!r}))\n{code}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


PRELUDE = """
import os, sys, time
from pathlib import Path
from flows.llm.cache.call_cache import CallCache
from tests.flows.llm.cache.entries import call, entry
"""


def test_64_threads_put_get_and_note_without_losing_or_mixing_anything(cache: CallCache) -> None:
    def work(number: int) -> None:
        for turn in range(10):
            key = f"{number}-{turn}"
            assert cache.claim(key, 60)
            cache.put(key, call(key), entry(key))
            assert cache.get(key) == call(key)
            cache.note(entry(key, cached=True))
            assert cache.get_many([key, f"{number}-0"])[key] == call(key)

    with ThreadPoolExecutor(64) as pool:
        for done in [pool.submit(work, number) for number in range(64)]:
            done.result()
    uses = cache.stats().uses[0]
    assert (uses.calls, uses.cached) == (640, 640)
    assert cache.stats().answers == 640


def test_opening_a_new_cache_from_many_threads_at_once_works(tmp_path: Path) -> None:
    barrier = threading.Barrier(16)

    def work(number: int) -> None:
        barrier.wait()
        with CallCache(tmp_path) as cache:
            cache.put(f"k{number}", call(), entry())

    with ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(work, number) for number in range(16)]:
            done.result()
    with CallCache(tmp_path) as cache:
        assert cache.stats().answers == 16


def test_a_claim_is_held_against_others_until_it_is_given_back_answered_closed_or_out_of_time(tmp_path: Path) -> None:
    with CallCache(tmp_path) as mine, CallCache(tmp_path) as theirs:
        assert mine.claim("released", 60)
        assert mine.claim("released", 60), "claiming again begins the time anew"
        assert not theirs.claim("released", 60)
        theirs.release("released")
        assert not theirs.claim("released", 60), "only the owner gives it back"
        mine.release("released")
        assert theirs.claim("released", 60)
        assert mine.claim("short", 0.05)
        time.sleep(0.06)
        assert theirs.claim("short", 60)
        mine.release("short")
        assert not mine.claim("short", 60), "what was taken over stays with the new owner"
        assert mine.claim("answered", 60)
        mine.put("answered", call(), entry())
        assert mine._db.execute("select count(*) from claims where key = 'answered'").fetchone() == (0,)
        assert not theirs.claim("answered", 60), "an answer that has arrived is not made again"
        assert theirs.get("answered") == call()
        assert mine.claim("closed", 60)
        mine.close()
        assert theirs.claim("closed", 60)


@pytest.mark.slow
def test_a_killed_owners_claim_is_free_at_once_a_living_ones_is_not(tmp_path: Path) -> None:
    process = other(tmp_path, "print(cache.claim('k', 600), flush=True); time.sleep(600)")
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    with CallCache(tmp_path) as cache:
        assert not cache.claim("k", 60)
        process.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 30
        while not cache.claim("k", 60):  # not reaped yet: as a zombie it counts as dead, too
            assert time.monotonic() < deadline
        process.wait()


@pytest.mark.parametrize(
    ("host", "pid", "started", "free"),
    [
        (None, 1, "before the last boot 17", True),
        (None, 2**22 + 5, "", True),
        ("elsewhere", 2**22 + 5, "", False),
        (None, os.getppid(), "", False),
    ],
    ids=["process id given out again", "no such process", "another machine", "living process"],
)
def test_whether_an_owner_is_dead_is_known_on_the_same_machine_only(
    cache: CallCache, host: str | None, pid: int, started: str, free: bool
) -> None:
    if started and not Path("/proc/self/stat").exists():
        pytest.skip("this system does not tell when a process was started")
    assert cache.claim("k", 600)
    assert socket.gethostname() in cache._owner.host
    cache._db.execute(
        "update claims set host = ?, pid = ?, started = ?, instance = 'x'", (host or cache._owner.host, pid, started)
    )
    assert cache.claim("k", 60) is free


def test_a_claim_of_another_machine_that_lies_too_far_ahead_holds_nobody_up(cache: CallCache) -> None:
    """Its clock, or this one, has gone back: nobody waits a year."""
    assert cache.claim("k", 600)
    cache._db.execute("update claims set host = 'elsewhere', instance = 'x', until = until + 31536000")
    assert cache.claim("k", 600)


@pytest.mark.slow
def test_of_processes_that_need_the_same_answers_exactly_one_makes_each_call(tmp_path: Path) -> None:
    code = f"""
for number in range(30):
    key = f"k{{number}}"
    while (found := cache.get(key)) is None:
        if not cache.claim(key, 60):
            time.sleep(0.005)
            continue
        with open({str(tmp_path / "made")!r}, "a") as made:
            made.write(key + "\\n")
        time.sleep(0.01)
        cache.put(key, call(key), entry(key))
    assert found == call(key)
print("done", flush=True)
"""
    processes = [other(tmp_path, code) for _ in range(4)]
    assert [process.communicate(timeout=120)[0] for process in processes] == ["done\n"] * 4
    assert sorted((tmp_path / "made").read_text().split()) == sorted(f"k{number}" for number in range(30))


@pytest.mark.slow
def test_what_was_acknowledged_survives_kill_9_of_processes_that_write_together(tmp_path: Path) -> None:
    code = """
name = os.getpid()
for number in range(10**9):
    key = f"{name}-{number}"
    cache.claim(key, 600)
    cache.put(key, call(key * 20), entry(key))
    print(key, flush=True)
"""
    acknowledged: list[str] = []
    for _ in range(3):
        processes = [other(tmp_path, code) for _ in range(3)]
        for process in processes:
            assert process.stdout is not None
            acknowledged += [process.stdout.readline().strip() for _ in range(150)]
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            assert process.stdout is not None
            acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
            process.wait()
    with CallCache(tmp_path) as cache:
        assert len(acknowledged) >= 1_350
        assert cache._db.execute("pragma integrity_check").fetchone() == ("ok",)
        found = cache.get_many(acknowledged)
        assert {key: found.get(key) for key in acknowledged} == {key: call(key * 20) for key in acknowledged}
        journal = {one.key for _, one in cache.journal_after(0)}
        assert set(acknowledged) <= journal
        assert len(journal) == cache.stats().answers == len(cache.journal_after(0)), (
            "answer and journal row go together"
        )
        assert cache._db.execute("select count(*) from claims").fetchone()[0] <= 9, "only calls that were in flight"
