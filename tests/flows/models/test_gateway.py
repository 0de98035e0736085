"""Every answer is paid for once, and nobody who waits for one waits for ever."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compaction.model import CallsStoppedError, Completion, ModelError, ModelRequest, NativeRequest, ReplyError
from flows.models.budget import Budget
from flows.models.cache import CallCache
from flows.models.gateway import Gateway, calling_for, only_cached
from flows.models.keys import call_key
from flows.models.limits import AdaptiveLimit
from flows.models.retries import RetryPolicy
from flows.models.wire import CallFault, FaultKind, Reply, TokenUse
from flows.problems import UsageProblem
from tests.flows.models.scripted import (
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


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    with CallCache(tmp_path / "cache") as opened:
        yield opened


# Answers


def test_an_answer_is_paid_for_once_and_served_from_the_cache_from_then_on(cache: CallCache) -> None:
    transport = ScriptedTransport()
    with Gateway(cache, transport=transport) as gateway:
        first, second = gateway.complete(SETTINGS, request()), gateway.complete(SETTINGS, request())
    assert first == Completion("answer to q", "m-2026", 100, 10, 120e-6, False, first.seconds)
    assert second == replace(first, cached=True)
    assert len(transport.sent) == 1


def test_the_cache_serves_the_next_process_and_nothing_is_started_for_it(cache: CallCache) -> None:
    with Gateway(cache, transport=ScriptedTransport()) as gateway:
        gateway.complete(SETTINGS, request())
    before = threading.active_count()
    with Gateway(cache, transport=lambda settings: pytest.fail("a client was made")) as gateway:
        assert gateway.complete(SETTINGS, request()).cached
        assert threading.active_count() == before


def test_where_only_the_cache_may_answer_nothing_is_sent(cache: CallCache) -> None:
    transport = ScriptedTransport()
    with Gateway(cache, transport=transport) as gateway:
        with only_cached(), pytest.raises(CallsStoppedError, match="not in the cache"):
            gateway.complete(SETTINGS, request())
        assert transport.sent == []
        made = gateway.complete(SETTINGS, request())
        with only_cached():
            assert gateway.complete(SETTINGS, request()).text == made.text
    assert len(transport.sent) == 1


def test_a_replicate_is_a_call_of_its_own(cache: CallCache) -> None:
    transport = ScriptedTransport()
    with Gateway(cache, transport=transport) as gateway:
        assert not any(gateway.complete(SETTINGS, request(replicate=n)).cached for n in range(3))
    assert len(transport.sent) == 3


def test_without_a_cache_calls_are_made_all_the_same() -> None:
    transport = ScriptedTransport()
    with Gateway(None, transport=transport) as gateway:
        assert not gateway.complete(SETTINGS, request()).cached
        assert not gateway.complete(SETTINGS, request()).cached


def test_the_journal_has_a_row_for_every_try_and_every_use_and_says_what_for(cache: CallCache) -> None:
    with Gateway(cache, run_id="r1", transport=ScriptedTransport(faults("server", 1)), policy=QUICK) as gateway:
        for item in ("a", "b"):
            with calling_for("score", item):
                gateway.complete(SETTINGS, request())
        gateway.complete(SETTINGS, request("other"))
    rows = [
        (row.run_id, row.stage, row.item_id, row.status, row.cached, row.input_tokens, row.cost_usd, row.error)
        for row in journal(cache)
        if row.key == call_key(SETTINGS, request())
    ]
    assert rows == [
        ("r1", "score", "a", "server", False, None, 0.0, "scripted server"),
        ("r1", "score", "a", "done", False, 100, 120e-6, None),
        ("r1", "score", "b", "done", True, 100, 120e-6, None),
    ]
    assert {(row.stage, row.item_id) for row in journal(cache) if row.key != call_key(SETTINGS, request())} == {
        ("", "")
    }


def test_a_server_that_counts_no_tokens_has_an_unknown_cost_and_not_none(cache: CallCache) -> None:
    free = replace(SETTINGS, input_usd=0.0, output_usd=0.0)
    with Gateway(cache, transport=ScriptedTransport(lambda asked, n: reply(use=TokenUse()))) as gateway:
        assert gateway.complete(SETTINGS, request("a")).cost_usd is None
        assert gateway.complete(free, request("b")).cost_usd == 0.0
    assert [(row.input_tokens, row.cost_usd) for row in journal(cache)] == [(None, None), (None, 0.0)]


def test_a_native_compaction_gives_its_response_back_and_is_cached_as_well(cache: CallCache) -> None:
    asked = NativeRequest("openai", "/v1/responses/compact", {"input": []})
    transport = ScriptedTransport(lambda asked, n: reply("", body={"output": [n]}))
    with Gateway(cache, transport=transport) as gateway:
        found = [gateway.native(SETTINGS, asked, replicate) for replicate in (0, 0, 1)]
    assert [body for body, _ in found] == [{"output": [1]}, {"output": [1]}, {"output": [2]}]
    assert [completion.cached for _, completion in found] == [False, True, False]
    assert found[0][1].cost_usd == pytest.approx(120e-6)


# What cannot be used


def no_json(text: str) -> None:
    raise ReplyError("it is no JSON")


def test_an_answer_that_the_request_cannot_use_is_charged_noted_and_not_kept(cache: CallCache) -> None:
    transport, budget = ScriptedTransport(), Budget(tokens=10_000)
    with Gateway(cache, transport=transport, budget=budget) as gateway:
        for _ in range(2):
            with pytest.raises(ModelError, match="openai:m: the answer cannot be used: it is no JSON") as caught:
                gateway.complete(SETTINGS, request(check=no_json))
            assert caught.value.kind == "invalid"
    assert len(transport.sent) == 2
    assert budget.spent_tokens == 220
    assert [(row.status, row.cost_usd) for row in journal(cache)] == [("malformed", 120e-6)] * 2


def test_a_stored_answer_that_no_longer_passes_is_a_miss_and_is_replaced(cache: CallCache) -> None:
    texts = iter(["old", "new"])

    def is_new(text: str) -> None:
        if text != "new":
            raise ReplyError("old")

    transport = ScriptedTransport(lambda asked, n: reply(next(texts)))
    with Gateway(cache, transport=transport) as gateway:
        gateway.complete(SETTINGS, request())
        assert gateway.complete(SETTINGS, request(check=is_new)).text == "new"
        again = gateway.complete(SETTINGS, request(check=is_new))
    assert (again.text, again.cached, len(transport.sent)) == ("new", True, 2)


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
from flows.models.cache import CallCache
from flows.models.gateway import Gateway
from tests.flows.models.scripted import SETTINGS, ScriptedTransport, reply, request

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
            [sys.executable, "-c", SCRIPT, str(tmp_path), str(number)], cwd=Path(__file__).parents[3],
            stdout=subprocess.PIPE, text=True,
        )
        for number in range(2)
    ]  # fmt: skip
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


# Budget


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 12_000), st.integers(0, 10**6), st.booleans())
def test_the_budget_is_never_passed_whatever_happens(limit: int, seed: int, in_dollars: bool) -> None:
    """Tokens are charged at most up to the bound, for answers and for faults, known and unknown."""
    chance, charged = random.Random(seed), 0
    most = 64 + 16 + 4 + 50  # bytes of the prompt and around it, and the limit of the answer

    def script(asked: Any, number: int) -> Reply:
        nonlocal charged
        use = TokenUse(chance.randint(0, most - 50), chance.randint(1, 50))
        charged += use.input_tokens + use.output_tokens
        if chance.random() < 0.3:
            known = chance.random() < 0.5
            raise CallFault(chance.choice(["timeout", "malformed", "truncated"]), "x", use=use if known else None)
        return reply(use=use)

    budget = Budget(usd=limit / 1e6) if in_dollars else Budget(tokens=limit)
    model = replace(SETTINGS, output_usd=1.0)  # so that a token is a millionth of a dollar, whichever it is
    transport = ScriptedTransport(script)
    with Gateway(None, transport=transport, policy=QUICK, budget=budget) as gateway:
        found = in_threads([lambda n=n: gateway.complete(model, request(f"{n:04}")) for n in range(100)], 16)
    assert charged <= limit
    assert {type(outcome) for outcome in found} <= {Completion, ModelError, CallsStoppedError}
    assert any(isinstance(outcome, CallsStoppedError) for outcome in found) == budget.stopped
    assert budget.stopped or len(transport.sent) >= 100


def test_what_is_cached_costs_nothing_after_the_budget_is_spent(cache: CallCache) -> None:
    budget = Budget(tokens=250)
    with Gateway(cache, transport=ScriptedTransport(), budget=budget) as gateway:
        gateway.complete(SETTINGS, request("a"))
        gateway.complete(SETTINGS, request("b"))
        with pytest.raises(CallsStoppedError, match="220 tokens are spent"):
            gateway.complete(SETTINGS, request("c"))
        assert gateway.complete(SETTINGS, request("a")).cached


@pytest.mark.parametrize(
    ("kind", "charge"),
    [("server", 0), ("rate_limited", 0), ("rejected", 0), ("timeout", 131), ("connection", 131), ("refused", 131)],
)
def test_a_fault_is_charged_in_full_where_it_may_have_cost_something(kind: FaultKind, charge: int) -> None:
    budget = Budget(tokens=10_000)
    policy = replace(QUICK, tries=1)
    with (
        Gateway(None, transport=ScriptedTransport(faults(kind)), budget=budget, policy=policy) as gateway,
        pytest.raises(ModelError),
    ):
        gateway.complete(SETTINGS, request())
    assert budget.spent_tokens == charge


def test_a_fault_with_known_tokens_is_charged_and_noted_with_them(cache: CallCache) -> None:
    budget = Budget(usd=1)
    transport = ScriptedTransport(faults("truncated", use=TokenUse(10, 50)))
    with Gateway(cache, transport=transport, budget=budget) as gateway, pytest.raises(ModelError):
        gateway.complete(SETTINGS, request())
    assert budget.spent_usd == pytest.approx(110e-6)
    assert [(row.input_tokens, row.output_tokens, row.cost_usd) for row in journal(cache)] == [(10, 50, 110e-6)]


def test_a_budget_in_dollars_without_a_price_refuses_the_call_before_it_is_made() -> None:
    transport = ScriptedTransport()
    with (
        Gateway(None, transport=transport, budget=Budget(usd=1)) as gateway,
        pytest.raises(UsageProblem, match="price is unknown"),
    ):
        gateway.complete(replace(SETTINGS, input_usd=None), request())
    assert transport.sent == []


# The end


def test_closing_lets_a_try_finish_and_stores_its_answer(cache: CallCache) -> None:
    transport = ScriptedTransport(delay=0.2)
    gateway = Gateway(cache, transport=transport)
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(gateway.complete, SETTINGS, request())
        wait_until(lambda: transport.in_flight == 1)
        gateway.close()
        assert result.result(5).text == "answer to q"
    assert cache.get(call_key(SETTINGS, request())) is not None
    assert transport.closed == 1


def test_closing_ends_what_hangs_and_what_waits_for_another_try_or_another_process(tmp_path: Path) -> None:
    def script(asked: ModelRequest, number: int) -> Any:
        if asked.messages[0].text == "fails":
            raise CallFault("rate_limited", "wait", wait=500.0)
        return asyncio.sleep(60, reply())

    transport = ScriptedTransport(script)
    with CallCache(tmp_path) as other, CallCache(tmp_path) as cache, ThreadPoolExecutor(4) as pool:
        assert other.claim(call_key(SETTINGS, request("claimed")), 60)
        budget = Budget(tokens=10_000)
        gateway = Gateway(cache, transport=transport, grace=0.05, budget=budget)
        results = [pool.submit(gateway.complete, SETTINGS, request("hangs"))]
        wait_until(lambda: transport.in_flight == 1)
        results += [pool.submit(gateway.complete, SETTINGS, request(name)) for name in ("fails", "claimed")]
        wait_until(lambda: len(transport.sent) == 2 and transport.in_flight == 1)
        gateway.close()
        gateway.close()
        for result in results:
            with pytest.raises(CallsStoppedError, match="run again"):
                result.result(5)
        with pytest.raises(CallsStoppedError):
            gateway.complete(SETTINGS, request("late"))
        assert other.claim(call_key(SETTINGS, request("hangs")), 1), "the claim was not given back"
        rows = {row.status: row for row in journal(cache)}
    assert set(rows) == {"connection", "rate_limited"}
    assert rows["connection"].cost_usd is None
    assert budget.spent_tokens == 64 + 16 + len("hangs") + 50
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("model call")]


def test_closing_does_not_wait_for_what_is_not_under_way() -> None:
    """Only a try that was sent may have been paid for."""
    transport = ScriptedTransport(faults("rate_limited", wait=500.0))
    gateway = Gateway(None, transport=transport, grace=1_000.0)
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(gateway.complete, SETTINGS, request())
        wait_until(lambda: bool(transport.sent) and transport.in_flight == 0)
        gateway.close()
        with pytest.raises(CallsStoppedError):
            result.result(5)


def test_a_caller_who_is_interrupted_does_not_lose_the_answer(cache: CallCache) -> None:
    transport = ScriptedTransport(delay=1.5)  # longer than a busy machine keeps a thread waiting
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        wait_until(lambda: transport.in_flight == 1)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with Gateway(cache, transport=transport) as gateway:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            gateway.complete(SETTINGS, request())
        thread.join()
        assert gateway.complete(SETTINGS, request()).cached
    signal.signal(signal.SIGINT, before)
    assert len(transport.sent) == 1


class _Interrupting:
    """An event loop whose caller is interrupted at the worst moment: the call is handed over, and is under way."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: ScriptedTransport) -> None:
        self._loop, self._transport, self.n_handed = loop, transport, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def call_soon_threadsafe(self, *work: Any) -> None:
        """Do it; the first time only the interrupt is heard of."""
        self._loop.call_soon_threadsafe(*work)
        self.n_handed += 1
        if self.n_handed == 1:
            wait_until(lambda: self._transport.in_flight == 1)
            raise KeyboardInterrupt


def test_an_interrupt_while_a_call_is_handed_over_does_not_have_it_made_twice(cache: CallCache) -> None:
    transport = ScriptedTransport(delay=0.3)
    with Gateway(cache, transport=transport) as gateway:
        gateway._loop = _Interrupting(gateway._started(), transport)  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            gateway.complete(SETTINGS, request())
        assert gateway.complete(SETTINGS, request()).cached
        assert gateway._loop.n_handed == 2, "it was not asked to be let go"
    assert len(transport.sent) == 1


def test_a_cache_that_breaks_is_the_callers_problem_and_holds_nobody_up(tmp_path: Path) -> None:
    cache = CallCache(tmp_path)
    transport = ScriptedTransport(delay=0.1)
    with Gateway(cache, transport=transport) as gateway, ThreadPoolExecutor(1) as pool:
        result = pool.submit(gateway.complete, SETTINGS, request())
        wait_until(lambda: transport.in_flight == 1)
        cache.close()
        with pytest.raises(Exception, match="closed"):
            result.result(10)
        gateway._cache = None
        assert gateway.complete(SETTINGS, request()).text == "answer to q"
