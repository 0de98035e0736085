"""A panel: the rules by hand, who is left out, and what makes another panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest

from flows.support import choices
from judge import CriterionScore, JudgeCase, JudgeError, JudgeVersion, Rubric, load_rubric
from judge.panel import PANEL_RULES, MemberVerdict, PanelJudge, PanelRule, combine_scores, combine_verdicts


@pytest.mark.parametrize(
    ("rule", "scores", "wanted"),
    [
        ("mean", [1, 4, 4], 3.0),
        ("median", [0, 4, 5], 4.0),
        ("median", [2, 5], 3.5),
        ("majority", [4, 5, 0], 4.5),
        ("majority", [2, 3, 4], 3.0),  # two groups of two, equally narrow: their mean
        ("majority", [3, 3.5, 4.5], 3.25),  # of two groups of two the narrower
        ("majority", [0, 3, 5], None),
        ("majority", [0, 1, 4, 5], None),  # half is no majority
        ("majority", [2, 4], None),
    ],
)
def test_scores_are_combined_as_the_rule_says(rule: PanelRule, scores: list[float], wanted: float | None) -> None:
    for order in (scores, scores[::-1]):
        assert combine_scores(rule, order) == wanted


def test_the_study_and_the_judge_have_the_same_rules() -> None:
    assert set(get_args(choices.PanelRule)) == set(PANEL_RULES)


def given(judge: str, score: float | None, **more: bool | str) -> MemberVerdict:
    reason = None if score is not None else "nothing to go by"
    return MemberVerdict(judge, [CriterionScore("facts", score, "so", reason)], **more)  # type: ignore[arg-type]


def test_a_member_whose_model_wrote_the_summary_is_left_out_and_the_row_says_so() -> None:
    [one] = combine_verdicts("mean", ["facts"], [given("a", 2), given("b", 3), MemberVerdict("c", is_own=True)])
    assert one.score == 2.5
    assert one.reasoning == "mean of 2 of 3 members: a 2; b 3; c left out, as its model wrote the summary"


def test_too_few_members_or_no_majority_make_no_score_but_a_reason() -> None:
    [few] = combine_verdicts("mean", ["facts"], [given("a", 2), given("b", None), MemberVerdict("c", is_own=True)])
    assert few.score is None
    assert str(few.unscored_reason).startswith("too few members of the panel scored it, 1 of 3: a 2; b without a score")
    [apart] = combine_verdicts("majority", ["facts"], [given("a", 0), given("b", 5)])
    assert (apart.score, apart.unscored_reason) == (None, "no majority of the panel lies within a point: a 0; b 5")


def test_a_member_that_failed_is_waited_for() -> None:
    with pytest.raises(JudgeError, match=r"1 of 3 members gave no verdict \(c: the server is down\)"):
        combine_verdicts(
            "mean", ["facts"], [given("a", 2), given("b", 3), MemberVerdict("c", failed="the server is down")]
        )


class Member:
    """A judge that gives every criterion one score."""

    def __init__(self, name: str, score: float) -> None:
        self.rubric: Rubric = load_rubric()
        self.version = JudgeVersion(f"openai:{name}", name, self.rubric.name, "0", "study", {})
        self._score = score

    def score(self, case: JudgeCase) -> Sequence[CriterionScore]:
        return [CriterionScore(criterion, self._score, "so") for criterion in case.criteria]


def test_members_rule_and_own_summaries_make_the_panel() -> None:
    a, b, c = (Member(name, score) for name, score in (("a", 1.0), ("b", 2.0), ("c", 5.0)))
    panel = PanelJudge({"1": a, "2": b}, "mean", own_summaries=False)
    others = [
        PanelJudge({"1": a, "3": c}, "mean", own_summaries=False),
        PanelJudge({"1": a, "2": b}, "median", own_summaries=False),
        PanelJudge({"1": a, "2": b}, "mean", own_summaries=True),
    ]
    assert panel.version.judge == "mean of openai:a, openai:b"
    assert all(other.version != panel.version for other in others)
    assert panel.version == PanelJudge({"1": Member("a", 4.0), "2": b}, "mean", own_summaries=False).version
    case = JudgeCase(None, "x", (), ("facts",))  # type: ignore[arg-type]
    assert [one.score for one in panel.score(case)] == [1.5]
    assert [panel.takes_part(a, model) for model in ("a", "b", None)] == [False, True, True]
    assert others[2].takes_part(a, "a")
