"""Gradings that no two readers dispute, and how many of them a judge gets right.

The cheapest test that a judge has to pass before anything that it says is worth reading: five questions, each with a
right and a wrong answer (``clear_cases.toml``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any, cast

from compaction.transcript import Message, Role
from judge.probe import Probe
from judge.scoring import Judge, JudgeCase, JudgeError
from judge.statement import Statement

Scored = tuple[float | None, str]
"""A mean score, and why there is none."""
Run = Callable[[Callable[[JudgeCase], Scored], Iterable[JudgeCase]], Iterable[Scored]]
"""``map``, or one that works on several cases at a time and keeps their order."""

PASSING = 4.0
"""Least mean score of a right answer."""
FAILING = 1.5
"""Greatest mean score of a wrong answer."""


@dataclass(frozen=True, slots=True)
class ClearCase:
    """A grading and how it has to turn out."""

    id: str
    case: JudgeCase
    is_right: bool
    """Whether the answer is right."""


@dataclass(frozen=True, slots=True)
class Grading:
    """A judge's score of a clear case."""

    id: str
    is_right: bool
    """Whether the answer is right."""
    score: float | None
    """Mean of the criteria; None when unscored."""
    reason: str = ""
    """Why it is unscored."""

    @property
    def agrees(self) -> bool:
        """Whether the score is at least PASSING for a right answer, at most FAILING for a wrong one."""
        if self.score is None:
            return False
        return self.score >= PASSING if self.is_right else self.score <= FAILING


@lru_cache(maxsize=1)
def clear_cases() -> tuple[ClearCase, ...]:
    """Ten cases: five questions, each with the right answer and then with the wrong one."""
    data = tomllib.loads(files("judge.audit").joinpath("clear_cases.toml").read_text(encoding="utf-8"))
    return tuple(case for entry in data["case"] for case in _pair(entry))


def grade_clear_cases(judge: Judge, *, run: Run = map) -> list[Grading]:
    """Have a judge grade the clear cases. Raises CallsStoppedError when no more calls are allowed.

    ``run`` is ``map``, or one that asks for several cases at a time.
    """
    cases = clear_cases()
    scored = run(partial(mean_score, judge), (clear.case for clear in cases))
    return [
        Grading(clear.id, clear.is_right, score, reason) for clear, (score, reason) in zip(cases, scored, strict=True)
    ]


def mean_score(judge: Judge, case: JudgeCase) -> Scored:
    """The unweighted mean of the criteria that are scored, and the reason when none is."""
    try:
        given = judge.score(case)
    except JudgeError as error:
        return None, str(error)
    scores = [one.score for one in given if one.score is not None]
    if not scores:
        return None, next((one.unscored_reason for one in given if one.unscored_reason), "no criterion was scored")
    return sum(scores) / len(scores), ""


def _pair(entry: dict[str, Any]) -> list[ClearCase]:
    probe = Probe(
        probe_type=entry["probe_type"],
        question=entry["question"],
        ground_truth=entry["ground_truth"],
        statements=tuple(
            Statement(one["kind"], one["text"], details=tuple(one.get("details", ()))) for one in entry["statements"]
        ),
        evidence=(),
        max_tokens=200,
    )
    context = tuple(_said(line, seq) for seq, line in enumerate(entry["context"]))
    return [
        ClearCase(
            f"{entry['id']}_{'right' if is_right else 'wrong'}",
            JudgeCase(probe, entry["good" if is_right else "bad"].strip(), context, tuple(entry["criteria"])),
            is_right,
        )
        for is_right in (True, False)
    ]


def _said(line: str, seq: int) -> Message:
    role, _, text = line.partition(": ")
    return Message(cast("Role", role), text, seq=seq)
