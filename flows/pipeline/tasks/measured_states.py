"""Measured states of probes' statements in compacted contexts, for the later stages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import pyarrow.compute as pc

from flows.pipeline.measure_plan import measure_code_version
from flows.store.store import Store
from judge import Probe, StatementState


class MeasuredStates:
    """The states in the contexts of some sessions, read from the store at first use."""

    def __init__(self, store: Store, sessions: Iterable[str]) -> None:
        self._store, self._sessions = store, sorted(set(sessions))

    @cached_property
    def _rows(self) -> dict[str, dict[tuple[str, int], StatementState]]:
        """Map each compaction to the states of its statements, by probe and position, fetched messages included."""
        wanted = pc.field("session_id").isin(self._sessions) & (pc.field("code") == measure_code_version())
        table = self._store.measures.dataset().to_table(columns=["compaction_id", "status", "states"], filter=wanted)
        found: dict[str, dict[tuple[str, int], StatementState]] = {}
        for row in table.to_pylist():
            states = found.setdefault(row["compaction_id"], {})
            for one in row["states"] or ():
                fetched = one["with_fetched"] is not None
                support, lines = ("with_fetched", "fetched_lines") if fetched else ("support", "lines")
                states[one["probe_id"], one["position"]] = StatementState(one["state"], one[support], one[lines])
        return found

    def of(self, compaction: str, probe: Probe, id: str) -> tuple[StatementState, ...]:
        """The states of a probe's statements in a context, in their order; none where one was not measured."""
        found = self._rows.get(compaction, {})
        places = [(id, n) for n in range(1, len(probe.statements) + 1)]
        return tuple(found[place] for place in places if place in found) if found.keys() >= set(places) else ()
