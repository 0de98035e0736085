"""Measurements of a slice of sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any

import pyarrow as pa

from compaction import Message
from compaction.measures.needs import NEED_KINDS, Need, SessionNeeds
from compaction.reading.prose import shorten
from flows.pipeline.engine import Engine
from flows.pipeline.measure_plan import MeasureJob, counts_of_files
from flows.pipeline.plan import probe_id
from flows.pipeline.tasks.task_context import Contexts, SliceRows, Tally, TaskContext, session, why
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo
from flows.store import parquet_schemas
from flows.store.row_codec import probe_of
from flows.store.store import Store
from flows.support import event_log
from judge import PROBE_TYPES
from judge.measures.facts import KeptFacts, Tracked
from judge.measures.kept_files import KeptFiles, compare_uses

VALUE_CHARS = 200
"""Characters of a need's value that are stored."""

Calls = Mapping[str, Sequence[Mapping[str, Any]]]
"""Compaction → its calls of the summariser."""


class Measuring:
    """One session, read once for all of its points and compactions."""

    def __init__(
        self, store: Store, parts: Engine, info: SessionInfo, jobs: Sequence[MeasureJob], probes: SliceRows
    ) -> None:
        self._store, self._parts, self._info, self._probes = store, parts, info, probes
        self._line = max((job.line for job in jobs), key=len)
        self._needs: dict[int, tuple[Need, ...]] = {}

    @cached_property
    def _session(self) -> SessionNeeds:
        return SessionNeeds(session(self._store, self._info), self._parts.counter)

    @cached_property
    def _kept_files(self) -> KeptFiles:
        return KeptFiles(self._session)

    @cached_property
    def _facts(self) -> KeptFacts:
        ids = [[probe_id(i.point_id, kind, self._parts.prober.name) for kind in PROBE_TYPES] for i in self._line]
        rows = self._probes.rows(id for some in ids for id in some)
        asked = {id: probe_of(row) for id, row in rows.items() if row["status"] == "done"}
        return KeptFacts(self._session, [{id: asked[id] for id in some if id in asked} for some in ids])

    def needs(self, cut: int) -> tuple[Need, ...]:
        """The needs of a point."""
        if cut not in self._needs:
            self._needs[cut] = self._session.at(cut)
        return self._needs[cut]

    def measured(self, context: Sequence[Message], job: MeasureJob) -> dict[str, Any]:
        """All that is measured of a context, as columns of ``schemas.MEASURES``."""
        if any(message.is_unreadable for message in context):
            return {"status": "opaque", "error": "the context holds what nobody but its provider can read"}
        cut = job.point.point.cut_seq
        needs = self.needs(cut)
        loss = self._session.loss(needs, context)
        files = self._kept_files.told(context, cut)
        counts = compare_uses(self._kept_files.true(cut), files)
        tracked = self._facts.at(len(job.line) - 1)
        stated = self._facts.stated(tracked, context, files)
        numbers = [n for told in counts.values() for n in (told.n_true, told.n_told, told.n_right)]
        lost = set(loss.lost)
        by_kind = {
            f"n_{kind}s{suffix}": sum(need.kind == kind and (not suffix or i in lost) for i, need in enumerate(needs))
            for kind in NEED_KINDS
            for suffix in ("", "_lost")
        }
        return {
            "status": "done",
            "n_needs": len(needs),
            "n_lost": len(loss.lost),
            **by_kind,
            "lost": [position + 1 for position in loss.lost],
            "fetched": list(loss.fetched),
            "n_fetches": len(loss.fetched),
            "refetch_tokens": loss.tokens,
            **dict(zip(counts_of_files(), numbers, strict=True)),
            "facts": _facts_by_probe(tracked, stated),
        }


def measure_all(task: TaskContext, work: Slice[MeasureJob]) -> Tally:
    """Measure compactions; the needs of their points are written first."""
    store, parts = task.store, task.engine
    sessions = [info.session_id for info, _ in work.items]
    compactions, probes = Contexts(store, sessions), SliceRows(store.probes, "probe_id", sessions)
    made = SliceRows(store.compactions, "compaction_id", sessions, ["compaction_id", "status", "calls", "session_id"])
    rows: list[dict[str, Any]] = []
    needs: list[dict[str, Any]] = []
    tally = Tally()
    for info, jobs in work.items:
        measuring = Measuring(store, parts, info, jobs, probes)
        ids = [job.compaction_id for job in jobs]
        left = compactions.of(info, ids)
        calls = {id: row["calls"] for id, row in made.rows(ids).items()}
        for job in jobs:
            row = _row(measuring, job, left[job.compaction_id], calls)
            rows.append({**row, "session_id": info.session_id})
            tally.add(row["status"])
            task.items.log(
                "measure",
                measure_id=row["measure_id"],
                compaction_id=row["compaction_id"],
                status=row["status"],
                session_id=info.session_id,
                seconds=row.get("seconds"),
                error=event_log.unquoted_reason(row.get("error")),
            )
        needs += _needs(measuring, info, jobs)
    store.needs.write(pa.Table.from_pylist(needs, schema=parquet_schemas.NEEDS))
    store.measures.write(pa.Table.from_pylist(rows, schema=parquet_schemas.MEASURES))
    return tally


def _row(measuring: Measuring, job: MeasureJob, context: Sequence[Message], calls: Calls) -> dict[str, Any]:
    start = perf_counter()
    made = calls.get(job.compaction_id) or ()
    row: dict[str, Any] = {
        "measure_id": job.measure_id,
        "compaction_id": job.compaction_id,
        "summary_calls": len(made),
        "summary_input_tokens": _total(made, "input_tokens"),
        "summary_output_tokens": _total(made, "output_tokens"),
    }
    try:
        row |= measuring.measured(context, job)
    except Exception as error:  # whatever goes wrong costs this measurement and no other
        row |= {"status": "failed", "error": why(error)}
    return {**row, "seconds": perf_counter() - start}


def _total(calls: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """Sum over the calls; None when one does not say."""
    found = [call[name] for call in calls]
    return None if None in found else sum(found)


def _needs(measuring: Measuring, info: SessionInfo, jobs: Sequence[MeasureJob]) -> Iterator[dict[str, Any]]:
    """The needs of the points of some jobs, each point once."""
    for job in {job.needs_id: job for job in jobs}.values():
        try:
            found, status, error = measuring.needs(job.point.point.cut_seq), "done", None
        except Exception as problem:  # the measurements of the point have failed too, and say so
            found, status, error = (), "failed", why(problem)
        yield {
            "needs_id": job.needs_id,
            "session_id": info.session_id,
            "point_id": job.point.point_id,
            "status": status,
            "error": error,
            "needs": [_need_row(need) for need in found],
        }


def _need_row(need: Need) -> dict[str, Any]:
    return {
        "kind": need.kind,
        "value": shorten(need.value, VALUE_CHARS),
        "observation_seq": need.observation,
        "observation_tokens": need.tokens,
        "needed_at": need.needed_at,
        "turns_after": need.turns_after,
    }


def _facts_by_probe(tracked: Sequence[Tracked], stated: Sequence[bool]) -> list[dict[str, Any]]:
    """The facts by the probe that stated them first."""
    found: dict[str, dict[str, Any]] = {}
    for item, is_stated in zip(tracked, stated, strict=True):
        row = found.setdefault(item.probe, {"probe_id": item.probe, "positions": [], "stated": []})
        row["positions"].append(item.position)
        row["stated"].append(is_stated)
    return list(found.values())
