"""Running totals of a process's model calls, for progress lines."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from flows.llm.cache.records import JournalEntry


@dataclass(frozen=True)
class MeterReading:
    """Calls so far, of all stages."""

    paid: int = 0
    """Calls that were sent, failed tries among them."""
    cached: int = 0
    """Calls that the cache answered."""
    usd: float = 0.0
    """What the sent ones cost, as far as their price is known."""
    unpriced: int = 0
    """Sent ones whose price is not known."""

    def since(self, before: MeterReading) -> str:
        """The calls after another reading, and all that was spent, in words; blank when there were none."""
        paid, cached = self.paid - before.paid, self.cached - before.cached
        if not paid + cached:
            return ""
        return f"{100 * cached / (paid + cached):.0f} % of {paid + cached:,} calls cached, {self._spent} spent"

    @property
    def _spent(self) -> str:
        if self.unpriced and not self.usd:
            return "an unknown amount"
        return f"${self.usd:,.2f}{' and what has no known price' if self.unpriced else ''}"


class CallMeter:
    """Counts calls, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading = MeterReading()

    def note(self, entry: JournalEntry) -> None:
        """Count a line of the journal."""
        with self._lock:
            was = self._reading
            if entry.cached:
                self._reading = MeterReading(was.paid, was.cached + 1, was.usd, was.unpriced)
                return
            unpriced = was.unpriced + (entry.cost_usd is None)
            self._reading = MeterReading(was.paid + 1, was.cached, was.usd + (entry.cost_usd or 0.0), unpriced)

    def read(self) -> MeterReading:
        """The totals now."""
        return self._reading
