"""Requests whose answer is lost, and batches that are left: each answer is paid for once."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flows.llm.batch.prefill import BatchOutcome, Polling
from flows.llm.budget import Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.records import JournalEntry, StoredCall
from flows.llm.clients.transport import TokenUse
from flows.llm.settings import ModelSettings
from tests.flows.llm.batch.filling import (
    KEY,
    always,
    assert_paid_once,
    calls,
    fill,
    journal,
    keys,
    limited,
    once,
    refuse_seven,
    settings_of,
)
from tests.flows.llm.batch_server import BatchProvider
from tests.flows.llm.server import HttpError


class TestLostAnswers:
    def test_a_batch_whose_submission_was_answered_by_nothing_is_found_again(
        self, provider: BatchProvider, cache: CallCache, either: ModelSettings
    ) -> None:
        provider.on["created"] = once(ConnectionResetError())
        items = calls(either, range(3))
        budget = Budget(usd=1.0)
        assert fill(items, cache, budget=budget).answered == 3
        assert len(provider.batches) == 1
        assert_paid_once(provider, cache, items)
        assert budget.spent_usd == pytest.approx(sum(entry.cost_usd or 0 for entry in journal(cache)))

    @pytest.mark.parametrize(
        "fault", [HttpError(500), HttpError(429), ConnectionResetError()], ids=["500", "429", "reset"]
    )
    def test_a_batch_that_was_not_made_is_submitted_again(
        self, provider: BatchProvider, cache: CallCache, either: ModelSettings, fault: Exception
    ) -> None:
        provider.on["create"] = once(fault)
        items = calls(either, range(3))
        assert fill(items, cache).answered == 3
        assert_paid_once(provider, cache, items)

    def test_a_server_that_fails_always_is_left_after_some_tries(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        tries: list[int] = []

        def fail(request: Any) -> None:
            tries.append(1)
            raise HttpError(500)

        provider.on["create"] = fail
        budget = Budget(usd=1.0)
        outcome = fill(calls(chat, range(3)), cache, budget=budget)
        assert sum(outcome.unserved.values()) == 3
        assert len(tries) == 5
        assert budget.spent_usd == 0

    @pytest.mark.parametrize("status", [400, 401, 404])
    def test_a_server_without_batches_is_left_with_its_reason_and_without_the_key(
        self, provider: BatchProvider, cache: CallCache, either: ModelSettings, status: int
    ) -> None:
        provider.on["create"] = always(HttpError(status, f"no batches for the key {KEY}"))
        said: list[str] = []
        outcome = fill(calls(either, range(3)), cache, clients=limited(most_requests=1), report=said.append)
        (reason,) = outcome.unserved
        assert outcome.unserved[reason] == 3
        assert "no batches for the key [key]" in reason
        assert KEY not in " ".join(said)
        assert KEY.encode() not in b"".join(
            path.read_bytes() for path in cache.path.parent.rglob("*") if path.is_file()
        )

    def test_another_batch_of_the_same_size_is_not_taken_for_the_lost_one(
        self, provider: BatchProvider, cache: CallCache, tmp_path: Path
    ) -> None:
        """Anthropic's batches have no marker: only the custom ids say whose one is."""
        either = settings_of(provider, "messages")
        with CallCache(tmp_path / "elsewhere") as other:
            fill(calls(either, range(10, 13)), other, wait=False)
        provider.on["created"] = once(ConnectionResetError())
        provider.polls = 3
        items = calls(either, range(3))
        assert fill(items, cache).answered == 3
        assert provider.sizes == [3, 3]
        assert provider.paid == Counter(keys(items)) + Counter(keys(calls(either, range(10, 13))))

    def test_a_batch_that_the_provider_does_not_know_is_not_submitted_again(
        self, provider: BatchProvider, cache: CallCache, either: ModelSettings
    ) -> None:
        """It may be the key of another project."""
        items = calls(either, range(3))
        fill(items, cache, wait=False)
        provider.on["look"] = always(HttpError(404))
        outcome = fill(items, cache)
        assert (outcome.pending, outcome.sent) == (3, 0)
        del provider.on["look"]
        assert fill(items, cache).answered == 3


class TestLeaving:
    def test_a_run_may_leave_and_a_later_one_takes_the_answers(
        self, provider: BatchProvider, cache: CallCache, either: ModelSettings
    ) -> None:
        items = calls(either, range(4))
        first = fill(items, cache, wait=False)
        assert (first.pending, first.answered, first.sent) == (4, 0, 4)
        second = fill(items, cache, run_id="second")
        assert (second.pending, second.answered, second.sent) == (0, 4, 0)
        assert_paid_once(provider, cache, items)
        assert {entry.run_id for entry in journal(cache)} == {"run"}

    def test_a_wait_can_be_ended_from_another_thread(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        provider.polls = 10**9
        stop = threading.Event()
        outcome = fill(
            calls(chat, range(2)), cache, stop=stop, polling=Polling(600, 600), report=lambda said: stop.set()
        )
        assert outcome.pending == 2

    def test_what_another_study_needs_of_a_batch_is_taken_and_the_rest_stays_for_whoever_submitted_it(
        self, provider: BatchProvider, cache: CallCache, either: ModelSettings
    ) -> None:
        ours, theirs = calls(either, range(4)), calls(either, range(2, 6), check=refuse_seven)
        fill(ours, cache, run_id="ours", wait=False)
        outcome = fill(theirs, cache, run_id="theirs")
        assert (outcome.answered, outcome.sent) == (4, 2)
        assert not cache.get_many(keys(ours[:2])), "nobody has checked these yet"
        requests = len(provider.requests)
        assert fill(ours, cache, run_id="ours again").answered == 2
        assert len(provider.requests) == requests, "they were here already"
        every = [*ours, *theirs[2:]]
        assert_paid_once(provider, cache, every)
        by_key = {entry.key: entry.run_id for entry in journal(cache) if not entry.cached}
        assert [by_key[key] for key in keys(every)] == ["ours"] * 4 + ["theirs"] * 2

    def test_a_live_answer_that_came_first_stays_and_both_are_in_the_journal(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        items = calls(chat, range(2))
        fill(items, cache, wait=False)
        key = keys(items)[0]
        live = StoredCall("live", "gpt-judge", TokenUse(1, 1), 0.1, 0.2)
        started: list[str] = []

        def meanwhile(request: Any) -> None:
            if not started:
                started.append("")
                entry = JournalEntry(
                    "l", "run", "judge", "i", chat.spec, key, 1, 1, 0.1, False, 0.2, "done", "2026-11-21"
                )
                cache.put(key, live, entry)

        provider.on["look"] = meanwhile
        fill(items, cache)
        stored = cache.get(key)
        assert stored is not None
        assert stored.text == "live"
        assert Counter(entry.key for entry in journal(cache)) == {key: 2, keys(items)[1]: 1}

    def test_two_runs_at_the_same_time_submit_nothing_twice(
        self, provider: BatchProvider, tmp_path: Path, either: ModelSettings
    ) -> None:
        items = calls(either, range(6))
        outcomes: list[BatchOutcome] = []

        def one() -> None:
            with CallCache(tmp_path / "cache") as cache:
                outcomes.append(fill(items, cache, clients=limited(most_requests=2)))

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(outcome.sent for outcome in outcomes) == 6
        assert len(outcomes) == 4
        with CallCache(tmp_path / "cache") as cache:
            assert_paid_once(provider, cache, items)
