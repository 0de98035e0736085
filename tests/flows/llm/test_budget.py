"""A budget of dollars or tokens is never passed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.model import CallsStoppedError, ModelRequest, NativeRequest
from compaction.tokens import TiktokenCounter
from compaction.transcript import Message, ToolCall
from flows.llm.budget import NOTHING, Budget, Charge, counted_charge, highest_charge, most_tokens
from flows.llm.clients.transport import TokenUse
from flows.llm.prices import Prices
from flows.llm.settings import BASE_URLS, ModelSettings
from flows.support.errors import UsageError

SETTINGS = ModelSettings("openai:m", "http://localhost:1/v1", input_usd=2.0, output_usd=10.0)
REQUEST = ModelRequest((Message("system", "Judge."), Message("user", "Grüße")), 500)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


calls_of_a_run = st.lists(
    st.tuples(st.integers(0, 400), st.floats(0, 1), st.integers(0, 3), st.booleans()), min_size=1, max_size=40
)


@given(calls_of_a_run, st.integers(0, 2000), st.booleans())
def test_what_is_spent_and_reserved_never_passes_the_budget_and_every_call_ends(
    calls: list[tuple[int, float, int, bool]], limit: int, in_dollars: bool
) -> None:
    """Each call: its bound, the share of it that is charged, how long it takes, whether the charge is unknown."""
    budget = Budget(usd=limit / 1000) if in_dollars else Budget(tokens=limit)
    done, stopped, highest, in_flight = 0, 0, 0.0, 0.0

    async def call(bound: int, share: float, turns: int, is_unknown: bool) -> None:
        nonlocal done, stopped, highest, in_flight
        most = Charge(bound, bound / 1000)
        try:
            await budget.reserve(most)
        except CallsStoppedError:
            stopped += 1
            return
        in_flight += bound
        spent = budget.spent_usd * 1000 if in_dollars else budget.spent_tokens
        highest = max(highest, spent + in_flight)
        for _ in range(turns):
            await asyncio.sleep(0)
        tokens = bound if is_unknown else int(bound * share)
        budget.settle(most, Charge(tokens, None if is_unknown else tokens / 1000))
        in_flight -= bound
        done += 1

    async def everything() -> None:
        await asyncio.gather(*(call(*each) for each in calls))

    asyncio.run(everything())
    assert highest <= limit * (1 + 1e-9)
    assert done + stopped == len(calls)
    assert budget.stopped == (stopped > 0)
    assert (budget.spent_usd if in_dollars else budget.spent_tokens) <= limit


def test_without_limits_nothing_stops() -> None:
    async def test() -> None:
        budget = Budget()
        await budget.reserve(Charge(10**12, None))
        assert not budget.stopped
        assert not budget.is_limited

    run(test)


def test_a_call_that_does_not_fit_waits_until_others_settle_for_less() -> None:
    async def test() -> None:
        budget = Budget(tokens=100)
        await budget.reserve(Charge(80))
        waits = asyncio.ensure_future(budget.reserve(Charge(60)))
        await settled()
        assert not waits.done()
        budget.settle(Charge(80), Charge(40))
        await waits
        assert not budget.stopped

    run(test)


def test_when_nothing_is_in_flight_and_a_call_does_not_fit_it_stops_for_good() -> None:
    async def test() -> None:
        budget = Budget(tokens=100)
        await budget.reserve(Charge(80))
        waits = asyncio.ensure_future(budget.reserve(Charge(60)))
        await settled()
        budget.settle(Charge(80), Charge(70))
        with pytest.raises(CallsStoppedError, match="100 tokens"):
            await waits
        assert budget.stopped
        with pytest.raises(CallsStoppedError):
            await budget.reserve(Charge(1))

    run(test)


def test_where_the_most_does_not_fit_any_more_what_is_counted_is_reserved() -> None:
    async def test() -> None:
        budget, counted = Budget(tokens=100), []
        first = await budget.reserve(Charge(60), lambda: counted.append(1))
        assert (first, counted) == (Charge(60), []), "nothing is counted while the most fits"
        waits = asyncio.ensure_future(budget.reserve(Charge(90), lambda: Charge(30)))
        await settled()
        assert not waits.done(), "others may settle for less"
        budget.settle(first, Charge(60))
        assert await waits == Charge(30)
        budget.settle(Charge(30), Charge(25))
        with pytest.raises(CallsStoppedError):
            await budget.reserve(Charge(90), lambda: Charge(16))
        assert budget.spent_tokens == 85

    run(test)


def test_tokens_are_counted_where_the_tokenizer_is_known() -> None:
    text = "The wheel squeaks, and the log of the mill says why it does so. " * 100
    asked = ModelRequest((Message("system", "Judge."), Message("user", text)), 500)
    official = ModelSettings("openai:gpt-4.1", BASE_URLS["openai"])
    exact = TiktokenCounter().count(text) + TiktokenCounter().count("Judge.")
    found = counted_charge(official, asked, Prices().cost)
    assert found is not None
    assert exact + 500 <= found.tokens <= exact + 500 + 3 * 64
    assert found.tokens < highest_charge(official, asked, Prices().cost).tokens / 2
    for unknown in (
        replace(official, base_url="http://localhost:1/v1"),
        replace(official, spec="openai:nobody-knows-it"),
        ModelSettings("anthropic:claude-sonnet-5-5", BASE_URLS["anthropic"]),
    ):
        assert counted_charge(unknown, asked, Prices().cost) is None


def test_a_small_call_does_not_pass_a_big_one_that_waits() -> None:
    async def test() -> None:
        budget = Budget(tokens=100)
        await budget.reserve(Charge(50))
        big = asyncio.ensure_future(budget.reserve(Charge(90)))
        await settled()
        small = asyncio.ensure_future(budget.reserve(Charge(5)))
        await settled()
        assert not small.done()
        budget.settle(Charge(50), NOTHING)
        await big
        await small

    run(test)


@pytest.mark.parametrize("granted", [False, True], ids=["while it waits", "just when it was granted"])
def test_a_cancelled_wait_holds_nothing_back(granted: bool) -> None:
    async def test() -> None:
        budget = Budget(tokens=100)
        await budget.reserve(Charge(80))
        waits = asyncio.ensure_future(budget.reserve(Charge(100)))
        behind = asyncio.ensure_future(budget.reserve(Charge(10)))
        await settled()
        if granted:
            budget.settle(Charge(80), NOTHING)
        waits.cancel()
        await asyncio.wait_for(behind, 1)
        if not granted:
            budget.settle(Charge(80), NOTHING)
        budget.settle(Charge(10), NOTHING)
        await budget.reserve(Charge(100))

    run(test)


def test_an_unknown_charge_counts_as_all_that_was_reserved() -> None:
    async def test() -> None:
        budget = Budget(usd=1.0)
        await budget.reserve(Charge(10, 0.4))
        budget.settle(Charge(10, 0.4), Charge(10, None))
        assert budget.spent_usd == pytest.approx(0.4)

    run(test)


def test_dollars_add_up_without_drift() -> None:
    async def test() -> None:
        budget = Budget(usd=1.0)
        for _ in range(10):
            await budget.reserve(Charge(0, 0.1))
            budget.settle(Charge(0, 0.1), Charge(0, 0.1))
        assert budget.spent_usd == 1.0

    run(test)


def test_a_budget_in_dollars_refuses_a_model_without_a_price_and_says_what_to_do() -> None:
    unpriced = replace(SETTINGS, input_usd=None, output_usd=None)
    most = highest_charge(unpriced, REQUEST, Prices().cost)
    assert most.usd is None
    Budget(tokens=5).check_price(unpriced, most)
    with pytest.raises(UsageError, match=r"'openai:m': its price is unknown.*input_usd and output_usd"):
        Budget(usd=5).check_price(unpriced, most)


@pytest.mark.parametrize("given", [{"usd": -1.0}, {"usd": float("nan")}, {"tokens": -1}])
def test_a_budget_that_is_no_amount_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="expected a number of at least 0"):
        Budget(**given)


@settings(deadline=None)
@given(st.lists(st.text(max_size=60), max_size=5))
def test_no_prompt_has_more_tokens_than_its_bound(texts: list[str]) -> None:
    counter = TiktokenCounter("o200k_base")
    request = ModelRequest(tuple(Message("user", text) for text in texts), 10)
    counted = sum(counter.count(text) + 4 for text in texts) + 3  # as OpenAI's cookbook counts a chat
    assert counted <= most_tokens(SETTINGS, request).input_tokens


def test_the_bound_has_room_for_the_answer_the_reasoning_and_the_schema() -> None:
    plain = most_tokens(SETTINGS, REQUEST)
    assert plain.output_tokens == 500
    assert most_tokens(replace(SETTINGS, reasoning_tokens=4000), REQUEST).output_tokens == 4500
    schema = {"type": "object", "properties": {"score": {"type": "integer"}}}
    assert most_tokens(SETTINGS, replace(REQUEST, schema=schema)).input_tokens > plain.input_tokens + 1000


def test_the_bound_has_room_for_an_item_that_only_its_provider_can_read() -> None:
    item = Message("user", opaque="g" * 4000)
    plain = most_tokens(SETTINGS, REQUEST).input_tokens
    assert most_tokens(SETTINGS, replace(REQUEST, messages=(*REQUEST.messages, item))).input_tokens >= plain + 4000


@pytest.mark.parametrize("spec", ["openai:m", "anthropic:m"])
def test_the_bound_has_room_for_calls_and_results(spec: str) -> None:
    call = ToolCall("i" * 30, "read", '{"text": "' + 1000 * '\\"' + '"}')
    said = (Message("assistant", tool_calls=(call,)), Message("tool", "r" * 2000, tool_call_id=call.id))
    where = replace(SETTINGS, spec=spec)
    plain = most_tokens(where, REQUEST).input_tokens
    assert most_tokens(where, replace(REQUEST, messages=(*REQUEST.messages, *said))).input_tokens >= plain + 5000


def test_the_bound_of_a_native_compaction_is_for_two_passes_of_anthropics_and_the_longest_output_of_openais() -> None:
    body = {"input": "x" * 1000}
    compact = most_tokens(SETTINGS, NativeRequest("openai", "/v1/responses/compact", body))
    assert compact.input_tokens >= 1000
    assert compact.output_tokens == 128_000
    vectors = most_tokens(SETTINGS, NativeRequest("openai", "/v1/embeddings", {"input": ["a" * 100]}))
    assert vectors.input_tokens > 100
    assert vectors.output_tokens == 0
    limited = most_tokens(SETTINGS, NativeRequest("anthropic", "/v1/messages", {**body, "max_tokens": 16_000}))
    assert limited.input_tokens >= 2000
    assert limited.output_tokens == 32_000


def test_the_bound_in_dollars_is_that_of_the_dearest_use_of_the_tokens() -> None:
    def price(settings: ModelSettings, use: TokenUse) -> float:
        return (use.input_tokens - use.cache_write_tokens) * 1.0 + use.cache_write_tokens * 1.25 + use.output_tokens * 2

    most = highest_charge(SETTINGS, REQUEST, price)
    use = most_tokens(SETTINGS, REQUEST)
    assert most.usd == pytest.approx(use.input_tokens * 1.25 + 500 * 2)
    assert most.tokens == use.input_tokens + 500
