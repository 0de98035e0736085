"""A budget over batches."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from compaction.model import CallsStoppedError
from flows.llm.batch.record import BatchStore
from flows.llm.batch.submit import batch_bound
from flows.llm.budget import Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.prices import Prices
from flows.llm.settings import ModelSettings
from flows.support.errors import UsageError
from tests.flows.llm.batch.filling import calls, fill, journal, limited
from tests.flows.llm.batch_server import BatchProvider


class TestBudget:
    def test_a_budget_that_is_too_small_submits_nothing_and_says_so(
        self, provider: BatchProvider, cache: CallCache, either: ModelSettings
    ) -> None:
        items = calls(either, range(5))
        bound = sum(batch_bound(given, asked, Prices()).usd or 0 for given, asked, _ in items)
        budget = Budget(usd=bound * 0.99)
        with pytest.raises(
            CallsStoppedError, match=r"can cost up to .* has room for the first 4 requests only; nothing was"
        ):
            fill(items, cache, budget=budget)
        assert not provider.requests
        assert budget.spent_usd == 0
        assert not budget.stopped

    def test_what_a_batch_cost_takes_the_place_of_what_was_reserved(
        self, provider: BatchProvider, cache: CallCache, either: ModelSettings
    ) -> None:
        items = calls(either, range(5))
        bound = sum(batch_bound(given, asked, Prices()).usd or 0 for given, asked, _ in items)
        budget = Budget(usd=bound * 1.01, tokens=10**6)
        outcome = fill(items, cache, budget=budget, clients=limited(most_requests=2))
        assert outcome.cost_usd is not None
        assert 0 < budget.spent_usd == pytest.approx(outcome.cost_usd)
        assert outcome.cost_usd < bound
        assert budget.spent_tokens == outcome.input_tokens + outcome.output_tokens

    def test_a_batch_that_is_left_under_way_is_charged_with_the_most_that_it_can_cost(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        items = calls(chat, range(5))
        bound = sum(batch_bound(given, asked, Prices()).usd or 0 for given, asked, _ in items)
        budget = Budget(usd=1.0)
        fill(items, cache, budget=budget, wait=False)
        assert budget.spent_usd == pytest.approx(bound)
        later = Budget(usd=1.0)
        fill(items, cache, budget=later)
        assert later.spent_usd == 0

    def test_an_unknown_price_cannot_be_kept_to_a_budget_in_dollars(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        items = calls(replace(chat, input_usd=None, output_usd=None), range(2))
        with pytest.raises(UsageError, match="its price is unknown"):
            fill(items, cache, budget=Budget(usd=1.0))
        outcome = fill(items, cache)
        assert (outcome.answered, outcome.cost_usd) == (2, None)
        assert {entry.cost_usd for entry in journal(cache)} == {None}

    def test_a_key_that_is_missing_is_said_before_anything_is_done(
        self, cache: CallCache, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        either = ModelSettings("openai:gpt-judge", "https://api.openai.com/v1")
        with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
            fill(calls(either, [1]), cache)
        with closing(BatchStore(cache.path.parent / "batches")) as store:
            assert not store.batches("intent", "submitted", "ended")
