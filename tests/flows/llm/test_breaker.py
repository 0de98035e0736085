"""A provider that fails for all is asked a few times more and then no more; one that fails for some goes on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from compaction.model import CallsStoppedError, ModelError
from flows.llm.breaker import THROTTLED_WAITS, WAITS
from flows.llm.cache.call_cache import CallCache
from flows.llm.clients.factory import make_transport
from flows.llm.clients.transport import CallFault, FaultKind, Reply
from flows.llm.gateway import Gateway
from flows.llm.settings import make_settings
from tests.flows.llm.asking import fault, settings_for
from tests.flows.llm.scripted import QUICK, SETTINGS, ScriptedTransport, faults, in_threads, reply, request
from tests.flows.llm.server import HttpError, MockProvider

CONCURRENCY = 16


class Sleeps:
    """Counts the seconds that are slept, and does not sleep them."""

    def __init__(self) -> None:
        self.long: list[float] = []

    async def __call__(self, seconds: float) -> None:
        if seconds >= 1:
            self.long.append(seconds)
        await asyncio.sleep(min(seconds, 0.001))


def outcomes(transport: Any, cache: CallCache, number: int = 100, sleep: Any = None) -> tuple[list[Any], str]:
    """What becomes of so many calls, and why the gateway has stopped."""
    with Gateway(cache, transport=transport, policy=QUICK, concurrency=CONCURRENCY, sleep=sleep or Sleeps()) as gateway:
        calls: list[Callable[[], Any]] = [
            lambda n=n: gateway.complete(SETTINGS, request(f"q{n}"))
            for n in range(number)  # type: ignore[misc]
        ]
        return in_threads(calls), gateway.stopped


@pytest.mark.parametrize("kind", ["connection", "server", "timeout", "rate_limited", "overloaded", "malformed"])
def test_a_provider_that_never_answers_is_asked_few_times_and_nothing_fails(cache: CallCache, kind: FaultKind) -> None:
    transport, sleeps = ScriptedTransport(faults(kind), delay=0.002), Sleeps()
    found, stopped = outcomes(transport, cache, sleep=sleeps)
    assert len(transport.sent) <= 3 * CONCURRENCY
    assert all(isinstance(each, CallsStoppedError) for each in found)
    assert {str(each) for each in found} == {stopped}
    assert "openai:m failed" in stopped
    assert stopped.endswith(f"scripted {kind}")
    assert sleeps.long == list(THROTTLED_WAITS if kind in ("rate_limited", "overloaded") else WAITS)


def test_what_the_provider_refuses_of_all_is_the_providers_and_what_of_one_is_that_ones(cache: CallCache) -> None:
    found, stopped = outcomes(ScriptedTransport(faults("rejected")), cache)
    assert stopped
    assert sum(isinstance(each, CallsStoppedError) for each in found) >= 100 - 3 * CONCURRENCY

    def every_third(asked: Any, number: int) -> Reply:
        if int(asked.messages[0].text[1:]) % 3 == 0:
            raise CallFault("rejected", "not this one")
        return reply()

    found, stopped = outcomes(ScriptedTransport(every_third), cache, 600)
    assert stopped == ""
    assert sum(isinstance(each, ModelError) for each in found) == 200


def test_a_provider_that_comes_back_is_asked_all(cache: CallCache) -> None:
    sleeps = Sleeps()

    def later(asked: Any, number: int) -> Reply:
        if len(sleeps.long) < 2:
            raise CallFault("connection", "not yet")
        return reply()

    found, stopped = outcomes(ScriptedTransport(later, delay=0.001), cache, sleep=sleeps)
    assert stopped == ""
    assert not any(isinstance(each, Exception) for each in found)
    assert sleeps.long == [1.0, 2.0]


def test_a_port_that_nobody_listens_on_is_one_sentence(cache: CallCache) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    settings = make_settings("openai:m", {"base_url": url}, "test")
    with Gateway(cache, transport=make_transport, policy=QUICK, concurrency=CONCURRENCY, sleep=Sleeps()) as gateway:
        found = in_threads([lambda n=n: gateway.complete(settings, request(f"q{n}")) for n in range(40)])  # type: ignore[misc]
    assert all(isinstance(each, CallsStoppedError) for each in found)
    assert len({str(each) for each in found}) == 1
    assert "no connection" in str(found[0])


def test_a_403_of_a_wall_is_that_prompts_and_one_of_the_provider_is_the_keys(provider: MockProvider) -> None:
    def wall(_: Any) -> Any:
        from starlette.responses import HTMLResponse

        return HTMLResponse("<html><body>Request blocked</body></html>", 403)

    provider.handler = wall
    assert fault(settings_for(provider)).kind == "rejected"

    def refuse(_: Any) -> str:
        raise HttpError(403, "no access to this project", type="permission_error")

    provider.handler = refuse
    assert fault(settings_for(provider)).kind == "unusable"
