"""Transcripts → compaction points → what every method leaves at every point."""

from __future__ import annotations

from prefect import flow

from flows.engine import Part
from flows.plan import Batch, CompactionJob, batched, compactions_to_do, files_with, method_rows
from flows.runtime import Run, later_than, running
from flows.stage import Unit, fan_out
from flows.study import Study
from flows.transcripts import SessionInfo
from flows.work.compact import compact_batch, find_batch


@flow(name="compact", persist_result=False)
async def compact(study: Study) -> None:
    """Find the points of every session and compact at each of them with every method."""
    with running(study, what="compact") as run:
        sessions = run.sessions()
        groups = run.groups(sessions)
        await _find_points(run, sessions, groups)
        points = run.points(sessions)
        rows = method_rows(study)
        mine = {row["method_id"] for row in rows}
        earlier = (row["last_run_at"] for row in run.store.records("methods") if row["method_id"] not in mine)
        last_run_at = later_than(run.started_at, earlier)
        for row in rows:
            run.store.record("methods", row["method_id"], {**row, "last_run_at": last_run_at}, replace=True)
        to_do = compactions_to_do(run.store, study, points)
        chained = study.history == "chain"
        files = files_with(run.store.compactions, points) if chained else {}
        units = []
        for part, work in _parts(run, groups, to_do):
            units += [
                Unit(
                    one.key,
                    one.weight,
                    one.n_jobs,
                    lambda part=part, one=one: run.submit(  # type: ignore[misc]
                        part, one.key, compact_batch, run.root, run.study, one,
                        sorted({file for info, _ in one.items for file in files.get(info.session_id, ())}),
                    ),
                    run.waits(part),
                )
                for one in work
            ]  # fmt: skip
        await fan_out(run, "compact", "compactions", units)
        run.store.compactions.drop_superseded()


def _parts(
    run: Run, groups: list[list[SessionInfo]], to_do: dict[str, list[CompactionJob]]
) -> list[tuple[Part | None, list[Batch[CompactionJob]]]]:
    """The batches, those of methods that ask a language model apart from those that only compute."""
    if not run.waits("summarizer"):
        return [(None, batched(groups, to_do))]
    asks = [method.needs != "nothing" for method in run.study.methods()]
    computed = {session: [job for job in jobs if not asks[job.method]] for session, jobs in to_do.items()}
    asked = {session: [job for job in jobs if asks[job.method]] for session, jobs in to_do.items()}
    return [(None, batched(groups, computed)), ("summarizer", batched(groups, asked, "summaries"))]


async def _find_points(run: Run, sessions: list[SessionInfo], groups: list[list[SessionInfo]]) -> None:
    known = run.points(sessions)
    work = batched(groups, {info.session_id: (info,) for info in sessions if info.session_id not in known})
    units = [
        Unit(
            one.key,
            one.weight,
            one.n_jobs,
            lambda one=one: run.workers.submit(  # type: ignore[misc]
                one.key, find_batch, run.root, run.study, [info for info, _ in one.items]
            ),
        )
        for one in work
    ]
    await fan_out(run, "points", "sessions", units)
