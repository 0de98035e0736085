"""Every fault ends with an answer or a reason after its tries, and no failure is kept."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from compaction.model import Completion, ModelError, ModelRequest
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.cache.records import JournalEntry, StoredCall
from flows.llm.clients.transport import RETRIED, CallFault, FaultKind, Reply
from flows.llm.gateway import Gateway
from flows.llm.retries import RetryPolicy
from tests.flows.llm.scripted import (
    QUICK,
    SETTINGS,
    USE,
    ScriptedTransport,
    answer_of,
    faults,
    in_threads,
    journal,
    reply,
    request,
)

KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
ERRORS = {
    "blank": "blank",
    "truncated": "truncated",
    "refused": "refused",
    "wrong_model": "unavailable",
    "overflow": "overflow",
    "rejected": "rejected",
    "unusable": "unusable",
}


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    with CallCache(tmp_path / "cache") as opened:
        yield opened


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_that_stays_ends_with_its_reason_after_its_tries_and_is_not_kept(
    kind: FaultKind, cache: CallCache
) -> None:
    transport = ScriptedTransport(faults(kind))
    tries = 2 if kind == "blank" else 6 if kind in RETRIED else 1
    with Gateway(cache, transport=transport, policy=QUICK) as gateway:
        with pytest.raises(ModelError, match=f"scripted {kind}") as caught:
            gateway.complete(SETTINGS, request())
        assert caught.value.kind == ERRORS.get(kind, "unavailable")
        assert len(transport.sent) == tries
        assert str(caught.value).startswith("openai:m: ")
        assert (f"after {tries} tries" in str(caught.value)) == (tries > 1)
    assert [row.status for row in journal(cache)] == [kind] * tries
    assert cache.get(call_key(SETTINGS, request())) is None


@pytest.mark.parametrize("kind", sorted(RETRIED))
def test_a_fault_that_passes_is_tried_again_and_the_answer_is_kept(kind: FaultKind, cache: CallCache) -> None:
    transport = ScriptedTransport(faults(kind, 1))
    with Gateway(cache, transport=transport, policy=QUICK) as gateway:
        assert gateway.complete(SETTINGS, request()).text == "answer to q"
    assert [row.status for row in journal(cache)] == [kind, "done"]
    assert cache.get(call_key(SETTINGS, request())) is not None


def test_a_failed_call_is_made_anew_the_next_time(cache: CallCache) -> None:
    transport = ScriptedTransport(faults("refused", 1))
    with Gateway(cache, transport=transport) as gateway:
        with pytest.raises(ModelError):
            gateway.complete(SETTINGS, request())
        assert not gateway.complete(SETTINGS, request()).cached


def test_with_all_faults_together_at_30_percent_no_call_is_lost_and_no_failure_kept(cache: CallCache) -> None:
    chance = random.Random(5)
    kinds = [kind for kind in KINDS if kind != "unusable"]

    def script(asked: ModelRequest, number: int) -> Reply:
        if chance.random() < 0.3:
            raise CallFault(chance.choice(kinds), "scripted")
        return answer_of(asked)

    transport = ScriptedTransport(script, delay=0.001)
    asked = [request(f"q{n}") for n in range(500)]
    with Gateway(cache, transport=transport, policy=QUICK) as gateway:
        found = in_threads([lambda each=each: gateway.complete(SETTINGS, each) for each in asked])
    ends = Counter(type(outcome).__name__ for outcome in found)
    assert set(ends) == {"Completion", "ModelError"}
    assert ends.total() == 500
    for each, outcome in zip(asked, found, strict=True):
        kept = cache.get(call_key(SETTINGS, each))
        if isinstance(outcome, Completion):
            assert outcome.text == f"answer to {each.messages[0].text}"
            assert kept is not None
        else:
            assert kept is None
    rows = journal(cache)
    assert len(rows) == len(transport.sent)
    assert sum(row.status == "done" for row in rows) == ends["Completion"]
    assert transport.most_in_flight <= 64


def test_when_no_call_can_succeed_the_next_ones_fail_at_once_and_are_not_sent(cache: CallCache) -> None:
    transport = ScriptedTransport(faults("unusable"))
    other = replace(SETTINGS, spec="openai:other")
    with Gateway(cache, transport=transport) as gateway:
        cache.put(
            call_key(SETTINGS, request("paid")),
            StoredCall("paid", "m", USE, 0.0, 0.0),
            JournalEntry("1", "", "", "", "openai:m", "k", 1, 1, 0.0, False, 0.0, "done", "2026-01-01"),
        )
        for name in ("a", "b", "c"):
            with pytest.raises(ModelError, match="scripted unusable") as caught:
                gateway.complete(SETTINGS, request(name))
            assert caught.value.kind == "unusable"
        assert len(transport.sent) == 1
        assert gateway.complete(SETTINGS, request("paid")).text == "paid"
        with pytest.raises(ModelError):
            gateway.complete(other, request("a"))
        assert len(transport.sent) == 2


def test_a_try_that_hangs_is_given_up_after_the_models_time() -> None:
    transport = ScriptedTransport(lambda asked, n: asyncio.sleep(60, reply()))
    with (
        Gateway(None, transport=transport, policy=replace(QUICK, tries=2)) as gateway,
        pytest.raises(ModelError, match=r"no answer after 2 tries: no whole answer within 0\.02 s"),
    ):
        gateway.complete(replace(SETTINGS, timeout=0.02), request())
    assert transport.in_flight == 0


def test_a_client_that_breaks_is_a_fault_with_its_traceback_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def broken(asked: Any, number: int) -> Reply:
        raise KeyError("choices")

    with (
        Gateway(None, transport=ScriptedTransport(broken), policy=QUICK) as gateway,
        pytest.raises(ModelError, match="the client failed: KeyError: 'choices'") as caught,
    ):
        gateway.complete(SETTINGS, request())
    assert caught.value.kind == "unavailable"
    assert "in broken" in caplog.text
    assert caplog.text.rstrip().endswith("KeyError: 'choices'")


def test_a_blank_text_is_a_fault_even_where_the_client_takes_it_for_an_answer() -> None:
    with (
        Gateway(None, transport=ScriptedTransport(lambda asked, n: reply(" \n")), policy=QUICK) as gateway,
        pytest.raises(ModelError) as caught,
    ):
        gateway.complete(SETTINGS, request())
    assert caught.value.kind == "blank"


class Slept:
    """A clock that only waits for further tries move."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def test_waits_grow_from_half_a_second_with_full_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: high if low == 0.0 else pytest.fail("no full jitter"))
    clock = Slept()
    policy = RetryPolicy(tries=9)
    with (
        Gateway(
            None,
            transport=ScriptedTransport(faults("server")),
            policy=policy,
            clock=lambda: clock.time,
            sleep=clock.sleep,
        ) as gateway,
        pytest.raises(ModelError),
    ):
        gateway.complete(SETTINGS, request())
    assert clock.waits == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_the_wait_that_a_provider_asks_for_is_kept_to_even_when_it_is_longer_than_ours() -> None:
    clock = Slept()
    transport = ScriptedTransport(faults("rate_limited", 1, wait=90.0))
    with Gateway(None, transport=transport, clock=lambda: clock.time, sleep=clock.sleep) as gateway:
        gateway.complete(SETTINGS, request())
    assert clock.waits[0] == 90.0
    assert clock.time == 90.0


