"""A dry run: the work of a run, in a temporary store that is thrown away.

The stages run over a temporary store that links to the files of the real one, with models that look into the real call
cache and otherwise note what would be sent, answering with a filler of the length that is assumed. So the number of
calls is that of the code itself: an anchored summary's several calls, a chain's, a judge's. What cannot be known
beforehand is how long the answers will be, and which probes a model makes; both are assumptions that the plan states.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from compaction import CompactionPoint, Transcript
from flows.config.runner_spec import LOCAL
from flows.config.study import IN_FLIGHT, Study
from flows.execution.pair_comparisons import compare_pairs
from flows.execution.run import running
from flows.execution.stage_executor import PlainCalls
from flows.llm.batch.record import calls_under_way
from flows.llm.call_recorder import ASSUMED_SHARE, CallRecorder, Line
from flows.llm.settings import ModelSettings
from flows.pipeline.backfill.backlog import backlog_of
from flows.pipeline.backfill.selection import Selection
from flows.pipeline.engine import engine_calling, engine_for
from flows.pipeline.missing_points import explain_missing_points
from flows.pipeline.plan import known_points
from flows.pipeline.planned_recovery import with_planned_recovery
from flows.pipeline.tasks.compare import PairJob
from flows.store.call_cache_sync import batches_folder, has_cache, open_cache
from flows.store.call_journal import mean_seconds
from flows.store.store import MARKER, Store
from flows.support.progress import Report
from judge import NotAsked, Probe, ProbeFailed, Prober
from judge.embedded import EmbeddedProber

CALLS_A_PROBE = 2
"""Calls that a model which writes a probe is assumed to need: one that writes and one that guesses."""
LINKED = tuple(
    """transcripts points compactions probes answers next_actions scores methods judges quarantine anchors
    anchor_scores comparisons needs measures""".split()
)


@dataclass
class PlannedProber:
    """A model that writes probes, while nothing is asked: the embedded prober's take the place of its probes."""

    asked: Prober
    other: Prober
    recorder: CallRecorder
    settings: ModelSettings
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.asked.name

    def probes(self, transcript: Transcript, point: CompactionPoint) -> list[Probe | NotAsked | ProbeFailed]:
        """The model's probes where the cache has them; for each other the calls beyond the first are assumed."""
        found = list(self.asked.probes(transcript, point))
        others = {item.probe_type: item for item in self.other.probes(transcript, point)}
        n_missing = sum(isinstance(item, ProbeFailed) for item in found)
        if n_missing:
            self.recorder.assume(self.settings, n_missing * (CALLS_A_PROBE - 1))
        return [others[item.probe_type] if isinstance(item, ProbeFailed) else item for item in found]


@contextmanager
def shadow_store(study: Study) -> Iterator[Study]:
    """Link a temporary store to the real one for a study; it is removed at the end."""
    real = Store.at(study.store)
    with tempfile.TemporaryDirectory(prefix="compaction-eval-plan-") as folder:
        root = Path(folder) / "store"
        root.mkdir()
        if (marker := real.place.read(real.root / MARKER)) is not None:
            (root / MARKER).write_bytes(marker)
        for name in LINKED if marker is not None else ():
            (root / name).mkdir()
            for path in real.place.local_paths(real.place.paths(real.root / name, "")):
                if path.is_file():
                    (root / name / path.name).symlink_to(path.absolute())
        yield replace(study, store=str(root), runner=LOCAL, budget_usd=None, budget_tokens=None)


def with_times(lines: list[Line], seconds_a_call: Mapping[tuple[str, str], float], study: Study) -> list[Line]:
    """The lines with their wall time, where the journal knows how long a stage's calls to a model take."""
    in_flight = study.concurrency or IN_FLIGHT
    means = [seconds_a_call.get((line.stage, line.model)) for line in lines]
    times = [None if mean is None else mean * line.to_pay / in_flight for mean, line in zip(means, lines, strict=True)]
    return [replace(line, seconds=time) for time, line in zip(times, lines, strict=True)]


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run."""

    items: dict[str, int]
    """Stage → items that would be worked on: what the store does not have yet."""
    lines: list[Line]
    notes: list[str]
    seconds: float
    """Wall time of the work without the calls, as it was done to make this plan; a run also measures and loads."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for ``--json``."""
        calls = [line.as_dict() for line in self.lines]
        return {"items": self.items, "calls": calls, "seconds": self.seconds, "notes": self.notes}


