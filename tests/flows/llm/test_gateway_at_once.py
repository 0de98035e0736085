"""Calls at the same time: identical ones are one call, and all places are used."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from compaction.model import Completion, ModelError, ModelRequest
from flows.llm.adaptive_limit import AdaptiveLimit
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.clients.transport import CallFault, Reply
from flows.llm.gateway import Gateway
from flows.llm.retries import RetryPolicy
from tests.flows.llm.scripted import (
    QUICK,
    SETTINGS,
    ScriptedTransport,
    answer_of,
    faults,
    in_threads,
    journal,
    reply,
    request,
    wait_until,
)

# At once


def test_identical_calls_in_flight_are_one_call(cache: CallCache) -> None:
    release = threading.Event()

    async def slow() -> Reply:
        while not release.is_set():
            await asyncio.sleep(0.005)
        return reply()

    transport = ScriptedTransport(lambda asked, n: slow())
    with Gateway(cache, transport=transport) as gateway, ThreadPoolExecutor(20) as pool:
        results = [pool.submit(gateway.complete, SETTINGS, request()) for _ in range(20)]
        time.sleep(0.1)
        release.set()
        found = [result.result() for result in results]
    assert len(transport.sent) == 1
    assert sorted(completion.cached for completion in found) == [False] + [True] * 19
    assert len(journal(cache)) == 20


def test_those_who_wait_for_the_same_call_get_its_failure_and_not_one_object() -> None:
    transport = ScriptedTransport(faults("refused"), delay=0.1)
    with Gateway(None, transport=transport) as gateway:
        found = in_threads([lambda: gateway.complete(SETTINGS, request())] * 10, 10)
    assert {(type(error), error.kind) for error in found} == {(ModelError, "refused")}
    assert len({id(error) for error in found}) == 10


def test_all_places_are_used_and_never_one_more() -> None:
    transport = ScriptedTransport(delay=0.01)
    with Gateway(None, transport=transport, concurrency=8) as gateway:
        in_threads([lambda n=n: gateway.complete(SETTINGS, request(f"{n}")) for n in range(64)], 32)
    assert transport.most_in_flight == 8


def test_a_further_try_goes_before_first_ones_that_wait() -> None:
    """So that a call which has waited once is not kept from its deadline by all that came after it."""
    release = threading.Event()

    async def answer(asked: ModelRequest, number: int) -> Reply:
        while asked.messages[0].text == "a" and not release.is_set():
            await asyncio.sleep(0.002)
        if asked.messages[0].text == "a" and number == 1:
            raise CallFault("server", "once")
        await asyncio.sleep(0.1)
        return answer_of(asked)

    transport = ScriptedTransport(answer)
    with Gateway(None, transport=transport, concurrency=1, policy=QUICK) as gateway, ThreadPoolExecutor(3) as pool:
        results = []
        for waiting, name in enumerate("abc"):
            results.append(pool.submit(gateway.complete, SETTINGS, request(name)))
            wait_until(lambda waiting=waiting: transport.sent and len(_limit(gateway)._waiting) == waiting)
        release.set()
        for result in results:
            result.result(10)
    assert [asked.messages[0].text for asked in transport.sent] == ["a", "b", "a", "c"]


def _limit(gateway: Gateway) -> AdaptiveLimit:
    (line,) = gateway._sender._lines.values()
    return line.limit


def test_overload_lowers_what_is_in_flight() -> None:
    """Of a server that takes two calls at a time, 16 that never give way get some 4,800 refusals for 6 answers."""
    transport = ScriptedTransport(delay=0.002)

    def script(asked: Any, number: int) -> Reply:
        if transport.in_flight > 2:
            raise CallFault("overloaded", "too much")
        return answer_of(asked)

    transport.script = script
    policy = RetryPolicy(tries=50, first_wait=0.001, longest_wait=0.004)
    with Gateway(None, transport=transport, concurrency=16, policy=policy) as gateway:
        found = in_threads([lambda n=n: gateway.complete(SETTINGS, request(f"{n}")) for n in range(100)], 16)
    assert {type(outcome) for outcome in found} == {Completion}
    assert len(transport.sent) < 400


SCRIPT = """
import sys, time
from pathlib import Path
from flows.llm.cache.call_cache import CallCache
from flows.llm.gateway import Gateway
from tests.flows.llm.scripted import SETTINGS, ScriptedTransport, reply, request

folder = Path(sys.argv[1])

def script(asked, number):
    with (folder / "calls").open("a") as calls:
        calls.write("call\\n")
    return reply()

(folder / f"ready{sys.argv[2]}").touch()
while not (folder / "go").exists():
    time.sleep(0.001)
with CallCache(folder / "cache") as cache, Gateway(cache, transport=ScriptedTransport(script, delay=0.3)) as gateway:
    print(gateway.complete(SETTINGS, request()).cached)
"""


def test_identical_calls_of_two_processes_are_one_call(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path), str(number)],
            cwd=Path(__file__).parents[3],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    wait_until(lambda: all((tmp_path / f"ready{number}").exists() for number in range(2)))
    (tmp_path / "go").touch()
    said = sorted(process.communicate(timeout=60)[0].strip() for process in processes)
    assert said == ["False", "True"]
    assert (tmp_path / "calls").read_text() == "call\n"


def test_when_the_other_process_fails_this_one_makes_the_call(tmp_path: Path) -> None:
    transport = ScriptedTransport()
    with CallCache(tmp_path) as other, CallCache(tmp_path) as cache:
        assert other.claim(call_key(SETTINGS, request()), 60)
        with Gateway(cache, transport=transport) as gateway, ThreadPoolExecutor(1) as pool:
            result = pool.submit(gateway.complete, SETTINGS, request())
            time.sleep(0.1)
            assert transport.sent == []
            other.release(call_key(SETTINGS, request()))
            assert not result.result(10).cached
