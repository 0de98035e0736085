"""CPU of one call: the bare ``AsyncOpenAI`` with its default and its aiohttp transport, against our client alone.

A server in a process of its own answers at once; 64 calls are in flight; prompts of 4 KB and 60 KB, and a JSON schema.
The three take turns in one process, and the least of the rounds counts: other work on the machine only adds. Only the
CPU of this process counts. ``COMPACTION_EVAL_BENCH_CALLS`` sets the calls of a round (256 by default).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

import openai
import pytest

from compaction import Message
from compaction.model import ModelRequest
from flows.llm.clients.factory import make_transport
from flows.llm.settings import make_settings
from tests.flows.llm.server import serving

CALLS = int(os.environ.get("COMPACTION_EVAL_BENCH_CALLS", "256"))
ROUNDS = 5
IN_FLIGHT = 64
MOST_BESIDE_THE_BARE_CLIENT_MS = 1.5
"""Of CPU a call, for all of ours together; this client alone has to stay far below."""
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}, "reasoning": {"type": "string"}},
    "required": ["score", "reasoning"],
    "additionalProperties": False,
}
ANSWER = '{"score": 4, "reasoning": "' + "It names the file and the cause. " * 6 + '"}'
LINE = "The wheel of the mill squeaks since the bearing was changed; «see» src/wheel_7.py, line 12.\n"

Call = Callable[[str], Awaitable[str]]


def prompt(size: int, number: int) -> str:
    return f"{number}: " + LINE * (size // len(LINE.encode()))


def bare(url: str, client: openai.AsyncOpenAI) -> Call:
    async def call(text: str) -> str:
        reply = await client.chat.completions.create(
            model="wren-2",
            max_tokens=500,
            temperature=0.0,
            messages=[{"role": "system", "content": "Grade the answer."}, {"role": "user", "content": text}],
            response_format={"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": SCHEMA}},
        )
        return reply.choices[0].message.content or ""

    return call


async def cpu_ms(call: Call, texts: list[str]) -> float:
    """CPU milliseconds of this process a call."""
    waiting = iter(texts)

    async def worker() -> None:
        for text in waiting:
            assert await call(text) == ANSWER

    start = time.process_time()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return 1000 * (time.process_time() - start) / len(texts)


async def measure_calls(url: str) -> dict[tuple[int, str], float]:
    """CPU milliseconds a call by bytes of the prompt and client."""
    settings = make_settings("openai:wren-2", {"base_url": url}, "benchmark")
    transport = make_transport(settings)
    given = {"api_key": "none", "base_url": url, "max_retries": 0}
    default = openai.AsyncOpenAI(**given)
    aiohttp = openai.AsyncOpenAI(**given, http_client=openai.DefaultAioHttpClient())

    async def ours(text: str) -> str:
        messages = (Message("system", "Grade the answer."), Message("user", text))
        return (await transport.send(settings, ModelRequest(messages, 500, SCHEMA))).text

    calls = {"bare": bare(url, default), "bare, aiohttp": bare(url, aiohttp), "ours": ours}
    least: dict[tuple[int, str], float] = {}
    for size in (4_000, 60_000):
        texts = [prompt(size, number) for number in range(CALLS)]
        for call in calls.values():
            await cpu_ms(call, texts[:IN_FLIGHT])  # connections, caches
        for _ in range(ROUNDS):
            for name, call in calls.items():
                spent = await cpu_ms(call, texts)
                least[size, name] = min(spent, least.get((size, name), spent))
    await transport.close()
    await default.close()
    await aiohttp.close()
    return least


@pytest.mark.benchmark
def test_our_client_costs_no_more_than_the_bare_one() -> None:
    with serving(text=ANSWER) as url:
        least = asyncio.run(measure_calls(url))
    for size in (4_000, 60_000):
        ours, plain, aiohttp = (least[size, name] for name in ("ours", "bare", "bare, aiohttp"))
        print(
            f"\n{size // 1000} KB: CPU ms a call: bare {plain:.2f}, bare with aiohttp {aiohttp:.2f}, ours {ours:.2f}"
            f" (× {ours / plain:.2f} of the bare one, × {ours / aiohttp:.2f} of it with aiohttp)"
        )
        assert ours < plain + 0.2 * MOST_BESIDE_THE_BARE_CLIENT_MS
