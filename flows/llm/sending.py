"""Sending one call on the event loop: budget, limit, try, wait, next try, until there is a reply or an error."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from compaction.model import ModelError, ModelRequest, NativeRequest
from flows.llm.adaptive_limit import AdaptiveLimit, PausedError
from flows.llm.breaker import Breaker
from flows.llm.budget import (
    NOTHING,
    UNCHARGED,
    Budget,
    Charge,
    Price,
    charge_for,
    cost_of_fault,
    count_use,
    counted_charge,
    highest_charge,
    likely_tokens,
)
from flows.llm.cache.records import JournalEntry, StoredCall
from flows.llm.clients.transport import RETRIED, CallFault, FaultKind, Reply, TokenUse, Transport
from flows.llm.prompt_cache import Beginnings, beginnings_of
from flows.llm.reasoning import Rooms
from flows.llm.retries import RetryPolicy, error_of, without_keys, without_secrets
from flows.llm.settings import ModelSettings
from flows.support.clock import now

_TRACEBACK_CHARACTERS = 3_000
"""Characters of a client's traceback in the log: its innermost frames."""

UNREAD = "the run was killed before the answer was read; tokens and cost are estimates"
_ENDED = "the run ended before the answer came"

THROTTLED: frozenset[FaultKind] = frozenset({"rate_limited", "overloaded", "timeout"})
"""Faults that mean too many calls at once. A server that queues requests shows this by timeouts."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call to a model, with the run, stage and item for its journal row."""

    settings: ModelSettings
    request: ModelRequest | NativeRequest
    key: str
    run_id: str = ""
    stage: str = ""
    item_id: str = ""

    def entry(
        self,
        use: TokenUse | None,
        cost_usd: float | None,
        *,
        seconds: float,
        started_at: str,
        cached: bool = False,
        status: str = "done",
        error: str | None = None,
    ) -> JournalEntry:
        """A row of the journal. Tokens are None if their number is unknown."""
        read, written, *provider_cache = (
            (None,) * 4
            if use is None
            else (use.input_tokens, use.output_tokens, use.cached_input_tokens, use.cache_write_tokens)
        )
        return JournalEntry(
            uuid4().hex,
            self.run_id,
            self.stage,
            self.item_id,
            self.settings.spec,
            self.key,
            read,
            written,
            cost_usd,
            cached,
            seconds,
            status,
            started_at,
            error,
            *provider_cache,
        )


@dataclass(frozen=True, slots=True)
class PaidAnswer:
    """An answer that is not stored yet."""

    call: StoredCall
    entry: JournalEntry


@dataclass(slots=True)
class _Server:
    """Client and limit that all calls to one server share."""

    transport: Transport
    limit: AdaptiveLimit


@dataclass(slots=True)
class _Call:
    """A call while it is made."""

    asked: ModelCall
    line: _Server
    breaker: Breaker
    rooms: Rooms
    sent: ModelSettings
    """The settings that it was sent with last."""
    most: Charge | None
    began: float | None = None
    """Start of the first try."""
    blanks: int = 0


class _TurnedBackError(Exception):
    """The provider began to fail while a try waited for its place."""


