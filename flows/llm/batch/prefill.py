"""A provider's batch interface: half the price, an answer within a day. It fills the call cache, and nothing else.

``prefill`` takes the calls that a run is going to make, leaves out what is cached or under way in a batch, submits the
rest, waits, and puts what is usable into the cache; the run then finds it there, and makes live calls for what is
left. A process may end at any instant: what was submitted is on record (``batches_store``), before and after, and the
next ``prefill`` with the same store goes on. No request is submitted while it may be in a batch that was paid for.

The order within one turn: look for batches whose submission was cut off, take the results of those that have ended,
submit what is in none. A request that came back unusable is left to live calls for good, one that was never served
only in this run.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from compaction.model import ModelRequest
from flows.llm.batch.clients import batch_client, read_reply
from flows.llm.batch.protocol import BatchClient, BatchFault, BatchGone
from flows.llm.batch.record import CHUNK, BatchRecord, BatchStore
from flows.llm.batch.submit import Keyed, Submitter
from flows.llm.batch.take import Taken, Taker, Wanted
from flows.llm.budget import NOTHING, Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.prices import Prices
from flows.llm.settings import ModelSettings

BatchItem = tuple[ModelSettings, ModelRequest, str]
"""A call that a run is going to make, and the item that it is made for (for the journal only)."""

Clients = Callable[[ModelSettings], BatchClient]

LONGEST_KEPT = 30 * 86_400
"""Seconds for which a provider keeps results (Anthropic 29 days, OpenAI 30)."""
FAILED_LOOKS = 20
"""Looks at a batch in a row that fail until this run leaves it to the next."""


@dataclass(frozen=True, slots=True)
class Polling:
    """The seconds between two looks at a batch."""

    first: float = 10.0
    longest: float = 300.0
    """Waits double up to this; a batch that ended starts them anew."""
    lost_after: float = 60.0
    """From the first time that a batch whose submission was cut off is not found until it counts as never submitted."""


POLLING = Polling()


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The counts of a ``prefill``. Every call that was asked for is counted in exactly one of the first five."""

    cached: int
    """Had their answer already."""
    answered: int
    """Have it now."""
    unusable: Mapping[str, int]
    """Came back with nothing to go on with, by reason; live calls are made for them."""
    unserved: Mapping[str, int]
    """Not answered (batch expired, cancelled, refused), by reason; live calls are made for them."""
    pending: int
    """In batches that are under way."""
    batches: int
    """Submitted by this run."""
    sent: int
    """Requests in them."""
    input_tokens: int
    """Of all answers that were taken, unusable ones included."""
    output_tokens: int
    cost_usd: float | None
    """The same in US dollars; None when a price is unknown."""


