"""Nobody who waits for an answer waits for ever, and an interrupt loses none."""

from __future__ import annotations

import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from compaction.model import CallsStoppedError, ModelRequest
from flows.llm.budget import Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.clients.transport import CallFault
from flows.llm.gateway import Gateway
from tests.flows.llm.scripted import (
    SETTINGS,
    ScriptedTransport,
    faults,
    journal,
    reply,
    request,
    wait_until,
)

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
        gateway._loop = _Interrupting(gateway._start_loop(), transport)  # type: ignore[assignment]
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
