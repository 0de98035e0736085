"""A dry run: the work of a run, in a temporary store that is thrown away.

The stages run over a temporary store that links to the files of the real one, with models that look into the real call
cache and otherwise note what would be sent, answering with a filler of the length that is assumed. So the number of
calls is that of the code itself: an anchored summary's several calls, a chain's, a judge's. What cannot be known
beforehand is how long the answers will be, and which probes a model makes; both are assumptions that the plan states.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from compaction import CompactionPoint, Completion, ModelError, ModelRequest, NativeRequest, TokenCounter, Transcript
from compaction.testing import ScriptedProvider
from flows.config.runner_spec import LOCAL
from flows.config.study import IN_FLIGHT, Study
from flows.execution.pair_comparisons import compare_pairs
from flows.execution.run import running
from flows.execution.stage_executor import PlainCalls
from flows.llm.batch.record import calls_under_way
from flows.llm.budget import most_tokens
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.calling_for import called_for
from flows.llm.clients.requests import sent_turns
from flows.llm.clients.transport import TokenUse
from flows.llm.prices import Prices
from flows.llm.prompt_cache import beginnings_of
from flows.llm.settings import ModelSettings
from flows.pipeline.backfill.backlog import backlog_of
from flows.pipeline.backfill.selection import Selection
from flows.pipeline.engine import engine_calling, engine_for
from flows.pipeline.missing_points import explain_missing_points
from flows.pipeline.plan import known_points
from flows.pipeline.planned_recovery import PLANNED, with_planned_recovery
from flows.pipeline.tasks.compare import PairJob
from flows.store.call_cache_sync import batches_folder, has_cache, open_cache
from flows.store.call_journal import mean_seconds
from flows.store.store import MARKER, Store
from flows.support.progress import Report
from judge import NotAsked, Probe, ProbeFailed, Prober
from judge.embedded import EmbeddedProber

ASSUMED_SHARE = 0.5
"""Share of its token limit that an answer is assumed to have."""
CALLS_A_PROBE = 2
"""Calls that a model which writes a probe is assumed to need: one that writes and one that guesses."""
CACHED_FROM = 1024
"""Tokens from which providers keep the beginning of a request; some of Anthropic's models from 2,048 or 4,096 on."""
COUNTED = 50
"""Prompts of a stage that are counted exactly; the others by their length and what these had a character."""
LINKED = tuple(
    """transcripts points compactions probes answers next_actions scores methods judges quarantine anchors
    anchor_scores comparisons needs measures""".split()
)


@dataclass
class Line:
    """The calls of one stage to one model."""

    stage: str
    model: str
    calls: int = 0
    cached: int = 0
    """Of the calls, those that the cache would answer."""
    under_way: int = 0
    """Of the calls, those that are in batches: their price is owed already, and in none of the sums below."""
    input_tokens: int = 0
    """That would be sent, by the study's tokenizer."""
    cached_input_tokens: int = 0
    """Of them, those that the provider's own prompt cache should have."""
    cache_write_tokens: int = 0
    """Of them, those that the provider should write into it."""
    output_tokens: int = 0
    """Assumed to come back."""
    cost_usd: float | None = 0.0
    """With the assumed answers; None where the price is not known."""
    batch_usd: float | None = 0.0
    """The same with ``--batch``: at the providers' price for batches, and nothing from their prompt caches."""
    most_usd: float | None = 0.0
    """With the longest answers that the limits allow, and the most tokens that any tokenizer makes of the texts."""
    seconds: float | None = None
    """Wall time by the mean of what the model took so far, at the study's concurrency; None where nothing is known."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with ``to_pay`` beside it."""
        return {**asdict(self), "to_pay": self.to_pay}

    @property
    def to_pay(self) -> int:
        """Calls that would be sent."""
        return self.calls - self.cached - self.under_way


