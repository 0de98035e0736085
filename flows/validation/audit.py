"""Audits a judge without people: signs of methods, hostile instructions, plain gradings.

The measuring is in ``judge`` (``measure_leakage``, ``attacks``, ``clear_cases``); here are the answers of a store for
it, and a gateway, so that every call is paid for once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from compaction.model import Model
from compaction.testing import ScriptedModel
from flows.config.study import IN_FLIGHT, Study
from flows.llm.budget import Budget
from flows.llm.cache.meter import MeterReading
from flows.llm.calling_for import calling_for
from flows.llm.gateway import Gateway
from flows.llm.remote_model import RemoteModel
from flows.llm.settings import ModelSettings
from flows.pipeline.backfill.selection import answers_in
from flows.pipeline.engine import engine_calling, engine_for, no_gateway
from flows.pipeline.plan import ScoreJob
from flows.pipeline.tasks.score import cases_of
from flows.pipeline.tasks.task_context import session
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo, read_parts
from flows.store.call_cache_sync import open_cache
from flows.store.store import Store
from flows.support.clock import now
from flows.support.errors import UsageError
from flows.support.ids import bucket_bits
from flows.support.progress import Note, Report
from judge import Judge, JudgeCase
from judge.audit.attacks import AttackReport, measure_attacks
from judge.audit.clear_cases import Grading, clear_cases, grade_clear_cases
from judge.audit.leakage import Leakage, Sample, form_of, measure_leakage
from judge.blinding import context_text
from judge.llm import ModelJudge, Protocol

SAMPLES = 2_000
"""Judged texts of a measure at most; beyond, sessions are taken in order until there are so many."""


@dataclass(frozen=True)
class LeakageResult:
    """One measure of the leakage."""

    protocol: Protocol
    what: str
    """``request``: all that the judge is sent. ``form``: of the context the words that the session does not have."""
    leakage: Leakage


def measure_blinding(store: Store, study: Study, limit: int | None, report: Report) -> list[LeakageResult]:
    """Measure how well methods can be guessed from a model judge's requests, under each protocol.

    Under ``study`` one answer of every context is taken, under ``closed`` all. Raises UsageError where the store has
    results of fewer than two methods or sessions.
    """
    samples: dict[tuple[Protocol, str], list[Sample]] = {
        ("study", "request"): [],
        ("study", "form"): [],
        ("closed", "request"): [],
    }
    judges: dict[Protocol, ModelJudge] = {
        protocol: ModelJudge(ScriptedModel(), study.load_rubric(), protocol) for protocol in ("study", "closed")
    }
    names = [method.name for method in study.methods()]
    sessions = list(_sessions(store, study, limit))
    with report.stage("read", len(sessions), "sessions") as told:
        for info, jobs in sessions:
            history = context_text(session(store, info).messages)
            contexts: set[str] = set()
            for job, case in _cases(store, study, info, jobs):
                method = names[job.method] if job.method is not None else ""
                sent = judges["closed"].request(case).messages[-1].text
                samples["closed", "request"].append((method, sent, info.session_id))
                if job.compaction_id in contexts:
                    continue
                contexts.add(job.compaction_id)
                sent = judges["study"].request(case).messages[-1].text
                samples["study", "request"].append((method, sent, info.session_id))
                samples["study", "form"].append((method, form_of(context_text(case.context), history), info.session_id))
            told.advance(1)
    seen = []
    with report.stage("guess", len(samples), "measures") as told:
        for (protocol, what), found in samples.items():
            try:
                seen.append(LeakageResult(protocol, what, measure_leakage(found[:SAMPLES])))
            except ValueError as error:
                raise UsageError(f"store {store.name}: {error}") from None
            told.advance(1)
    return seen


def _sessions(store: Store, study: Study, limit: int | None) -> Iterator[tuple[SessionInfo, list[ScoreJob]]]:
    infos = {info.session_id: info for part in read_parts(store) for info in part.sessions}
    jobs = answers_in(store, replace(study, judge_replicates=1))
    for session_id in sorted(jobs)[:limit]:
        yield infos[session_id], jobs[session_id]


def _cases(store: Store, study: Study, info: SessionInfo, jobs: list[ScoreJob]) -> Iterator[tuple[ScoreJob, JudgeCase]]:
    shown_of = store.within(bucket_bits(info.session_id))
    for asked in cases_of(shown_of, study, study.load_rubric(), Slice(((info, tuple(jobs)),))):
        yield asked.job, asked.case


@dataclass(frozen=True)
class Judging:
    """A study's judge, and the ways to ask it and other models."""

    judge: Judge
    run: Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
    """A ``map`` that asks for several cases at a time and tells how far it is."""
    model: Callable[[ModelSettings], Model]
    """Another language model, whose calls go through the same cache and budget; beside a model that judges only."""


