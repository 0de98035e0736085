"""Checks what a judge's packs cost: the same answers scored in packs and each alone, paired.

A pack saves sending the context again. Whether an answer earns the same beside others as alone is a property of the
model, so it is measured: the mean difference with an interval over sessions, and how far the single scores agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from compaction.model import ReplyError
from judge.audit.attacks import Estimate, estimate_mean
from judge.audit.validity import overall_of
from judge.scoring import CriterionScore, Judge, JudgeCase, JudgeError, PackingJudge, PackTooLargeError

Scores = Sequence[CriterionScore]
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""``map``, or what does the same."""


@dataclass(frozen=True, slots=True)
class PackAgreement:
    """The scores of the same answers in packs and alone."""

    n: int
    """Answers that were scored both ways."""
    n_packs: int
    n_again: int
    """Answers without a usable verdict in their pack: they are asked again alone, and are not compared."""
    n_unscored: int
    """Answers without a verdict alone, or of a pack for which there was no answer at all."""
    mean_packed: Estimate
    """Of the overall scores, 0-5 without instruction following, over sessions."""
    mean_alone: Estimate
    difference: Estimate
    """Overall in a pack less alone, answer by answer, over sessions."""
    n_scores: int
    """Criterion scores that are compared."""
    exact: float | None
    """Share of them that are the same in whole points (half points go up); None without any."""
    within_one: float | None
    """Share that differ by a point at most."""
    kappa: float | None
    """Weighted by squared distance on whole points (Cohen 1968); None where neither way's scores vary."""


def measure_packing(
    packed: PackingJudge, alone: Judge, packs: Sequence[tuple[str, Sequence[JudgeCase]]], run: Run
) -> PackAgreement:
    """Compare two ways to ask one model. Raises CallsStoppedError when no call may be made any more.

    Args:
        packed: Scores each pack together.
        alone: Scores each answer of them.
        packs: Cases of one context each, with the session.
        run: ``map``, or one that asks for several at a time.
    """
    together: list[Scores | ReplyError | None] = []
    for of_pack in run(lambda pack: _together(packed, pack[1]), packs):
        together += of_pack
    asked = [(session, case) for session, cases in packs for case in cases]
    single: list[Scores | None] = list(run(lambda one: _alone(alone, one[1]), asked))
    rows = [
        (session, in_pack, by_itself)
        for (session, _), in_pack, by_itself in zip(asked, together, single, strict=True)
        if in_pack is not None and not isinstance(in_pack, ReplyError) and by_itself is not None
    ]
    n_again = sum(isinstance(one, ReplyError) for one in together)
    overall = [(session, overall_of(packed.rubric, a), overall_of(packed.rubric, b)) for session, a, b in rows]
    both = [(session, a, b) for session, a, b in overall if a is not None and b is not None]
    pairs = [pair for _, a, b in rows for pair in _score_pairs(a, b)]
    points = [(_whole(a), _whole(b)) for a, b in pairs]
    return PackAgreement(
        n=len(rows),
        n_packs=len(packs),
        n_again=n_again,
        n_unscored=len(asked) - len(rows) - n_again,
        mean_packed=estimate_mean([(session, a) for session, a, _ in both]),
        mean_alone=estimate_mean([(session, b) for session, _, b in both]),
        difference=estimate_mean([(session, a - b) for session, a, b in both]),
        n_scores=len(points),
        exact=fmean(a == b for a, b in points) if points else None,
        within_one=fmean(abs(a - b) <= 1 for a, b in points) if points else None,
        kappa=weighted_kappa(points),
    )


def weighted_kappa(points: Sequence[tuple[int, int]]) -> float | None:
    """Agreement beyond chance, weighted by squared distance: 1 for the same, 0 for what chance gives (Cohen 1968)."""
    if not points:
        return None
    mean_a, mean_b = fmean(a for a, _ in points), fmean(b for _, b in points)
    by_chance = fmean(a * a + b * b for a, b in points) - 2 * mean_a * mean_b
    return 1 - fmean((a - b) ** 2 for a, b in points) / by_chance if by_chance else None


def _together(judge: PackingJudge, cases: Sequence[JudgeCase]) -> list[Scores | ReplyError | None]:
    """Of each case the scores, or why it has to be asked alone; None where there are none."""
    try:
        return [*judge.score_together(cases)]
    except PackTooLargeError:
        if len(cases) == 1:
            return [None]
        half = len(cases) // 2
        return [*_together(judge, cases[:half]), *_together(judge, cases[half:])]
    except JudgeError:
        return [None] * len(cases)


def _alone(judge: Judge, case: JudgeCase) -> Scores | None:
    try:
        return judge.score(case)
    except JudgeError:
        return None


def _score_pairs(packed: Scores, alone: Scores) -> Iterator[tuple[float, float]]:
    by_itself = {one.criterion: one.score for one in alone}
    for one in packed:
        other = by_itself.get(one.criterion)
        if one.score is not None and other is not None:
            yield one.score, other


def _whole(score: float) -> int:
    return int(score + 0.5)
