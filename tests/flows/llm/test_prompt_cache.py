"""Requests that begin alike follow one that was answered, and providers find their beginnings in the prompt cache."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from compaction import Message
from compaction.model import ModelRequest
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.clients.anthropic_client import request_body as anthropic_body
from flows.llm.clients.openai_client import request_body as openai_body
from flows.llm.clients.transport import CallFault, Reply
from flows.llm.gateway import Gateway
from flows.llm.prompt_cache import LIFE, Beginning, Beginnings, beginnings_of
from flows.llm.settings import BASE_URLS, ModelSettings
from tests.flows.llm.asking import settings_for
from tests.flows.llm.prompt_caches import PromptCaches
from tests.flows.llm.scripted import QUICK, SETTINGS, ScriptedTransport, in_threads, journal, reply
from tests.flows.llm.server import MockProvider

INSTRUCTIONS = "Answer in few words. " * 300
CLAUDE = ModelSettings("anthropic:claude-sonnet-4-5", BASE_URLS["anthropic"])
GPT = ModelSettings("openai:gpt-5.2", BASE_URLS["openai"])


def asked(context: str, question: str, instructions: str = INSTRUCTIONS) -> ModelRequest:
    text = f"{context}\n{question}"
    return ModelRequest((Message("system", instructions), Message("user", text)), 50, shared=len(context))


def test_a_beginning_is_that_of_all_requests_on_one_context_and_of_one_model() -> None:
    first, second, other = asked("one " * 9, "why"), asked("one " * 9, "how"), asked("two " * 9, "why")
    assert beginnings_of(GPT, first) == beginnings_of(GPT, second)
    assert beginnings_of(GPT, first)[0] == beginnings_of(GPT, other)[0]
    assert beginnings_of(GPT, first)[1] != beginnings_of(GPT, other)[1]
    assert beginnings_of(GPT, first)[1].characters == len(INSTRUCTIONS) + 36
    assert {one.name for one in beginnings_of(GPT, first)}.isdisjoint(one.name for one in beginnings_of(CLAUDE, first))
    assert beginnings_of(GPT, ModelRequest((Message("user", "x"),), 5)) == []


def test_what_is_shared_is_no_part_of_a_calls_key_or_text() -> None:
    request = asked("one " * 2_000, "why")
    alone = ModelRequest(request.messages, 50)
    assert call_key(CLAUDE, request) == call_key(CLAUDE, alone)
    blocks = anthropic_body(CLAUDE, request)["messages"][0]["content"]
    assert "".join(block["text"] for block in blocks) == request.messages[1].text
    assert anthropic_body(CLAUDE, alone)["messages"][0]["content"] == request.messages[1].text


@pytest.mark.parametrize(
    ("model", "context", "marks"),
    [
        ("claude-sonnet-4-5", "one " * 2_000, (True, True)),
        ("claude-opus-4-5", "one " * 2_000, (False, False)),  # 4,096 tokens
        ("claude-opus-4-5", "one " * 5_000, (False, True)),
        ("claude-sonnet-4-5", "", (True, False)),
    ],
)
def test_marks_stand_where_a_beginning_ends_that_is_long_enough(
    model: str, context: str, marks: tuple[bool, bool]
) -> None:
    body = anthropic_body(ModelSettings(f"anthropic:{model}", BASE_URLS["anthropic"]), asked(context, "why"))
    content = body["messages"][0]["content"]
    found = (isinstance(body["system"], list), isinstance(content, list))
    assert found == marks
    for blocks in (each for each in (body["system"], content) if isinstance(each, list)):
        assert ["cache_control" in block for block in blocks] == [True, False][: len(blocks)]


def test_openai_is_told_which_requests_share_a_context_and_no_other_server_is() -> None:
    first, second, other = (openai_body(GPT, asked(*each)) for each in (("a", "why"), ("a", "how"), ("b", "why")))
    assert first["prompt_cache_key"] == second["prompt_cache_key"] != other["prompt_cache_key"]
    assert len(first["prompt_cache_key"]) <= 64
    assert "prompt_cache_key" not in openai_body(SETTINGS, asked("a", "why"))
    assert "prompt_cache_key" not in openai_body(GPT, ModelRequest((Message("user", "x"),), 5))


def order_of(groups: Sequence[str], now: Sequence[float] = (0.0,)) -> list[str]:
    """How calls that all come at once begin and end, when each takes one turn of the loop."""
    seen: list[str] = []
    clock = iter(now)

    async def one(name: str) -> None:
        async with turns.in_turn([Beginning("all", 1), Beginning(name, 2)] if len(name) > 1 else [Beginning(name, 1)]):
            seen.append(f"+{name}")
            await asyncio.sleep(0)
            seen.append(f"-{name}")

    async def run() -> None:
        await asyncio.wait_for(asyncio.gather(*map(one, groups)), 5)

    turns = Beginnings(lambda: next(clock, now[-1]))
    asyncio.run(run())
    return seen


def test_the_first_goes_ahead_and_the_others_go_together_after_it() -> None:
    assert order_of("aaab") == ["+a", "+b", "-a", "-b", "+a", "+a", "-a", "-a"]
    assert order_of(["xx", "xx", "yy"])[:2] == ["+xx", "-xx"]


def test_a_beginning_that_the_provider_has_forgotten_is_sent_ahead_again() -> None:
    async def run(later: float) -> list[str]:
        seen: list[str] = []
        now = [0.0]
        turns = Beginnings(lambda: now[0])

        async def one(name: str) -> None:
            async with turns.in_turn([Beginning("a", 1)]):
                seen.append(f"+{name}")
                await asyncio.sleep(0)
                seen.append(f"-{name}")

        await one("1")
        now[0] = later
        await asyncio.gather(one("2"), one("3"))
        return seen[2:]

    assert asyncio.run(run(LIFE - 1)) == ["+2", "+3", "-2", "-3"]
    assert asyncio.run(run(LIFE + 1)) == ["+2", "-2", "+3", "-3"]


def test_others_go_on_when_the_first_fails(cache: CallCache) -> None:
    def script(request: ModelRequest, number: int) -> Reply:
        if "0" in request.messages[1].text:
            raise CallFault("refused", "scripted")
        return reply()

    transport = ScriptedTransport(script, delay=0.01)
    with Gateway(cache, transport=transport, policy=QUICK) as gateway:
        found = in_threads([lambda n=n: gateway.complete(SETTINGS, asked("a", str(n))) for n in range(6)])  # type: ignore[misc]
    assert sum(isinstance(each, Exception) for each in found) == 1


@pytest.mark.parametrize("spec", ["openai:gpt-5.2", "anthropic:claude-sonnet-4-5"])
def test_a_provider_finds_the_context_of_all_but_the_first_request_and_the_journal_says_so(
    provider: MockProvider, cache: CallCache, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    provider.caches, provider.delay = PromptCaches(), 0.02
    settings = settings_for(provider, spec)
    monkeypatch.setitem(BASE_URLS, settings.provider, settings.base_url)  # type: ignore[index]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    requests = [asked(f"{n} " * 8_000, f"question {m}") for n in range(3) for m in range(5)]
    with Gateway(cache, policy=QUICK) as gateway:
        in_threads([lambda each=each: gateway.complete(settings, each) for each in requests])  # type: ignore[misc]
    entries = journal(cache)
    assert [entry.status for entry in entries] == ["done"] * 15
    sent = sum(entry.input_tokens or 0 for entry in entries)
    read = sum(entry.cached_input_tokens or 0 for entry in entries)
    assert 0.7 < read / sent < 0.85  # four of five, less the questions
    cold = [entry for entry in entries if (entry.cached_input_tokens or 0) < 2_000]
    assert len(cold) == 3
    written = sum(entry.cache_write_tokens or 0 for entry in entries)
    assert (written > 0) == (spec != "openai:gpt-5.2")
    full = sum((entry.input_tokens or 0) * (1.75 if "gpt" in spec else 3.0) for entry in entries) / 1e6
    assert sum(entry.cost_usd or 0 for entry in entries) < 0.5 * full


def test_without_the_share_nothing_is_marked_and_nothing_is_found(provider: MockProvider, cache: CallCache) -> None:
    provider.caches = PromptCaches()
    settings = settings_for(provider, "anthropic:claude-sonnet-4-5")
    with Gateway(cache, policy=QUICK) as gateway:
        for n in range(2):
            request = asked("context " * 4_000, str(n))
            gateway.complete(settings, ModelRequest(request.messages, 50))
    assert [entry.cached_input_tokens for entry in journal(cache)] == [0, 0]
