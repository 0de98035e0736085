"""Points and compactions of a slice of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import pyarrow as pa

from compaction import (
    CallsStoppedError,
    CompactedContext,
    History,
    Message,
    Method,
    NotApplicable,
    PointsSpec,
    SummaryError,
    Transcript,
    compact,
    find_points,
)
from compaction.compact import history_before, tokens_by_kind
from compaction.tokens import total_tokens
from flows.config.study import Study
from flows.llm.calling_for import calling_for
from flows.pipeline.engine import Engine
from flows.pipeline.plan import CompactionJob, method_rows
from flows.pipeline.tasks.task_context import Contexts, Items, Tally, TaskContext, remember, session, why
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo
from flows.store import parquet_schemas
from flows.store.row_codec import ContextColumn
from flows.store.store import Store
from flows.support import event_log
from flows.support.ids import point_ids


def find_points_of(task: TaskContext, work: Slice[SessionInfo]) -> Tally:
    """Find the compaction points of sessions and write them down, also that a session has none."""
    store, spec = task.store, task.study.points_spec
    rows = []
    for info, _ in work.items:
        found: list[dict[str, Any]] = []
        if spec.may_fire(info.n_messages, info.n_tokens, len(info.compactions)):
            found = _points(session(store, info), spec)
        rows.append(
            {
                "session_id": info.session_id,
                "content_sha256": info.content_sha256,
                "points_spec": str(spec),
                "points": found,
            }
        )
    store.points.write(pa.Table.from_pylist(rows, schema=parquet_schemas.POINTS))
    return Tally(done=len(rows))


def _points(transcript: Transcript, spec: PointsSpec) -> list[dict[str, Any]]:
    points = find_points(transcript, spec)
    cuts = [point.cut_seq for point in points]
    ids = point_ids(transcript.session_id, transcript.messages, cuts, transcript.compactions)
    return [
        {"point_id": id, "cycle": p.cycle, "cut_seq": p.cut_seq, "tokens_before": p.tokens_before}
        for id, p in zip(ids, points, strict=True)
    ]


Line = tuple[SessionInfo, Transcript, tuple[CompactionJob, ...]]
"""Compactions of a session that have to be made one after the other."""


def compact_all(task: TaskContext, work: Slice[CompactionJob]) -> Tally:
    """Make the compactions of some sessions and write them as one shard."""
    store, study, parts = task.store, task.study, task.engine
    methods = study.methods()
    ids = [row["method_id"] for row in method_rows(study)]
    earlier = _earlier_contexts(store, work)
    rows, column, tally = [], ContextColumn(), Tally()

    def made(line: Line) -> list[tuple[dict[str, Any], tuple[Message, ...], Transcript] | None]:
        info, transcript, jobs = line
        found: list[tuple[dict[str, Any], tuple[Message, ...], Transcript] | None] = []
        for job in jobs:
            try:
                row, context = _compact(transcript, job, methods[job.method], study, parts, earlier)
            except CallsStoppedError:
                found += [None] * (len(jobs) - len(found))
                break
            row.update(method_id=ids[job.method], session_id=info.session_id)
            if row["status"] != "failed":
                earlier[job.compaction_id] = context
                remember(store, info, {job.compaction_id: context})
            found.append((row, context, transcript))
        return found

    for line in task.items.map(made, _chains(store, work), lambda line: len(line[2])):
        for outcome in line:
            if outcome is None:
                tally.leave()
                continue
            row, context, transcript = outcome
            rows.append(row)
            column.add(context, transcript)
            tally.add(row["status"])
            _log(task.items, row)
    table = pa.Table.from_pylist(rows, schema=parquet_schemas.COMPACTIONS.remove(len(parquet_schemas.COMPACTIONS) - 1))
    store.compactions.write(table.append_column(parquet_schemas.COMPACTIONS.field("context"), column.array()))
    return tally


def _log(items: Items, row: dict[str, Any]) -> None:
    names = """compaction_id point_id session_id method_id replicate status tokens_before tokens_after cost_usd
    seconds""".split()
    items.log("compact", **{name: row.get(name) for name in names}, error=event_log.unquoted_reason(row.get("error")))


def _chains(store: Store, work: Slice[CompactionJob]) -> Iterator[Line]:
    """Every compaction on its own; in a chain those that build on each other together."""
    for info, jobs in work.items:
        transcript = session(store, info)
        line: list[CompactionJob] = []
        for job in jobs:
            if line and job.before != line[-1].compaction_id:
                yield info, transcript, tuple(line)
                line = []
            line.append(job)
        if line:
            yield info, transcript, tuple(line)


def _earlier_contexts(store: Store, work: Slice[CompactionJob]) -> dict[str, tuple[Message, ...]]:
    """Read the contexts that earlier runs made at the points before the slice, for methods in a chain."""
    ours = {job.compaction_id for _, jobs in work.items for job in jobs}
    left = Contexts(store, (info.session_id for info, _ in work.items))
    found: dict[str, tuple[Message, ...]] = {}
    for info, jobs in work.items:
        if wanted := [job.before for job in jobs if job.before and job.before not in ours]:
            found |= left.of(info, wanted)
    return found


def _compact(
    transcript: Transcript,
    job: CompactionJob,
    method: Method,
    study: Study,
    parts: Engine,
    earlier: dict[str, tuple[Message, ...]],
) -> tuple[dict[str, Any], tuple[Message, ...]]:
    row: dict[str, Any] = {
        "compaction_id": job.compaction_id,
        "point_id": job.point.point_id,
        "points_spec": str(study.points_spec),
        "replicate": job.replicate,
        "tokens_before": job.point.point.tokens_before,
    }
    if job.before is not None and job.before not in earlier:
        return {**row, "status": "failed", "error": "the method failed at an earlier point of the chain"}, ()
    previous = earlier[job.before] if job.before else None
    history = history_before(
        transcript,
        job.point.point.cut_seq,
        job.point.point.earlier_cuts,
        parts.counter,
        study.points_spec.budget(job.point.point, sum(message.tokens or 0 for message in transcript.messages)),
        summarizer=parts.summarizer_for(job.replicate),
        natives=parts.natives_for(job.replicate),
        previous=previous,
    )
    start = perf_counter()
    try:
        row["tokens_before"] = total_tokens(history.messages, parts.counter)
        with calling_for("compact", job.compaction_id):
            result = compact(history, method)
        _check_provider(history)
    except CallsStoppedError:
        raise
    except NotApplicable as reason:
        row.update(status="not_applicable", error=why(reason), seconds=perf_counter() - start)
        return {**row, **_calls(history)}, history.messages if study.history == "chain" else ()
    except Exception as error:  # whatever a strategy raises costs this compaction and no other
        _check_stop(history)
        row.update(status="failed", error=why(error), seconds=perf_counter() - start)
        return {**row, **_calls(history)}, ()
    row.update(seconds=perf_counter() - start, **_outcome(result), **_calls(history))
    row["before_by_kind"] = tokens_by_kind(history.messages, parts.counter)
    return row, result.messages


def _check_provider(history: History) -> None:
    """A method may go on without the summary that a provider's fault cost it; that is no outcome of the method."""
    _check_stop(history)
    for failure in _failures(history):
        raise SummaryError(str(failure))


