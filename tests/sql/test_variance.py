"""Components of variance, on scores drawn from the model that they assume."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from tests.sql.drawn import LEVELS, Model, read, studies, within_noise
from tests.sql.tiny import Rows


@pytest.mark.parametrize(
    "model",
    [Model(), Model(missing=0.4), Model(holes=0.15, missing=0.2, methods=5), Model(methods=2, points=1, questions=4)],
    ids=["balanced", "repetitions missing", "questions missing too", "two methods"],
)
def test_the_estimates_are_unbiased(tmp_path: Path, model: Model) -> None:
    """Over 60 studies the mean of each raw estimate is its true component, within four of its standard errors."""
    found = read(studies(model, 60, seed=5), tmp_path, "variance_components")
    assert len(found) == 60
    for level in LEVELS:
        assert within_noise([row[f"raw_{level}"] for row in found], getattr(model, level)), level
    shared = [row["raw_compaction_shared"] for row in found if row["raw_compaction_shared"] is not None]
    assert len(shared) > 30
    assert within_noise(shared, model.compaction_shared)
    assert all(row["cannot_tell"] == [] for row in found)


def test_nested_levels_are_those_of_restricted_likelihood(tmp_path: Path) -> None:
    """On balanced data of one method, where theory says so (Searle et al. 1992, 3.8): MixedLM of statsmodels.

    Methods with copied answers stand beside it.
    """
    model = Model(
        session=0.1,
        question=0.06,
        method_session=0,
        method_question=0,
        compaction=0.06,
        compaction_shared=0,
        answer=0.04,
        judge=0.02,
        methods=3,
        sessions=10,
        points=3,
        questions=1,
        fixed=("B", "C"),
    )
    rows = studies(model, 1, seed=3)
    (found,) = read(rows, tmp_path, "variance_components_by_method", "dimension = 'overall' AND method = 'A'")
    rows = without(rows, ("B", "C"))
    answers = {row["answer_id"]: row for row in rows["answers"]}
    table = pd.DataFrame(
        [
            {
                "score": row["score"],
                "answer": row["answer_id"],
                "compaction": answers[row["answer_id"]]["compaction_id"] + answers[row["answer_id"]]["probe_id"],
                "question": answers[row["answer_id"]]["probe_id"],
                "session": answers[row["answer_id"]]["probe_id"].rsplit("-p", 1)[0],
            }
            for row in rows["scores"]
        ]
    )
    components = {level: f"0 + C({level})" for level in ("question", "compaction", "answer")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = smf.mixedlm("score ~ 1", table, groups="session", re_formula="1", vc_formula=components).fit(reml=True)
    expected = {
        "session": fit.cov_re.iloc[0, 0],
        "judge": fit.scale,
        **dict(zip(sorted(components), fit.vcomp, strict=True)),
    }
    assert min(found[f"raw_{level}"] for level in expected) > 0
    for level, variance in expected.items():
        assert found[f"var_{level}"] == pytest.approx(variance, rel=5e-3), level
    (alone,) = read(rows, tmp_path / "alone", "variance_components")
    assert [alone[f"var_{level}"] for level in expected] == [found[f"var_{level}"] for level in expected]
    assert alone["raw_method_session"] is None
    assert any("one method" in reason for reason in alone["cannot_tell"])


JOINED = Model(methods=4, fixed=("C", "D"), compaction=0.08, compaction_shared=0.05, missing=0.2)


def without(rows: Rows, names: Sequence[str]) -> Rows:
    """The rows without some methods."""
    gone = {row["compaction_id"] for row in rows["compactions"] if row["method_id"] in names}
    answers = [row for row in rows["answers"] if row["compaction_id"] not in gone]
    kept = {row["answer_id"] for row in answers}
    return {
        **rows,
        "answers": answers,
        "methods": [row for row in rows["methods"] if row["method_id"] not in names],
        "compactions": [row for row in rows["compactions"] if row["compaction_id"] not in gone],
        "scores": [row for row in rows["scores"] if row["answer_id"] in kept],
    }


def test_methods_whose_contexts_are_always_equal_change_no_component_of_the_others(tmp_path: Path) -> None:
    """C and D have copied answers, as none, empty and head_tail have; repetitions are missing at random."""
    rows = studies(JOINED, 40, seed=29)
    joined, alone = tmp_path / "joined", tmp_path / "alone"
    where = "dimension = 'overall' AND method IN ('A', 'B') ORDER BY judge_id, method"
    view = "variance_components_by_method"
    found, expected = read(rows, joined, view, where), read(without(rows, ("C", "D")), alone, view, where)
    assert found == [{name: pytest.approx(value) for name, value in row.items()} for row in expected]
    for level in ("compaction", "answer", "judge"):
        assert within_noise([row[f"raw_{level}"] for row in found], getattr(JOINED, level)), level
    whole = read(rows, joined, "variance_components")
    for level in LEVELS:
        assert within_noise([row[f"raw_{level}"] for row in whole], getattr(JOINED, level)), level
    before = read(without(rows, ("C", "D")), alone, "variance_components")
    assert [row["raw_compaction"] > 0 for row in whole].count(True) > 35
    assert np.mean([row["raw_compaction"] for row in whole]) == pytest.approx(
        np.mean([row["raw_compaction"] for row in before]), rel=0.05
    )
    copied = read(rows, joined, view, "dimension = 'overall' AND method IN ('C', 'D')")
    assert {row["var_compaction"] for row in copied} == {0}
    assert all(2 * row["n_independent_answers"] == row["n_answers"] for row in copied)
    assert within_noise([row["raw_answer"] for row in copied], JOINED.answer)


def test_copied_answers_do_not_narrow_an_interval(tmp_path: Path) -> None:
    rows = studies(replace(JOINED, missing=0), 1, seed=31)
    copies = {row["compaction_id"] for row in rows["compactions"] if row.get("same_context_as")}
    gone = {row["answer_id"] for row in rows["answers"] if row["compaction_id"] in copies}
    once = {
        **rows,
        "compactions": [row for row in rows["compactions"] if row["compaction_id"] not in copies],
        "answers": [row for row in rows["answers"] if row["answer_id"] not in gone],
        "scores": [row for row in rows["scores"] if row["answer_id"] not in gone],
    }
    columns = ("mean", "std_error", "df", "ci_low", "ci_high")
    where = "dimension = 'overall' AND method IN ('C', 'D') ORDER BY method"
    with_copies, without_copies = (
        [[row[name] for name in columns] for row in read(each, tmp_path / folder, "leaderboard_long", where)]
        for each, folder in ((rows, "copies"), (once, "once"))
    )
    assert with_copies == [pytest.approx(row) for row in without_copies]


def test_a_level_without_repetition_is_null_and_is_named(tmp_path: Path) -> None:
    model = Model(compactions=1, answers=1, verdicts=1)
    found = read(studies(model, 60, seed=9), tmp_path, "variance_components")
    for row in found:
        assert (row["var_compaction"], row["share_answer"], row["raw_judge"]) == (None, None, None)
        assert [reason.split(":")[0] for reason in row["cannot_tell"]] == ["judge", "answer", "compaction"]
        assert sum(row[f"share_{level}"] for level in LEVELS[:4]) == pytest.approx(1)
    everything = model.method_question + model.compaction + model.answer + model.judge
    # Questions of a point share a part, which differs in 3/5 of the pairs of a session's 2 × 3 questions.
    everything -= 2 / 5 * model.compaction_shared
    assert within_noise([row["raw_method_question"] for row in found], everything)


def test_one_session_says_nothing_of_sessions(tmp_path: Path) -> None:
    (row,) = read(studies(Model(sessions=1), 1, seed=1), tmp_path, "variance_components")
    assert (row["var_session"], row["var_method_session"]) == (None, None)
    assert "session: there is one session" in row["cannot_tell"]
    assert row["var_judge"] > 0


def test_a_negative_estimate_is_shown_as_0_beside_what_it_was(tmp_path: Path) -> None:
    model = Model(session=0, method_session=0, sessions=3)
    found = read(studies(model, 10, seed=2), tmp_path, "variance_components")
    below = [row for row in found if row["raw_session"] < 0]
    assert below
    assert all(row["var_session"] == 0 for row in below)


def test_by_hand_two_verdicts_of_two_answers(tmp_path: Path) -> None:
    """Verdicts 1, 3 and 2, 2 of two answers: judge ((1 + 1) + 0) / 2 = 1; answers have equal means: (0 - 1) / 2."""
    model = Model(methods=1, sessions=1, points=1, questions=1, compactions=1)
    rows = studies(model, 1, seed=1)
    for row, score in zip(rows["scores"], (1.0, 3.0, 2.0, 2.0), strict=True):
        row["score"] = score
    (row,) = read(rows, tmp_path, "agg_variance", "dimension = 'overall' AND method_id IS NULL")
    assert (row["raw_judge"], row["raw_answer"]) == (1, -0.5)
