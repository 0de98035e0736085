"""A provider's batch interface fills the call cache, whatever happens in between."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compaction import Message
from compaction.model import CallsStoppedError, ModelRequest, ReplyError
from flows.models import batches_take
from flows.models.batches import BatchItem, BatchOutcome, Polling, plan, prefill
from flows.models.batches_clients import batch_client
from flows.models.batches_store import BatchStore
from flows.models.batches_submit import batch_bound
from flows.models.batches_take import Taker
from flows.models.batches_wire import BatchClient
from flows.models.budget import Budget
from flows.models.cache import CallCache
from flows.models.calls import JournalEntry, StoredCall
from flows.models.keys import call_key
from flows.models.prices import Prices
from flows.models.settings import ModelSettings
from flows.models.transports import make_transport
from flows.models.wire import TokenUse
from flows.problems import UsageProblem
from tests.flows.models.batch_server import BatchProvider
from tests.flows.models.server import HttpError

KEY = "sk-a-secret-of-the-test"
FAST = Polling(first=0.01, longest=0.02, lost_after=0.05)
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"],
          "additionalProperties": False}  # fmt: skip
ROOT = Path(__file__).parents[3]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchProvider]:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with BatchProvider() as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    with CallCache(tmp_path / "cache") as opened:
        yield opened


@pytest.fixture(params=["chat", "responses", "messages"])
def settings(request: pytest.FixtureRequest, provider: BatchProvider) -> ModelSettings:
    return settings_of(provider, request.param)


@pytest.fixture(params=["chat", "messages"])
def either(request: pytest.FixtureRequest, provider: BatchProvider) -> ModelSettings:
    """One of each provider; how requests and answers look makes no difference."""
    return settings_of(provider, request.param)


@pytest.fixture
def chat(provider: BatchProvider) -> ModelSettings:
    return settings_of(provider, "chat")


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
    return prefill(items, cache=cache, folder=folder, prices=Prices(), run_id=run_id, stage="judge",
                   **{"polling": FAST, **more})  # fmt: skip


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

    def test_plan_says_what_is_cached_on_its_way_and_to_be_sent_and_changes_nothing(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        folder = cache.path.parent / "batches"
        items = calls(chat, range(6))
        before = plan(items, cache=cache, folder=folder, prices=Prices())
        assert not folder.exists()
        assert (before.cached, before.pending, before.live, before.to_send) == (0, 0, 0, 6)
        bounds = [batch_bound(given, asked, Prices()) for given, asked, _ in items]
        assert before.cost_usd == pytest.approx(sum(bound.usd or 0 for bound in bounds))
        assert before.input_tokens + before.output_tokens == sum(bound.tokens for bound in bounds)
        assert before.output_tokens == 6 * 50
        fill(items[:2], cache)
        fill(items[2:4], cache, wait=False)
        after = plan(items, cache=cache, folder=folder, prices=Prices())
        assert (after.cached, after.pending, after.live, after.to_send) == (2, 2, 0, 2)
        unpriced = [(replace(chat, input_usd=None, output_usd=None), asked, name) for _, asked, name in items]
        assert plan(unpriced, cache=cache, folder=folder, prices=Prices()).cost_usd is None


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
        assert plan(items, cache=cache, folder=cache.path.parent / "batches", prices=Prices()).live == 3

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


class Crash(BaseException):
    """The end of a process."""


STEPS: dict[str, tuple[Any, str, str]] = {
    "before the intent": (BatchStore, "intend", "before"),
    "after the intent": (BatchStore, "intend", "after"),
    "before the submission is sent": ("client", "submit", "before"),
    "after the batch was made": ("client", "submit", "after"),
    "after its id is on record": (BatchStore, "submitted", "after"),
    "while it is looked at": ("client", "status", "after"),
    "while results come": ("client", "results", "middle"),
    "before results are on record": (BatchStore, "end", "before"),
    "after results are on record": (BatchStore, "end", "after"),
    "after the journal": (Taker, "journal", "after"),
    "before an answer is cached": (CallCache, "put", "before"),
    "after an answer is cached": (CallCache, "put", "after"),
    "before results are settled": (BatchStore, "settle", "before"),
    "after results are settled": (BatchStore, "settle", "after"),
}


class TestCrashes:
    @pytest.mark.parametrize(("api", "passes"), [("chat", 0), ("chat", 1), ("messages", 1)])
    @pytest.mark.parametrize("step", STEPS)
    def test_a_run_that_ends_between_two_steps_pays_nothing_twice_and_loses_nothing(
        self, provider: BatchProvider, tmp_path: Path, api: str, step: str, passes: int
    ) -> None:
        items = calls(settings_of(provider, api), range(4))
        with pytest.MonkeyPatch.context() as patch, CallCache(tmp_path / "cache") as cache:
            clients = crashing(patch, *STEPS[step], passes=passes)
            with pytest.raises(Crash):
                fill(items, cache, clients=clients)
        with CallCache(tmp_path / "cache") as cache:
            outcome = fill(items, cache, run_id="second run")
            assert outcome.cached + outcome.answered == 4
            assert_paid_once(provider, cache, items)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("api", "point"),
        [
            *(("chat", point) for point in ("upload", "create", "created", "look", "download")),
            *(("messages", point) for point in ("created", "look")),
        ],
    )
    def test_a_process_that_is_killed_is_followed_by_one_that_goes_on(
        self, provider: BatchProvider, tmp_path: Path, api: str, point: Any
    ) -> None:
        killed: list[int] = []

        def kill(request: Any) -> None:
            if not killed:
                killed.append(process.pid)
                os.kill(process.pid, signal.SIGKILL)
                process.wait()

        provider.on[point] = kill
        process = start(provider, tmp_path, api)
        assert process.wait() == -signal.SIGKILL
        second = start(provider, tmp_path, api)
        said, _ = second.communicate()
        assert second.returncode == 0
        assert json.loads(said)["answered"] == 4
        with CallCache(tmp_path / "cache") as cache:
            assert_paid_once(provider, cache, calls(settings_of(provider, api), range(4)))

    def test_files_of_a_killed_run_are_none_of_the_records(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        fill(calls(chat, range(3)), cache)
        assert not list((cache.path.parent / "batches").glob("*.tmp"))


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

    def test_without_submitting_only_what_is_under_way_is_taken(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        items = calls(chat, range(4))
        fill(items[:2], cache, wait=False)
        outcome = fill(items, cache, submit=False)
        assert (outcome.answered, outcome.sent, outcome.unserved) == (2, 0, {"not submitted": 2})

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
        with pytest.raises(UsageProblem, match="its price is unknown"):
            fill(items, cache, budget=Budget(usd=1.0))
        outcome = fill(items, cache)
        assert (outcome.answered, outcome.cost_usd) == (2, None)
        assert {entry.cost_usd for entry in journal(cache)} == {None}

    def test_a_key_that_is_missing_is_said_before_anything_is_done(
        self, cache: CallCache, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        either = ModelSettings("openai:gpt-judge", "https://api.openai.com/v1")
        with pytest.raises(UsageProblem, match="OPENAI_API_KEY is not set"):
            fill(calls(either, [1]), cache)
        with closing(BatchStore(cache.path.parent / "batches")) as store:
            assert not store.batches("intent", "submitted", "ended")


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


def crashing(
    patch: pytest.MonkeyPatch, where: Any, name: str, when: str, *, passes: int
) -> Callable[[ModelSettings], BatchClient]:
    """Let the process end before or after a step of two batches; ``passes``: how often the step succeeds before."""
    left = [passes]
    patch.setattr(batches_take, "CHUNK", 2)

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            if left[0]:
                left[0] -= 1
                return real(*given, **named)
            if when == "before":
                raise Crash
            found = real(*given, **named)
            if when == "middle":
                return broken(found)
            raise Crash

        return step

    def broken(lines: Iterator[Any]) -> Iterator[Any]:
        yield next(iter(lines))
        raise Crash

    def clients(settings: ModelSettings) -> BatchClient:
        client = limited(most_requests=2)(settings)
        if where == "client":
            setattr(client, name, wrapped(getattr(client, name)))
        return client

    if where != "client":
        patch.setattr(where, name, wrapped(getattr(where, name)))
    return clients


PROGRAM = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from tests.flows.models.test_batches import calls, fill
from flows.models.cache import CallCache
from flows.models.settings import ModelSettings

settings = ModelSettings(**json.loads(sys.argv[1]))
with CallCache(Path(sys.argv[2])) as cache:
    print(json.dumps(asdict(fill(calls(settings, range(4)), cache))))
"""


def start(provider: BatchProvider, folder: Path, api: str) -> subprocess.Popen[str]:
    settings = settings_of(provider, api)
    given = {name: getattr(settings, name) for name in ("spec", "base_url", "api", "input_usd", "output_usd")}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(given), str(folder / "cache")],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
