"""The choice of compaction points that a page shows in full, if not all fit.

The rule, as the page states it: first the points with the question on which each of the leading methods loses most
against the first; then points by how far their questions put the methods apart (standard deviation of the methods'
overall, controls left out), each session's best point first, then each session's second, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator

from flows.reporting.html.figures import Figures

LEADING = 10
"""Methods whose greatest loss is shown whatever the spread."""


def ordered_points(figures: Figures) -> Iterator[tuple[str, str]]:
    """Yield (session, point) of every point with a scored question, in the order of the page."""
    seen: set[str] = set()
    wanted = [(row["session_id"], row["point_id"]) for row in figures.of("losses") if row["place"] <= LEADING + 1]
    for session, point in [*wanted, *_points_in_rounds(figures)]:
        if point not in seen:
            seen.add(point)
            yield session, point


def _points_in_rounds(figures: Figures) -> list[tuple[str, str]]:
    turns: dict[str, int] = {}
    placed: list[tuple[int, int, str, str]] = []
    seen: set[str] = set()
    for place, row in enumerate(figures.of("questions")):  # farthest apart first
        if row["point_id"] not in seen:
            seen.add(row["point_id"])
            turn = turns[row["session_id"]] = turns.get(row["session_id"], 0) + 1
            placed.append((turn, place, row["session_id"], row["point_id"]))
    return [(session, point) for _, _, session, point in sorted(placed)]
