"""Scores that methods must reach, for a check in CI: ``METHOD=4.0``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compaction.closest import did_you_mean
from flows.reporting.text_tables import rounded
from flows.support.errors import UsageError

MOST = 5.0


@dataclass(frozen=True)
class ThresholdResult:
    """A method's mean score, and whether it reached its threshold."""

    method: str
    least: float
    overall: float | None
    """Mean over answers, 0 to 5; None when none of them has a score."""

    @property
    def holds(self) -> bool:
        """Whether the score reaches the threshold; False without a score."""
        return self.overall is not None and rounded(self.overall) >= self.least

    @property
    def words(self) -> str:
        """The result as a line of text."""
        if self.overall is None:
            return f"{self.method} has no scored answer, and was to have at least {self.least:g}"
        return f"{self.method} {rounded(self.overall):.3f} {'≥' if self.holds else '<'} {self.least:g}"


def read_thresholds(given: Sequence[str]) -> dict[str, float]:
    """Method → least overall, from texts ``METHOD=X``; a method's parameters may have ``=`` in them.

    Raises:
        UsageError: a text is not of that form, or X is not from 0 to 5.
    """
    found = {}
    for text in given:
        method, equals, value = text.rpartition("=")
        try:
            least = float(value)
        except ValueError:
            least = -1.0
        if not equals or not method.strip() or not 0 <= least <= MOST:
            raise UsageError(f"--fail-below: expected METHOD=X with X from 0 to {MOST:g}, found {text!r}")
        found[method.strip()] = least
    return found


def check_thresholds(rows: Sequence[Mapping[str, Any]], thresholds: Mapping[str, float]) -> list[ThresholdResult]:
    """Compare the rows of the leaderboard of one judge with the thresholds.

    Raises:
        UsageError: the rows are of several judges, or have no method of that name.
    """
    judges = dict.fromkeys(f"{row['judge']} ({row['judge_id']})" for row in rows)
    if thresholds and len(judges) > 1:
        raise UsageError(f"--fail-below: say by which judge with --judge ID; there are: {', '.join(judges)}")
    overall = {row["method"]: row["overall"] for row in rows}
    for method in thresholds:
        if method not in overall:
            known = ", ".join(overall) or "none yet"
            raise UsageError(
                f"--fail-below: no method {method!r} on the leaderboard{did_you_mean(method, overall)}; "
                f"there are: {known}"
            )
    return [ThresholdResult(method, least, overall[method]) for method, least in thresholds.items()]


def format_missed(verdicts: Sequence[ThresholdResult]) -> str:
    """The thresholds that were missed, in words; empty when none was."""
    return ", ".join(one.words for one in verdicts if not one.holds)
