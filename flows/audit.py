"""What can be found out about a judge without people: what gives methods away to it, what it obeys, what it gets right.

The measuring is in ``judge`` (``leakage``, ``attacks``, ``clear_cases``); here are the answers of a store for it, and a
gateway, so that every call is paid for once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from compaction.testing import ScriptedModel
from flows.buckets import Slice
from flows.engine import calls_through, engine_for
from flows.ids import bits_of
from flows.models.budget import Budget
from flows.models.gateway import Gateway, calling_for
from flows.models.meter import Reading
from flows.plan import ScoreJob
from flows.problems import UsageProblem
from flows.progress import Note, Report
from flows.runtime import now
from flows.selection import answers_in
from flows.shipping import open_cache
from flows.store import Store
from flows.study import IN_FLIGHT, Study
from flows.transcripts import SessionInfo, read_parts
from flows.work.process import session
from flows.work.score import cases_of
from judge import Judge, JudgeCase
from judge.attacks import AttackReport, measure
from judge.blinding import shown
from judge.clear_cases import Grading, clear_cases, grade
from judge.leakage import Leakage, Sample, form_of, leakage
from judge.llm import ModelJudge, Protocol

SAMPLES = 2_000
"""Judged texts of a measure at most; beyond, sessions are taken in order until there are so many."""


@dataclass(frozen=True)
class Seen:
    """One measure of the leakage."""

    protocol: Protocol
    what: str
    """``request``: all that the judge is sent. ``form``: of the context the words that the session does not have."""
    leakage: Leakage


def blinding(store: Store, study: Study, limit: int | None, report: Report) -> list[Seen]:
    """How well methods can be guessed from what a model as judge would be sent, under each protocol.

    Under ``study`` one answer of every context is taken, under ``closed`` all. Raises UsageProblem where the store has
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
            history = shown(session(store, info).messages)
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
                samples["study", "form"].append((method, form_of(shown(case.context), history), info.session_id))
            told.advance(1)
    seen = []
    with report.stage("guess", len(samples), "measures") as told:
        for (protocol, what), found in samples.items():
            try:
                seen.append(Seen(protocol, what, leakage(found[:SAMPLES])))
            except ValueError as error:
                raise UsageProblem(f"store {store.name}: {error}") from None
            told.advance(1)
    return seen


def _sessions(store: Store, study: Study, limit: int | None) -> Iterator[tuple[SessionInfo, list[ScoreJob]]]:
    infos = {info.session_id: info for part in read_parts(store) for info in part.sessions}
    jobs = answers_in(store, replace(study, judge_replicates=1))
    for session_id in sorted(jobs)[:limit]:
        yield infos[session_id], jobs[session_id]


def _cases(store: Store, study: Study, info: SessionInfo, jobs: list[ScoreJob]) -> Iterator[tuple[ScoreJob, JudgeCase]]:
    shown_of = store.within(bits_of(info.session_id))
    for asked in cases_of(shown_of, study, study.load_rubric(), Slice(((info, tuple(jobs)),))):
        yield asked.job, asked.case


@contextmanager
def judging(store: Store, study: Study) -> Iterator[tuple[Judge, Note | None]]:
    """The study's judge, with a gateway around the store's cache where it is a language model; what its calls cost."""
    engine = engine_for(study)
    if "judge" not in engine.remote:
        yield engine.judge, None
        return
    with open_cache(store) as cache:
        budget = Budget(study.budget_usd, study.budget_tokens)
        gateway = Gateway(cache, run_id=f"audit {now()}", concurrency=study.concurrency or IN_FLIGHT, budget=budget)
        with calls_through(gateway), calling_for("audit", ""):
            yield engine.judge, lambda: cache.meter.read().since(Reading())


def attacks(store: Store, study: Study, report: Report) -> AttackReport:
    """How far hostile text moves the judge's scores of the clear cases. Raises CallsStoppedError at the budget."""
    cases = [clear.case for clear in clear_cases()]
    with judging(store, study) as (judge, note), ThreadPoolExecutor(study.concurrency or IN_FLIGHT) as pool:

        def run(function: Any, items: Any) -> Any:
            todo = list(items)
            with report.stage("judge", len(todo), "cases", note) as told:
                for result in pool.map(_audited(function), todo):
                    told.advance(1)
                    yield result

        return measure(judge, cases, run=run)


def gradings(store: Store, study: Study, report: Report) -> list[Grading]:
    """What the judge makes of answers that are plainly right or wrong."""
    found: list[Grading] = []
    cases = clear_cases()
    with judging(store, study) as (judge, note), report.stage("judge", len(cases), "cases", note) as told:
        for case in cases:
            found += grade(judge, [case])
            told.advance(1)
    return found


def _audited(function: Any) -> Any:
    """The function, its calls noted as the audit's: a thread of a pool does not know what it works for."""

    def call(item: Any) -> Any:
        with calling_for("audit", ""):
            return function(item)

    return call


def as_rows(found: list[Seen]) -> list[Mapping[str, Any]]:
    """Plain data, for tables and ``--json``."""
    return [
        {
            "protocol": seen.protocol, "seen": seen.what, "samples": seen.leakage.n, "sessions": seen.leakage.n_groups,
            "methods": len(seen.leakage.recall), "accuracy": seen.leakage.accuracy,
            "balanced": seen.leakage.balanced_accuracy, "chance": seen.leakage.chance, "ceiling": seen.leakage.ceiling,
            "p_value": seen.leakage.p_value,
        }
        for seen in found
    ]  # fmt: skip