def test_no_try_begins_after_the_deadline_and_what_the_provider_wants_is_said() -> None:
    clock = Slept()
    transport = ScriptedTransport(faults("rate_limited", wait=250.0))
    with (
        Gateway(None, transport=transport, clock=lambda: clock.time, sleep=clock.sleep) as gateway,
        pytest.raises(ModelError, match=r"after 3 tries \(the next would be 250 s later, past 600 s"),
    ):
        gateway.complete(SETTINGS, request())
    assert clock.time == 500.0


def test_while_a_provider_wants_a_pause_beyond_the_deadline_other_calls_fail_without_being_sent() -> None:
    transport = ScriptedTransport(faults("rate_limited", wait=3600.0))
    with Gateway(None, transport=transport) as gateway:
        for name in ("a", "b"):
            with pytest.raises(ModelError) as caught:
                gateway.complete(SETTINGS, request(name))
            assert caught.value.kind == "unavailable"
    assert len(transport.sent) == 1
    assert "3600 s" in str(caught.value)


KEY = "sk-proj-verysecret0123456789"


@pytest.mark.parametrize("known", [True, False], ids=["the environment's", "one that looks like a key"])
@pytest.mark.parametrize("breaks", [True, False], ids=["client breaks", "fault"])
def test_no_key_is_raised_or_noted_or_logged(
    known: bool, breaks: bool, cache: CallCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = "plainsecret" if known else KEY
    if known:
        monkeypatch.setenv("OPENAI_API_KEY", key)

    def script(asked: Any, number: int) -> Reply:
        raise ValueError(f"Bearer {key}") if breaks else CallFault("unusable", f"Incorrect API key provided: {key}.")

    with caplog.at_level(logging.DEBUG), Gateway(cache, transport=ScriptedTransport(script), policy=QUICK) as gateway:
        for name in ("a", "b"):
            with pytest.raises(ModelError) as caught:
                gateway.complete(SETTINGS, request(name))
            assert key not in str(caught.value)
            assert caught.value.__cause__ is None
    assert all(key not in (row.error or "") for row in journal(cache))
    assert key not in caplog.text
