"""Stages whose calls are made by the providers' batch interfaces, round after round.

In a round every item of a stage is worked on as always, but a call that is not cached is held: it goes into a basket,
and its item is left. Then the basket is answered in batches (``flows.llm.batch.prefill``), and the next round works on
what was left, until nothing is held. So an item that makes one call after another, as a rolling summary does, takes as
many rounds. A call is offered to batches once: what comes back unusable, or not at all, is made live.

A run without batches holds only the calls that are in batches under way, so that nothing is paid twice, and those of a
judge that is asked by file (``flows.llm.batch.question_files``), which are never made live.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from compaction.model import CallsStoppedError, ModelRequest
from flows.llm.batch.basket import Basket
from flows.llm.batch.prefill import BatchOutcome, prefill
from flows.llm.batch.question_files import REPLIES, QuestionFiles
from flows.llm.batch.record import calls_under_way
from flows.llm.budget import Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.prices import Prices
from flows.llm.sending import ModelCall


@dataclass(frozen=True, slots=True)
class Batching:
    """How a run goes about batches."""

    submit: bool = False
    """Whether its calls go into batches; else only those that are in some already are looked for there."""
    wait: bool = True
    """Whether it waits until they have ended."""


class BatchRounds:
    """The calls of a run that are held for batches, stage by stage."""

    def __init__(
        self, folder: Path, run_id: str, budget: Budget, batching: Batching, report: Callable[[str], None]
    ) -> None:
        """``folder``: that of the call cache; ``report`` gets a sentence whenever something happened."""
        self._folder, self._run_id, self._budget = folder / "batches", run_id, budget
        self._questions_folder = folder / "questions"
        self._questions = QuestionFiles(self._questions_folder, run_id, report)
        self._batching, self._report = batching, report
        self._offered: set[str] = set()
        """Keys that were held in earlier rounds: those that are in no batch then are left to live calls."""
        self._under_way = calls_under_way(self._folder)
        self._left: dict[str, int] = {}
        """Stage → its calls that are still in batches."""
        self._open: dict[str, int] = {}
        """Stage → its questions by file that are open."""
        self._refusal = ""
        self._basket: Basket | None = None
        self._lock = threading.Lock()

    @property
    def are_any(self) -> bool:
        """Whether a stage may take several rounds. What has failed is tried again in each, but not paid twice."""
        return self._batching.submit or bool(self._under_way)

    @property
    def stopped(self) -> str:
        """Why calls are left to another run; blank while none are."""
        left = sum(self._left.values())
        if n_open := sum(self._open.values()):
            return f"{n_open:,} questions are open in {self._questions_folder}: put replies into {REPLIES} beside them"
        return self._refusal or (f"{left:,} calls are under way in batches" if left else "")

    def hold(self, call: ModelCall) -> bool:
        """Whether a call is held for the end of the round. Called from any thread."""
        if not isinstance(call.request, ModelRequest):  # a compaction by the provider, or embeddings
            return False
        with self._lock:
            is_new = self._batching.submit and call.key not in self._offered
            if not (is_new or call.settings.is_by_file or call.key in self._under_way):
                return False
            if self._basket is None:
                self._basket = Basket(self._folder)
            self._basket.add(call)
            return True

    async def fill(self, cache: CallCache) -> bool:
        """Have what is held answered, as far as it can be now; whether another round has more to go on with."""
        basket, self._basket = self._basket, None
        if basket is None:
            return False
        self._offered |= basket.keys
        if basket.is_by_file:
            with closing(basket):
                n_open = await asyncio.to_thread(self._questions.ask, basket, basket.stage, cache)
            self._open[basket.stage] = n_open
            return n_open < len(basket)
        stop = threading.Event()
        try:
            outcome = await asyncio.to_thread(partial(self._fill, basket, cache, stop))
        except CallsStoppedError as refusal:
            self._refusal = str(refusal)
            return False
        finally:
            stop.set()  # a wait in the thread ends with the run
        self._left[basket.stage] = outcome.pending
        self._under_way = calls_under_way(self._folder)
        self._report(format_outcome(outcome))
        return outcome.pending < len(basket)

    def _fill(self, basket: Basket, cache: CallCache, stop: threading.Event) -> BatchOutcome:
        with closing(basket):
            return prefill(
                basket,
                cache=cache,
                folder=self._folder,
                prices=Prices(),
                run_id=self._run_id,
                stage=basket.stage,
                budget=self._budget,
                submit=self._batching.submit,
                wait=self._batching.wait,
                stop=stop,
                report=self._report,
            )


def format_outcome(outcome: BatchOutcome) -> str:
    """An outcome in a sentence."""
    parts = [
        f"{outcome.cached:,} calls were cached",
        f"{outcome.answered:,} came back",
        f"{outcome.pending:,} are under way",
        f"{sum(outcome.unusable.values()) + sum(outcome.unserved.values()):,} are left to live calls",
    ]
    reasons = {**outcome.unusable, **outcome.unserved}
    more = "; ".join(f"{number:,} × {reason}" for reason, number in list(reasons.items())[:3])
    return ", ".join(parts) + (f" ({more})" if more else "")
