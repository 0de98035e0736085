"""Verdicts by a provider's batch interface, at half the price: the backfill then finds them in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from flows.execution.run import Run
from flows.llm.batch.prefill import BatchItem, BatchOutcome, BatchPlan, plan_prefill, prefill
from flows.llm.prices import Prices
from flows.pipeline.plan import ScoreJob, shuffle_jobs
from flows.pipeline.tasks.score import cases_of
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo
from flows.store.call_cache_sync import batches_folder
from flows.store.store import Store
from flows.support.errors import UsageError
from flows.support.ids import bucket_bits
from judge.llm import ModelJudge


class VerdictRequests(Iterable[BatchItem]):
    """Requests to a model as judge, each made only when it is iterated, because contexts are long and many."""

    def __init__(self, run: Run, sessions: Sequence[SessionInfo], jobs: Mapping[str, Sequence[ScoreJob]]) -> None:
        """Raises UsageError when the study's judge is no single language model."""
        judge, settings = run.engine.judge, run.study.settings(run.study.judge)
        if run.study.judges:
            raise UsageError(
                "--batch: a panel is put together from its members' verdicts; judge in batches by each of them "
                "(--judge SPEC --batch), then run this again without --batch"
            )
        if not isinstance(judge, ModelJudge) or settings is None:
            raise UsageError("--batch: the embedded judge asks nobody; name a model with --judge")
        self._judge, self._settings, self._run = judge, settings, run
        mixed = shuffle_jobs(jobs, run.study)
        self._jobs = [(info, mixed[info.session_id]) for info in sessions if mixed.get(info.session_id)]

    def __iter__(self) -> Iterator[BatchItem]:
        run = self._run
        for info, jobs in self._jobs:
            store = Store.at(run.root).within(bucket_bits(info.session_id))
            for asked in cases_of(store, run.study, self._judge.rubric, Slice(((info, tuple(jobs)),))):
                yield self._settings, self._judge.request(asked.case), asked.job.answer_id


def judge_in_batches(
    run: Run, sessions: Sequence[SessionInfo], jobs: Mapping[str, Sequence[ScoreJob]], *, wait: bool
) -> BatchOutcome:
    """Submit the requests that are in no batch yet, and store the results that have arrived.

    Raises CallsStoppedError at the budget.
    """
    requests = VerdictRequests(run, sessions, jobs)
    _ = run.calls.threads  # opens the cache
    assert run.calls.cache is not None
    return prefill(
        requests,
        cache=run.calls.cache,
        folder=batches_folder(run.store),
        prices=Prices(),
        run_id=run.run_id,
        stage="score",
        budget=run.calls.budget,
        wait=wait,
        report=run.report.say,
    )


def plan_batches(run: Run, sessions: Sequence[SessionInfo], jobs: Mapping[str, Sequence[ScoreJob]]) -> BatchPlan:
    """Count the requests that ``judge_in_batches`` would submit."""
    _ = run.calls.threads
    assert run.calls.cache is not None
    folder = batches_folder(run.store)
    return plan_prefill(VerdictRequests(run, sessions, jobs), cache=run.calls.cache, folder=folder, prices=Prices())


def planned(found: BatchPlan) -> str:
    """A plan in a sentence."""
    cost = "a cost that is not known" if found.cost_usd is None else f"at most ${found.cost_usd:,.2f}"
    return (
        f"verdicts: {found.cached:,} cached, {found.pending:,} under way in batches, {found.live:,} left to live "
        f"calls, {found.to_send:,} to be sent in batches: {found.input_tokens:,} tokens to send and "
        f"{found.output_tokens:,} to receive at most, {cost}"
    )
