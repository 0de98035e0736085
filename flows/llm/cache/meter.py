"""Running totals of a process's model calls, for progress lines."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from flows.llm.cache.records import JournalEntry

FORESEEN_FROM = 0.1
"""Share of a stage from which on its cost is foreseen."""


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
    saved_usd: float = 0.0
    """What the answers of the cache had cost, as far as their price is known."""
    sent_tokens: int = 0
    served_tokens: int = 0
    """Of the tokens sent, those that the provider had in its prompt cache."""

    def since(self, before: MeterReading, share: float = 1.0) -> str:
        """The calls after another reading, all that was spent, and what is foreseen; blank when there were none.

        ``share``: how much of a stage that began with the other reading is done, 0 to 1.
        """
        paid, cached = self.paid - before.paid, self.cached - before.cached
        if not paid + cached:
            return ""
        saved, sent = self.saved_usd - before.saved_usd, self.sent_tokens - before.sent_tokens
        served = self.served_tokens - before.served_tokens
        said = f"{100 * cached / (paid + cached):.0f} % of {paid + cached:,} calls cached"
        said += f" (${saved:,.2f} saved)" if saved >= 0.005 else ""
        said += f", {self._spent} spent"
        said += f", {100 * served / sent:.0f} % of the tokens sent from the provider's cache" if served else ""
        if FORESEEN_FROM <= share < 1 and self.usd > before.usd:
            at_the_end = self.usd + (self.usd - before.usd) * (1 - share) / share
            said += f", about ${at_the_end:,.2f} when this stage is done"
        return said

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
        usd = entry.cost_usd or 0.0
        with self._lock:
            was = self._reading
            self._reading = MeterReading(
                was.paid + (not entry.cached),
                was.cached + entry.cached,
                was.usd + (0.0 if entry.cached else usd),
                was.unpriced + (not entry.cached and entry.cost_usd is None),
                was.saved_usd + (usd if entry.cached else 0.0),
                was.sent_tokens + (0 if entry.cached else entry.input_tokens or 0),
                was.served_tokens + (0 if entry.cached else entry.cached_input_tokens or 0),
            )

    def read(self) -> MeterReading:
        """The totals now."""
        return self._reading
