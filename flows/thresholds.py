"""Scores that methods have to reach, for a gate in CI: ``METHOD=4.0``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows.printing import settled
from flows.problems import UsageProblem, closest

MOST = 5.0


@dataclass(frozen=True)
class Verdict:
    """Whether a method reached its threshold."""

    method: str
    least: float
    overall: float | None
    """Mean over answers, 0 to 5; None when none of them has a score."""

    @property
    def holds(self) -> bool:
        """A method without a score has reached nothing."""
        return self.overall is not None and settled(self.overall) >= self.least

    @property
    def words(self) -> str:
        """For a line of text."""
        if self.overall is None:
            return f"{self.method} has no scored answer, and was to have at least {self.least:g}"
        return f"{self.method} {settled(self.overall):.3f} {'≥' if self.holds else '<'} {self.least:g}"


def read_thresholds(given: Sequence[str]) -> dict[str, float]:
    """Method → least overall, from texts ``METHOD=X``; a method's parameters may have ``=`` in them.

    Raises:
        UsageProblem: a text is not of that form, or X is not from 0 to 5.
    """
    found = {}
    for text in given:
        method, equals, value = text.rpartition("=")
        try:
            least = float(value)
        except ValueError:
            least = -1.0
        if not equals or not method.strip() or not 0 <= least <= MOST:
            raise UsageProblem(f"--fail-below: expected METHOD=X with X from 0 to {MOST:g}, found {text!r}")
        found[method.strip()] = least
    return found


def held_against(rows: Sequence[Mapping[str, Any]], thresholds: Mapping[str, float]) -> list[Verdict]:
    """The verdict on each threshold by the rows of the leaderboard, which are of one judge.

    Raises:
        UsageProblem: the rows are of several judges, or have no method of that name.
    """
    judges = dict.fromkeys(f"{row['judge']} ({row['judge_id']})" for row in rows)
    if thresholds and len(judges) > 1:
        raise UsageProblem(f"--fail-below: say by which judge with --judge ID; there are: {', '.join(judges)}")
    overall = {row["method"]: row["overall"] for row in rows}
    for method in thresholds:
        if method not in overall:
            known = ", ".join(overall) or "none yet"
            raise UsageProblem(
                f"--fail-below: no method {method!r} on the leaderboard{closest(method, overall)}; there are: {known}"
            )
    return [Verdict(method, least, overall[method]) for method, least in thresholds.items()]


def below(verdicts: Sequence[Verdict]) -> str:
    """What did not reach its threshold, in words; blank when everything did."""
    return ", ".join(one.words for one in verdicts if not one.holds)
