"""Blocks of a message as the model reads them, and what a response used."""

from __future__ import annotations

from typing import Any

from flows.sources.formats.cline._text import split_details
from flows.sources.reading.anthropic_blocks import blocks_of
from flows.sources.reading.base import Record
from flows.sources.reading.blocks import text_of
from flows.sources.reading.usage import from_parts, make_usage
from flows.sources.reading.values import first_text, nested, objects_in


def blocks_of_answer(message: Record) -> list[Any]:
    """The blocks of an answer; Roo Code's reasoning, which may stand beside the content, in the form of Anthropic's."""
    details = [first_text(one.get("text"), one.get("summary")) for one in objects_in(message.get("reasoning_details"))]
    beside = [text for text in (first_text(message.get("reasoning_content")), *details) if text]
    return [*map(_thinking, beside), *map(_plain, blocks_of(message))]


def blocks_of_prompt(message: Record) -> list[Any]:
    """The blocks of a prompt; an old message that is one string is split from the details that it ends with."""
    content = message.get("content")
    if not isinstance(content, str):
        return [_plain(block) for block in blocks_of(message)]
    return [{"type": "text", "text": part} for part in split_details(content) if part]


def _thinking(text: str) -> Record:
    return {"type": "thinking", "thinking": text}


def _plain(block: Any) -> Any:
    """A block of Anthropic's API: reasoning is thinking, a file that the person added is text."""
    kind = nested(block, "type")
    if kind == "reasoning":
        return _thinking(text_of(block.get("text")) or text_of(block.get("summary")))
    if kind == "file" and isinstance(block.get("content"), str):
        text = f'<file_content path="{block.get("path")}">\n{block["content"]}\n</file_content>'
        return {"type": "text", "text": text}
    return block


def usage_of(metrics: Record) -> Any:
    """The usage of a response: Cline counts the input without cached tokens."""
    tokens = metrics.get("tokens")
    if isinstance(tokens, dict):
        given, cached = tokens.get("prompt"), tokens.get("cached")
        whole = given + cached if isinstance(given, int) and isinstance(cached, int) else given
        return make_usage(whole, tokens.get("completion"), cached, metrics.get("cost"))
    own, read, written, output = (
        metrics.get(f"{kind}Tokens") for kind in ("input", "cacheRead", "cacheWrite", "output")
    )
    return from_parts(own, read, written, output, metrics.get("cost"))
