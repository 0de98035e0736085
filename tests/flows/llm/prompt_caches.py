"""The providers' prompt caches by their published rules: which beginning of a request is read, and what is written.

OpenAI ("Prompt caching"): by itself, from 1,024 tokens, in steps of 128, the schema before all messages; requests with
another ``prompt_cache_key`` go to other machines. Anthropic ("Prompt caching"): up to the marks, of which there may be
four, from a number of tokens that depends on the model; five minutes after the last use it is gone. Both: a beginning
can be read once the answer to the request that brought it has begun. A token is taken for four characters.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.flows.llm.shapes import Json, schema_of

CHARS = 4
LIFE = 300.0
MINIMA = {"claude-haiku-4-5": 4096, "claude-opus-4-5": 4096, "claude-opus-4-6": 4096, "claude-sonnet-4-6": 2048}


def _parts(body: Json) -> Iterator[tuple[str, bool]]:
    """The texts of a request in the order of the prompt, each with whether a mark stands behind it."""
    schema = schema_of(body)
    yield "" if schema is None else orjson.dumps(schema).decode(), False
    system = body.get("system", [])
    said: list[Any] = [{"role": "system", "content": system}, *(body.get("messages") or body.get("input") or [])]
    for message in said:
        content = message.get("content") or ""
        for block in content if isinstance(content, list) else [{"text": content}]:
            text = block.get("text", orjson.dumps(block).decode())
            yield f"{message.get('role')}\n{text}", "cache_control" in block


@dataclass
class PromptCaches:
    """The prompt caches of both providers."""

    clock: Callable[[], float] = time.monotonic
    kept: dict[tuple[str, ...], float] = field(default_factory=dict)
    """Beginning → its last use."""

    def look_up(self, path: str, body: Json) -> tuple[int, list[tuple[int, tuple[str, ...]]]]:
        """Tokens that a request reads, and the beginnings that it will have written."""
        anthropic = path == "/v1/messages"
        found = list(self._marked(body) if anthropic else self._steps(body))
        now = self.clock()
        return max((n for n, key in found if now - self.kept.get(key, -LIFE) < LIFE), default=0), found

    def answer(self, path: str, usage: Json, read: int, found: list[tuple[int, tuple[str, ...]]], total: int) -> None:
        """Keep the beginnings of an answered request, and tell its tokens in the provider's way."""
        for _, key in found:
            self.kept[key] = self.clock()
        if path == "/v1/messages":
            written = max([0, *(n for n, _ in found)]) - read
            usage |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
            usage["input_tokens"] = total - read - written
        else:
            name = "prompt" if path == "/v1/chat/completions" else "input"
            usage |= {f"{name}_tokens": total, f"{name}_tokens_details": {"cached_tokens": read}}
            usage["total_tokens"] = total + usage[f"{'completion' if name == 'prompt' else 'output'}_tokens"]

    def _steps(self, body: Json) -> Iterator[tuple[int, tuple[str, ...]]]:
        text = "\n".join(part for part, _ in _parts(body)).encode()
        digest = hashlib.sha256()
        for tokens in range(128, len(text) // CHARS + 1, 128):
            digest.update(text[CHARS * (tokens - 128) : CHARS * tokens])
            if tokens >= 1024:
                yield tokens, (body["model"], body.get("prompt_cache_key", ""), digest.hexdigest())

    def _marked(self, body: Json) -> Iterator[tuple[int, tuple[str, ...]]]:
        least = next((n for name, n in MINIMA.items() if body["model"].startswith(name)), 1024)
        digest, chars = hashlib.sha256(), 0
        for text, is_marked in _parts(body):
            digest.update(text.encode())
            chars += len(text.encode())
            if is_marked and chars // CHARS >= least:
                yield chars // CHARS, (body["model"], digest.hexdigest())


def tokens_of(body: Json) -> int:
    """Tokens of a request."""
    return sum(len(text.encode()) for text, _ in _parts(body)) // CHARS
