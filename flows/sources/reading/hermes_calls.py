"""Calls that Hermes and Qwen write into the text: ``<tool_call>`` with a JSON object, then ``<tool_response>``."""

from __future__ import annotations

import ast
import re
from typing import Any

import orjson

from flows.sources.reading.values import text_or_none

_OPENED, _CLOSED = "<tool_call>", "</tool_call>"
_RESPONSE = re.compile(r"<tool_response>\s*(.*?)\s*(?:</tool_response>|\Z)", re.DOTALL)
_LONGEST_LITERAL = 100_000
"""Characters of a call that is written as Python would; older datasets have some."""


def split_calls(text: str) -> tuple[str, list[tuple[str, Any]]]:
    """The text without its calls, and their names and arguments. What is no call stays in the text."""
    calls: list[tuple[str, Any]] = []
    first, *pieces = text.split(_OPENED)
    kept = [first]
    for piece in pieces:
        body, _, behind = piece.partition(_CLOSED)
        held = _object(body.strip())
        name = text_or_none(held.get("name")) if isinstance(held, dict) else None
        if name is None:
            kept.append(f"{_OPENED}{piece}")
        else:
            calls.append((name, held.get("arguments", {})))
            kept.append(behind)
    return "".join(kept).strip() if calls else text, calls


def responses_in(text: str) -> list[str]:
    """The results that a message gives, without their tags; none where it has no tag at its start."""
    return _RESPONSE.findall(text) if text.lstrip().startswith("<tool_response>") else []


def _object(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if len(text) > _LONGEST_LITERAL:
            return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
