"""Counts the messages of an input: each when it is met, and again when it is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from compaction.transcript import Message

Kind = Literal["system", "user", "assistant", "tool", "tool_call"]
"""What is accounted for: messages by role (a tool result is a message of role tool), and calls."""
KINDS: tuple[Kind, ...] = get_args(Kind)
SHORTER_COPY = "shorter copy of this session"
RECORD = "record"
"""What is set aside and was never a message: bookkeeping, screen events, summaries."""


@dataclass
class Account:
    """The account of one input.

    Readers count the messages of a log as they read it; stored messages are counted in the store. So ``met = stored +
    set aside`` fails when anything between the two loses or doubles a message.
    """

    met: Counter[Kind] = field(default_factory=Counter)
    aside: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(kind or ``record``, reason) → how many."""

    def leave_out(self, reason: str, kind: Kind | None = None, count: int = 1) -> None:
        """Count something met that is deliberately not stored; ``kind`` None when it is no message."""
        if count:
            self.aside[kind or RECORD, reason] += count
            if kind is not None:
                self.met[kind] += count

    def drop(self, reason: str, messages: Iterable[Message]) -> None:
        """Count messages that were met and are not stored after all."""
        for kind, count in by_kind(messages).items():
            self.aside[kind, reason] += count


def by_kind(messages: Iterable[Message]) -> Counter[Kind]:
    """How many there are of each kind."""
    found: Counter[Kind] = Counter()
    for message in messages:
        found[message.role] += 1
        found["tool_call"] += len(message.tool_calls)
    return +found
