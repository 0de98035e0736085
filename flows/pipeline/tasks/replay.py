"""Replays of a slice of sessions, call by call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import pyarrow as pa

from compaction import Message, Method, Transcript
from compaction.compact import history_before
from compaction.measures.replay import replay_calls
from compaction.tokens import counted
from flows.pipeline.plan import method_rows
from flows.pipeline.replay_plan import ReplayJob, replay_code_version
from flows.pipeline.tasks.task_context import Contexts, Tally, TaskContext, session, why
from flows.sessions.buckets import Slice
from flows.store import parquet_schemas
from flows.support import event_log


def replay_all(task: TaskContext, work: Slice[ReplayJob]) -> Tally:
    """Replay sessions under methods: what every model call would have been sent, and how much of it anew."""
    ids = [row["method_id"] for row in method_rows(task.study)]
    compactions = Contexts(task.store, (info.session_id for info, _ in work.items))
    rows, tally = [], Tally()
    for info, jobs in work.items:
        transcript = session(task.store, info)
        left = compactions.of(info, (id for job in jobs for _, id in job.contexts))
        for job in jobs:
            start = perf_counter()
            row: dict[str, Any] = {
                "replay_id": job.replay_id,
                "session_id": info.session_id,
                "content_sha256": info.content_sha256,
                "method_id": ids[job.method],
                "points_spec": str(task.study.points_spec),
                "code": replay_code_version(),
                "status": "done",
            }
            try:
                contexts = {cut: left[id] for cut, id in job.contexts}
                view = _view(task, transcript, task.methods[job.method])
                calls = replay_calls(transcript.messages, contexts, view, info.n_given)
                row["calls"] = [
                    {name: getattr(call, name) for name in parquet_schemas.REPLAYED_CALL.names} for call in calls
                ]
            except Exception as error:  # whatever a strategy raises costs this replay and no other
                row |= {"status": "failed", "error": why(error)}
            rows.append({**row, "seconds": perf_counter() - start})
            tally.add(row["status"])
            task.items.log(
                "replay", session_id=info.session_id, method_id=row["method_id"], status=row["status"],
                seconds=rows[-1]["seconds"], error=event_log.unquoted_reason(row.get("error")),
            )  # fmt: skip
    task.store.replays.write(pa.Table.from_pylist(rows, schema=parquet_schemas.REPLAYS))
    return tally


def _view(task: TaskContext, transcript: Transcript, method: Method) -> Callable[[int], Sequence[Message]] | None:
    """What a method that works at every turn shows the model; None for one that works at points."""
    if not method.strategy.every_turn:
        return None
    counter, budget = task.engine.counter, task.study.points_spec.budget()

    def view(cut: int) -> Sequence[Message]:
        history = history_before(transcript, cut, (), counter, budget)
        return [counted(message, counter) for message in method.run(history)]

    return view
