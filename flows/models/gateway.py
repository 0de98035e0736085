"""The gateway: every call to a model goes through it, so that each answer is paid for once.

A call, from its key to its answer::

    caller's thread     key → cache ──────────────────────────────────────────────→ answer
                               └→ the same call in flight → its answer
                               └→ claim (other processes) ┐
    event loop          budget → limit → try → fault → wait → try … → reply
    bookkeeper                                          check → cache, journal, claim ┘ → answer

Callers block in their own threads. One event loop, in a thread of its own that starts with the first call, sends and
waits for all of them. A third thread keeps the books, so that the disk holds up neither: it checks a reply, stores it
and only then hands it out. A caller that goes away loses nothing: its call goes on and is stored.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from compaction.model import CallsStoppedError, Completion, ModelError, ModelRequest, NativeRequest, ReplyError
from flows.models.budget import Budget, Charge, most_charged
from flows.models.cache import CallCache
from flows.models.calls import JournalEntry, StoredCall
from flows.models.keys import call_key
from flows.models.prices import Prices
from flows.models.retries import RetryPolicy, scrub
from flows.models.sending import Asked, Paid, Sender, now
from flows.models.settings import ModelSettings
from flows.models.wire import Transport
from flows.problems import Problem

CLAIM_SECONDS = 3_600.0
"""How long another process believes that a call of this one is still under way, unless it sees this one die."""
FIRST_LOOK, LONGEST_LOOK = 0.02, 0.5
"""Seconds between two looks for an answer that another process is getting; they double."""
GRACE = 5.0
"""Seconds that ``close`` waits for tries that are under way."""

_STOPPED = "the run ended before the answer came; run again to go on"
_calling_for: ContextVar[tuple[str, str]] = ContextVar("calling_for", default=("", ""))
_only_cached: ContextVar[bool] = ContextVar("only_cached", default=False)
_log = logging.getLogger(__name__)


@contextmanager
def calling_for(stage: str, item_id: str) -> Iterator[None]:
    """Say what the calls of this thread are made for; it stands in their rows of the journal."""
    token = _calling_for.set((stage, item_id))
    try:
        yield
    finally:
        _calling_for.reset(token)


@contextmanager
def only_cached() -> Iterator[None]:
    """Have calls of this thread that the cache cannot answer end with CallsStoppedError, before anything is sent."""
    token = _only_cached.set(True)
    try:
        yield
    finally:
        _only_cached.reset(token)


def called_for() -> tuple[str, str]:
    """Stage and item that the calls of this thread are made for."""
    return _calling_for.get()


def transport_for(settings: ModelSettings) -> Transport:
    """The client of a model's provider. Importing one takes a second, so none is imported before the first call."""
    from flows.models.transports import make_transport  # noqa: PLC0415

    return make_transport(settings)


@dataclass(slots=True, eq=False)
class _Flight:
    """One call under way, and all who wait for it."""

    asked: Asked
    landed: Future[StoredCall | BaseException | None] = field(default_factory=Future)
    """The answer, the reason why there is none, or None: its caller gave it up before it was sent."""
    was_found: bool = False
    """Whether another process got the answer."""
    task: asyncio.Task[None] | None = None


