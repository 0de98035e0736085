"""Every answer is paid for once, and never more than the budget allows."""

from __future__ import annotations

import random
import threading
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compaction.model import CallsStoppedError, Completion, ModelError, NativeRequest, ReplyError
from compaction.tokens import TiktokenCounter
from flows.llm.budget import Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.calling_for import calling_for
from flows.llm.clients.transport import CallFault, FaultKind, Reply, TokenUse
from flows.llm.gateway import Gateway
from flows.llm.settings import BASE_URLS, ModelSettings
from flows.support.errors import UsageError
from tests.flows.llm.scripted import (
    QUICK,
    SETTINGS,
    ScriptedTransport,
    faults,
    in_threads,
    journal,
    reply,
    request,
)

# Answers


def test_an_answer_is_paid_for_once_and_served_from_the_cache_from_then_on(cache: CallCache) -> None:
    transport = ScriptedTransport()
    with Gateway(cache, transport=transport) as gateway:
        first, second = gateway.complete(SETTINGS, request()), gateway.complete(SETTINGS, request())
    assert first == Completion("answer to q", "m-2026", 100, 10, 120e-6, False, first.seconds)
    assert second == replace(first, cached=True)
    assert len(transport.sent) == 1


def test_the_cache_serves_the_next_process_and_nothing_is_started_for_it(cache: CallCache) -> None:
    with Gateway(cache, transport=ScriptedTransport()) as gateway:
        gateway.complete(SETTINGS, request())
    before = threading.active_count()
    with Gateway(cache, transport=lambda settings: pytest.fail("a client was made")) as gateway:
        assert gateway.complete(SETTINGS, request()).cached
        assert threading.active_count() == before


def test_where_only_the_cache_may_answer_nothing_is_sent(cache: CallCache) -> None:
    transport = ScriptedTransport()
    may_send = threading.Event()
    with Gateway(cache, transport=transport, hold=lambda call: not may_send.is_set()) as gateway:
        with pytest.raises(CallsStoppedError, match="not in the cache"):
            gateway.complete(SETTINGS, request())
        assert transport.sent == []
        may_send.set()
        made = gateway.complete(SETTINGS, request())
        may_send.clear()
        assert gateway.complete(SETTINGS, request()).text == made.text
    assert len(transport.sent) == 1


@pytest.mark.parametrize("once", [True, False])
def test_a_call_that_failed_is_made_again_unless_it_is_to_be_made_once(cache: CallCache, *, once: bool) -> None:
    transport = ScriptedTransport(faults("refused", 1))
    with Gateway(cache, transport=transport, policy=QUICK, once=once) as gateway:
        for number in range(2):
            with pytest.raises(ModelError, match="scripted refused") if once or not number else nullcontext():
                gateway.complete(SETTINGS, request())
    assert len(transport.sent) == (1 if once else 2)


def test_a_replicate_is_a_call_of_its_own(cache: CallCache) -> None:
    transport = ScriptedTransport()
    with Gateway(cache, transport=transport) as gateway:
        assert not any(gateway.complete(SETTINGS, request(replicate=n)).cached for n in range(3))
    assert len(transport.sent) == 3


def test_without_a_cache_calls_are_made_all_the_same() -> None:
    transport = ScriptedTransport()
    with Gateway(None, transport=transport) as gateway:
        assert not gateway.complete(SETTINGS, request()).cached
        assert not gateway.complete(SETTINGS, request()).cached


def test_the_journal_has_a_row_for_every_try_and_every_use_and_says_what_for(cache: CallCache) -> None:
    with Gateway(cache, run_id="r1", transport=ScriptedTransport(faults("server", 1)), policy=QUICK) as gateway:
        for item in ("a", "b"):
            with calling_for("score", item):
                gateway.complete(SETTINGS, request())
        gateway.complete(SETTINGS, request("other"))
    rows = [
        (row.run_id, row.stage, row.item_id, row.status, row.cached, row.input_tokens, row.cost_usd, row.error)
        for row in journal(cache)
        if row.key == call_key(SETTINGS, request())
    ]
    assert rows == [
        ("r1", "score", "a", "server", False, None, 0.0, "scripted server"),
        ("r1", "score", "a", "done", False, 100, 120e-6, None),
        ("r1", "score", "b", "done", True, 100, 120e-6, None),
    ]
    assert {(row.stage, row.item_id) for row in journal(cache) if row.key != call_key(SETTINGS, request())} == {
        ("", "")
    }


