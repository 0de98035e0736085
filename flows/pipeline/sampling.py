"""Draws answers so that every kind is there, with the chance that each one had: for labels, and for anchors."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

LOW, HIGH = 2.0, 4.0
"""Overall scores below ``LOW`` are the band ``low``, from ``HIGH`` on ``high``."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer that can be drawn."""

    answer_id: str
    method_id: str
    probe_type: str
    score: float
    """Overall that the judge gave, 0–5."""
    session_id: str

    @property
    def band(self) -> str:
        """``low``, ``middle`` or ``high``."""
        return "low" if self.score < LOW else "high" if self.score >= HIGH else "middle"


def draw_candidates(candidates: Sequence[Candidate], number: int, seed: str) -> dict[str, float]:
    """Draw answers; return the id and the chance of each, in the order of the draw.

    Every method gets the same share, whatever its number of answers. Within a method a cell (probe type × band of the
    score) gets a share by the root of its size (power allocation, Bankier 1988), so that rare low and high scores are
    there and no answer's chance is 0. The draw is systematic (Madow 1949): one random start, equal steps through the
    answers, which stand by method, cell and session; so methods get their share to within one, and what is drawn of a
    cell is spread over the sessions. The same candidates, number and seed give the same draw.
    """
    if number >= len(candidates):
        return {one.answer_id: 1.0 for one in sorted(candidates, key=lambda one: _number(seed, one.answer_id))}
    ordered = sorted(candidates, key=lambda one: _place(one, seed))
    chances = _chances(ordered, number)
    start = _number(seed, "start")
    found: dict[str, float] = {}
    total = 0.0
    for one, chance in zip(ordered, chances, strict=True):
        before, total = total, total + chance
        if math.floor(total - start + 1e-9) > math.floor(before - start + 1e-9):
            found[one.answer_id] = chance
    return found


def _number(*parts: str) -> float:
    """A number in [0, 1) that looks random and is the same for the same parts."""
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _place(one: Candidate, seed: str) -> tuple[float, str, float, float, float]:
    return (
        _number(seed, one.method_id),
        one.method_id,
        _number(seed, one.method_id, one.probe_type, one.band),
        _number(seed, one.method_id, one.session_id),
        _number(seed, one.answer_id),
    )


def _chances(candidates: Sequence[Candidate], number: int) -> list[float]:
    """The chance of each: equal shares for the methods, within one by the root of the cell's size."""
    cells = Counter((one.method_id, one.probe_type, one.band) for one in candidates)
    methods = Counter(one.method_id for one in candidates)
    shares = dict(zip(methods, _proportional_shares([1.0] * len(methods), list(methods.values()), number), strict=True))
    by_method: dict[str, list[int]] = {}
    for index, one in enumerate(candidates):
        by_method.setdefault(one.method_id, []).append(index)
    chances = [0.0] * len(candidates)
    for method_id, indexes in by_method.items():
        some = [candidates[index] for index in indexes]
        sizes = [1 / math.sqrt(cells[one.method_id, one.probe_type, one.band]) for one in some]
        for index, chance in zip(
            indexes, _proportional_shares(sizes, [1] * len(sizes), shares[method_id]), strict=True
        ):
            chances[index] = chance
    return chances


def _proportional_shares(sizes: Sequence[float], most: Sequence[int], number: float) -> list[float]:
    """Share a number out in proportion to the sizes, each share at most its limit; the others take the rest."""
    shares = [0.0] * len(sizes)
    open_, left = set(range(len(sizes))), float(number)
    while open_:
        whole = math.fsum(sizes[i] for i in open_)
        full = [i for i in open_ if left * sizes[i] >= most[i] * whole]
        if not full:
            break
        for i in full:
            shares[i] = float(most[i])
        open_.difference_update(full)
        left -= math.fsum(most[i] for i in full)
    for i in open_:
        shares[i] = left * sizes[i] / whole
    return shares
