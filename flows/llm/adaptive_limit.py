"""A limit on the calls in flight at one server: the number asked for, fewer while the server says that it is too many.

The rule is that of congestion control on networks, additive increase and multiplicative decrease (Chiu and Jain 1989,
"Analysis of the increase and decrease algorithms for congestion avoidance in computer networks").
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

CUT = 0.7
"""What a cut leaves of the limit: the factor of CUBIC (RFC 9438, section 4.6)."""
ROUNDS_BACK = 16
"""Round trips in which the limit climbs by all of the concurrency; one cut is made good after about five."""


class PausedError(Exception):
    """The server asks for a pause that is longer than anybody here waits."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the provider asks to wait {seconds:.0f} s before the next request")
        self.seconds = seconds


class AdaptiveLimit:
    """Slots for calls to one server. Used from one event loop.

    Places are given in the order in which they were asked for, those for a further try before those for a first.
    """

    def __init__(
        self,
        concurrency: int,
        *,
        patience: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency: expected at least 1, found {concurrency}")
        self.concurrency = concurrency
        self.patience = patience
        """Seconds of the longest pause that calls wait for; during a longer one they fail at once."""
        self.in_flight = 0
        self._allowed = float(concurrency)
        self._cuts = 0
        self._paused_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._waker: asyncio.Task[None] | None = None
        self._clock = clock
        self._sleep = sleep

    @property
    def allowed(self) -> int:
        """Calls that may be in flight now, from 1 to ``concurrency``."""
        return int(self._allowed)

    async def acquire(self, *, again: bool = False) -> int:
        """A place, as soon as there is one; ``again``: for a further try, which goes first.

        Returns what ``throttled`` wants to know of the place. Raises PausedError when the server has asked for a pause
        beyond ``patience``.
        """
        if self._paused_until and (left := self._paused_until - self._clock()) > self.patience:
            raise PausedError(left)
        if self.in_flight < self.allowed and not self._paused_until and (again or not self._waiting):
            self.in_flight += 1
            return self._cuts
        place = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if again else self._waiting.append)(place)
        self._wake()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.release()  # it was given just before the wait was given up
            raise
        return self._cuts

    def release(self) -> None:
        """Release a slot."""
        self.in_flight -= 1
        if self._waiting:
            self._wake()

    def succeeded(self, pause: float = 0.0) -> None:
        """A call was answered; ``pause``: seconds that the answer's headers ask all to wait (0 for none)."""
        if self._allowed < self.concurrency:
            step = max(1.0, self.concurrency / ROUNDS_BACK) / self._allowed
            self._allowed = min(float(self.concurrency), self._allowed + step)
        if pause > 0:
            self._pause(min(pause, self.patience))

    def throttled(self, place: int, wait: float | None = None) -> None:
        """The server found it too much; ``wait``: seconds that it asks to wait, None when it says nothing.

        Of the calls that were in flight together only the first cuts the limit: the others say nothing new.
        """
        if place == self._cuts:
            self._cuts += 1
            self._allowed = max(1.0, self._allowed * CUT)
        if wait is not None and wait > 0:
            self._pause(wait)

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self._clock() + seconds)
        if seconds > self.patience:
            waiting, self._waiting = self._waiting, deque()
            for place in waiting:
                if not place.done():
                    place.set_exception(PausedError(seconds))

    def _wake(self) -> None:
        if self._paused_until:
            if self._waker is None:
                self._waker = asyncio.get_running_loop().create_task(self._wake_later())
            return
        while self._waiting and self.in_flight < self.allowed:
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    async def _wake_later(self) -> None:
        while (left := self._paused_until - self._clock()) > 0:
            await self._sleep(left)
        self._paused_until = 0.0
        self._waker = None
        self._wake()
