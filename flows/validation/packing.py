"""Packs of a judge held against separate calls: answers of a store, asked both ways, with what each way costs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from compaction.model import Completion, Model, ModelRequest
from flows.config.study import Study
from flows.pipeline.backfill.selection import answers_in
from flows.pipeline.engine import judge_id_of
from flows.pipeline.plan import ScoreJob
from flows.pipeline.tasks.packs import form_packs, in_packing_order, paid_packs
from flows.pipeline.tasks.score import cases_of
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo, read_parts
from flows.store.store import Store
from flows.support.errors import UsageError
from flows.support.ids import bucket_bits
from flows.support.progress import Report
from flows.validation.audit import open_judging
from flows.validation.validity import note_rows
from judge import JudgeCase
from judge.audit.packing import PackAgreement, measure_packing
from judge.audit.validity import effect_row
from judge.llm import ModelJudge, PackedJudge

Packs = list[tuple[str, list[JudgeCase]]]
"""Session and cases of each pack."""


@dataclass(frozen=True)
class AskedBothWays:
    """What packs and separate calls for the same answers came to."""

    agreement: PackAgreement
    packed: Mapping[str, Any]
    """Calls, tokens and US dollars (None where a price is not known), as they were when the calls were made."""
    alone: Mapping[str, Any]
    judge: PackedJudge

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for ``--json``."""
        return {**asdict(self.agreement), "packed": dict(self.packed), "alone": dict(self.alone)}


class CountedModel:
    """A model, with what its answers have cost; those that the call cache had with what they cost once."""

    def __init__(self, model: Model) -> None:
        self.name, self.identity = model.name, model.identity
        self.sums: dict[str, Any] = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
        self._model = model
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> Completion:
        """The model's answer."""
        done = self._model.complete(request)
        with self._lock:
            self.sums["calls"] += 1
            self.sums["input_tokens"] += done.input_tokens
            self.sums["output_tokens"] += done.output_tokens
            so_far = self.sums["cost_usd"]
            self.sums["cost_usd"] = None if so_far is None or done.cost_usd is None else so_far + done.cost_usd
        return done


def compare_packing(store: Store, study: Study, sample: int, report: Report) -> AskedBothWays:
    """Have the study's judge score the same answers in packs and each alone.

    Args:
        store: Must have answers.
        study: Names the judge, a single language model.
        sample: Answers, of whole contexts by lot, spread over the sessions.
        report: Is told of the calls.

    Raises:
        UsageError: the judge is no single model, or no context has two answers.
        CallsStoppedError: at the budget.
    """
    settings = study.settings(study.judge)
    if study.judges or settings is None:
        raise UsageError("audit pack: only a single model makes calls that can be packed; name one with --judge")
    with open_judging(store, study, report, "calls") as opened:
        models = CountedModel(opened.model(settings)), CountedModel(opened.model(settings))
        rubric, protocol = study.load_rubric(), study.judge_protocol
        packed, alone = PackedJudge(models[0], rubric, protocol), ModelJudge(models[1], rubric, protocol)
        packs = _packs(store, study, packed, sample)
        if not packs:
            raise UsageError(f"store {store.name} has no context from which two questions were answered")
        agreement = measure_packing(packed, alone, packs, opened.run)
    return AskedBothWays(agreement, models[0].sums, models[1].sums, packed)


def note_packing(store: Store, found: AskedBothWays) -> None:
    """Store the effect as a row ``bias_pack`` of the packed judge; the store is locked."""
    agreement = found.agreement
    about = "pack: the answer beside others in one call, beside the same answer alone"
    row = effect_row("bias_pack", about, agreement.n, agreement.n_unscored, agreement.mean_packed, agreement.difference)
    note_rows(store, judge_id_of(found.judge), found.judge.version.judge, [row])


def _packs(store: Store, study: Study, judge: PackedJudge, sample: int) -> Packs:
    """Whole contexts by lot, one of each session first, until there are so many answers."""
    infos = {info.session_id: info for part in read_parts(store) for info in part.sessions}
    drawn: Packs = []
    paid = paid_packs(store)
    for info, jobs in _by_lot(answers_in(store, replace(study, judge_replicates=1)), infos):
        if sum(len(cases) for _, cases in drawn) >= sample:
            break
        asked = cases_of(
            store.within(bucket_bits(info.session_id)), study, judge.rubric, in_packing_order(Slice(((info, jobs),)))
        )
        found = form_packs(judge, asked, paid)
        drawn += [(info.session_id, [one.case for one in pack]) for pack in found if len(pack) > 1]
    return drawn


def _by_lot(
    jobs: Mapping[str, list[ScoreJob]], infos: Mapping[str, SessionInfo]
) -> Iterator[tuple[SessionInfo, tuple[ScoreJob, ...]]]:
    """The jobs of each context, in the order of the contexts' ids, a context of each session in turn."""
    contexts = []
    for session_id, of_session in jobs.items():
        ordered = sorted(of_session, key=lambda job: job.compaction_id)
        for turn, (id, found) in enumerate(groupby(ordered, key=lambda job: job.compaction_id)):
            contexts.append((turn, id, infos[session_id], tuple(found)))
    for _, _, info, found_jobs in sorted(contexts, key=lambda one: one[:2]):
        yield info, found_jobs
