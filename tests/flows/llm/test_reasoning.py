"""Models that reason have room for it; it is raised once where it is short, and a stage that is cut stops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compaction.model import CallsStoppedError, ModelError, ModelRequest
from flows.llm.budget import Budget
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.calling_for import calling_for
from flows.llm.clients.requests import token_limit
from flows.llm.clients.transport import CallFault, Reply, TokenUse
from flows.llm.gateway import Gateway
from flows.llm.reasoning import ENOUGH, FEW, LEAST_RAISED
from flows.llm.reasoning_room import reasoning_room
from flows.llm.settings import BASE_URLS, ModelSettings
from tests.flows.llm.scripted import QUICK, SETTINGS, ScriptedTransport, in_threads, reply, request

MODEL = replace(SETTINGS, spec="openai:gpt-5-mini")
ROOM = 8_000


class Reasoner(ScriptedTransport):
    """A model that reasons for so many tokens, whatever it is asked."""

    def __init__(self, tokens: int, told: bool = True) -> None:
        super().__init__()
        self.tokens, self.told = tokens, told
        self.limits: list[int] = []

    async def send(self, settings: ModelSettings, asked: ModelRequest) -> Reply:
        limit = token_limit(settings, asked)
        self.limits.append(limit)
        if self.tokens + 5 > limit:
            thought = limit if self.told else 0
            raise CallFault("truncated", "cut", use=TokenUse(10, limit), reasoning=thought)
        return reply(f"answer {asked.messages[0].text}")


def outcomes(transport: Any, cache: CallCache, settings: ModelSettings, number: int) -> tuple[list[Any], str]:
    def one(n: int) -> Any:
        with calling_for("score", str(n)):
            return gateway.complete(settings, request(f"q{n}"))

    with Gateway(cache, transport=transport, policy=QUICK, concurrency=8) as gateway:
        return in_threads([lambda n=n: one(n) for n in range(number)], threads=8), gateway.stopped  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "effort", "room"),
    [
        ("openai:gpt-5-mini", None, ROOM),
        ("openai:vendor/o3-pro", None, ROOM),
        ("openai:gpt-5.2", None, 0),
        ("openai:gpt-5.2", "high", ROOM),
        ("openai:gpt-5-mini", "none", 0),
        ("openai:gpt-4.1", None, 0),
        ("anthropic:claude-opus-5-5", None, ROOM),
        ("anthropic:claude-opus-4-5", None, 0),
    ],
)
def test_the_room_is_that_of_the_models_family(name: str, effort: str | None, room: int) -> None:
    provider = name.partition(":")[0]
    settings = ModelSettings(name, BASE_URLS[provider], reasoning_effort=effort)
    assert reasoning_room(settings) == room
    assert reasoning_room(replace(settings, reasoning_tokens=123)) == 123
    assert token_limit(settings, request()) == 50 + room


def test_the_room_is_no_part_of_what_a_call_is_unless_it_was_set() -> None:
    plain = replace(SETTINGS, spec="openai:gpt-5-mini")
    assert call_key(plain, request()) == call_key(replace(plain, reasoning_tokens=0), request())
    assert call_key(plain, request()) != call_key(replace(plain, reasoning_tokens=5), request())


@pytest.mark.parametrize("told", [True, False])
def test_a_room_that_is_short_is_raised_once_for_all_and_the_call_asked_again(cache: CallCache, told: bool) -> None:
    transport = Reasoner(20_000, told)
    found, stopped = outcomes(transport, cache, MODEL, 200)
    assert stopped == ""
    assert not any(isinstance(each, Exception) for each in found)
    assert set(transport.limits) == {50 + ROOM, 50 + 4 * ROOM}
    assert transport.limits.count(50 + ROOM) <= 8  # no more than were in flight


def test_a_model_that_needs_more_stops_its_stage_after_a_few_with_what_to_set(cache: CallCache) -> None:
    transport = Reasoner(10**6)
    found, stopped = outcomes(transport, cache, MODEL, 286)
    assert len(transport.limits) <= 8 + FEW + 8
    assert sum(isinstance(each, ModelError) for each in found) <= FEW + 8
    assert sum(isinstance(each, CallsStoppedError) for each in found) >= 286 - FEW - 8
    assert "of the stage score were cut with room for 32,000 tokens" in stopped
    assert 'set reasoning_tokens to more, or a lower reasoning_effort, in [models."openai:gpt-5-mini"]' in stopped


@pytest.mark.parametrize(("every", "stops"), [(20, True), (50, False)])
def test_three_per_cent_are_too_many(cache: CallCache, every: int, stops: bool) -> None:
    class Some(Reasoner):
        async def send(self, settings: ModelSettings, asked: ModelRequest) -> Reply:
            self.tokens = 10**6 if int(asked.messages[0].text[1:]) % every == 1 else 10
            return await super().send(settings, asked)

    found, stopped = outcomes(Some(0), cache, MODEL, 3 * ENOUGH)
    assert bool(stopped) == stops
    assert any(isinstance(each, CallsStoppedError) for each in found) == stops


def test_an_answer_of_a_model_that_does_not_reason_is_cut_where_it_was_to_be(cache: CallCache) -> None:
    transport = Reasoner(10**6, told=False)
    found, stopped = outcomes(transport, cache, SETTINGS, 60)
    assert transport.limits == [50] * 60
    assert stopped == ""
    assert all(isinstance(each, ModelError) and each.kind == "truncated" for each in found)


def test_a_raised_room_is_reserved_in_the_budget(cache: CallCache) -> None:
    transport = Reasoner(20_000)
    budget = Budget(tokens=ROOM + LEAST_RAISED)
    with Gateway(cache, transport=transport, policy=QUICK, budget=budget) as gateway, pytest.raises(CallsStoppedError):
        gateway.complete(MODEL, request())
    assert transport.limits == [50 + ROOM]
