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
from flows.pipeline.measure_plan import MeasureJob, counts_of_files, measure_code_version
from flows.pipeline.plan import probe_id
from flows.pipeline.tasks.task_context import Contexts, SliceRows, Tally, TaskContext, recalled, session, why
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo
from flows.store import parquet_schemas
from flows.store.row_codec import probe_of
from flows.support import event_log
from judge import PROBE_TYPES
from judge.measures.kept_files import Files, KeptFiles, compare_uses
from judge.measures.states import ContextReader, SessionStatements, Tracked
from judge.probe import Probe
from judge.statement import StatementState

VALUE_CHARS = 200
"""Characters of a need's value, and of the lines that state something, that are stored."""

Calls = Mapping[str, Sequence[Mapping[str, Any]]]
"""Compaction → its calls of the summariser."""


class Measuring:
    """One session, read once for all of its points and compactions."""

    def __init__(
        self,
        task: TaskContext,
        info: SessionInfo,
        jobs: Sequence[MeasureJob],
        contexts: Mapping[str, tuple[Message, ...]],
        probes: SliceRows,
    ) -> None:
        self._task, self._info, self._jobs, self._contexts, self._probes = task, info, jobs, contexts, probes
        self._needs: dict[int, tuple[Need, ...]] = {}
        self._fetched: dict[str, dict[str, tuple[Message, ...]]] = {}
        self._files: dict[str, Files] = {}
        self._at_points: dict[str, dict[str, list[dict[str, Any]]]] = {}

    @cached_property
    def _session(self) -> SessionNeeds:
        return SessionNeeds(session(self._task.store, self._info), self._task.engine.counter)

    @cached_property
    def _kept_files(self) -> KeptFiles:
        return KeptFiles(self._session)

    @cached_property
    def _asked(self) -> list[dict[str, Probe]]:
        """The probes of each point of the session, by id, in order."""
        line = max((job.line for job in self._jobs), key=len)
        prober = self._task.engine.prober.name
        ids = [[probe_id(point.point_id, kind, prober) for kind in PROBE_TYPES] for point in line]
        rows = self._probes.rows(id for some in ids for id in some)
        asked = {id: probe_of(row) for id, row in rows.items() if row["status"] == "done"}
        return [{id: asked[id] for id in some if id in asked} for some in ids]

    @cached_property
    def _statements(self) -> SessionStatements:
        return SessionStatements(self._asked)

    @cached_property
    def _reader(self) -> ContextReader:
        fetched = (context for job in self._readable(self._jobs) for context in self._with_fetched(job).values())
        return ContextReader(self._session.messages, (*self._contexts.values(), *fetched))

    @cached_property
    def _opaque(self) -> frozenset[str]:
        """The compactions whose context holds what nobody but its provider can read."""
        contexts = {job.compaction_id: self._contexts[job.compaction_id] for job in self._jobs}
        return frozenset(id for id, context in contexts.items() if any(message.is_unreadable for message in context))

    def _readable(self, jobs: Sequence[MeasureJob]) -> list[MeasureJob]:
        return [job for job in jobs if job.compaction_id not in self._opaque]

    def _with_fetched(self, job: MeasureJob) -> dict[str, tuple[Message, ...]]:
        """Map each probe to the context with fetched messages, if its method fetches any."""
        method = self._task.methods[job.method]
        found: dict[str, tuple[Message, ...]] = {}
        if not method.recalls or job.compaction_id in self._fetched:
            return self._fetched.get(job.compaction_id, found)
        for id, probe in self._asked[len(job.line) - 1].items():
            context, fetched = recalled(
                method,
                self._contexts[job.compaction_id],
                probe.question,
                lambda: self._session.messages[: job.point.point.cut_seq],
            )
            if fetched:
                found[id] = context
        self._fetched[job.compaction_id] = found
        return found

    def _read_files(self, job: MeasureJob) -> Files:
        """Return the files that a context names."""
        if job.compaction_id not in self._files:
            context = self._contexts[job.compaction_id]
            self._files[job.compaction_id] = self._kept_files.told(context, job.point.point.cut_seq)
        return self._files[job.compaction_id]

    def needs(self, cut: int) -> tuple[Need, ...]:
        """The needs of a point."""
        if cut not in self._needs:
            self._needs[cut] = self._session.at(cut)
        return self._needs[cut]

    def measured(self, job: MeasureJob) -> dict[str, Any]:
        """All that is measured of a context, as columns of ``schemas.MEASURES``."""
        context = self._contexts[job.compaction_id]
        if job.compaction_id in self._opaque:
            return {"status": "opaque", "error": "the context holds what nobody but its provider can read"}
        cut = job.point.point.cut_seq
        needs = self.needs(cut)
        loss = self._session.loss(needs, context)
        counts = compare_uses(self._kept_files.true(cut), self._read_files(job))
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
            "states": self._states(job),
        }

    def _states(self, job: MeasureJob) -> list[dict[str, Any]]:
        """Return the state in a context of every statement that holds at its point."""
        point = job.point.point_id
        if point not in self._at_points:
            jobs = [one for one in self._readable(self._jobs) if one.point.point_id == point]
            self._at_points[point] = self._states_of_point(jobs, job.point.point.cut_seq)
        return self._at_points[point][job.compaction_id]

    def _states_of_point(self, jobs: Sequence[MeasureJob], cut: int) -> dict[str, list[dict[str, Any]]]:
        tracked = self._statements.at(len(jobs[0].line) - 1, cut)
        more = [(job.compaction_id, id, context) for job in jobs for id, context in self._with_fetched(job).items()]
        contexts = [*(self._contexts[job.compaction_id] for job in jobs), *(context for *_, context in more)]
        files = [
            *(self._read_files(job) for job in jobs),
            *(self._kept_files.told(context, cut) for *_, context in more),
        ]
        statements = [one.statement for one in tracked]
        states = self._reader.states(statements, cut, contexts, files, self._kept_files.true(cut))
        found = {
            job.compaction_id: [_state_row(one, state) for one, state in zip(tracked, of_context, strict=True)]
            for job, of_context in zip(jobs, states, strict=False)
        }
        for (compaction, probe, _), again in zip(more, states[len(jobs) :], strict=True):
            for row, state in zip(found[compaction], again, strict=True):
                if row["probe_id"] == probe:
                    row |= {"with_fetched": state.support, "fetched_lines": state.lines}
        return found