def test_a_server_that_counts_no_tokens_has_an_unknown_cost_and_not_none(cache: CallCache) -> None:
    free = replace(SETTINGS, input_usd=0.0, output_usd=0.0)
    with Gateway(cache, transport=ScriptedTransport(lambda asked, n: reply(use=TokenUse()))) as gateway:
        assert gateway.complete(SETTINGS, request("a")).cost_usd is None
        assert gateway.complete(free, request("b")).cost_usd == 0.0
    assert [(row.input_tokens, row.cost_usd) for row in journal(cache)] == [(None, None), (None, 0.0)]


def test_a_native_compaction_gives_its_response_back_and_is_cached_as_well(cache: CallCache) -> None:
    asked = NativeRequest("openai", "/v1/responses/compact", {"input": []})
    transport = ScriptedTransport(lambda asked, n: reply("", body={"output": [n]}))
    with Gateway(cache, transport=transport) as gateway:
        found = [gateway.native(SETTINGS, asked, replicate) for replicate in (0, 0, 1)]
    assert [body for body, _ in found] == [{"output": [1]}, {"output": [1]}, {"output": [2]}]
    assert [completion.cached for _, completion in found] == [False, True, False]
    assert found[0][1].cost_usd == pytest.approx(120e-6)


# What cannot be used


def no_json(text: str) -> None:
    raise ReplyError("it is no JSON")


def test_an_answer_that_the_request_cannot_use_is_charged_noted_and_not_kept(cache: CallCache) -> None:
    transport, budget = ScriptedTransport(), Budget(tokens=10_000)
    with Gateway(cache, transport=transport, budget=budget) as gateway:
        for _ in range(2):
            with pytest.raises(ModelError, match="openai:m: the answer cannot be used: it is no JSON") as caught:
                gateway.complete(SETTINGS, request(check=no_json))
            assert caught.value.kind == "invalid"
    assert len(transport.sent) == 2
    assert budget.spent_tokens == 220
    assert [(row.status, row.cost_usd) for row in journal(cache)] == [("malformed", 120e-6)] * 2


def test_a_stored_answer_that_no_longer_passes_is_a_miss_and_is_replaced(cache: CallCache) -> None:
    texts = iter(["old", "new"])

    def is_new(text: str) -> None:
        if text != "new":
            raise ReplyError("old")

    transport = ScriptedTransport(lambda asked, n: reply(next(texts)))
    with Gateway(cache, transport=transport) as gateway:
        gateway.complete(SETTINGS, request())
        assert gateway.complete(SETTINGS, request(check=is_new)).text == "new"
        again = gateway.complete(SETTINGS, request(check=is_new))
    assert (again.text, again.cached, len(transport.sent)) == ("new", True, 2)


