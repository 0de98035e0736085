"""Strengths of methods from comparisons in pairs: Bradley and Terry's model with ties and an effect of the order.

A comparison shows two answers. With strengths s, an advantage f of what is shown first and a tendency t to a tie, the
three outcomes have these odds (Davidson 1970; Davidson and Beaver 1977):

    first : second : tie  =  exp(s_first + f) : exp(s_second) : exp(t + (s_first + s_second) / 2)

The likelihood is concave, and Newton's method finds its one maximum. Strengths have the mean 0. Comparisons of one
cluster (a session, a project) depend on each other, so the variances are cluster-robust (Liang and Zeger 1986) with the
factor G / (G - 1) for G clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Outcome = Literal["first", "second", "tie"]
_OUTCOMES: tuple[Outcome, ...] = ("first", "second", "tie")

MOST_STEPS = 100
CONVERGED = 1e-10
"""Largest entry of a last step of Newton's method."""
LARGEST = 15.0
"""A parameter beyond it stands for one that grows without end: odds of three million to one."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two answers, the order in which they were shown, and which one was preferred."""

    first: str
    second: str
    outcome: Outcome
    cluster: str


@dataclass(frozen=True, slots=True)
class Strengths:
    """The fitted model."""

    names: tuple[str, ...]
    strengths: tuple[float, ...]
    """In the order of the names, on the scale of log odds, with the mean 0."""
    covariance: tuple[tuple[float, ...], ...] | None
    """Of the strengths; None where all comparisons are of one cluster."""
    first: float
    """Log odds that being shown first adds."""
    first_error: float | None
    """Its standard error."""
    tie: float | None
    """Log odds of a tie between equals against either winning; None where nothing was tied."""
    n_clusters: int

    def std_error(self, name: str, other: str | None = None) -> float | None:
        """Standard error of a strength, or of the difference of two."""
        if self.covariance is None:
            return None
        along = np.zeros(len(self.names))
        along[self.names.index(name)] = 1.0
        if other is not None:
            along[self.names.index(other)] -= 1.0
        return float(np.sqrt(max(along @ np.array(self.covariance) @ along, 0.0)))


class NotFiniteError(ValueError):
    """No finite strengths fit the comparisons; says why in a sentence."""


def fit_strengths(comparisons: Sequence[Comparison], *, with_order: bool = True) -> Strengths:
    """The strengths that make the comparisons most likely.

    ``with_order``: estimate what being shown first adds; else it is 0. Raises NotFiniteError where there is no maximum.
    """
    names = tuple(sorted({name for one in comparisons for name in (one.first, one.second)}))
    _require_connected(names, comparisons)
    design, chosen = _design(names, comparisons, with_order=with_order)
    values, information, scores = _newton(design, chosen)
    clusters = sorted({one.cluster for one in comparisons})
    n = len(clusters)
    covariance = None
    if n > 1:
        place = {name: number for number, name in enumerate(clusters)}
        sums = np.zeros((n, scores.shape[1]))
        np.add.at(sums, [place[one.cluster] for one in comparisons], scores)
        bread = np.linalg.inv(information)
        covariance = bread @ (sums.T @ sums) @ bread * n / (n - 1)
    k = len(names)
    centre = np.vstack([np.eye(k - 1), np.zeros(k - 1)]) - 1 / k  # the last strength is 0 until here
    order = k - 1 if with_order else None
    has_ties = design.shape[2] > k - 1 + with_order
    return Strengths(
        names,
        tuple((centre @ values[: k - 1]).tolist()),
        None if covariance is None else tuple(map(tuple, (centre @ covariance[: k - 1, : k - 1] @ centre.T).tolist())),
        0.0 if order is None else float(values[order]),
        None if covariance is None or order is None else float(np.sqrt(covariance[order, order])),
        float(values[-1]) if has_ties else None,
        n,
    )


def _require_connected(names: Sequence[str], comparisons: Sequence[Comparison]) -> None:
    """Finite strengths need a way of wins or ties from every method to every other (Ford 1957)."""
    beaten: dict[str, set[str]] = {name: set() for name in names}
    for one in comparisons:
        if one.outcome != "second":
            beaten[one.first].add(one.second)
        if one.outcome != "first":
            beaten[one.second].add(one.first)
    for name in names:
        reached, left = {name}, [name]
        while left:
            new = beaten[left.pop()] - reached
            reached |= new
            left += new
        if reached != set(names):
            others = ", ".join(other for other in names if other not in reached)
            raise NotFiniteError(
                f"{', '.join(sorted(reached))} never won against {others}, nor tied: how much weaker cannot be told"
            )


def _design(names: Sequence[str], comparisons: Sequence[Comparison], *, with_order: bool) -> tuple[Any, Any]:
    """Comparison × outcome × parameter (strengths but the last, order, tie), and the place of each outcome."""
    k = len(names)
    has_ties = any(one.outcome == "tie" for one in comparisons)
    place = {name: number for number, name in enumerate(names)}
    first = np.array([place[one.first] for one in comparisons])
    second = np.array([place[one.second] for one in comparisons])
    one_hot = np.eye(k)
    design = np.zeros((len(comparisons), 3 if has_ties else 2, k + with_order + has_ties))
    design[:, 0, :k], design[:, 1, :k] = one_hot[first], one_hot[second]
    if with_order:
        design[:, 0, k] = 1.0
    if has_ties:
        design[:, 2, :k] = (one_hot[first] + one_hot[second]) / 2
        design[:, 2, -1] = 1.0
    return np.delete(design, k - 1, axis=2), np.array([_OUTCOMES.index(one.outcome) for one in comparisons])


def _newton(design: Any, chosen: Any) -> tuple[Any, Any, Any]:
    """The parameters, the information, and each comparison's score at the maximum."""
    values = np.zeros(design.shape[2])
    each = np.arange(len(chosen))
    for _ in range(MOST_STEPS):
        odds = design @ values
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True)
        mean = np.einsum("no,nop->np", shares, design)
        scores = design[each, chosen] - mean
        information = np.einsum("no,nop,noq->pq", shares, design, design) - mean.T @ mean
        try:
            step = np.linalg.solve(information, scores.sum(axis=0))
        except np.linalg.LinAlgError:
            break
        if np.abs(step).max() < CONVERGED:
            return values, information, scores
        values = values + step * min(1.0, 2.0 / np.abs(step).max())
        if np.abs(values).max() > LARGEST:
            break
    raise NotFiniteError("what is shown first, or a tie, always won: strengths cannot be told from the position")
