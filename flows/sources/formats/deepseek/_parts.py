"""Pieces of DeepSeek's events: streamed responses, results, usage."""

from __future__ import annotations

import re
from typing import Any

from flows.sources.reading.base import Record
from flows.sources.reading.blocks import text_of
from flows.sources.reading.usage import from_parts
from flows.sources.reading.values import as_dict, need_object, nested

_FAILED = re.compile(r"\[exit code: (?!0\])-?\d+\]\s*\Z")


class StreamedResponse:
    """The part of a response that has been streamed so far."""

    def __init__(self, ref: str, time: str | None) -> None:
        self.ref = ref
        self.time = time
        self.pieces: dict[tuple[str, Any], list[str]] = {}
        """What it is, and the number of its block → the pieces."""
        self.calls: dict[Any, tuple[Any, Any]] = {}
        """Number of a block → id and name of its call."""

    def add(self, kind: str, chunk: Record, pieces: Any) -> None:
        """Adds what a chunk brings."""
        index = chunk.get("index")
        if not isinstance(index, (int, str)):
            index = None
        texts = pieces if isinstance(pieces, list) else [pieces]
        self.pieces.setdefault((kind, index), []).extend(text for text in texts if isinstance(text, str))
        if kind == "call" and (chunk.get("id") or chunk.get("name")):
            own, name = self.calls.get(index, (None, None))
            self.calls[index] = (chunk.get("id") or own, chunk.get("name") or name)


def outcome_of(data: Record) -> tuple[Any, str, bool]:
    """Id of the call, text and failure of a tool result."""
    message, failed = need_object(data.get("message"), "message"), bool(data.get("error"))
    own, content = nested(message, "source", "callId"), message.get("content")
    texts: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, dict) and block.get("type") == "tool-result":
            own = own or block.get("toolCallId")
            failed = failed or block.get("isError") is True
            texts.append(text_of(block.get("content")))
        else:
            texts.append(text_of(block))
    text = "\n".join(filter(None, texts))
    return own, text, failed or _FAILED.search(text[-100:]) is not None


def usage_of(usage: Any) -> Any:
    """Usage of a call; the input counts leave out what went through the cache."""
    usage = as_dict(usage)
    own, read, written = (usage.get(f"{kind}Tokens") for kind in ("input", "cacheRead", "cacheWrite"))
    return from_parts(own, read, written, usage.get("outputTokens"))
