"""Lines and blocks of kinds that a reader does not know: whether they are too many, and what they would have been."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flows.sources.reading.account import Kind
from flows.sources.reading.base import Record
from flows.sources.reading.values import objects_in

_CALLS = ("tool_calls", "tool_call", "toolCall", "tool_use", "tool_name", "tool_input", "call_id", "arguments")
_RESULTS = ("output", "result", "tool_result", "toolResult", "tool_output")
_NAMES_OF_KINDS = ("type", "kind", "event", "event_type", "eventType", "method", "action")
_FEW = 5
"""One value in so many may be of a kind that is not known."""


def knows_most(knows: Callable[[Any], bool], values: Sequence[Any]) -> bool:
    """Whether no more than a fifth of the values are of kinds that are not known."""
    return sum(not knows(value) for value in values) * _FEW <= len(values)


def says_kind(record: Record) -> bool:
    """Whether a record says of which kind it is, or holds a call or a result, as records of many kinds do."""
    return any(isinstance(record.get(name), str) for name in _NAMES_OF_KINDS) or kind_of_unknown(record) is not None


def has_only(message: Record, blocks: frozenset[str]) -> bool:
    """Whether a message has no blocks but those of these types, or without a type."""
    return all(block.get("type") is None or block["type"] in blocks for block in objects_in(message.get("content")))


def kind_of_unknown(record: Record) -> Kind | None:
    """What a line of an unknown kind would have been: a result, a call; None when it shows neither."""
    if any(record.get(key) for key in _RESULTS):
        return "tool"
    return "tool_call" if any(record.get(key) for key in _CALLS) else None
