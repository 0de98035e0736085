"""Fills a call cache by batches, and says what was paid for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from compaction import Message
from compaction.model import ModelRequest, ReplyError
from flows.llm.batch.clients import batch_client
from flows.llm.batch.prefill import BatchItem, BatchOutcome, Polling, prefill
from flows.llm.batch.protocol import BatchClient
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.cache.records import JournalEntry
from flows.llm.prices import Prices
from flows.llm.settings import ModelSettings
from tests.flows.llm.batch_server import BatchProvider

KEY = "sk-a-secret-of-the-test"
FAST = Polling(first=0.01, longest=0.02, lost_after=0.05)


def settings_of(provider: BatchProvider, api: str) -> ModelSettings:
    prices = {"input_usd": 10.0, "output_usd": 100.0}
    if api == "messages":
        return ModelSettings("anthropic:claude-judge", provider.anthropic_url, **prices)
    return ModelSettings("openai:gpt-judge", provider.openai_url, api=api, **prices)


def calls(settings: ModelSettings, numbers: Sequence[int], **more: Any) -> list[BatchItem]:
    return [
        (
            settings,
            ModelRequest((Message("system", "You grade."), Message("user", f"Answer {n}?")), 50, **more),
            f"item-{n}",
        )
        for n in numbers
    ]


def keys(items: Sequence[BatchItem]) -> list[str]:
    return [call_key(settings, request) for settings, request, _ in items]


def fill(items: Sequence[BatchItem], cache: CallCache, run_id: str = "run", **more: Any) -> BatchOutcome:
    folder = cache.path.parent / "batches"
    return prefill(
        items, cache=cache, folder=folder, prices=Prices(), run_id=run_id, stage="judge", **{"polling": FAST, **more}
    )


def journal(cache: CallCache) -> list[JournalEntry]:
    cache.flush()
    return [entry for _, entry in cache.journal_after(0)]


def assert_paid_once(provider: BatchProvider, cache: CallCache, items: Sequence[BatchItem]) -> None:
    """Every request was worked off once, is in the cache, and stands in the journal once."""
    assert provider.paid == Counter(keys(items))
    assert set(cache.get_many(keys(items))) == set(keys(items))
    paid = [entry for entry in journal(cache) if not entry.cached]
    assert len({entry.call_id for entry in paid}) == len(paid)
    assert Counter(entry.key for entry in paid) == Counter(keys(items))


def refuse_seven(text: str) -> None:
    if text == "seven":
        raise ReplyError("it is seven")


def sorted_by_item(entries: list[JournalEntry]) -> list[JournalEntry]:
    return sorted(entries, key=lambda entry: entry.item_id)


def limited(**limits: int) -> Callable[[ModelSettings], BatchClient]:
    def make(settings: ModelSettings) -> BatchClient:
        client = batch_client(settings)
        for name, value in limits.items():
            setattr(client, name, value)
        return client

    return make


def once(error: Exception) -> Callable[[Any], None]:
    left = [error]

    def step_in(request: Any) -> None:
        if left:
            raise left.pop()

    return step_in


def always(error: Exception) -> Callable[[Any], None]:
    def step_in(request: Any) -> None:
        raise error

    return step_in
