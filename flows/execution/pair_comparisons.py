"""Pairs of answers → which of the two a model prefers, with the faults, budget and cache of every other stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flows.execution.run import Run
from flows.execution.stage_runner import Unit, fan_out
from flows.pipeline.tasks.compare import PairJob, compare_bucket

STAGE = "pair"


async def compare_pairs(run: Run, jobs: Mapping[str, Sequence[PairJob]]) -> None:
    """Let the study's judge make these comparisons, by session."""
    units = []
    for bucket in run.scope.buckets():
        chosen = replace(bucket, sessions=tuple(info for info in bucket.sessions if jobs.get(info.session_id)))
        work = {info.session_id: jobs[info.session_id] for info in chosen.sessions}
        number = sum(map(len, work.values()))
        if number:
            units.append(
                Unit(
                    chosen.key,
                    float(number),
                    number,
                    lambda key, chosen=chosen, work=work: run.submit(  # type: ignore[misc]
                        "judge", key, compare_bucket, run.root, run.study, chosen, work
                    ),
                    waits=True,
                )
            )
    await fan_out(run, STAGE, "comparisons", units)