def prefill(
    requests: Iterable[BatchItem],
    *,
    cache: CallCache,
    folder: Path,
    prices: Prices,
    run_id: str,
    stage: str,
    budget: Budget | None = None,
    clients: Clients = batch_client,
    polling: Polling | None = None,
    submit: bool = True,
    wait: bool = True,
    stop: threading.Event | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> BatchOutcome:
    """Have the calls answered by the providers' batch interfaces, as far as they are not cached.

    Args:
        requests: Gone through several times, one at a time, so what makes its items on demand serves, but no iterator.
        cache: Where usable answers go.
        folder: Where the record of batches is: ``STORE/cache/batches``.
        prices: Batches are counted at the provider's discount.
        run_id: For the journal, as ``stage``.
        stage: For the journal.
        budget: The most that the requests can cost is reserved before the first is submitted, and settled when a batch
            ends. Batches that are left under way are charged with the most that they can cost.
        clients: A provider's batch interface for a model.
        polling: How often to look; None for ``POLLING``.
        submit: Whether to submit what is in no batch; else only what is in one is waited for and taken.
        wait: Whether to wait until all batches have ended.
        stop: Set from another thread, it ends the wait; nothing is lost.
        report: Gets a sentence for people whenever something happened.

    Raises CallsStoppedError when the budget has no room for all of it, in which case nothing is submitted, and
    UsageError when a key or a price is missing.
    """
    index = _Index(requests, cache)
    if not index.missing:
        return BatchOutcome(index.cached, 0, {}, {}, 0, 0, 0, 0, 0, 0.0)
    with closing(BatchStore(folder)) as store:
        known = functools.cache(clients)
        for settings in dict.fromkeys(wanted.settings for wanted in index.missing.values()):
            known(settings)  # a key that is missing is said before anything is done
        # Shared, so that what has been taken is wanted by neither any more.
        missing = dict(index.missing)
        submitter = Submitter(store, missing, prices, budget or Budget(), known, (run_id, stage), report)
        taker = Taker(cache, store, prices, read_reply)
        run = _Prefill(requests, index, missing, cache, store, taker, submitter, known, polling or POLLING, report)
        run.submits = submit
        try:
            return run.work(wait, stop or threading.Event())
        finally:
            submitter.leave()


class _Index:
    """The calls by their keys, each once."""

    def __init__(self, requests: Iterable[BatchItem], cache: CallCache) -> None:
        self.missing: dict[str, Wanted] = {}
        self.cached = 0
        seen: set[str] = set()
        part: dict[str, Wanted] = {}
        for settings, request, item_id in requests:
            key = call_key(settings, request)
            if key not in seen:
                seen.add(key)
                part[key] = Wanted(settings, replace(request, messages=()), item_id)
            if len(part) == CHUNK:
                self._sort(part, cache)
                part = {}
        self._sort(part, cache)

    def _sort(self, part: dict[str, Wanted], cache: CallCache) -> None:
        found = cache.get_many(list(part)) if part else {}
        self.cached += len(found)
        self.missing |= {key: wanted for key, wanted in part.items() if key not in found}

    def once(self, requests: Iterable[BatchItem], keys: Set[str]) -> Iterator[Keyed]:
        """The calls of some keys, each once."""
        left = set(keys)
        for settings, request, _ in requests:
            if not left:
                return
            key = call_key(settings, request)
            if key in left:
                left.discard(key)
                yield settings, request, key


@dataclass
class _Prefill:
    """One run's work on the batches."""

    requests: Iterable[BatchItem]
    index: _Index
    missing: dict[str, Wanted]
    cache: CallCache
    store: BatchStore
    taker: Taker
    submitter: Submitter
    client: Callable[[ModelSettings], BatchClient]
    polling: Polling
    report: Callable[[str], None]

    taken: Taken = field(default_factory=Taken)
    failed_looks: Counter[str] = field(default_factory=Counter)
    """By marker, in a row."""
    left: set[str] = field(default_factory=set)
    """Markers of batches that this run does not wait for."""
    relevant: dict[str, bool] = field(default_factory=dict)
    submits: bool = True
    by_others: int = 0
    """Calls that were answered meanwhile, not by this run."""

    def work(self, wait: bool, stop: threading.Event) -> BatchOutcome:
        """Turn after turn until nothing is under way."""
        pause = self.polling.first
        while True:
            moved = self._turn()
            waiting = [record for record in self._under_way() if record.marker not in self.left]
            if not wait or not (waiting or self._unsent()):
                break
            pause = self.polling.first if moved else min(2 * pause, self.polling.longest)
            if any(record.state == "intent" for record in waiting):
                pause = min(pause, max(self.polling.lost_after, self.polling.first))
            self.report(f"{len(waiting):,} batches are under way; the next look is in {pause:.0f} s")
            if stop.wait(pause):
                break
        return self._outcome()

    def _turn(self) -> bool:
        """Look, take and submit once; return whether anything moved."""
        with self.store.locked(
            lambda: self.report("another process is at work on this store's batches; waiting for it")
        ):
            for marker in self.store.to_journal():  # of a run that was killed
                self.taker.journal(marker, self.missing)
            moved = False
            for record in self._under_way():
                if record.marker not in self.left:
                    moved |= self._find(record) if record.state == "intent" else self._look(record)
            self.taker.take(self.missing, self.taken)
            for key in self.taken.keys:
                self.missing.pop(key, None)
            self._drop_answered()
            unsent = set(self._unsent())
            if unsent:
                self.submitter.submit(lambda: self.index.once(self.requests, unsent))
            return moved or bool(unsent)

    def _drop_answered(self) -> None:
        """Forget the calls that somebody else has got answers to, with their records."""
        keys = list(self.missing)
        states = self.store.states(keys)
        absent = [key for key in keys if key not in states or states[key][0] == "unserved"]
        for start in range(0, len(absent), CHUNK):
            for key in self.cache.get_many(absent[start : start + CHUNK]):
                del self.missing[key]
                self.by_others += 1

    def _under_way(self) -> list[BatchRecord]:
        """Batches that have not ended and hold something that is missing here."""
        records = self.store.batches("intent", "submitted")
        for record in records:
            if record.marker not in self.relevant:
                keys = self.store.keys(record.marker, "pending")
                self.relevant[record.marker] = any(key in self.missing for key in keys)
        return [record for record in records if self.relevant[record.marker]]

    def _find(self, record: BatchRecord) -> bool:
        """Look for a batch whose submission was cut off; return whether its fate is known now."""
        keys = frozenset(self.store.keys(record.marker, "pending"))
        try:
            found = self.client(record.settings).find(record.intent, keys, self.store.known_ids())
        except BatchFault as fault:
            self._failed_look(record, fault)
            return False
        self.failed_looks[record.marker] = 0
        if found.batch_id is not None:
            self.store.mark_submitted(record.marker, found.batch_id)
            self.report(f"batch {found.batch_id} of {record.size:,} requests was found, whose submission was cut off")
            return True
        if found.unsure or self.store.mark_absent(record.marker, time.time()) < self.polling.lost_after:
            self.report(f"a batch of {record.size:,} requests may have been submitted; it is not found yet")
            return False
        self.store.release(record.marker)
        self.submitter.settle(record.marker, NOTHING)
        self.report(f"a batch of {record.size:,} requests was never submitted")
        return True

    def _look(self, record: BatchRecord) -> bool:
        """Look at a batch, and take its results over if it has ended; return whether it has."""
        client = self.client(record.settings)
        assert record.batch_id is not None
        try:
            status = client.status(record.batch_id)
            if not status.ended:
                self.failed_looks[record.marker] = 0
                self.report(f"batch {record.batch_id}: {status.state}, {status.done:,} of {record.size:,} done")
                return False
            self.store.end(record.marker, client.results(record.batch_id), status.reason)
            reason = status.reason
        except BatchGone as gone:
            if time.time() - record.created < LONGEST_KEPT:
                self._failed_look(record, gone)
                return False
            self.store.end(record.marker, (), str(gone))
            reason = str(gone)
        except BatchFault as fault:
            self._failed_look(record, fault)
            return False
        self.submitter.settle(record.marker, self.taker.journal(record.marker, self.missing))
        self.report(f"batch {record.batch_id} has ended" + (f": {reason}" if reason else ""))
        return True

    def _failed_look(self, record: BatchRecord, fault: BatchFault) -> None:
        self.failed_looks[record.marker] += 1
        self.report(str(fault))
        if not fault.again or self.failed_looks[record.marker] >= FAILED_LOOKS:
            self.left.add(record.marker)

    def _unsent(self) -> list[str]:
        """The calls that are in no batch, and may be submitted."""
        if not self.submits or self.submitter.is_exhausted:
            return []
        keys = [key for key in self.missing if key not in self.submitter.settled]
        states = self.store.states(keys)
        return [key for key in keys if key not in states or states[key][0] == "unserved"]

    def _outcome(self) -> BatchOutcome:
        unusable: Counter[str] = Counter()
        unserved: Counter[str] = Counter()
        pending = 0
        self._drop_answered()
        states = self.store.states(list(self.missing))
        for key in self.missing:
            state, reason = states.get(key, (None, ""))
            if state in ("pending", "result"):
                pending += 1
            elif state == "unusable":
                unusable[reason] += 1
            else:
                unserved[self.submitter.refused.get(key) or reason or "not submitted"] += 1
        answered = len(self.taken.keys) + self.by_others
        return BatchOutcome(
            self.index.cached,
            answered,
            unusable,
            unserved,
            pending,
            self.submitter.batches,
            self.submitter.sent,
            self.taken.use.input_tokens,
            self.taken.use.output_tokens,
            self.taken.usd,
        )
