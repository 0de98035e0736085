"""The model calls of a run: their budget, their cache, and the threads that wait for answers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext, suppress
from functools import cached_property
from typing import Any

from flows.config.study import IN_FLIGHT, Study
from flows.execution.batch_rounds import Batching, BatchRounds
from flows.llm.budget import Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.meter import MeterReading
from flows.llm.gateway import Gateway
from flows.llm.remote_model import Calls
from flows.pipeline.engine import Engine
from flows.pipeline.tasks.task_context import ItemThreads, Tally, TaskTools
from flows.store.call_cache_sync import cache_folder, open_cache, ship_calls
from flows.store.store import Store
from flows.support.errors import EvalError
from flows.support.progress import Note

WAITING = 4
"""Items under way for each call that may be in flight. Some wait until the call of another has brought the beginning
that they share into the provider's prompt cache (``flows.llm.prompt_cache``); others are sent meanwhile. One call at a
time is made in the order of the items."""
OPEN_BATCHES = 8
"""Batches of model calls that are under way together, so that the end of one leaves no call unused."""


class ModelCalls:
    """The model calls of a run. Cache and gateway are opened when the first task that calls a model is submitted."""

    def __init__(
        self,
        study: Study,
        store: Store,
        stack: ExitStack,
        run_id: str,
        other: Calls | None = None,
        batching: Batching = Batching(),  # noqa: B008 (frozen)
        report: Callable[[str], None] = lambda text: None,
    ) -> None:
        """``stack`` ends what is opened; ``other`` takes the place of the gateway where nothing is to be called.

        ``report`` is told what becomes of batches.
        """
        self.budget = Budget(study.budget_usd, study.budget_tokens)
        """What this run may spend."""
        self.cache: CallCache | None = None
        """What has been paid for."""
        self.rounds = BatchRounds(cache_folder(store), run_id, self.budget, batching, report)
        """The calls that are held for batches."""
        self._in_flight = study.concurrency or IN_FLIGHT
        self.items = ItemThreads(self._in_flight * (WAITING if self._in_flight > 1 else 1), self._note_uses)
        self._store, self._stack, self._run_id = store, stack, run_id
        self._gateway, self._has_other = other, other is not None

    def gateway(self) -> Calls:
        """The gateway of all calls. Raises RuntimeError before it is open."""
        if self._gateway is None:
            raise RuntimeError("no task is under way that may call a model")
        return self._gateway

    @property
    def stopped(self) -> str:
        """Why a model is not asked any more; blank while all are."""
        return (self._gateway.stopped if isinstance(self._gateway, Gateway) else "") or self.rounds.stopped

    async def fill_batches(self) -> bool:
        """Have the calls of this round answered in batches; whether another round has more to go on with."""
        return self.cache is not None and await self.rounds.fill(self.cache)

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """The threads for batches that wait for a model, around one gateway."""
        if not self._has_other:
            self.cache = open_cache(self._store)
            self._stack.callback(self.cache.close)
            self._stack.push(self._ship_at_end)
            self._gateway = Gateway(
                self.cache,
                run_id=self._run_id,
                concurrency=self._in_flight,
                budget=self.budget,
                once=self.rounds.are_any,
                hold=lambda call: self.items.wants_cached or self.rounds.hold(call),
            )
        self._stack.callback(self.items.close)
        pool = ThreadPoolExecutor(OPEN_BATCHES, thread_name_prefix="batch")
        self._stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        self._stack.callback(self.gateway().close)
        return pool

    def submit(self, engine: Engine, function: Callable[..., Tally], *args: Any) -> Future[Tally]:
        """Do one task in a thread, with an engine."""
        return self.threads.submit(function, *args, tools=TaskTools(engine, self.items))

    def _note_uses(self) -> None:
        """Write down which cached answers were used: a kill must not lose what no later run asks for again."""
        if self.cache is not None:
            self.cache.flush()

    def spending(self) -> Note:
        """Return a function that says the cost of the model calls from now on, and of all the run's calls."""
        before = self.cache.meter.read() if self.cache else MeterReading()
        return lambda share: self.cache.meter.read().since(before, share) if self.cache else ""

    def ship(self) -> None:
        """Upload the paid answers to the store."""
        if self.cache is not None:
            ship_calls(self._store, self.cache)

    def _ship_at_end(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        with suppress(EvalError) if kind else nullcontext():  # what ended the run is what is to be said
            self.ship()