class CallRecorder:
    """Takes the place of the gateway: answers from the cache, and notes everything else."""

    def __init__(
        self,
        cache: CallCache | None,
        counter: TokenCounter,
        prices: Prices | None = None,
        batched: Collection[str] = (),
    ) -> None:
        """``batched``: keys of calls that are in batches under way."""
        self.lines: dict[tuple[str, str], Line] = {}
        self._cache, self._counter, self._prices, self._batched = cache, counter, prices or Prices(), batched
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._begun: set[str] = set()
        """Beginnings of requests that would be in the provider's prompt cache."""
        self._counted: dict[str, list[int]] = {}
        """Stage → prompts counted, their characters, their tokens."""

    def complete(self, settings: ModelSettings, request: ModelRequest) -> Completion:
        """The cached answer, or a filler."""
        key = call_key(settings, request)
        found = self._cache.get(key) if self._cache else None
        if found is not None:
            self._note(settings, key, request, cached=True)
            return Completion(found.text, found.model, cached=True)
        self._note(settings, key, request, cached=False)
        filler = f"{key} {PLANNED * max(round(request.max_tokens * ASSUMED_SHARE), 1)}"  # no two alike, as answers are
        if request.check is not None:
            raise ModelError("planned, not asked", "unavailable")
        return Completion(filler, settings.model)

    def native(
        self, settings: ModelSettings, request: NativeRequest, replicate: int = 0
    ) -> tuple[Mapping[str, Any], Completion]:
        """The cached response, or one of the provider's shape."""
        key = call_key(settings, request, replicate)
        found = self._cache.get(key) if self._cache else None
        self._note(settings, key, request, cached=found is not None)
        if found is not None:
            return found.body, Completion(found.text, found.model, cached=True)
        return ScriptedProvider().compact(request)

    def assume(self, settings: ModelSettings, calls: int) -> None:
        """Note calls that the one just refused would have been followed by, each like it."""
        with self._lock:
            line = self._line(settings)
            share = calls / max(line.to_pay, 1)
            line.calls += calls
            for name in ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens"):
                setattr(line, name, getattr(line, name) + round(getattr(line, name) * share))
            for name in ("cost_usd", "batch_usd", "most_usd"):
                so_far = getattr(line, name)
                setattr(line, name, None if so_far is None else so_far * (1 + share))

    def close(self) -> None:
        """Close nothing, as nothing is open."""

    def _line(self, settings: ModelSettings) -> Line:
        stage, _ = called_for()
        return self.lines.setdefault((stage, settings.spec), Line(stage, settings.spec))

    def _note(self, settings: ModelSettings, key: str, request: ModelRequest | NativeRequest, *, cached: bool) -> None:
        with self._lock:
            line = self._line(settings)
            line.calls += 1
            if cached or key in self._seen:  # identical calls are made once
                line.cached += 1
                return
            self._seen.add(key)
            if key in self._batched:
                line.under_way += 1
                return
            most = most_tokens(settings, request)
            sent, characters = self._tokens(line.stage, settings, request)
            read, written = self._prompt_cache(settings, request, sent / max(characters, 1))
            use = TokenUse(sent, round(most.output_tokens * ASSUMED_SHARE), read, written)
            line.input_tokens += use.input_tokens
            line.cached_input_tokens += read
            line.cache_write_tokens += written
            line.output_tokens += use.output_tokens
            for name, cost in (
                ("cost_usd", self._prices.cost(settings, use)),
                ("batch_usd", self._batch_usd(settings, request, use)),
                ("most_usd", self._prices.bound(settings, most.input_tokens, most.output_tokens)),
            ):
                so_far = getattr(line, name)
                setattr(line, name, None if so_far is None or cost is None else so_far + cost)

    def _batch_usd(self, settings: ModelSettings, request: ModelRequest | NativeRequest, use: TokenUse) -> float | None:
        """The call in a batch, where no beginning is counted on; native calls go into none."""
        if not isinstance(request, ModelRequest):
            return self._prices.cost(settings, use)
        return self._prices.cost(settings, TokenUse(use.input_tokens, use.output_tokens), batch=True)

    def _prompt_cache(
        self, settings: ModelSettings, request: ModelRequest | NativeRequest, tokens_a_character: float
    ) -> tuple[int, int]:
        """Tokens that the provider would read from its prompt cache, and write into it; none for a server of one's own.

        OpenAI keeps requests with another key on other machines, so only the longest beginning is counted on there.
        """
        if not settings.is_official:
            return 0, 0
        shared = beginnings_of(settings, request)[-1 if settings.provider == "openai" else 0 :]
        sizes = [(one.name, round(one.characters * tokens_a_character)) for one in shared]
        kept = [(name, size) for name, size in sizes if size >= CACHED_FROM]
        read = max((size for name, size in kept if name in self._begun), default=0)
        self._begun.update(name for name, _ in kept)
        return read, max((size for _, size in kept), default=0) - read

    def _tokens(self, stage: str, settings: ModelSettings, request: ModelRequest | NativeRequest) -> tuple[int, int]:
        """Tokens and characters of a request."""
        if isinstance(request, NativeRequest):
            text = str(request.body)
        else:
            said = sent_turns(settings, request.messages)
            calls = [(call.name, call.arguments, result.text) for one in said for call, result in one.calls]
            text = "\n".join([*(one.text for one in said), *(part for call in calls for part in call)])
        number, characters, tokens = self._counted.setdefault(stage, [0, 0, 0])
        if number < COUNTED:
            found = self._counter.count(text)
            self._counted[stage] = [number + 1, characters + len(text), tokens + found]
            return found, len(text)
        return round(len(text) * tokens / max(characters, 1)), len(text)


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