class Gateway:
    """All calls of a run. ``complete`` and ``native`` are safe from any thread."""

    def __init__(
        self,
        cache: CallCache | None,
        *,
        run_id: str = "",
        concurrency: int = 64,
        budget: Budget | None = None,
        policy: RetryPolicy = RetryPolicy(),  # noqa: B008 (frozen)
        transport: Callable[[ModelSettings], Transport] = transport_for,
        prices: Prices | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        grace: float = GRACE,
    ) -> None:
        self.budget = budget
        self._cache = cache
        self._run_id = run_id
        self._price = (prices or Prices()).cost
        self._grace = grace
        self._flights: dict[str, _Flight] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._books: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads: list[threading.Thread] = []
        self._sender = Sender(
            transport, self._price, policy, concurrency,
            budget=budget, note=self._note_later, clock=clock, sleep=sleep,
        )  # fmt: skip

    def complete(self, settings: ModelSettings, request: ModelRequest) -> Completion:
        """The model's answer, from the cache or the provider. Blocks.

        Raises ModelError when there is no usable answer, CallsStoppedError when the budget or the run has ended, and
        UsageProblem when there is no price for a budget in dollars.
        """
        call, is_cached = self._answer(self._asked(settings, request, request.replicate))
        return _completion(call, is_cached)

    def native(
        self, settings: ModelSettings, request: NativeRequest, replicate: int = 0
    ) -> tuple[Mapping[str, Any], Completion]:
        """The response of a compaction on the provider's side, and what it cost. As ``complete``."""
        call, is_cached = self._answer(self._asked(settings, request, replicate))
        return call.body, _completion(call, is_cached)

    def close(self) -> None:
        """Let tries that are under way finish for a short while, cancel the rest, give the connections back.

        Callers that still wait get CallsStoppedError. The cache stays open: it is its owner's. Closing again does
        nothing.
        """
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            loop = self._loop
        if loop is not None:
            asyncio.run_coroutine_threadsafe(self._shut(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            self._books.put(None)
            for thread in self._threads:
                thread.join()
            for flight in list(self._flights.values()):  # whose client did not let itself be cancelled
                self._land(flight, CallsStoppedError(_STOPPED))
        if self._cache is not None:
            self._cache.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _asked(self, settings: ModelSettings, request: ModelRequest | NativeRequest, replicate: int) -> Asked:
        stage, item_id = _calling_for.get()
        return Asked(settings, request, call_key(settings, request, replicate), self._run_id, stage, item_id)

    # In the caller's thread.

    def _answer(self, asked: Asked) -> tuple[StoredCall, bool]:
        """The answer, and whether nothing was paid for it now."""
        while True:
            found = self._found(asked)
            if isinstance(found, StoredCall):
                return self._used(asked, found), True
            if _only_cached.get():
                raise CallsStoppedError("the answer is not in the cache")
            flight, leads = self._board(asked)
            if leads:
                self._launch(flight, is_stale=found is not None)
            landed = flight.landed.result()
            if landed is None:
                continue
            if isinstance(landed, BaseException):
                raise _again(landed)
            if leads and not flight.was_found:
                return landed, False
            if _passes(asked, landed):
                return self._used(asked, landed), True

    def _found(self, asked: Asked) -> StoredCall | ReplyError | None:
        """The stored answer; why it cannot be used (an older parser took it); None when there is none."""
        stored = self._cache.get(asked.key) if self._cache is not None else None
        if stored is None:
            return None
        try:
            _check(asked, stored.text)
        except ReplyError as error:
            return error
        return stored

    def _used(self, asked: Asked, call: StoredCall) -> StoredCall:
        if self._cache is not None:
            self._cache.note(asked.entry(call.use, call.cost_usd, cached=True, seconds=0.0, started_at=now()))
        return call

    def _board(self, asked: Asked) -> tuple[_Flight, bool]:
        """The flight of this call, and whether the caller is to launch it."""
        with self._lock:
            if self._closed.is_set():
                raise CallsStoppedError(_STOPPED)
            flight = self._flights.get(asked.key)
            if flight is not None:
                return flight, False
            flight = self._flights[asked.key] = _Flight(asked)
            return flight, True

    def _launch(self, flight: _Flight, *, is_stale: bool) -> None:
        """Hand a call to the event loop, once no other process is at it; if not, who waits for it tries."""
        asked = flight.asked
        handed = False
        try:
            most = self._most(asked)
            # A claim is not given for a key that has an answer, and this one's is of no use.
            found = None if is_stale or self._cache is None else self._claimed(asked, self._cache)
            if found is not None:
                flight.was_found = handed = True
                self._land(flight, found)
                return
            with self._lock:  # so that closing comes before it or after it, and not in between
                if self._closed.is_set():
                    raise CallsStoppedError(_STOPPED)
                self._started().call_soon_threadsafe(self._take_off, flight, most)
                handed = True
        finally:
            if not handed:
                self._hand_back(flight)

    def _hand_back(self, flight: _Flight) -> None:
        """Land a call that is not to be made, unless the event loop has it already.

        An interrupt can come between handing over and knowing of it. What has been handed over comes before this.
        """
        with self._lock:
            if self._loop is not None and not self._closed.is_set():
                self._loop.call_soon_threadsafe(self._let_go, flight)
                return
        self._land(flight, None)

    def _most(self, asked: Asked) -> Charge | None:
        if self.budget is None or not self.budget.is_limited:
            return None
        most = most_charged(asked.settings, asked.request, self._price)
        self.budget.check_price(asked.settings, most)
        return most

    def _claimed(self, asked: Asked, cache: CallCache) -> StoredCall | None:
        """None as soon as the call is this process's to make; the answer if another one gets it before."""
        pause = FIRST_LOOK
        while not cache.claim(asked.key, CLAIM_SECONDS):
            found = self._found(asked)
            if isinstance(found, StoredCall):
                return found
            if found is not None:
                return None
            if self._closed.wait(pause):
                raise CallsStoppedError(_STOPPED)
            pause = min(2 * pause, LONGEST_LOOK)
        return None

    def _started(self) -> asyncio.AbstractEventLoop:
        """The event loop; its thread and the bookkeeper start with the first call."""
        if self._loop is None:
            self._loop = loop = asyncio.new_event_loop()
            self._threads = [
                threading.Thread(target=_run, args=(loop,), name="model calls", daemon=True),
                threading.Thread(target=self._keep_books, name="model call books", daemon=True),
            ]
            for thread in self._threads:
                thread.start()
        return self._loop

    # On the event loop.

    def _take_off(self, flight: _Flight, most: Charge | None) -> None:
        flight.task = asyncio.get_running_loop().create_task(self._fly(flight, most))

    def _let_go(self, flight: _Flight) -> None:
        if flight.task is None:
            self._books.put(lambda: self._land(flight, None))

    async def _fly(self, flight: _Flight, most: Charge | None) -> None:
        outcome: Paid | BaseException
        try:
            if self._closed.is_set():
                raise CallsStoppedError(_STOPPED)
            outcome = await self._sender.send(flight.asked, most)
        except asyncio.CancelledError:
            outcome = CallsStoppedError(_STOPPED)
        except BaseException as error:  # whatever it is, it is for those who wait, and they must not wait for ever
            outcome = error
        self._books.put(lambda: self._land(flight, outcome))

    async def _shut(self) -> None:
        with self._lock:
            tasks = {flight.task for flight in self._flights.values() if flight.task is not None}
        for task in tasks - self._sender.under_way:
            task.cancel()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._grace)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=1.0)
        await self._sender.close()

    # In the bookkeeper's thread.

    def _keep_books(self) -> None:
        while (work := self._books.get()) is not None:
            try:
                work()
            except Exception as error:
                _log.error("the journal of calls could not be written: %s", scrub(str(error)))

    def _note_later(self, entry: JournalEntry) -> None:
        if self._cache is not None:
            cache = self._cache
            self._books.put(lambda: cache.note(entry))

    def _land(self, flight: _Flight, outcome: Paid | StoredCall | BaseException | None) -> None:
        """Check and store an answer, give the claim back, and only then tell everybody who waits."""
        landed: StoredCall | BaseException | None
        try:
            landed = self._kept(flight.asked, outcome) if isinstance(outcome, Paid) else outcome
            if self._cache is not None and not flight.was_found:
                self._cache.release(flight.asked.key)
        except Exception as error:
            landed = error
        with self._lock:
            if self._flights.get(flight.asked.key) is flight:
                del self._flights[flight.asked.key]
        if not flight.landed.done():
            flight.landed.set_result(landed)

    def _kept(self, asked: Asked, paid: Paid) -> StoredCall | ModelError:
        try:
            _check(asked, paid.call.text)
        except ReplyError as error:
            reason = f"{asked.settings.spec}: the answer cannot be used: {scrub(str(error))}"
            if self._cache is not None:
                self._cache.note(replace(paid.entry, status="malformed", error=reason))
            return ModelError(reason, "invalid")
        if self._cache is not None:
            self._cache.put(asked.key, paid.call, paid.entry)
        return paid.call


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _check(asked: Asked, text: str) -> None:
    """Raises ReplyError for a text that the request has no use for."""
    if isinstance(asked.request, ModelRequest) and asked.request.check is not None:
        asked.request.check(text)


def _passes(asked: Asked, call: StoredCall) -> bool:
    try:
        _check(asked, call.text)
    except ReplyError:
        return False
    return True


def _completion(call: StoredCall, is_cached: bool) -> Completion:
    use = call.use
    return Completion(
        call.text,
        call.model,
        use.input_tokens,
        use.output_tokens,
        call.cost_usd,
        cached=is_cached,
        seconds=call.seconds,
    )


def _again(error: BaseException) -> BaseException:
    """An error for one of those who wait for it: what threads raise at the same time must not be one object."""
    if isinstance(error, ModelError):
        return ModelError(str(error), error.kind)
    if isinstance(error, CallsStoppedError):
        return CallsStoppedError(str(error))
    return type(error)(*error.args) if isinstance(error, Problem) else error