# Budget


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 12_000), st.integers(0, 10**6), st.booleans())
def test_the_budget_is_never_passed_whatever_happens(limit: int, seed: int, in_dollars: bool) -> None:
    """Tokens are charged at most up to the bound, for answers and for faults, known and unknown."""
    chance, charged = random.Random(seed), 0
    most = 64 + 16 + 4 + 50  # bytes of the prompt and around it, and the limit of the answer

    def script(asked: Any, number: int) -> Reply:
        nonlocal charged
        use = TokenUse(chance.randint(0, most - 50), chance.randint(1, 50))
        charged += use.input_tokens + use.output_tokens
        if chance.random() < 0.3:
            known = chance.random() < 0.5
            raise CallFault(chance.choice(["timeout", "malformed", "truncated"]), "x", use=use if known else None)
        return reply(use=use)

    budget = Budget(usd=limit / 1e6) if in_dollars else Budget(tokens=limit)
    model = replace(SETTINGS, output_usd=1.0)  # so that a token is a millionth of a dollar, whichever it is
    transport = ScriptedTransport(script)
    with Gateway(None, transport=transport, policy=QUICK, budget=budget) as gateway:
        found = in_threads([lambda n=n: gateway.complete(model, request(f"{n:04}")) for n in range(100)], 16)
    assert charged <= limit
    assert {type(outcome) for outcome in found} <= {Completion, ModelError, CallsStoppedError}
    assert any(isinstance(outcome, CallsStoppedError) for outcome in found) == budget.stopped
    assert budget.stopped or len(transport.sent) >= 100


def test_nearly_all_of_a_budget_is_spent_where_tokens_can_be_counted() -> None:
    model = ModelSettings("openai:gpt-4.1", BASE_URLS["openai"], input_usd=2.0, output_usd=8.0)
    text = "The wheel squeaks, and the log of the mill says why it does so. " * 60
    read = TiktokenCounter().count(text) + 30  # what stands around it
    transport = ScriptedTransport(lambda asked, n: reply(use=TokenUse(read, 50)))
    budget = Budget(usd=0.05)
    with Gateway(None, transport=transport, policy=QUICK, budget=budget) as gateway:
        asked = [lambda n=n: gateway.complete(model, request(f"{text}{n:02}")) for n in range(60)]
        found = in_threads(asked, 16)
    assert any(isinstance(outcome, CallsStoppedError) for outcome in found)
    assert 0.95 * 0.05 <= budget.spent_usd <= 0.05


def test_what_is_cached_costs_nothing_after_the_budget_is_spent(cache: CallCache) -> None:
    budget = Budget(tokens=250)
    with Gateway(cache, transport=ScriptedTransport(), budget=budget) as gateway:
        gateway.complete(SETTINGS, request("a"))
        gateway.complete(SETTINGS, request("b"))
        with pytest.raises(CallsStoppedError, match="220 tokens are spent"):
            gateway.complete(SETTINGS, request("c"))
        assert gateway.complete(SETTINGS, request("a")).cached


@pytest.mark.parametrize(
    ("kind", "charge"),
    [("server", 0), ("rate_limited", 0), ("rejected", 0), ("timeout", 131), ("connection", 131), ("refused", 131)],
)
def test_a_fault_is_charged_in_full_where_it_may_have_cost_something(kind: FaultKind, charge: int) -> None:
    budget = Budget(tokens=10_000)
    policy = replace(QUICK, tries=1)
    with (
        Gateway(None, transport=ScriptedTransport(faults(kind)), budget=budget, policy=policy) as gateway,
        pytest.raises(ModelError),
    ):
        gateway.complete(SETTINGS, request())
    assert budget.spent_tokens == charge


def test_a_fault_with_known_tokens_is_charged_and_noted_with_them(cache: CallCache) -> None:
    budget = Budget(usd=1)
    transport = ScriptedTransport(faults("truncated", use=TokenUse(10, 50)))
    with Gateway(cache, transport=transport, budget=budget) as gateway, pytest.raises(ModelError):
        gateway.complete(SETTINGS, request())
    assert budget.spent_usd == pytest.approx(110e-6)
    assert [(row.input_tokens, row.output_tokens, row.cost_usd) for row in journal(cache)] == [(10, 50, 110e-6)]


def test_a_budget_in_dollars_without_a_price_refuses_the_call_before_it_is_made() -> None:
    transport = ScriptedTransport()
    with (
        Gateway(None, transport=transport, budget=Budget(usd=1)) as gateway,
        pytest.raises(UsageError, match="price is unknown"),
    ):
        gateway.complete(replace(SETTINGS, input_usd=None), request())
    assert transport.sent == []
