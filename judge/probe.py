"""A probe: a question about the history, its true answer, and the messages that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from compaction.points import CompactionPoint
from compaction.transcript import Transcript
from judge.statement import Statement

ProbeType = Literal["recall", "artifact", "continuation", "decision", "constraint"]
PROBE_TYPES: tuple[ProbeType, ...] = get_args(ProbeType)


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
    """A probe that is unknown because a call failed; another run may try again."""

    probe_type: ProbeType
    reason: str


class Prober(Protocol):
    """Makes the probes of a compaction point."""

    name: str

    def probes(self, transcript: Transcript, point: CompactionPoint) -> Sequence[Probe | NotAsked | ProbeFailed]:
        """One entry for each probe type. Raises CallsStoppedError when no call may be made any more."""
