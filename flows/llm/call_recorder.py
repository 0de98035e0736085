"""Takes the place of the gateway in a dry run: notes the calls that would be made, and what they would cost."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from compaction import Completion, ModelError, ModelRequest, NativeRequest, TokenCounter
from compaction.testing import ScriptedProvider
from flows.llm.budget import most_tokens
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.calling_for import called_for
from flows.llm.clients.requests import sent_turns
from flows.llm.clients.transport import TokenUse
from flows.llm.prices import Prices
from flows.llm.prompt_cache import beginnings_of
from flows.llm.settings import ModelSettings

PLANNED = "planned "
"""The answers of a plan are made of it."""
ASSUMED_SHARE = 0.5
"""Share of its token limit that an answer is assumed to have."""
CACHED_FROM = 1024
"""Tokens from which providers keep the beginning of a request; some of Anthropic's models from 2,048 or 4,096 on."""
COUNTED = 50
"""Prompts of a stage that are counted exactly; the others by their length and what these had a character."""


@dataclass
class Line:
    """The calls of one stage to one model."""

    stage: str
    model: str
    calls: int = 0
    cached: int = 0
    """Of the calls, those that the cache would answer."""
    under_way: int = 0
    """Of the calls, those that are in batches: their price is owed already, and in none of the sums below."""
    input_tokens: int = 0
    """That would be sent, by the study's tokenizer."""
    cached_input_tokens: int = 0
    """Of them, those that the provider's own prompt cache should have."""
    cache_write_tokens: int = 0
    """Of them, those that the provider should write into it."""
    output_tokens: int = 0
    """Assumed to come back."""
    cost_usd: float | None = 0.0
    """With the assumed answers; None where the price is not known."""
    batch_usd: float | None = 0.0
    """The same with ``--batch``: at the providers' price for batches, and nothing from their prompt caches."""
    most_usd: float | None = 0.0
    """With the longest answers that the limits allow, and the most tokens that any tokenizer makes of the texts."""
    seconds: float | None = None
    """Wall time by the mean of what the model took so far, at the study's concurrency; None where nothing is known."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with ``to_pay`` beside it."""
        return {**asdict(self), "to_pay": self.to_pay}

    @property
    def to_pay(self) -> int:
        """Calls that would be sent."""
        return self.calls - self.cached - self.under_way


