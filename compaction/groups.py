"""Atomic groups: messages that stay or go together.

Semantics of agent-framework-core 1.23.0 (Python), ``_compaction.py``: system and user messages stand alone; an
assistant message with tool calls takes the results that follow it, and later results that are linked to it by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compaction.transcript import Message

GroupKind = Literal["system", "user", "assistant_text", "tool_call"]


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that a strategy keeps or drops as one."""

    kind: GroupKind
    messages: tuple[Message, ...]
    positions: tuple[int, ...]
    """Index of each message in the history (not its ``seq``)."""


def group(messages: Sequence[Message]) -> tuple[Group, ...]:
    """Group a history, left to right."""
    raise NotImplementedError


def flatten(groups: Sequence[Group]) -> list[Message]:
    """The messages of some groups, in the history's order."""
    pairs = [pair for g in groups for pair in zip(g.positions, g.messages, strict=True)]
    return [message for _, message in sorted(pairs, key=lambda pair: pair[0])]