async def forecast(study: Study, report: Report) -> RunPlan:
    """Go through a run of this study where nothing is kept."""
    from flows.answer import answer  # noqa: PLC0415 (Prefect, which they import, takes seconds)
    from flows.compact import compact  # noqa: PLC0415
    from flows.ingest import ingest  # noqa: PLC0415
    from flows.measure import measure  # noqa: PLC0415
    from flows.probe import probe  # noqa: PLC0415
    from flows.score import score  # noqa: PLC0415

    # The embedded responder answers from what was measured: without it a model as judge would have nothing to score.
    quotes = study.responder == "embedded" and set(study.judge_specs) != {"embedded"}
    stages = (ingest, compact, probe, *((measure,) if quotes else ()), answer, score)
    return await _forecast(study, report, [stage.fn for stage in stages])


async def forecast_backfill(study: Study, selection: Selection, report: Report) -> RunPlan:
    """Plan a backfill in the same way."""
    from flows.score import judge_backlog  # noqa: PLC0415 (as above)

    real = Store.open(study.store)

    async def judge(planned: Study) -> None:
        with (
            running(planned) as run,
            backlog_of(real, study, engine_for(study), selection, run.scope.sessions, beside=run.store) as found,
        ):
            await judge_backlog(run, found)

    return await _forecast(study, report, [judge], is_whole_store=True)


async def forecast_pairs(study: Study, jobs: Mapping[str, Sequence[PairJob]], report: Report) -> RunPlan:
    """Plan comparisons in the same way."""

    async def compare(planned: Study) -> None:
        with running(planned) as run:
            await compare_pairs(run, jobs)

    return await _forecast(study, report, [compare], is_whole_store=True)


async def _forecast(
    study: Study, report: Report, stages: Sequence[Callable[[Study], Awaitable[None]]], *, is_whole_store: bool = False
) -> RunPlan:
    real = Store.at(study.store)
    with ExitStack() as stack:
        cache = stack.enter_context(open_cache(real)) if has_cache(real) else None
        recorder = CallRecorder(cache, engine_for(study).counter, batched=calls_under_way(batches_folder(real)))
        planned = stack.enter_context(shadow_store(study))
        engine = with_planned_recovery(engine_calling(planned, lambda: recorder), study.settings(study.responder))
        prober = study.settings(study.prober)
        if prober is not None:
            engine = replace(engine, prober=PlannedProber(engine.prober, EmbeddedProber(), recorder, prober))
        run = stack.enter_context(
            running(
                planned,
                report,
                "plan",
                is_whole_store=is_whole_store,
                executor=PlainCalls(),
                calls=recorder,
                engine=engine,
            )
        )
        start = perf_counter()
        for stage in stages:
            await stage(planned)
        seconds = perf_counter() - start
        sessions = run.scope.sessions
        points = known_points(run.store, planned, sessions)
        without = [info for info in sessions if not points.get(info.session_id)]
        items = {name: tally.done + tally.failed for name, tally in run.log.tallies.items()}
        seconds_a_call = mean_seconds(Store.open(study.store)) if real.is_there else {}
        lines = with_times(list(recorder.lines.values()), seconds_a_call, study)
    return RunPlan(
        items,
        lines,
        [*_notes(study, lines), *filter(None, [explain_missing_points(without, len(sessions), study.points_spec)])],
        seconds,
    )


def _notes(study: Study, lines: Sequence[Line]) -> list[str]:
    notes = []
    if lines:
        notes.append(
            f"answers are assumed to have {ASSUMED_SHARE:.0%} of their token limit; at most is with all of it, and "
            "with a token a byte of what is sent"
        )
    live, batched = (sum(getattr(line, name) or 0.0 for line in lines) for name in ("cost_usd", "batch_usd"))
    if live and all(line.batch_usd is not None for line in lines):
        notes.append(
            f"with --batch about ${batched:,.2f} instead of ${live:,.2f}: no prompt cache counts there, and each "
            "answer takes up to a day"
        )
    if study.prober != "embedded":
        notes.append(
            f"probes that are not written yet are taken to need {CALLS_A_PROBE} calls each, and to be as many as "
            "the embedded prober finds"
        )
    if under_way := sum(line.under_way for line in lines):
        notes.append(f"{under_way:,} calls are under way in batches: a run takes their answers and sends none of them")
    unknown = sorted({line.model for line in lines if line.cost_usd is None})
    if unknown:
        names = ", ".join(unknown)
        notes.append(f"no price is known for {names}: set input_usd and output_usd in [models] of the study")
    return notes
