"""The fault table: what becomes of calls when a server fails at 30 % of them, fault by fault and all together.

Real sockets, the real client, the real cache. ``sent`` counts requests at the server, ``retried`` those beyond the
first of a call, ``failed`` calls without an answer after the first run, ``lost`` calls that neither have an answer nor
a reason, ``paid twice`` answers that the server gave more than once. Then the same calls are made again without faults.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compaction import Message, ModelError, ModelRequest
from compaction.model import ReplyError
from flows.llm.cache.call_cache import CallCache
from flows.llm.gateway import Gateway
from flows.llm.retries import RetryPolicy
from flows.llm.settings import make_settings
from tests.flows.llm.server import FAULTS, MockProvider

CALLS = 200
IN_FLIGHT = 64
RATE = 0.3
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}


def check(text: str) -> None:
    """What a parser of verdicts does."""
    if text != '{"score": 4}':
        raise ReplyError("not a score")


def requests() -> list[ModelRequest]:
    return [ModelRequest((Message("user", f"Question {n}"),), 50, SCHEMA, check=check) for n in range(CALLS)]


def outcomes(provider: MockProvider, folder: Path) -> Counter[str]:
    """Every call by what became of it."""
    settings = make_settings("openai:wren", {"base_url": provider.openai_url, "timeout": 2.0}, "benchmark")
    policy = RetryPolicy(first_wait=0.02, longest_wait=0.5)
    with CallCache(folder) as cache, Gateway(cache, concurrency=IN_FLIGHT, policy=policy) as gateway:

        def one(request: ModelRequest) -> str:
            try:
                done = gateway.complete(settings, request)
            except ModelError as error:
                if not str(error):
                    raise
                return f"failed: {error.kind}"
            check(done.text)
            return "cached" if done.cached else "answered"

        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            return Counter(pool.map(one, requests()))


@pytest.mark.benchmark
@pytest.mark.timeout(900)
def test_the_fault_table(tmp_path: Path) -> None:
    print("\n| fault | calls | sent | faults | retried | failed (why) | lost | paid twice | failed when run again |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in (*FAULTS, "all together"):
        rates = dict.fromkeys(FAULTS, RATE / len(FAULTS)) if name == "all together" else {name: RATE}
        with MockProvider(handler=lambda _: '{"score": 4}', faults=rates) as provider:
            first = outcomes(provider, tmp_path / name)
            sent, faults = len(provider.requests), sum(provider.faults_made.values())
            good = Counter(request.raw for request in provider.requests if request.fault is None)
            provider.faults = {}
            again = outcomes(provider, tmp_path / name)
            good += Counter(request.raw for request in provider.requests[sent:])
        failed = {why.removeprefix("failed: "): n for why, n in first.items() if why.startswith("failed")}
        lost = CALLS - first["answered"] - sum(failed.values())
        twice = sum(number - 1 for number in good.values())
        reasons = ", ".join(f"{number} {why}" for why, number in failed.items()) or "0"
        print(
            f"| {name} | {CALLS} | {sent} | {faults} | {sent - CALLS} | {reasons} | {lost} | {twice} | "
            f"{CALLS - again['answered'] - again['cached']} |"
        )
        assert (lost, twice, again["cached"]) == (0, 0, first["answered"])
        assert again["answered"] == CALLS - first["answered"]