def _state_row(tracked: Tracked, state: StatementState) -> dict[str, Any]:
    return {
        "probe_id": tracked.probe,
        "position": tracked.position,
        "since": tracked.since,
        "state": state.state,
        "support": state.support,
        "lines": shorten(state.lines, VALUE_CHARS),
        "with_fetched": None,
        "fetched_lines": None,
    }


def measure_all(task: TaskContext, work: Slice[MeasureJob]) -> Tally:
    """Measure compactions; the needs of their points are written first."""
    store = task.store
    sessions = [info.session_id for info, _ in work.items]
    compactions, probes = Contexts(store, sessions), SliceRows(store.probes, "probe_id", sessions)
    made = SliceRows(store.compactions, "compaction_id", sessions, ["compaction_id", "status", "calls", "session_id"])
    rows: list[dict[str, Any]] = []
    needs: list[dict[str, Any]] = []
    tally = Tally()
    for info, jobs in work.items:
        ids = [job.compaction_id for job in jobs]
        measuring = Measuring(task, info, jobs, compactions.of(info, ids), probes)
        calls = {id: row["calls"] for id, row in made.rows(ids).items()}
        for job in jobs:
            row = _row(measuring, job, calls)
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


def _row(measuring: Measuring, job: MeasureJob, calls: Calls) -> dict[str, Any]:
    start = perf_counter()
    made = calls.get(job.compaction_id) or ()
    row: dict[str, Any] = {
        "measure_id": job.measure_id,
        "compaction_id": job.compaction_id,
        "code": measure_code_version(),
        "summary_calls": len(made),
        "summary_input_tokens": _total(made, "input_tokens"),
        "summary_output_tokens": _total(made, "output_tokens"),
    }
    try:
        row |= measuring.measured(job)
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
