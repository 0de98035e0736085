"""A provider that fails is noticed: after as many faults in a row as calls are in flight only single tries go through.

This is a circuit breaker (Nygard, "Release It!", 2007), one for each model at one address. A single try that is
answered lets all calls go on; after the last one that is not, no call to the model is made in this run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from compaction.model import CallsStoppedError
from flows.llm.clients.transport import CallFault, FaultKind
from flows.llm.retries import without_secrets
from flows.llm.settings import ModelSettings

COUNTED: frozenset[FaultKind] = frozenset(
    {"rate_limited", "overloaded", "server", "connection", "timeout", "malformed", "rejected"}
)
"""Faults that are the provider's when they come in a row; one alone may be the prompt's. After any other the provider
works, or all calls end at once."""
LEAST = 6
"""Faults in a row that are never too many: those of one call with all its tries."""
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each single try."""
THROTTLED_WAITS = (*WAITS, 16.0, 32.0)
"""The same where the provider finds the calls too many: its limits are for a minute."""


class Breaker:
    """The breaker of one model. For one event loop."""

    def __init__(self, settings: ModelSettings, concurrency: int, sleep: Callable[[float], Awaitable[None]]) -> None:
        self.reason = ""
        """Why no call is made any more; blank while calls are made."""
        self._spec = settings.spec
        self._most = max(concurrency, LEAST)
        self._sleep = sleep
        self._in_a_row = 0
        self._single = 0
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def passage(self) -> AsyncIterator[bool]:
        """Let a try through, or wait for a turn to be a single one; whether it is. Raises CallsStoppedError."""
        if self.lets_all():
            yield False
            return
        async with self._turn:
            if not self.lets_all():
                await self._sleep(THROTTLED_WAITS[self._single])
                self._single += 1
            yield True

    def lets_all(self) -> bool:
        """Whether all tries go through. Raises CallsStoppedError when none does any more."""
        if self.reason:
            raise CallsStoppedError(self.reason)
        return self._in_a_row < self._most

    def note(self, fault: CallFault | None) -> None:
        """Note how a try ended; None for an answer."""
        if fault is None or fault.kind not in COUNTED:
            self._in_a_row = self._single = 0
            return
        self._in_a_row += 1
        waits = THROTTLED_WAITS if fault.kind in ("rate_limited", "overloaded") else WAITS
        if self._single >= len(waits) and not self.reason:
            self.reason = (
                f"{self._spec} failed {self._in_a_row:,} times in a row, so it is not asked any more: "
                f"{without_secrets(str(fault))}"
            )
