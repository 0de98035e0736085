"""A panel: several judges whose verdicts on one answer become one, by a rule that is declared beforehand.

Each member is a judge of its own, with an id and verdicts of its own. A panel asks for nothing itself: its score of a
criterion is made of its members' scores, and its identity is that of its members and of the rule.

- ``mean``: the mean of the scores.
- ``median``: their median; of an even number the mean of the two in the middle.
- ``majority``: the mean of the largest group of scores that lie within a point of each other, where that is more than
  half of them. Of groups of one size the narrowest counts, and of those that are as narrow their mean.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal, get_args

from judge.scoring import CriterionScore, Judge, JudgeCase, JudgeError, JudgeVersion

PanelRule = Literal["mean", "median", "majority"]
PANEL_RULES: tuple[PanelRule, ...] = get_args(PanelRule)

VERSION = 1
"""Raise it when members' scores are combined otherwise."""
LEAST_MEMBERS = 2
"""Scores that a criterion needs: one judge alone is no panel."""
WITHIN = 1.0
"""Points by which the scores of a majority may differ."""


@dataclass(frozen=True, slots=True)
class MemberVerdict:
    """The part of one member in a panel's verdict on an answer."""

    judge: str
    """Name of the member, for people."""
    scores: Sequence[CriterionScore] = ()
    is_own: bool = False
    """Whether its model wrote the summary that the answer was given from; then it has no scores."""
    failed: str | None = None
    """Why it gave no verdict."""


class PanelJudge:
    """A judge whose scores are those of its members, combined."""

    def __init__(self, members: Mapping[str, Judge], rule: PanelRule, *, own_summaries: bool) -> None:
        """``members`` by judge id, in the order of the study; all have one rubric.

        ``own_summaries``: whether a member judges summaries that its own model wrote.
        """
        self.members = dict(members)
        self.rule = rule
        self.own_summaries = own_summaries
        one, *_ = self.members.values()
        self.rubric = one.rubric
        self.version = _version(self.members, rule, own_summaries)

    def score(self, case: JudgeCase) -> list[CriterionScore]:
        """One entry for each criterion, from the verdicts of all members.

        Raises JudgeError where a member gives none, CallsStoppedError when no call may be made any more.
        """
        given = [MemberVerdict(one.version.judge, one.score(case)) for one in self.members.values()]
        return combine_verdicts(self.rule, case.criteria, given)

    def takes_part(self, member: Judge, summary_by: str | None) -> bool:
        """Whether a member judges an answer whose summary this model wrote; None where no model did."""
        return self.own_summaries or summary_by is None or member.version.model != summary_by


def combine_verdicts(
    rule: PanelRule, criteria: Sequence[str], verdicts: Sequence[MemberVerdict]
) -> list[CriterionScore]:
    """One entry for each criterion: the panel's score with its members', or the reason why there is none.

    Raises JudgeError where a member has failed. A panel that went on without it would be another panel; so the answer
    waits until the member is asked again.
    """
    failed = [f"{one.judge}: {one.failed}" for one in verdicts if one.failed is not None]
    if failed:
        raise JudgeError(f"{len(failed)} of {len(verdicts)} members gave no verdict ({'; '.join(failed)})")
    return [_combine(rule, criterion, verdicts) for criterion in criteria]


def combine_scores(rule: PanelRule, scores: Sequence[float]) -> float | None:
    """The panel's score, 0 to 5, of its members' scores; None where a majority is wanted and there is none."""
    if rule == "mean":
        return fmean(scores)
    if rule == "median":
        return float(median(scores))
    ordered = sorted(scores)
    groups = [[other for other in ordered if low <= other <= low + WITHIN] for low in ordered]
    size = max(map(len, groups))
    if 2 * size <= len(ordered):
        return None
    largest = [group for group in groups if len(group) == size]
    narrowest = min(group[-1] - group[0] for group in largest)
    return fmean(fmean(group) for group in largest if group[-1] - group[0] == narrowest)


def _combine(rule: PanelRule, criterion: str, verdicts: Sequence[MemberVerdict]) -> CriterionScore:
    said, scores = [], []
    for verdict in verdicts:
        result = next((one for one in verdict.scores if one.criterion == criterion), None)
        if verdict.is_own:
            said.append(f"{verdict.judge} left out, as its model wrote the summary")
        elif result is None or result.score is None:
            reason = result.unscored_reason if result else None
            said.append(f"{verdict.judge} without a score ({reason or 'no result for this criterion'})")
        else:
            scores.append(result.score)
            said.append(f"{verdict.judge} {result.score:g}")
    told = f"{rule} of {len(scores)} of {len(verdicts)} members: {'; '.join(said)}"
    if len(scores) < LEAST_MEMBERS:
        reason = f"too few members of the panel scored it, {len(scores)} of {len(verdicts)}: {'; '.join(said)}"
        return CriterionScore(criterion, None, "", reason)
    score = combine_scores(rule, scores)
    if score is None:
        reason = f"no majority of the panel lies within a point: {'; '.join(said)}"
        return CriterionScore(criterion, None, "", reason)
    return CriterionScore(criterion, score, told)


def _version(members: Mapping[str, Judge], rule: PanelRule, own_summaries: bool) -> JudgeVersion:
    versions = [member.version for member in members.values()]
    prompts = hashlib.sha256(json.dumps([one.prompt_sha256 for one in versions]).encode()).hexdigest()
    return JudgeVersion(
        judge=f"{rule} of {', '.join(one.judge for one in versions)}",
        model=f"panel@{VERSION}",
        rubric=versions[0].rubric,
        prompt_sha256=prompts,
        protocol=", ".join(dict.fromkeys(one.protocol for one in versions)),
        params={"members": list(members), "rule": rule, "own_summaries": own_summaries},
    )
