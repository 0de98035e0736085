"""A statement: one thing that is true at a point, and what a compacted context tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StatementKind = Literal[
    "error",
    "command",
    "version",
    "value",
    "total",
    "finding",
    "file_created",
    "file_modified",
    "file_deleted",
    "file_examined",
    "open_task",
    "done_task",
    "failing_test",
    "untested_edit",
    "next_step",
    "request",
    "decision",
    "reason",
    "constraint",
]


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that is true at a point, and that a right answer says."""

    kind: StatementKind
    text: str
    """As one would state it; of a file its path, as the session names it."""
    evidence: tuple[int, ...] = ()
    """``seq`` of the messages that prove it, each alone."""
    quotes: tuple[str, ...] = ()
    """Words of these messages that prove it wherever they stand."""
    exact: tuple[str, ...] = ()
    """What is quoted from structure (error, version, value, command, test): it stands to the letter, on one line."""
    details: tuple[str, ...] = ()
    """What a thorough answer adds: for a modified file the names of what changed in it."""
    foils: tuple[str, ...] = ()
    """What is false of the same thing: earlier values, the rejected choice."""
    needed_at: int | None = None
    """``seq`` of the first message behind the point that uses it, where the session shows it."""
    until: int | None = None
    """``seq`` from which on it holds no more, where a later message says so."""


State = Literal["readable", "partly", "stale", "contradicted", "lost", "unknown"]
"""``stale``: the context says later what held before; ``contradicted``: it says the opposite; ``unknown``: nobody but a
provider can read it."""


@dataclass(frozen=True, slots=True)
class StatementState:
    """The state of one statement in a context, or in an answer."""

    state: State
    support: float | None
    """0-1; None where the context cannot be read."""
    lines: str = ""
    """The lines that say most of it."""