class Sender:
    """Makes calls. Used from one event loop."""

    def __init__(
        self,
        transport: Callable[[ModelSettings], Transport],
        price: Price,
        policy: RetryPolicy,
        concurrency: int,
        *,
        budget: Budget | None,
        note: Callable[[JournalEntry], None],
        mark_sent: Callable[[JournalEntry], Awaitable[None]],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.under_way: set[asyncio.Task[object]] = set()
        """Tasks with a try under way, whose answer may already be paid for."""
        self._make_transport = transport
        self._price = price
        self._policy = policy
        self._concurrency = concurrency
        self._budget = budget
        self._note = note
        self._mark_sent = mark_sent
        self._clock = clock
        self._sleep = sleep
        self._beginnings = Beginnings(clock)
        self._lines: dict[tuple[str, str, str], _Server] = {}
        self._unusable: dict[tuple[str, str], str] = {}
        self._breakers: dict[tuple[str, str], Breaker] = {}
        self._rooms: dict[ModelSettings, Rooms] = {}

    @property
    def stopped(self) -> str:
        """Why a model is not asked any more; blank while all are."""
        stops: list[Breaker | Rooms] = [*self._breakers.values(), *self._rooms.values()]
        return "; ".join(stop.reason for stop in stops if stop.reason)

    async def send(self, asked: ModelCall, most: Charge | None) -> PaidAnswer:
        """Send a call and return the reply. Raises ModelError or CallsStoppedError.

        ``most``: the highest cost of a try, for the budget.
        """
        settings = asked.settings
        call = _Call(asked, self._line(settings), self._breaker(settings), self._rooms_of(settings), settings, most)
        async with self._beginnings.in_turn(beginnings_of(asked.settings, asked.request)):
            return await self._send_in_turn(call)

    async def _send_in_turn(self, call: _Call) -> PaidAnswer:
        policy, asked = self._policy, call.asked
        number = 1
        while True:
            try:
                async with call.breaker.passage() as is_single:
                    return await self._try(call, again=number > 1, is_single=is_single)
            except _TurnedBackError:
                continue
            except PausedError as pause:
                raise ModelError(f"{asked.settings.spec}: {pause}; it was not asked", "unavailable") from None
            except CallFault as fault:
                call.blanks += fault.kind == "blank"
                if fault.kind == "unusable":
                    self._unusable[asked.settings.spec, asked.settings.base_url] = without_secrets(str(fault))
                if is_single and fault.kind in RETRIED:
                    continue  # it tried for all, and is no worse off than they are
                if fault.kind == "truncated" and call.rooms.is_worth_another_try(asked.stage, fault, call.sent):
                    continue
                if policy.is_last(fault, number, call.blanks):
                    raise error_of(asked.settings, fault, number) from None
                wait = policy.wait(number, fault.wait)
                began = call.began or 0.0  # a fault is one of a try that began
                if self._clock() + wait - began > policy.deadline:
                    late = f" (the next would be {wait:.0f} s later, past {policy.deadline:.0f} s for a call)"
                    raise error_of(asked.settings, fault, number, late) from None
            number += 1
            await self._sleep(wait)

    async def close(self) -> None:
        """Give all connections back."""
        for line in self._lines.values():
            with suppress(Exception):  # nothing depends on it any more
                await line.transport.close()

    def _line(self, settings: ModelSettings) -> _Server:
        server = (settings.provider, settings.base_url, settings.key_name)
        line = self._lines.get(server)
        if line is None:
            try:
                transport = self._make_transport(settings)
            except CallFault as fault:
                raise error_of(settings, fault, 1) from None
            limit = AdaptiveLimit(
                self._concurrency, patience=self._policy.deadline, clock=self._clock, sleep=self._sleep
            )
            line = self._lines[server] = _Server(transport, limit)
        return line

    def _breaker(self, settings: ModelSettings) -> Breaker:
        model = (settings.spec, settings.base_url)
        if model not in self._breakers:
            self._breakers[model] = Breaker(settings, self._concurrency, self._sleep)
        return self._breakers[model]

    def _rooms_of(self, settings: ModelSettings) -> Rooms:
        if settings not in self._rooms:
            self._rooms[settings] = Rooms(settings)
        return self._rooms[settings]

    def _refuse_unusable(self, asked: ModelCall) -> None:
        reason = self._unusable.get((asked.settings.spec, asked.settings.base_url))
        if reason is not None:
            raise ModelError(f"{asked.settings.spec}: {reason}", "unusable")

    async def _try(self, call: _Call, *, again: bool, is_single: bool) -> PaidAnswer:
        """One try within budget and limit. Raises CallFault."""
        limit = call.line.limit
        call.sent = call.rooms.settings(call.asked.stage)
        if call.most is not None and call.sent != call.asked.settings:
            call.most = highest_charge(call.sent, call.asked.request, self._price)
        most = call.most
        if self._budget is not None and most is not None:
            most = await self._budget.reserve(most, partial(counted_charge, call.sent, call.asked.request, self._price))
        paid = NOTHING
        try:
            place = await limit.acquire(again=again)
            try:
                self._refuse_unusable(call.asked)
                if not is_single and not call.breaker.lets_all():
                    raise _TurnedBackError
                await self._mark_sent(self._estimate(call))
                paid = most or NOTHING  # until it is known better
                reply, result = await self._send_once(call)
                limit.succeeded(reply.pause)
                call.breaker.note(None)
                call.rooms.note_answer(call.asked.stage)
                if result.entry.input_tokens is not None:
                    paid = charge_for(reply.use, result.entry.cost_usd)
                return result
            except CallFault as fault:
                call.breaker.note(fault)
                if fault.kind in THROTTLED:
                    limit.throttled(place, fault.wait)
                if fault.use is not None:
                    paid = charge_for(fault.use, self._price(call.asked.settings, fault.use))
                elif fault.kind in UNCHARGED:
                    paid = NOTHING
                raise
            finally:
                limit.release()
        finally:
            if self._budget is not None and most is not None:
                self._budget.settle(most, paid)

    def _estimate(self, call: _Call) -> JournalEntry:
        """The entry of a call that is sent, if nothing more is heard of it."""
        use = likely_tokens(call.sent, call.asked.request)
        cost = self._price(call.sent, use)
        return call.asked.entry(use, cost, seconds=0.0, started_at=now(), status="sent", error=UNREAD)

    async def _send_once(self, call: _Call) -> tuple[Reply, PaidAnswer]:
        """Try a call once. A fault, and an end of the program, is noted in the journal before it is raised."""
        asked, settings = call.asked, call.asked.settings
        started_at, start = now(), self._clock()
        call.began = start if call.began is None else call.began
        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        try:
            reply = await self._transport(call)
        except (CallFault, asyncio.CancelledError) as error:
            fault = error if isinstance(error, CallFault) else CallFault("connection", _ENDED)
            self._note(
                asked.entry(
                    fault.use,
                    cost_of_fault(settings, fault, self._price),
                    seconds=self._clock() - start,
                    started_at=started_at,
                    status=fault.kind,
                    error=without_secrets(str(fault)),
                )
            )
            raise
        finally:
            self.under_way.discard(task)
        use, cost = count_use(settings, reply.use, self._price)
        end = self._clock()
        stored = StoredCall(reply.text, reply.model, reply.use, cost, end - call.began, reply.body)
        return reply, PaidAnswer(stored, asked.entry(use, cost, seconds=end - start, started_at=started_at))

    async def _transport(self, call: _Call) -> Reply:
        settings, request = call.sent, call.asked.request
        try:
            async with asyncio.timeout(settings.timeout):
                if isinstance(request, NativeRequest):
                    return await call.line.transport.send_native(settings, request)
                reply = await call.line.transport.send(settings, request)
        except TimeoutError:
            raise CallFault("timeout", f"no whole answer within {settings.timeout:g} s") from None
        except CallFault:
            raise
        except Exception as error:
            # Keys are removed before the cut, so none is cut in two.
            end = without_keys(traceback.format_exc())[-_TRACEBACK_CHARACTERS:]
            _log.error("%s: the client failed: %s", settings.spec, end)
            raise CallFault("malformed", f"the client failed: {type(error).__name__}: {error}") from None
        if not reply.text.strip():
            raise CallFault("blank", "the model answered with nothing", use=reply.use)
        return reply