def _check_stop(history: History) -> None:
    """A strategy may take the stop for a failure; it is none."""
    for failure in _failures(history):
        if isinstance(failure, CallsStoppedError):
            raise failure


def _failures(history: History) -> list[Exception]:
    """Collect the failures of providers during a compaction."""
    clients = (history.summarizer, *history.natives.values())
    found = (getattr(client, "failure", None) for client in clients)
    return [failure for failure in found if failure is not None]


def _outcome(result: CompactedContext) -> dict[str, Any]:
    return {
        "status": "done",
        "tokens_after": result.tokens,
        "kept": sorted(result.kept),
        "edited": sorted(result.edited),
        "covered": sorted(result.covered),
        "dropped": sorted(result.dropped),
        "made": [
            {"position": at, "role": message.role, "tokens": message.tokens, "covers": list(message.covers)}
            for at, message in enumerate(result.messages)
            if message.seq is None
        ],
        "after_by_kind": dict(result.tokens_by_kind),
        "flags": list(result.flags),
        "n_kept": len(result.kept),
        "n_edited": len(result.edited),
        "n_covered": len(result.covered),
        "n_dropped": len(result.dropped),
        "grew": "grew" in result.flags,
        "invalid_context": "invalid_context" in result.flags,
    }


def _calls(history: History) -> dict[str, Any]:
    costs = [call.cost_usd for call in history.calls]
    return {
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        "calls": [
            {"model": c.model, "input_tokens": c.input_tokens, "output_tokens": c.output_tokens, "cost_usd": c.cost_usd}
            for c in history.calls
        ],
    }
