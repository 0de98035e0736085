"""A provider's batch interface fills the call cache; what cannot be used is called for anew."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from flows.llm.batch.clients import batch_client
from flows.llm.batch.prefill import BatchOutcome
from flows.llm.budget import Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.clients.factory import make_transport
from flows.llm.prices import Prices
from flows.llm.settings import ModelSettings
from tests.flows.llm.batch.filling import (
    assert_paid_once,
    calls,
    fill,
    journal,
    keys,
    limited,
    refuse_seven,
    settings_of,
    sorted_by_item,
)
from tests.flows.llm.batch_server import BatchProvider

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}


class TestFilling:
    def test_every_answer_of_a_batch_is_in_the_cache_and_in_the_journal_at_half_the_price(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings
    ) -> None:
        items = calls(settings, range(5))
        outcome = fill(items, cache)
        assert (outcome.answered, outcome.batches, outcome.sent, outcome.pending) == (5, 1, 5, 0)
        assert_paid_once(provider, cache, items)
        for (_, _, item_id), key, entry in zip(items, keys(items), sorted_by_item(journal(cache)), strict=True):
            stored = cache.get(key)
            assert stored is not None
            assert stored.text.startswith("ANSWER ")
            full = Prices().cost(settings, stored.use)
            assert full is not None
            assert entry.cost_usd == stored.cost_usd == pytest.approx(full / 2)
            assert (entry.item_id, entry.status, entry.run_id, entry.stage) == (item_id, "done", "run", "judge")
        assert outcome.cost_usd == pytest.approx(sum(entry.cost_usd or 0 for entry in journal(cache)))
        assert fill(items, cache) == BatchOutcome(5, 0, {}, {}, 0, 0, 0, 0, 0, 0.0)
        assert len(provider.batches) == 1

    def test_each_request_gets_its_own_answer_although_results_come_in_another_order(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings
    ) -> None:
        provider.handler = lambda body: "said: " + (body.get("messages") or body["input"])[-1]["content"]
        items = calls(settings, range(7))
        fill(items, cache)
        found = [stored.text for key in keys(items) if (stored := cache.get(key))]
        assert found == [f"said: Answer {n}?" for n in range(7)]

    @pytest.mark.parametrize("more", [{}, {"schema": SCHEMA}], ids=["text", "json"])
    def test_the_body_of_a_request_is_the_one_that_a_live_call_sends(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings, more: dict[str, Any]
    ) -> None:
        items = calls(settings, [1], **more)
        fill(items, cache)
        provider.requests.clear()

        async def live() -> str:
            transport = make_transport(settings)
            try:
                return (await transport.send(settings, items[0][1])).text
            finally:
                await transport.close()

        text = asyncio.run(live())
        assert provider.bodies[keys(items)[0]] == provider.requests[-1].body
        stored = cache.get(keys(items)[0])
        assert stored is not None
        assert stored.text == text

    def test_nothing_but_the_calls_key_and_a_random_marker_goes_along(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings
    ) -> None:
        items = [(given, asked, f"factory_anchored {name}") for given, asked, name in calls(settings, range(3))]
        fill(items, cache)
        sent = b"".join(request.raw for request in provider.requests)
        for ours in (b"factory", b"item-", b"judge-run", b'"run"'):
            assert ours not in sent
        assert set(provider.bodies) == set(keys(items))
        for made in provider.made:
            assert set(made) <= {"endpoint", "completion_window", "metadata"}
            assert all(re.fullmatch("[0-9a-f]{32}", value) for value in made.get("metadata", {}).values())

    def test_equal_calls_are_sent_once_and_replicates_each(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        items = [*calls(chat, [1, 1]), *calls(chat, [1], replicate=1)]
        assert fill(items, cache).sent == 2
        assert set(provider.paid.values()) == {1}

    def test_what_does_not_fit_into_one_batch_goes_into_several(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings
    ) -> None:
        items = calls(settings, range(5))
        outcome = fill(items, cache, clients=limited(most_requests=2))
        assert provider.sizes == [2, 2, 1]
        assert (outcome.answered, outcome.batches) == (5, 3)
        assert_paid_once(provider, cache, items)

    def test_a_batch_is_no_longer_than_the_provider_takes(self, provider: BatchProvider, cache: CallCache) -> None:
        settings = settings_of(provider, "chat")
        items = calls(settings, range(6))
        client = batch_client(settings)
        size = max(len(client.line(settings, asked, "0" * 64)) for _, asked, _ in items)
        fill(items, cache, clients=limited(most_bytes=3 * size))
        assert provider.sizes == [3, 3]
        assert_paid_once(provider, cache, items)

    def test_a_request_longer_than_a_batch_is_left(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        outcome = fill(calls(chat, [1]), cache, clients=limited(most_bytes=100), budget=Budget(usd=5.0))
        assert outcome.unserved == {"longer than a batch may be": 1}
        assert not provider.batches

    def test_models_go_into_batches_of_their_own(self, provider: BatchProvider, cache: CallCache) -> None:
        one, other = settings_of(provider, "chat"), replace(settings_of(provider, "chat"), spec="openai:gpt-other")
        items = [*calls(one, range(3)), *calls(other, range(3)), *calls(settings_of(provider, "messages"), range(2))]
        assert fill(items, cache).answered == 8
        assert sorted(provider.sizes) == [2, 3, 3]
        assert_paid_once(provider, cache, items)

    def test_characters_that_some_readers_take_for_the_end_of_a_line_do_no_harm(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings
    ) -> None:
        text = "one\u2028two\u0085three\x0bfour\nfive"
        provider.handler = lambda body: text
        items = calls(settings, [1])
        fill(items, cache)
        stored = cache.get(keys(items)[0])
        assert stored is not None
        assert stored.text == text


class TestUnusable:
    def test_answers_that_a_live_call_would_not_keep_are_not_kept_but_paid_for(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings
    ) -> None:
        items = calls(settings, range(7), check=refuse_seven)
        fates = dict(
            zip(keys(items), ["truncated", "refusal", "wrong_model", "empty", "rejected", "broken"], strict=False)
        )
        provider.fate = lambda key, body: fates.get(key, "good")  # type: ignore[return-value]
        provider.handler = lambda body: "seven"
        outcome = fill(items, cache)
        kinds = {"truncated": 1, "refused": 1, "wrong_model": 1, "blank": 1, "rejected": 1, "server": 1, "malformed": 1}
        assert outcome.unusable == kinds
        assert outcome.answered == 0
        assert not cache.get_many(keys(items))
        entries = journal(cache)
        assert Counter(entry.status for entry in entries) == kinds
        assert all(entry.error for entry in entries)
        assert all((entry.cost_usd == 0.0) == (entry.status in ("rejected", "server")) for entry in entries)

    def test_what_came_back_unusable_is_never_submitted_again(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings
    ) -> None:
        provider.fate = lambda key, body: "refusal"
        items = calls(settings, range(3))
        fill(items, cache)
        again = fill(items, cache)
        assert again.unusable == {"refused": 3}
        assert again.sent == 0
        assert len(provider.batches) == 1

    def test_an_answer_that_passes_its_check_is_kept(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        provider.handler = lambda body: "eight"
        assert fill(calls(chat, range(3), check=refuse_seven), cache).answered == 3

    def test_of_an_expired_batch_what_was_answered_is_used_and_the_rest_is_left(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings
    ) -> None:
        items = calls(settings, range(5))
        expired = set(keys(items)[2:])
        provider.ends_as = "expired"
        provider.fate = lambda key, body: "expired" if key in expired else "good"
        outcome = fill(items, cache)
        assert outcome.answered == 2
        assert sum(outcome.unserved.values()) == 3
        assert outcome.sent == 5
        provider.ends_as = "completed"
        provider.fate = lambda key, body: "good"
        assert fill(items, cache).answered == 3
        assert_paid_once(provider, cache, items)

    @pytest.mark.parametrize("end", ["failed", "cancelled"])
    def test_a_batch_that_the_provider_does_not_take_is_left_with_its_reason(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings, end: Any
    ) -> None:
        provider.ends_as = end
        provider.fate = lambda key, body: "missing"
        provider.cut = 0
        items = calls(chat, range(3))
        if end == "cancelled":
            provider.fate = lambda key, body: "expired"
        budget = Budget(usd=1.0)
        outcome = fill(items, cache, budget=budget)
        assert sum(outcome.unserved.values()) == 3
        assert budget.spent_usd == 0
        if end == "failed":
            assert list(outcome.unserved) == ["batch failed: Enqueued token limit reached"]

    def test_a_request_without_a_result_is_left(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        items = calls(chat, range(3))
        provider.fate = lambda key, body: "missing" if key == keys(items)[1] else "good"
        outcome = fill(items, cache)
        assert (outcome.answered, outcome.unserved) == (2, {"the batch gave no result for it": 1})

    def test_results_that_break_off_are_fetched_again(
        self, provider: BatchProvider, cache: CallCache, settings: ModelSettings
    ) -> None:
        provider.cut = 2
        items = calls(settings, range(6))
        assert fill(items, cache).answered == 6
        assert provider.cut == 0
        assert_paid_once(provider, cache, items)
