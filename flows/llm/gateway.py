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
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any, Self

from compaction.model import CallsStoppedError, Completion, ModelError, ModelRequest, NativeRequest, ReplyError
from flows.llm.budget import Budget, Charge, highest_charge
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.cache.records import JournalEntry, StoredCall
from flows.llm.calling_for import called_for
from flows.llm.clients.factory import make_transport
from flows.llm.clients.transport import Transport
from flows.llm.prices import Prices
from flows.llm.retries import RetryPolicy, copy_of_error, without_secrets
from flows.llm.sending import ModelCall, PaidAnswer, Sender
from flows.llm.settings import ModelSettings
from flows.support.clock import now

CLAIM_SECONDS = 3_600.0
"""How long another process believes that a call of this one is still under way, unless it sees this one die."""
FIRST_LOOK, LONGEST_LOOK = 0.02, 0.5
"""Seconds between two looks for an answer that another process is getting; they double."""
GRACE = 5.0
"""Seconds for which ``close`` waits for tries under way."""

_STOPPED = "the run ended before the answer came; run again to go on"
_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _CallUnderWay:
    """One call under way; several callers may wait for it."""

    asked: ModelCall
    landed: Future[StoredCall | BaseException | None] = field(default_factory=Future)
    """The answer, the error, or None if the caller gave the call up before it was sent."""
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
        transport: Callable[[ModelSettings], Transport] = make_transport,
        prices: Prices | None = None,
        hold: Callable[[ModelCall], bool] = lambda call: False,
        once: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        grace: float = GRACE,
    ) -> None:
        """``hold`` is asked in the caller's thread about a call that is not cached: whether it is not to be made now.

        With ``once`` a call that failed is not made again, but fails in the same way.
        """
        self.budget = budget
        self._cache = cache
        self._run_id = run_id
        self._price = (prices or Prices()).cost
        self._hold = hold
        self._failed: dict[str, ModelError] | None = {} if once else None
        self._grace = grace
        self._flights: dict[str, _CallUnderWay] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._books: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads: list[threading.Thread] = []
        self._sender = Sender(
            transport,
            self._price,
            policy,
            concurrency,
            budget=budget,
            note=self._note_later,
            mark_sent=self._mark_sent,
            clock=clock,
            sleep=sleep,
        )

    def complete(self, settings: ModelSettings, request: ModelRequest) -> Completion:
        """The model's answer, from the cache or the provider. Blocks.

        Raises ModelError when there is no usable answer, CallsStoppedError when the budget or the run has ended or the
        call is held, and UsageError when there is no price for a budget in dollars.
        """
        call, is_cached = self._answer(self._call_of(settings, request, request.replicate))
        return call.completion(cached=is_cached)

    def native(
        self, settings: ModelSettings, request: NativeRequest, replicate: int = 0
    ) -> tuple[Mapping[str, Any], Completion]:
        """The response of a compaction on the provider's side, and what it cost. As ``complete``."""
        call, is_cached = self._answer(self._call_of(settings, request, replicate))
        return call.body, call.completion(cached=is_cached)

    @property
    def stopped(self) -> str:
        """Why a model is not asked any more; blank while all are."""
        return self._sender.stopped

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
                self._finish(flight, CallsStoppedError(_STOPPED))
        if self._cache is not None:
            self._cache.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _call_of(self, settings: ModelSettings, request: ModelRequest | NativeRequest, replicate: int) -> ModelCall:
        stage, item_id = called_for()
        return ModelCall(settings, request, call_key(settings, request, replicate), self._run_id, stage, item_id)

    # In the caller's thread.

    def _answer(self, asked: ModelCall) -> tuple[StoredCall, bool]:
        """The answer, and whether nothing was paid for it now."""
        while True:
            found = self._stored_answer(asked)
            if isinstance(found, StoredCall):
                return self._note_use(asked, found), True
            if self._failed is not None and asked.key in self._failed:
                raise copy_of_error(self._failed[asked.key])
            if self._hold(asked):
                raise CallsStoppedError("the answer is not in the cache, and the call is not made now")
            flight, leads = self._join_or_start(asked)
            if leads:
                self._start(flight, is_stale=found is not None)
            landed = flight.landed.result()
            if landed is None:
                continue
            if isinstance(landed, BaseException):
                if self._failed is not None and isinstance(landed, ModelError):
                    self._failed[asked.key] = landed
                raise copy_of_error(landed)
            if leads and not flight.was_found:
                return landed, False
            if _passes(asked, landed):
                return self._note_use(asked, landed), True

    def _stored_answer(self, asked: ModelCall) -> StoredCall | ReplyError | None:
        """The stored answer; the error if it cannot be used (an older parser took it); None without one."""
        stored = self._cache.get(asked.key) if self._cache is not None else None
        if stored is None:
            return None
        try:
            _check(asked, stored.text)
        except ReplyError as error:
            return error
        return stored

    def _note_use(self, asked: ModelCall, call: StoredCall) -> StoredCall:
        if self._cache is not None:
            self._cache.note(asked.entry(call.use, call.cost_usd, cached=True, seconds=0.0, started_at=now()))
        return call

    def _join_or_start(self, asked: ModelCall) -> tuple[_CallUnderWay, bool]:
        """The entry of this call, and whether the caller must start it."""
        with self._lock:
            if self._closed.is_set():
                raise CallsStoppedError(_STOPPED)
            flight = self._flights.get(asked.key)
            if flight is not None:
                return flight, False
            flight = self._flights[asked.key] = _CallUnderWay(asked)
            return flight, True

    def _start(self, flight: _CallUnderWay, *, is_stale: bool) -> None:
        """Hand a call to the event loop once no other process makes it. On failure another waiting caller starts it."""
        asked = flight.asked
        handed = False
        try:
            most = self._highest_charge(asked)
            # A claim is not given for a key that has an answer, and this one's is of no use.
            found = None if is_stale or self._cache is None else self._claim(asked, self._cache)
            if found is not None:
                flight.was_found = handed = True
                self._finish(flight, found)
                return
            with self._lock:  # so that closing comes before it or after it, and not in between
                if self._closed.is_set():
                    raise CallsStoppedError(_STOPPED)
                self._start_loop().call_soon_threadsafe(self._send, flight, most)
                handed = True
        finally:
            if not handed:
                self._give_up(flight)

    def _give_up(self, flight: _CallUnderWay) -> None:
        """Finish a call that was not sent, unless the event loop has it already.

        An interrupt can come after the hand-over and before the caller knows of it. A call handed over comes first.
        """
        with self._lock:
            if self._loop is not None and not self._closed.is_set():
                self._loop.call_soon_threadsafe(self._abandon, flight)
                return
        self._finish(flight, None)

    def _highest_charge(self, asked: ModelCall) -> Charge | None:
        if self.budget is None or not self.budget.is_limited:
            return None
        most = highest_charge(asked.settings, asked.request, self._price)
        self.budget.check_price(asked.settings, most)
        return most

    def _claim(self, asked: ModelCall, cache: CallCache) -> StoredCall | None:
        """Claim the call: None once this process may make it; the answer if another process gets it first."""
        pause = FIRST_LOOK
        while not cache.claim(asked.key, CLAIM_SECONDS):
            found = self._stored_answer(asked)
            if isinstance(found, StoredCall):
                return found
            if found is not None:
                return None
            if self._closed.wait(pause):
                raise CallsStoppedError(_STOPPED)
            pause = min(2 * pause, LONGEST_LOOK)
        return None

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop. The first call starts its thread and the bookkeeper's."""
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

    def _send(self, flight: _CallUnderWay, most: Charge | None) -> None:
        flight.task = asyncio.get_running_loop().create_task(self._send_and_finish(flight, most))

    def _abandon(self, flight: _CallUnderWay) -> None:
        if flight.task is None:
            self._books.put(lambda: self._finish(flight, None))

    async def _send_and_finish(self, flight: _CallUnderWay, most: Charge | None) -> None:
        outcome: PaidAnswer | BaseException
        try:
            if self._closed.is_set():
                raise CallsStoppedError(_STOPPED)
            outcome = await self._sender.send(flight.asked, most)
        except asyncio.CancelledError:
            outcome = CallsStoppedError(_STOPPED)
        except BaseException as error:  # whatever it is, it is for those who wait, and they must not wait for ever
            outcome = error
        self._books.put(lambda: self._finish(flight, outcome))

    async def _mark_sent(self, entry: JournalEntry) -> None:
        """Have it on disk that a call is sent, before it is."""
        if self._cache is None:
            return
        cache, loop, marked = self._cache, asyncio.get_running_loop(), asyncio.Event()

        def mark() -> None:
            try:
                cache.mark_sent(entry)
            finally:
                loop.call_soon_threadsafe(marked.set)

        self._books.put(mark)
        await marked.wait()

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
                _log.error("the journal of calls could not be written: %s", without_secrets(str(error)))

    def _note_later(self, entry: JournalEntry) -> None:
        if self._cache is not None:
            cache = self._cache
            self._books.put(lambda: cache.note(entry))

    def _finish(self, flight: _CallUnderWay, outcome: PaidAnswer | StoredCall | BaseException | None) -> None:
        """Check and store an answer, release the claim, and then wake all callers that wait."""
        landed: StoredCall | BaseException | None
        try:
            landed = self._store_answer(flight.asked, outcome) if isinstance(outcome, PaidAnswer) else outcome
            if self._cache is not None and not flight.was_found:
                self._cache.release(flight.asked.key)
        except Exception as error:
            landed = error
        with self._lock:
            if self._flights.get(flight.asked.key) is flight:
                del self._flights[flight.asked.key]
        if not flight.landed.done():
            flight.landed.set_result(landed)

    def _store_answer(self, asked: ModelCall, paid: PaidAnswer) -> StoredCall | ModelError:
        try:
            _check(asked, paid.call.text)
        except ReplyError as error:
            reason = f"{asked.settings.spec}: the answer cannot be used: {without_secrets(str(error))}"
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


def _check(asked: ModelCall, text: str) -> None:
    """Raises ReplyError for a text that the request's check refuses."""
    if isinstance(asked.request, ModelRequest) and asked.request.check is not None:
        asked.request.check(text)


def _passes(asked: ModelCall, call: StoredCall) -> bool:
    try:
        _check(asked, call.text)
    except ReplyError:
        return False
    return True