class CallRecorder:
    """Takes the place of the gateway: answers from the cache, and notes everything else."""

    def __init__(
        self,
        cache: CallCache | None,
        counter: TokenCounter,
        prices: Prices | None = None,
        batched: Collection[str] = (),
    ) -> None:
        """``batched``: keys of calls that are in batches under way."""
        self.lines: dict[tuple[str, str], Line] = {}
        self._cache, self._counter, self._prices, self._batched = cache, counter, prices or Prices(), batched
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._begun: set[str] = set()
        """Beginnings of requests that would be in the provider's prompt cache."""
        self._counted: dict[str, list[int]] = {}
        """Stage → prompts counted, their characters, their tokens."""

    def complete(self, settings: ModelSettings, request: ModelRequest) -> Completion:
        """The cached answer, or a filler."""
        key = call_key(settings, request)
        found = self._cache.get(key) if self._cache else None
        if found is not None:
            self._note(settings, key, request, cached=True)
            return Completion(found.text, found.model, cached=True)
        self._note(settings, key, request, cached=False)
        filler = f"{key} {PLANNED * max(round(request.max_tokens * ASSUMED_SHARE), 1)}"  # no two alike, as answers are
        if request.check is not None:
            raise ModelError("planned, not asked", "unavailable")
        return Completion(filler, settings.model)

    def native(
        self, settings: ModelSettings, request: NativeRequest, replicate: int = 0
    ) -> tuple[Mapping[str, Any], Completion]:
        """The cached response, or one of the provider's shape."""
        key = call_key(settings, request, replicate)
        found = self._cache.get(key) if self._cache else None
        self._note(settings, key, request, cached=found is not None)
        if found is not None:
            return found.body, Completion(found.text, found.model, cached=True)
        return ScriptedProvider().compact(request)

    def assume(self, settings: ModelSettings, calls: int) -> None:
        """Note calls that the one just refused would have been followed by, each like it."""
        with self._lock:
            line = self._line(settings)
            share = calls / max(line.to_pay, 1)
            line.calls += calls
            for name in ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens"):
                setattr(line, name, getattr(line, name) + round(getattr(line, name) * share))
            for name in ("cost_usd", "batch_usd", "most_usd"):
                so_far = getattr(line, name)
                setattr(line, name, None if so_far is None else so_far * (1 + share))

    def close(self) -> None:
        """Close nothing, as nothing is open."""

    def _line(self, settings: ModelSettings) -> Line:
        stage, _ = called_for()
        return self.lines.setdefault((stage, settings.spec), Line(stage, settings.spec))

    def _note(self, settings: ModelSettings, key: str, request: ModelRequest | NativeRequest, *, cached: bool) -> None:
        with self._lock:
            line = self._line(settings)
            line.calls += 1
            if cached or key in self._seen:  # identical calls are made once
                line.cached += 1
                return
            self._seen.add(key)
            if key in self._batched:
                line.under_way += 1
                return
            most = most_tokens(settings, request)
            sent, characters = self._tokens(line.stage, settings, request)
            read, written = self._prompt_cache(settings, request, sent / max(characters, 1))
            use = TokenUse(sent, round(most.output_tokens * ASSUMED_SHARE), read, written)
            line.input_tokens += use.input_tokens
            line.cached_input_tokens += read
            line.cache_write_tokens += written
            line.output_tokens += use.output_tokens
            for name, cost in (
                ("cost_usd", self._prices.cost(settings, use)),
                ("batch_usd", self._batch_usd(settings, request, use)),
                ("most_usd", self._prices.bound(settings, most.input_tokens, most.output_tokens)),
            ):
                so_far = getattr(line, name)
                setattr(line, name, None if so_far is None or cost is None else so_far + cost)

    def _batch_usd(self, settings: ModelSettings, request: ModelRequest | NativeRequest, use: TokenUse) -> float | None:
        """The call in a batch, where no beginning is counted on; native calls go into none."""
        if not isinstance(request, ModelRequest):
            return self._prices.cost(settings, use)
        return self._prices.cost(settings, TokenUse(use.input_tokens, use.output_tokens), batch=True)

    def _prompt_cache(
        self, settings: ModelSettings, request: ModelRequest | NativeRequest, tokens_a_character: float
    ) -> tuple[int, int]:
        """Tokens that the provider would read from its prompt cache, and write into it; none for a server of one's own.

        OpenAI keeps requests with another key on other machines, so only the longest beginning is counted on there.
        """
        if not settings.is_official:
            return 0, 0
        shared = beginnings_of(settings, request)[-1 if settings.provider == "openai" else 0 :]
        sizes = [(one.name, round(one.characters * tokens_a_character)) for one in shared]
        kept = [(name, size) for name, size in sizes if size >= CACHED_FROM]
        read = max((size for name, size in kept if name in self._begun), default=0)
        self._begun.update(name for name, _ in kept)
        return read, max((size for _, size in kept), default=0) - read

    def _tokens(self, stage: str, settings: ModelSettings, request: ModelRequest | NativeRequest) -> tuple[int, int]:
        """Tokens and characters of a request."""
        if isinstance(request, NativeRequest):
            text = str(request.body)
        else:
            said = sent_turns(settings, request.messages)
            calls = [(call.name, call.arguments, result.text) for one in said for call, result in one.calls]
            text = "\n".join([*(one.text for one in said), *(part for call in calls for part in call)])
        number, characters, tokens = self._counted.setdefault(stage, [0, 0, 0])
        if number < COUNTED:
            found = self._counter.count(text)
            self._counted[stage] = [number + 1, characters + len(text), tokens + found]
            return found, len(text)
        return round(len(text) * tokens / max(characters, 1)), len(text)
