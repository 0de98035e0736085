"""Moves the results of batches to the call cache and the journal, with the same checks as for live calls."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from compaction.model import ModelRequest, ReplyError
from flows.llm.batch.protocol import BatchLine
from flows.llm.batch.record import CHUNK, BatchRecord, BatchStore, Result
from flows.llm.budget import Charge, Price, cost_of_fault, count_use
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.records import JournalEntry, StoredCall
from flows.llm.clients.transport import CallFault, Reply, TokenUse
from flows.llm.prices import Prices
from flows.llm.retries import without_secrets
from flows.llm.sending import ModelCall
from flows.llm.settings import ModelSettings

Reader = Callable[[ModelSettings, ModelRequest, Mapping[str, Any]], Reply]
"""The answer in a provider's response, looked at as a live client does, by the request's outline. Raises CallFault."""

CALL_IDS = uuid.UUID("6f1d3c1e-5a53-4d0c-9f5e-6f6a2f1c7b11")
"""Name space of the calls' ids: taken again after a crash, a result has the same id, and counts once."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a run is going to make."""

    settings: ModelSettings
    outline: ModelRequest
    """The request without its messages."""
    item_id: str


@dataclass(slots=True)
class Taken:
    """Counts of the results taken so far."""

    keys: set[str] = field(default_factory=set)
    """Whose answers are in the cache now."""
    use: TokenUse = field(default_factory=TokenUse)
    """Of all results, unusable ones included."""
    usd: float | None = 0.0

    def add(self, use: TokenUse | None, usd: float | None) -> None:
        """Count a result."""
        if use is not None:
            read, written = self.use.input_tokens + use.input_tokens, self.use.output_tokens + use.output_tokens
            self.use = TokenUse(read, written)
        self.usd = None if self.usd is None or usd is None else self.usd + usd


@dataclass(frozen=True, slots=True)
class _Seen:
    """The reply, use and cost read from one result."""

    reply: Reply | None
    use: TokenUse | None
    """None when nothing is known."""
    usd: float | None
    status: str = "done"
    error: str | None = None


class Taker:
    """Takes results over. Only the holder of the batches' lock may."""

    def __init__(self, cache: CallCache, store: BatchStore, prices: Prices, read: Reader) -> None:
        self._cache = cache
        self._store = store
        self._price: Price = partial(prices.cost, batch=True)
        self._read = read
        self._records: dict[str, BatchRecord] = {}

    def take(self, missing: Mapping[str, Wanted], taken: Taken) -> None:
        """Put the results for the missing calls into the cache."""
        keys = list(missing)
        for start in range(0, len(keys), CHUNK):
            results = self._store.results(keys[start : start + CHUNK])
            cached = self._cache.get_many(list(results)) if results else {}
            kept: list[str] = []
            unusable: list[tuple[str, str]] = []
            for key, result in results.items():
                wanted = missing[key]
                seen = self._read_result(wanted.settings, wanted.outline, result.line)
                taken.add(seen.use, seen.usd)
                self._keep(key, result, wanted, seen, cached.get(key))
                if seen.reply is not None:
                    kept.append(key)
                    taken.keys.add(key)
                else:
                    unusable.append((key, seen.status))
            if results:
                self._store.settle(kept, unusable, ())

    def _keep(self, key: str, result: Result, wanted: Wanted, seen: _Seen, cached: StoredCall | None) -> None:
        """Cache and journal for one result: paid for once, whoever has asked for it since."""
        entry = self._entry(key, result, wanted.settings, seen)
        if seen.reply is None:
            if not result.journaled:
                self._cache.note(entry)
            return
        call = _stored_call(seen)
        assert call is not None
        if cached is None:
            if result.journaled:
                entry = replace(entry, call_id=uuid.uuid4().hex, item_id=wanted.item_id, cached=True)
            self._cache.put(key, call, entry)
        elif cached != call and not result.journaled:  # a live call was faster: both were paid for
            self._cache.note(entry)

    def journal(self, marker: str, wanted: Mapping[str, Wanted]) -> Charge | None:
        """Note the results that nobody here asked for; they stay on record.

        What all of a batch's results cost; None when that is not known of one.
        """
        record = self._record(marker)
        total = Taken()
        is_known = True
        for key, result, cached in self._find_unjournaled(marker):
            seen = self._read_result(record.settings, result.outline, result.line)
            total.add(seen.use, seen.usd)
            is_known &= seen.use is not None or seen.usd == 0.0
            if key in wanted:
                continue
            if cached is None or cached != _stored_call(seen):  # else it was put there just before a run was killed
                self._cache.note(self._entry(key, result, record.settings, seen))
            self._store.settle((key,) if cached else (), (), () if cached else (key,))
        return Charge(total.use.input_tokens + total.use.output_tokens, total.usd) if is_known else None

    def _find_unjournaled(self, marker: str) -> Iterator[tuple[str, Result, StoredCall | None]]:
        """Results whose cost is not in the journal, and what the cache has for them."""
        keys = self._store.unjournaled(marker)
        for start in range(0, len(keys), CHUNK):
            results = self._store.results(keys[start : start + CHUNK])
            cached = self._cache.get_many(list(results))
            yield from ((key, result, cached.get(key)) for key, result in results.items())

    def _record(self, marker: str) -> BatchRecord:
        if marker not in self._records:
            self._records = {record.marker: record for record in self._store.batches("ended")}
        return self._records[marker]

    def _entry(self, key: str, result: Result, settings: ModelSettings, seen: _Seen) -> JournalEntry:
        record = self._record(result.marker)
        call = ModelCall(settings, result.outline, key, record.run_id, record.stage, result.item_id)
        entry = call.entry(
            seen.use, seen.usd, seconds=0.0, started_at=record.started_at, status=seen.status, error=seen.error
        )
        return replace(entry, call_id=uuid.uuid5(CALL_IDS, f"{result.marker} {key}").hex)

    def _read_result(self, settings: ModelSettings, outline: ModelRequest, line: BatchLine) -> _Seen:
        """Look at a result as the gateway looks at a live answer."""
        try:
            if line.fault is not None:
                raise line.fault
            reply = self._read(settings, outline, line.body or {})
            if not reply.text.strip():
                raise CallFault("blank", "the model answered with nothing", use=reply.use)
        except CallFault as fault:
            usd = cost_of_fault(settings, fault, self._price)
            return _Seen(None, fault.use, usd, fault.kind, without_secrets(str(fault)))
        use, usd = count_use(settings, reply.use, self._price)
        try:
            if outline.check is not None:
                outline.check(reply.text)
        except ReplyError as error:
            reason = f"{settings.spec}: the answer cannot be used: {without_secrets(str(error))}"
            return _Seen(None, use, usd, "malformed", reason)
        return _Seen(reply, use, usd)


def _stored_call(seen: _Seen) -> StoredCall | None:
    """Make the cache's record of a result; a call in a batch has no time of its own.

    No time of its own is known of a call in a batch.
    """
    if seen.reply is None:
        return None
    return StoredCall(seen.reply.text, seen.reply.model, seen.reply.use, seen.usd, 0.0)
