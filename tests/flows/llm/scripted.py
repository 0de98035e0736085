"""A provider's client that does what a script says: the fake at the seam below the gateway."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from compaction.model import ModelRequest, NativeRequest
from compaction.transcript import Message
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.records import JournalEntry
from flows.llm.clients.transport import CallFault, FaultKind, Reply, TokenUse
from flows.llm.retries import RetryPolicy
from flows.llm.settings import ModelSettings

QUICK = RetryPolicy(first_wait=0.001, longest_wait=0.002)
SETTINGS = ModelSettings("openai:m", "http://localhost:1/v1", input_usd=1.0, output_usd=2.0, timeout=20.0)
USE = TokenUse(100, 10)

Script = Callable[[Any, int], Awaitable[Reply] | Reply]
"""A request and the number of the try of this request, from 1 → the reply; raises CallFault."""


def request(name: str = "q", **more: Any) -> ModelRequest:
    """A request that is told from others by its name."""
    return ModelRequest((Message("user", name),), 50, **more)


def reply(text: str = "answer", use: TokenUse = USE, **more: Any) -> Reply:
    """An answer."""
    return Reply(text, "m-2026", use, **more)


def answer_of(asked: ModelRequest) -> Reply:
    """An answer that only this request gets."""
    return reply(f"answer to {asked.messages[0].text}")


def faults(kind: FaultKind, times: int = 10**9, **more: Any) -> Script:
    """So many faults of a kind for each request, then an answer."""

    def script(asked: Any, number: int) -> Reply:
        if number <= times:
            raise CallFault(kind, f"scripted {kind}", **more)
        return answer_of(asked)

    return script


class ScriptedTransport:
    """Counts what is sent and how much is in flight."""

    def __init__(self, script: Script | None = None, delay: float = 0.0) -> None:
        self.script = script or (lambda asked, number: answer_of(asked))
        self.delay = delay
        self.sent: list[Any] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.closed = 0

    def __call__(self, settings: ModelSettings) -> ScriptedTransport:
        """What the gateway makes it with."""
        self.made_for = settings
        return self

    async def send(self, settings: ModelSettings, asked: ModelRequest) -> Reply:
        return await self._do(asked)

    async def send_native(self, settings: ModelSettings, asked: NativeRequest) -> Reply:
        return await self._do(asked)

    async def close(self) -> None:
        self.closed += 1

    async def _do(self, asked: Any) -> Reply:
        self.sent.append(asked)
        number = sum(1 for each in self.sent if each is asked or each == asked)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.delay:
                await asyncio.sleep(self.delay)
            found = self.script(asked, number)
            return found if isinstance(found, Reply) else await found
        finally:
            self.in_flight -= 1


def journal(cache: CallCache) -> list[JournalEntry]:
    """All rows so far, oldest first."""
    cache.flush()
    return [entry for _, entry in cache.journal_after(0)]


def in_threads(calls: Sequence[Callable[[], Any]], threads: int = 64) -> list[Any]:
    """What each call returned or raised."""

    def outcome(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(outcome, calls))


def wait_until(holds: Callable[[], object]) -> None:
    """Wait for what another thread does."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.002)