@contextmanager
def _open_judge(store: Store, study: Study) -> Iterator[tuple[Judge, Callable[[ModelSettings], Model], Note | None]]:
    """The study's judge, other models, and a note of the calls' cost; they call through the store's call cache."""
    engine = engine_for(study)
    if "judge" not in engine.remote:
        yield engine.judge, lambda settings: RemoteModel(settings, no_gateway), None
        return
    with open_cache(store) as cache:
        budget = Budget(study.budget_usd, study.budget_tokens)
        gateway = Gateway(cache, run_id=f"audit {now()}", concurrency=study.concurrency or IN_FLIGHT, budget=budget)
        with gateway, calling_for("audit", ""):
            judge = engine_calling(study, lambda: gateway).judge
            yield (
                judge,
                lambda settings: RemoteModel(settings, lambda: gateway),
                lambda share: cache.meter.read().since(MeterReading(), share),
            )


@contextmanager
def open_judging(store: Store, study: Study, report: Report, what: str) -> Iterator[Judging]:
    """Open the study's judge, with its call cache and threads."""
    with (
        _open_judge(store, study) as (judge, model, note),
        ThreadPoolExecutor(study.concurrency or IN_FLIGHT) as pool,
    ):

        def run(function: Any, items: Any) -> Any:
            todo = list(items)
            with report.stage("judge", len(todo), what, note) as told:
                for result in pool.map(_counted_as_audit(function), todo):
                    told.advance(1)
                    yield result

        yield Judging(judge, run, model)


def attacks(store: Store, study: Study, report: Report) -> AttackReport:
    """Measure the effect of hostile text on the judge's scores of the clear cases.

    Raises CallsStoppedError at the budget.
    """
    with open_judging(store, study, report, "cases") as opened:
        return measure_attacks(opened.judge, [clear.case for clear in clear_cases()], run=opened.run)


def check_gradings(store: Store, study: Study, report: Report) -> list[Grading]:
    """Have the judge grade answers that are plainly right or wrong."""
    with open_judging(store, study, report, "cases") as opened:
        return grade_clear_cases(opened.judge, run=opened.run)


def _counted_as_audit(function: Any) -> Any:
    """The function, with its calls recorded as the audit's, because the pool's threads do not inherit that."""

    def call(item: Any) -> Any:
        with calling_for("audit", ""):
            return function(item)

    return call


def as_rows(found: list[LeakageResult]) -> list[Mapping[str, Any]]:
    """Plain data, for tables and ``--json``."""
    return [
        {
            "protocol": seen.protocol,
            "seen": seen.what,
            "samples": seen.leakage.n,
            "sessions": seen.leakage.n_groups,
            "methods": len(seen.leakage.recall),
            "accuracy": seen.leakage.accuracy,
            "balanced": seen.leakage.balanced_accuracy,
            "chance": seen.leakage.chance,
            "ceiling": seen.leakage.ceiling,
            "p_value": seen.leakage.p_value,
        }
        for seen in found
    ]
