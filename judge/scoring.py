"""A verdict: what a judge makes of one answer, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from compaction.model import ReplyError
from compaction.transcript import Message
from judge.probe import Probe
from judge.rubric import Rubric
from judge.statement import StatementState


class JudgeError(Exception):
    """The judge failed or refused; the answer stays unscored."""


class PackTooLargeError(Exception):
    """The cases are longer than the judge takes, or their verdicts are longer than it writes; fewer may do."""


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """All that a judge sees. Nothing in it names or hints at the strategy."""

    probe: Probe
    answer: str
    context: tuple[Message, ...]
    criteria: tuple[str, ...]
    """Ids of the criteria that the rubric asks for this probe type."""
    states: tuple[StatementState, ...] | None = None
    """What the context tells of the probe's statements, where the answer is nothing but that; else None."""
    replicate: int = 0
    """Number of the repetition; the judge is not told."""


@dataclass(frozen=True, slots=True)
class CriterionScore:
    """One criterion of one answer: a score, or the reason why there is none."""

    criterion: str
    score: float | None
    """0–5; None when unscored."""
    reasoning: str
    unscored_reason: str | None = None


@dataclass(frozen=True, slots=True)
class JudgeVersion:
    """The settings that change a judge's scores; their hash is the ``judge_id``."""

    judge: str
    """``embedded`` or the model's spec."""
    model: str
    """The model that scores; ``embedded-judge@1`` where none does."""
    rubric: str
    """Id and version of the rubric, and the beginning of its hash."""
    prompt_sha256: str
    """Of the prompt; of the embedded judge, which has none, of its name and version."""
    protocol: str
    """``study`` or ``closed`` of a model (``judge.llm``); of the embedded judge what it reads."""
    params: Mapping[str, Any]


class Judge(Protocol):
    """Scores answers by a rubric."""

    version: JudgeVersion
    rubric: Rubric

    def score(self, case: JudgeCase) -> Sequence[CriterionScore]:
        """One entry for each criterion of the case.

        Raises JudgeError when there is no verdict, CallsStoppedError when no call may be made any more.
        """


class PackingJudge(Judge, Protocol):
    """Scores several answers that were given from one context together."""

    def score_together(self, cases: Sequence[JudgeCase]) -> Sequence[Sequence[CriterionScore] | ReplyError]:
        """Of each case its scores, or why it has to be asked alone.

        Raises JudgeError when there is no verdict at all, PackTooLargeError when there may be with fewer cases,
        CallsStoppedError when no call may be made any more.
        """
