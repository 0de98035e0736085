"""A probe: a question about the history, its true answer, and the messages that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from compaction.points import CompactionPoint
from compaction.transcript import Transcript

ProbeType = Literal["recall", "artifact", "continuation", "decision", "constraint"]
PROBE_TYPES: tuple[ProbeType, ...] = get_args(ProbeType)

FactKind = Literal[
    "error",
    "command",
    "version",
    "value",
    "file_created",
    "file_modified",
    "file_examined",
    "open_task",
    "failing_test",
    "next_step",
    "request",
    "decision",
    "reason",
]


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
    "open_task",
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
    """Something that is true at a point and worth knowing there."""

    kind: StatementKind
    text: str
    """As one would state it, self-contained."""
    evidence: tuple[int, ...] = ()
    """``seq`` of messages that prove it, each alone."""
    quotes: tuple[str, ...] = ()
    """Words of these messages that prove it wherever they stand."""
    exact: tuple[str, ...] = ()
    """What must stand to the letter on one line; empty for what can be said in other words."""
    details: tuple[str, ...] = ()
    """For a modified file the names of what changed in it."""
    foils: tuple[str, ...] = ()
    """What is false of the same slot: earlier values, the rejected choice."""
    needed_at: int | None = None
    """``seq`` of the first message behind the point that uses it, where the log shows it."""
    until: int | None = None
    """``seq`` from which on it does not hold any more, where a later message says so."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a right answer says."""

    kind: FactKind
    value: str
    """The fact as one would state it."""
    terms: tuple[str, ...]
    """What has to be found in an answer that states it (paths, identifiers, numbers, content words)."""
    details: tuple[str, ...] = ()
    """What a thorough answer adds: for a modified file the names of what changed in it."""
    seqs: tuple[int, ...] = ()
    """Messages that prove it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words in the history that prove a true answer."""

    seq: int
    quote: str
    """Verbatim from the message's text or call arguments."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A question asked of every method at one compaction point."""

    probe_type: ProbeType
    question: str
    ground_truth: str
    statements: tuple[Statement, ...]
    evidence: tuple[Evidence, ...]
    max_tokens: int
    """Limit of the answer's length, stated in the question."""


@dataclass(frozen=True, slots=True)
class NotAsked:
    """A probe that could not be made, because no truth was found for it."""

    probe_type: ProbeType
    reason: str


@dataclass(frozen=True, slots=True)
class ProbeFailed:
    """A probe of which nothing is known, because a call failed; another run may try again."""

    probe_type: ProbeType
    reason: str


class Prober(Protocol):
    """Makes the probes of a compaction point."""

    name: str

    def probes(self, transcript: Transcript, point: CompactionPoint) -> Sequence[Probe | NotAsked | ProbeFailed]:
        """One entry for each probe type. Raises CallsStoppedError when no call may be made any more."""
        ...
