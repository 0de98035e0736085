"""The judge's whole way (prompt, cache, gateway, client, verdict) against the bare client, on 60 KB contexts.

Three figures, each side by side in one run: the wall time against calls × delay / concurrency with a server that
answers after a fixed time; CPU a call beyond the bare client's at the same concurrency; verdicts a second from a warm
cache. ``COMPACTION_EVAL_BENCH_CALLS`` sets the calls (1,024 by default), ``COMPACTION_EVAL_BENCH_DELAY`` the
server's time (0.5 s).
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import openai
import pytest

from compaction import Message
from flows.execution.model_calls import WAITING
from flows.llm.cache.call_cache import CallCache
from flows.llm.calling_for import calling_for
from flows.llm.gateway import Gateway
from flows.llm.remote_model import RemoteModel
from flows.llm.settings import make_settings
from flows.pipeline.tasks.task_context import ItemThreads, unless_stopped
from judge import JudgeCase, Probe, load_rubric
from judge.llm import ModelJudge
from tests.flows.llm.server import serving

CALLS = int(os.environ.get("COMPACTION_EVAL_BENCH_CALLS", "1024"))
IN_FLIGHT = 64
DELAY = float(os.environ.get("COMPACTION_EVAL_BENCH_DELAY", "0.5"))
LINE = "The wheel of the mill squeaks since the bearing was changed; see src/wheel_7.py, line 12.\n"
RUBRIC = load_rubric()
CRITERIA = RUBRIC.asked["decision"]
VERDICT = json.dumps(
    {
        "criterionResults": [{"criterionId": id, "score": 3, "reasoning": "It names the file."} for id in CRITERIA],
        "aggregateScore": 3.0,
        "dimensionScores": {},
    }
)


def cases(number: int) -> list[JudgeCase]:
    """Answers to four questions on each context of 60 KB: as many contexts as it takes."""
    found = []
    for at in range(number):
        if at % 4 == 0:
            text = f"{at}: " + LINE * (60_000 // len(LINE) // 20)
            context = tuple(Message("assistant" if n % 2 else "user", text, seq=n) for n in range(20))
        probe = Probe("decision", f"Why was the wheel changed, number {at}?", "It squeaked.", (), (), 200)
        found.append(JudgeCase(probe, f"Because it squeaked {at} times.", context, CRITERIA))
    return found


def judged(judge: ModelJudge, given: list[JudgeCase], threads: ItemThreads) -> tuple[float, float]:
    """Seconds of wall time and of this process's CPU."""

    def one(case: JudgeCase) -> int:
        with calling_for("score", "a"):
            return len(judge.score(case))

    wall, cpu = time.perf_counter(), time.process_time()
    assert set(threads.map(unless_stopped(one), given, lambda _: 1, cached_first=True)) == {len(CRITERIA)}
    return time.perf_counter() - wall, time.process_time() - cpu


async def bare(url: str, requests: list[list[dict[str, str]]], *, aiohttp: bool) -> tuple[float, float]:
    """The same requests over the SDK alone."""
    http = openai.DefaultAioHttpClient() if aiohttp else None
    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=http)
    schema = {"type": "object"}
    waiting = iter(requests)

    async def worker() -> None:
        for messages in waiting:
            reply = await client.chat.completions.create(
                model="wren-2",
                max_tokens=2000,
                temperature=0.0,
                messages=messages,  # type: ignore[arg-type]
                response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema}},
            )
            assert reply.choices[0].message.content == VERDICT

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    spent = time.perf_counter() - wall, time.process_time() - cpu
    await client.close()
    return spent


@dataclass(frozen=True)
class Judging:
    """Seconds of wall time and of this process's CPU, of all verdicts together."""

    cold: tuple[float, float]
    warm: tuple[float, float]
    bare: tuple[float, float]
    aiohttp: tuple[float, float]
    n_characters: int
    """Of what one request says."""


def measure_judging(folder: Path, calls: int = CALLS, delay: float = DELAY) -> Judging:
    """Judge, judge the same from the cache, and send the same requests over the SDK alone."""
    given = cases(calls)
    with serving(text=VERDICT, delay=delay) as url:
        settings = make_settings("openai:wren-2", {"base_url": url}, "benchmark")
        for name in ("first", "measured"):  # the first opens connections and imports
            with CallCache(folder / name) as cache:
                threads = ItemThreads(WAITING * IN_FLIGHT, cache.flush)
                gateway = Gateway(cache, concurrency=IN_FLIGHT, hold=lambda call, threads=threads: threads.wants_cached)
                judge = ModelJudge(RemoteModel(settings, lambda gateway=gateway: gateway), RUBRIC, "study")
                cold = judged(judge, given if name == "measured" else given[:IN_FLIGHT], threads)
                n_warm = 3 if name == "measured" else 0
                warm = min((judged(judge, given, threads) for _ in range(n_warm)), default=(0.0, 0.0))
                threads.close()
                gateway.close()
        sent = [
            [{"role": message.role, "content": message.text} for message in judge.request(case).messages]
            for case in given
        ]
        spent = []
        for aiohttp in (False, True):
            asyncio.run(bare(url, sent[:IN_FLIGHT], aiohttp=aiohttp))
            spent.append(asyncio.run(bare(url, sent, aiohttp=aiohttp)))
    return Judging(cold, warm, *spent, n_characters=sum(len(one["content"]) for one in sent[0]))


@pytest.mark.benchmark
@pytest.mark.timeout(600)
def test_judging_against_the_bare_client_and_against_the_clock(tmp_path: Path) -> None:
    found = measure_judging(tmp_path)
    wall, cpu = found.cold
    ideal = CALLS * DELAY / IN_FLIGHT
    print(f"\n{CALLS:,} verdicts, {found.n_characters / 1000:.0f} KB each, {IN_FLIGHT} in flight, {DELAY} s each")
    walls = ", ".join(f"{one[0] / ideal:.2f}" for one in (found.bare, found.aiohttp))
    print(f"wall: {wall:.2f} s = {wall / ideal:.2f} x calls x delay / concurrency ({ideal:.2f} s); bare: {walls}")
    print(f"CPU a call: ours {1000 * cpu / CALLS:.2f} ms", end="")
    for name, (_, spent) in {"bare client": found.bare, "bare client with aiohttp": found.aiohttp}.items():
        print(
            f", {name} {1000 * spent / CALLS:.2f} ms (ours less that: {1000 * (cpu - spent) / CALLS:+.2f} ms)", end=""
        )
    print(f"\nwarm: {CALLS / found.warm[0]:,.0f} verdicts a second = {wall / found.warm[0]:,.0f} x the cold run")
    assert cpu < found.bare[1] + 0.0015 * CALLS
