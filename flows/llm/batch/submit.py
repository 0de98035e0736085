"""Submits requests in batches: reserves budget, writes them in the provider's form, and sends them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from compaction.model import CallsStoppedError, ModelRequest
from flows.llm.batch.protocol import BatchClient, BatchFault, Intent, SubmitUnknown
from flows.llm.batch.record import BatchStore
from flows.llm.batch.take import Wanted
from flows.llm.budget import NOTHING, Budget, Charge, most_tokens
from flows.llm.prices import Prices
from flows.llm.settings import ModelSettings

TRIES = 5
"""Submissions in a row that fail in a way that may pass, until a run leaves the rest to live calls."""

Keyed = tuple[ModelSettings, ModelRequest, str]
"""A request with its key."""


def batch_bound(settings: ModelSettings, request: ModelRequest, prices: Prices) -> Charge:
    """The most that a request can cost in a batch."""
    most = most_tokens(settings, request)
    usd = prices.bound(settings, most.input_tokens, most.output_tokens, batch=True)
    return Charge(most.input_tokens + most.output_tokens, usd)


@dataclass
class _Spool:
    """A batch while it is written."""

    marker: str
    settings: ModelSettings
    path: Path
    file: BinaryIO
    keys: list[str] = field(default_factory=list)
    size: int = 0


class Submitter:
    """Submits batches, and holds what is reserved for them. Only the holder of the batches' lock may."""

    def __init__(
        self,
        store: BatchStore,
        wanted: Mapping[str, Wanted],
        prices: Prices,
        budget: Budget,
        client: Callable[[ModelSettings], BatchClient],
        run: tuple[str, str],
        report: Callable[[str], None],
    ) -> None:
        self._store = store
        self._wanted = wanted
        self._prices = prices
        self._budget = budget
        self._client = client
        self._run_id, self._stage = run
        self._report = report
        self._reserved: dict[str, Charge] = {}
        """By key, until it is in a batch."""
        self._bounds: dict[str, list[Charge]] = {}
        """Reservations by the marker of their batch."""
        self._refusing: dict[ModelSettings, str] = {}
        self._tries = 0
        self.settled: set[str] = set()
        """Keys that are not to be submitted again in this run: submitted, or refused."""
        self.refused: dict[str, str] = {}
        """By key: why it was not submitted."""
        self.batches = 0
        self.sent = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether this run has given up submitting."""
        return self._tries >= TRIES

    def submit(self, requests: Callable[[], Iterable[Keyed]]) -> None:
        """Submit requests, gone through twice. Raises CallsStoppedError when the budget has no room for all."""
        self._reserve(requests())
        try:
            self._send_all(requests())
        finally:
            for most in self._reserved.values():
                self._budget.settle(most, NOTHING)
            self._reserved.clear()

    def settle(self, marker: str, paid: Charge | None) -> None:
        """Replace this run's reservation for a batch by its cost; without a known cost, by the most."""
        for most in self._bounds.pop(marker, ()):
            self._budget.settle(most, most if paid is None else paid)
            paid = None if paid is None else Charge(0, None if paid.usd is None else 0.0)

    def leave(self) -> None:
        """Charge all that is still reserved: it is under way, and may cost that much."""
        for marker in list(self._bounds):
            self.settle(marker, None)

    def _reserve(self, requests: Iterable[Keyed]) -> None:
        """Reserve for every request, or for none."""
        total = Charge()
        fits = True
        for settings, request, key in requests:
            most = batch_bound(settings, request, self._prices)
            self._budget.check_price(settings, most)
            total = Charge(total.tokens + most.tokens, (total.usd or 0.0) + (most.usd or 0.0))
            fits = fits and self._budget.try_reserve(most)
            if fits:
                self._reserved[key] = most
        if fits:
            return
        number = len(self._reserved)
        for most in self._reserved.values():
            self._budget.settle(most, NOTHING)
        self._reserved.clear()
        limits = [f"{self._budget.usd:g} US dollars"] if self._budget.usd is not None else []
        limits += [f"{self._budget.tokens:,} tokens"] if self._budget.tokens is not None else []
        raise CallsStoppedError(
            f"the batches can cost up to {total.usd:.4f} US dollars and {total.tokens:,} tokens, and the budget of "
            f"{' and '.join(limits)}, of which {self._budget.spent_usd:.4f} US dollars and "
            f"{self._budget.spent_tokens:,} tokens are spent, has room for the first {number:,} requests only; nothing "
            f"was submitted: raise the budget, narrow what is asked for, or go without batches, where each call is "
            f"reserved for alone"
        )

    def _send_all(self, requests: Iterable[Keyed]) -> None:
        spools: dict[ModelSettings, _Spool] = {}
        with ExitStack() as files:
            for settings, request, key in requests:
                if settings in self._refusing:
                    self._refuse([key], self._refusing[settings])
                    continue
                client = self._client(settings)
                line = client.line(settings, request, key)
                if len(line) > client.most_bytes:
                    self._refuse([key], "longer than a batch may be")
                    continue
                spool = spools.get(settings)
                if spool and (len(spool.keys) == client.most_requests or spool.size + len(line) > client.most_bytes):
                    self._send(spools.pop(settings))
                    spool = None
                if spool is None:
                    spool = spools[settings] = self._spool(settings, files)
                spool.file.write(line)
                spool.keys.append(key)
                spool.size += len(line)
            for spool in spools.values():
                self._send(spool)

    def _spool(self, settings: ModelSettings, files: ExitStack) -> _Spool:
        marker = uuid.uuid4().hex
        path = self._store.folder / f"{marker}.tmp"
        files.callback(path.unlink, missing_ok=True)
        return _Spool(marker, settings, path, files.enter_context(path.open("wb")))

    def _send(self, spool: _Spool) -> None:
        """Submit one batch; its intent is on record before, its id after."""
        spool.file.close()
        if spool.settings in self._refusing or self.is_exhausted:
            self._refuse(spool.keys, self._refusing.get(spool.settings, "not submitted: too many failures in a row"))
            spool.path.unlink()
            return
        intent = Intent(spool.marker, time.time(), len(spool.keys))
        items = [(key, self._wanted[key].item_id, self._wanted[key].outline) for key in spool.keys]
        self._store.add_intent(intent, spool.settings, items, self._run_id, self._stage)
        self._bounds[spool.marker] = [self._reserved.pop(key) for key in spool.keys]
        try:
            batch_id = self._client(spool.settings).submit(intent, spool.settings, spool.path)
        except SubmitUnknown as fault:
            self._tries += 1
            self._report(f"{fault}; whether it was taken is found out at the next look")
            return
        except BatchFault as fault:
            self._not_taken(spool, fault)
            return
        finally:
            spool.path.unlink(missing_ok=True)
        self._store.mark_submitted(spool.marker, batch_id)
        self._tries = 0
        self.settled.update(spool.keys)
        self.batches += 1
        self.sent += len(spool.keys)
        self._report(f"batch {batch_id} submitted: {len(spool.keys):,} requests to {spool.settings.spec}")

    def _not_taken(self, spool: _Spool, fault: BatchFault) -> None:
        self._store.release(spool.marker)
        self.settle(spool.marker, NOTHING)
        self._report(str(fault))
        if fault.again:
            self._tries += 1
            self.refused |= dict.fromkeys(spool.keys, str(fault))
        else:
            self._refusing[spool.settings] = str(fault)
            self._refuse(spool.keys, str(fault))

    def _refuse(self, keys: Iterable[str], reason: str) -> None:
        for key in keys:
            self.settled.add(key)
            self.refused[key] = reason
