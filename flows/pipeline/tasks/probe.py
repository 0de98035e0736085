"""Probes of a slice of sessions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from compaction import CallsStoppedError, Transcript
from flows.llm.calling_for import calling_for
from flows.pipeline.plan import PointInfo, probe_id
from flows.pipeline.tasks.task_context import Tally, TaskContext, session, unless_stopped, why
from flows.sessions.buckets import Slice
from flows.store import parquet_schemas
from flows.store.row_codec import probe_json
from flows.support import event_log
from judge import PROBE_TYPES, NotAsked, ProbeFailed, Prober


def make_probes(task: TaskContext, work: Slice[PointInfo]) -> Tally:
    """Make the probes at some points; one that has no provable truth is written down as not asked."""
    store, prober = task.store, task.engine.prober
    rows, tally = [], Tally()

    def made(asked: tuple[Transcript, PointInfo]) -> list[dict[str, Any]]:
        return _probes(prober, *asked)

    asked = ((session(store, info), point) for info, points in work.items for point in points)
    for found in task.items.map(unless_stopped(made), asked, lambda _: 1):
        if found is None:
            tally.leave()
            continue
        for row in found:
            rows.append(row)
            tally.add(row["status"])
            names = ("probe_id", "point_id", "session_id", "probe_type", "prober", "status")
            why_not = row.get("reason") if row["status"] == "failed" else None
            task.items.log("probe", **{name: row[name] for name in names}, error=event_log.unquoted_reason(why_not))
            if row["status"] == "not_asked":
                tally.counts["not_asked"] = tally.counts.get("not_asked", 0) + 1
    store.probes.write(pa.Table.from_pylist(rows, schema=parquet_schemas.PROBES))
    return tally


def _probes(prober: Prober, transcript: Transcript, point: PointInfo) -> list[dict[str, Any]]:
    def row(kind: str, status: str, **more: Any) -> dict[str, Any]:
        id = probe_id(point.point_id, kind, prober.name)
        named = {"probe_id": id, "point_id": point.point_id, "probe_type": kind, "prober": prober.name}
        return {**named, "session_id": transcript.session_id, "status": status, **more}

    try:
        with calling_for("probe", point.point_id):
            found = {item.probe_type: item for item in prober.probes(transcript, point.point)}
    except CallsStoppedError:
        raise
    except Exception as error:  # whatever a prober raises costs this point and no other
        return [row(kind, "failed", reason=f"failed: {why(error)}") for kind in PROBE_TYPES]
    rows = []
    for kind in PROBE_TYPES:
        item = found.get(kind)
        if isinstance(item, ProbeFailed):
            rows.append(row(kind, "failed", reason=f"failed: {item.reason}"))
            continue
        if item is None or isinstance(item, NotAsked):
            rows.append(row(kind, "not_asked", reason=item.reason if item else "the prober made no probe of this type"))
            continue
        evidence, statements = probe_json(item)
        rows.append(
            row(
                kind,
                "done",
                question=item.question,
                ground_truth=item.ground_truth,
                evidence=evidence,
                statements=statements,
                max_tokens=item.max_tokens,
            )
        )
    return rows
