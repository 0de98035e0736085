"""As many calls in flight as were asked for, fewer while the server says that it is too many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from flows.llm.adaptive_limit import AdaptiveLimit, PausedError


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def limit_of(concurrency: int, clock: Clock, patience: float = 600.0) -> AdaptiveLimit:
    return AdaptiveLimit(concurrency, patience=patience, clock=clock.now, sleep=clock.sleep)


def run(test: Callable[[Clock], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test(Clock()))


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_exactly_concurrency_calls_are_in_flight_and_the_next_one_waits_for_a_place() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(3, clock)
        for _ in range(3):
            await limit.acquire()
        waits = asyncio.ensure_future(limit.acquire())
        await settled()
        assert (limit.in_flight, waits.done()) == (3, False)
        limit.release()
        await settled()
        assert (limit.in_flight, waits.done()) == (3, True)
        assert clock.slept == []

    run(test)


def test_the_first_429_of_a_round_trip_cuts_and_the_others_do_not() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(64, clock)
        places = [await limit.acquire() for _ in range(64)]
        for place in places:
            limit.throttled(place)
            limit.release()
        assert limit.allowed == 44
        limit.throttled(await limit.acquire())
        assert limit.allowed == 31

    run(test)


def test_the_limit_never_falls_below_one() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(4, clock)
        for _ in range(50):
            limit.throttled(await limit.acquire())
            limit.release()
        assert limit.allowed == 1

    run(test)


def test_after_a_cut_fewer_calls_are_in_flight_and_successes_bring_them_back_up_to_the_concurrency() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(8, clock)
        places = [await limit.acquire() for _ in range(8)]
        limit.throttled(places[0])
        waiting = [asyncio.ensure_future(limit.acquire()) for _ in range(40)]
        for _ in range(8):
            limit.release()
        await settled()
        assert limit.in_flight == limit.allowed == 5
        for _ in range(40):
            limit.succeeded()
            limit.release()
            await settled()
            assert limit.in_flight <= limit.allowed <= 8
        assert limit.allowed == 8
        await asyncio.gather(*waiting)

    run(test)


def test_one_round_trip_of_successes_raises_a_limit_of_64_by_4() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(64, clock)
        for _ in range(3):
            limit.throttled(await limit.acquire())
            limit.release()
        before = limit.allowed
        for _ in range(before):
            limit.succeeded()
        assert limit.allowed - before in (3, 4)

    run(test)


def test_a_wait_that_headers_ask_for_holds_everybody_back_for_exactly_so_long() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(4, clock)
        limit.throttled(await limit.acquire(), wait=7.0)
        limit.release()
        assert await limit.acquire() == 1
        assert (clock.slept, clock.time) == ([7.0], 1007.0)

    run(test)


def test_the_longer_of_two_pauses_counts() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(4, clock)
        place = await limit.acquire()
        limit.throttled(place, wait=9.0)
        limit.throttled(place, wait=2.0)
        limit.succeeded(pause=4.0)
        await limit.acquire()
        assert clock.time == 1009.0

    run(test)


def test_an_answer_whose_headers_say_that_nothing_is_left_pauses_without_a_cut() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(4, clock)
        limit.succeeded(pause=3.0)
        await limit.acquire()
        assert (clock.time, limit.allowed) == (1003.0, 4)

    run(test)


def test_a_pause_beyond_patience_fails_those_who_wait_and_those_who_come() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(1, clock, patience=60.0)
        place = await limit.acquire()
        waits = asyncio.ensure_future(limit.acquire())
        await settled()
        limit.throttled(place, wait=3600.0)
        limit.release()
        with pytest.raises(PausedError, match="3600 s"):
            await waits
        with pytest.raises(PausedError):
            await limit.acquire()
        clock.time += 3550.0
        await limit.acquire()
        assert clock.slept == [50.0]

    run(test)


def test_places_are_given_in_order_and_to_further_tries_first() -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(1, clock)
        await limit.acquire()
        got: list[str] = []

        async def take(name: str, again: bool) -> None:
            await limit.acquire(again=again)
            got.append(name)

        tasks = [asyncio.ensure_future(take(name, name == "again")) for name in ("first", "second", "again")]
        await settled()
        for _ in tasks:
            limit.release()
            await settled()
        assert got == ["again", "first", "second"]

    run(test)


@pytest.mark.parametrize("granted", [False, True], ids=["while it waits", "just when it got a place"])
def test_a_place_is_not_lost_when_its_caller_is_cancelled(granted: bool) -> None:
    async def test(clock: Clock) -> None:
        limit = limit_of(1, clock)
        await limit.acquire()
        waits = asyncio.ensure_future(limit.acquire())
        await settled()
        if granted:
            limit.release()
        waits.cancel()
        await settled()
        if not granted:
            limit.release()
        assert limit.in_flight == 0
        await asyncio.wait_for(limit.acquire(), 1)

    run(test)


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="found 0"):
        AdaptiveLimit(0)
