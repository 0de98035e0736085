"""Calls that are held for batches, round after round."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from compaction import Message, NativeRequest
from compaction.model import ModelRequest
from flows.execution.batch_rounds import Batching, BatchRounds
from flows.llm.batch import prefill
from flows.llm.batch.basket import Basket
from flows.llm.batch.prefill import Polling
from flows.llm.budget import Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.sending import ModelCall
from flows.llm.settings import ModelSettings
from tests.flows.llm.batch.filling import KEY, settings_of
from tests.flows.llm.batch_server import BatchProvider


def call(settings: ModelSettings, name: str, **more: object) -> ModelCall:
    request = ModelRequest((Message("user", name),), 50, **more)  # type: ignore[arg-type]
    return ModelCall(settings, request, call_key(settings, request), "run", "answer", name)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(prefill, "POLLING", Polling(first=0.01, longest=0.02, lost_after=0.05))


def test_a_call_is_offered_to_a_batch_once_and_then_left_to_a_live_one(tmp_path: Path) -> None:
    said: list[str] = []
    with BatchProvider(fate=lambda key, body: "refusal") as provider, CallCache(tmp_path) as cache:
        settings = settings_of(provider, "chat")
        rounds = BatchRounds(tmp_path, "run", Budget(), Batching(submit=True), said.append)
        asked = [call(settings, "a"), call(settings, "a"), call(settings, "b")]
        assert all(map(rounds.hold, asked))
        assert asyncio.run(rounds.fill(cache))
        assert provider.sizes == [2]
        assert not any(map(rounds.hold, asked))
        assert not asyncio.run(rounds.fill(cache))
        assert "2 are left to live calls (2 × refused)" in said[-1]
        assert not rounds.stopped


def test_without_room_in_the_budget_nothing_is_submitted_and_the_run_says_why(tmp_path: Path) -> None:
    with BatchProvider() as provider, CallCache(tmp_path) as cache:
        budget = Budget(usd=0.000001)
        rounds = BatchRounds(tmp_path, "run", budget, Batching(submit=True), lambda text: None)
        assert rounds.hold(call(settings_of(provider, "chat"), "a"))
        assert not asyncio.run(rounds.fill(cache))
        assert "nothing was submitted" in rounds.stopped
        assert not provider.requests


def test_a_live_run_holds_what_is_under_way_and_nothing_else(tmp_path: Path) -> None:
    with BatchProvider(polls=0) as provider, CallCache(tmp_path) as cache:
        settings = settings_of(provider, "chat")
        sent, other = call(settings, "a"), call(settings, "b")
        first = BatchRounds(tmp_path, "run", Budget(), Batching(submit=True, wait=False), lambda text: None)
        assert first.hold(sent)
        assert not asyncio.run(first.fill(cache))
        assert first.stopped == "1 calls are under way in batches"
        live = BatchRounds(tmp_path, "later", Budget(), Batching(), lambda text: None)
        assert (live.hold(sent), live.hold(other)) == (True, False)
        native = NativeRequest("openai", "/v1/responses/compact", {})
        assert not live.hold(ModelCall(settings, native, sent.key))
        assert asyncio.run(live.fill(cache))
        assert cache.get(sent.key)
        assert len(provider.batches) == 1


def test_a_basket_gives_each_call_back_whole_as_often_as_it_is_asked(tmp_path: Path) -> None:
    settings = ModelSettings("openai:m", "http://localhost:1/v1")
    seen: list[str] = []
    basket = Basket(tmp_path)
    asked = [call(settings, name, check=seen.append, schema={"type": "object"}) for name in "aba"]
    for one in asked:
        basket.add(one)
    assert len(basket) == 2
    for _ in range(2):
        found = list(basket)
        assert [(given, request, item) for given, request, item in found] == [
            (one.settings, one.request, one.item_id) for one in asked[:2]
        ]
        assert [request.check for _, request, _ in found] == [seen.append] * 2
    assert list(tmp_path.iterdir()) == []
    basket.close()
