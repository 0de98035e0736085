"""Components of variance and the next replicate, on scores drawn from the model that they assume."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from flows.database import connect
from tests.sql.tiny import CRITERIA, Rows, answer, call, compaction, judge, make, method, point, probe, scores, session

LEVELS = ("session", "method_session", "question", "method_question", "compaction", "answer", "judge")


@dataclass(frozen=True)
class Model:
    """Variances of the components (points²), and how much there is of everything."""

    session: float = 0.03
    method_session: float = 0.01
    question: float = 0.04
    method_question: float = 0.02
    compaction: float = 0.025
    compaction_shared: float = 0.015
    answer: float = 0.02
    judge: float = 0.01
    methods: int = 3
    sessions: int = 6
    points: int = 2
    questions: int = 3
    compactions: int = 2
    answers: int = 2
    verdicts: int = 2
    missing: float = 0
    """Share of repetitions (answers, and verdicts) that are left out at random, at any level."""
    holes: float = 0
    """Share of questions that a method has no answer to."""
    fixed: tuple[str, ...] = ()
    """Methods that leave one context however often they are repeated: its repetitions share their answers."""


def rows_of(model: Model, study: str, rng: np.random.Generator) -> Rows:
    """One study: a judge of its own, sessions of its own, methods A, B …, and one criterion."""

    def draw(variance: float) -> float:
        return float(rng.normal(0, sqrt(variance)))

    rows: Rows = {table: [] for table in ("sessions", "points", "compactions", "probes", "answers", "scores")}
    rows["judges"] = [judge(study, study)]
    names = [chr(ord("A") + m) for m in range(model.methods)]
    means = {name: 2.3 + 0.2 * m for m, name in enumerate(names)}
    for s in range(model.sessions):
        session_id, of_session = f"{study}-s{s}", draw(model.session)
        of_both = {name: draw(model.method_session) for name in names}
        rows["sessions"].append(session(session_id))
        for p in range(model.points):
            point_id = f"{session_id}-p{p}"
            rows["points"].append(point(point_id, session_id, 1000, cycle=p + 1))
            probes = {f"{point_id}-q{q}": draw(model.question) for q in range(model.questions)}
            rows["probes"] += [probe(probe_id, point_id) for probe_id in probes]
            for name in names:
                effects = {
                    probe_id: means[name] + of_session + of_both[name] + of_probe + draw(model.method_question)
                    for probe_id, of_probe in probes.items()
                    if rng.random() >= model.holes
                }
                for k in range(model.compactions):
                    compaction_id = f"{name}/{point_id}/{k}"
                    rows["compactions"].append(
                        compaction(name, point_id, 1000, 100, replicate=k, compaction_id=compaction_id)
                    )
                    shared = draw(model.compaction_shared)
                    if name in model.fixed:
                        shared = 0.0
                    if name in model.fixed and k:
                        _copy(rows, f"{name}/{point_id}/0", compaction_id, k)
                        continue
                    for probe_id, effect in effects.items():
                        own = effect + shared
                        if name not in model.fixed:
                            own += draw(model.compaction - model.compaction_shared)
                        for a in range(model.answers):
                            if (a or k) and rng.random() < model.missing:
                                continue
                            answer_id = f"{compaction_id}/{probe_id}/{a}"
                            rows["answers"].append(
                                answer(
                                    name, point_id, probe_id, replicate=a, answer_id=answer_id,
                                    compaction_id=compaction_id,
                                )
                            )  # fmt: skip
                            of_answer = own + draw(model.answer)
                            for j in range(model.verdicts):
                                if j and rng.random() < model.missing:
                                    continue
                                rows["scores"] += scores(answer_id, study, j, facts=of_answer + draw(model.judge))
    return rows


def _copy(rows: Rows, first: str, compaction_id: str, replicate: int) -> None:
    """A repetition with an equal context: its answers and their verdicts come from the cache."""
    rows["compactions"][-1]["same_context_as"] = first
    for row in [row for row in rows["answers"] if row["compaction_id"] == first]:
        answer_id = row["answer_id"].replace(first, compaction_id, 1)
        given = [score for score in rows["scores"] if score["answer_id"] == row["answer_id"]]
        rows["answers"].append({**row, "answer_id": answer_id, "compaction_id": compaction_id})
        rows["scores"] += [{**score, "answer_id": answer_id} for score in given]


def studies(model: Model, n: int, seed: int) -> Rows:
    """Many studies in one store."""
    rng = np.random.default_rng(seed)
    names = [chr(ord("A") + m) for m in range(model.methods)]
    whole: Rows = {"methods": [method(name, name) for name in names], "criteria": CRITERIA}
    for study in range(n):
        for table, found in rows_of(model, f"study{study:03d}", rng).items():
            whole.setdefault(table, []).extend(found)
    return whole


def read(rows: Rows, folder: Path, view: str, where: str = "dimension = 'overall'") -> list[dict[str, Any]]:
    with connect(make(rows, folder)) as connection:
        return list(connection.sql(f"FROM {view} WHERE {where}").to_arrow_table().to_pylist())


def within_noise(estimates: Sequence[float], truth: float) -> bool:
    """Whether their mean is as near to the truth as the mean of unbiased estimates is, but once in 15,000 times."""
    return bool(abs(np.mean(estimates) - truth) < 4 * np.std(estimates, ddof=1) / sqrt(len(estimates)))


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
        session=0.1, question=0.06, method_session=0, method_question=0, compaction=0.06, compaction_shared=0,
        answer=0.04, judge=0.02, methods=3, sessions=10, points=3, questions=1, fixed=("B", "C"),
    )  # fmt: skip
    rows = studies(model, 1, seed=3)
    (found,) = read(rows, tmp_path, "variance_components_by_method", "dimension = 'overall' AND method = 'A'")
    rows = without(rows, ("B", "C"))
    answers = {row["answer_id"]: row for row in rows["answers"]}
    table = pd.DataFrame(
        [
            {
                "score": row["score"], "answer": row["answer_id"],
                "compaction": answers[row["answer_id"]]["compaction_id"] + answers[row["answer_id"]]["probe_id"],
                "question": answers[row["answer_id"]]["probe_id"],
                "session": answers[row["answer_id"]]["probe_id"].rsplit("-p", 1)[0],
            }
            for row in rows["scores"]
        ]
    )  # fmt: skip
    components = {level: f"0 + C({level})" for level in ("question", "compaction", "answer")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = smf.mixedlm("score ~ 1", table, groups="session", re_formula="1", vc_formula=components).fit(reml=True)
    expected = {
        "session": fit.cov_re.iloc[0, 0], "judge": fit.scale,
        **dict(zip(sorted(components), fit.vcomp, strict=True)),
    }  # fmt: skip
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
        **rows, "answers": answers, "methods": [row for row in rows["methods"] if row["method_id"] not in names],
        "compactions": [row for row in rows["compactions"] if row["compaction_id"] not in gone],
        "scores": [row for row in rows["scores"] if row["answer_id"] in kept],
    }  # fmt: skip


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
        **rows, "compactions": [row for row in rows["compactions"] if row["compaction_id"] not in copies],
        "answers": [row for row in rows["answers"] if row["answer_id"] not in gone],
        "scores": [row for row in rows["scores"] if row["answer_id"] not in gone],
    }  # fmt: skip
    columns = ("mean", "std_error", "df", "ci_low", "ci_high")
    where = "dimension = 'overall' AND method IN ('C', 'D') ORDER BY method"
    with_copies, without_copies = (
        [[row[name] for name in columns] for row in read(each, tmp_path / folder, "leaderboard_long", where)]
        for each, folder in ((rows, "copies"), (once, "once"))
    )
    assert with_copies == [pytest.approx(row) for row in without_copies]


def test_one_more_compaction_brings_nothing_to_methods_whose_contexts_are_equal(tmp_path: Path) -> None:
    model = Model(methods=2, fixed=("A", "B"))
    found = next_of(studies(model, 1, seed=37), tmp_path)
    assert found["compaction"]["gain"] == 0
    assert found["answer"]["gain"] > 0


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


def test_the_expected_error_is_the_one_that_repeated_studies_show(tmp_path: Path) -> None:
    """Over 150 studies: mean expected variance of A - B, and of A's mean, against the variance between the studies."""
    model = replace(Model(sessions=5, answers=1), judge=0.06, compaction=0.08, compaction_shared=0.06)
    rows = studies(model, 150, seed=17)
    path = make(rows, tmp_path)
    with connect(path) as connection:
        expected = connection.execute(
            "SELECT avg(std_error_difference_now ** 2), avg(std_error_mean_now ** 2) FROM next_replicate "
            "WHERE dimension = 'overall' AND one_more = 'session'"
        ).fetchone()
        shown = connection.execute(
            """
            SELECT var_samp(a.mean - b.mean), var_samp(a.mean) FROM leaderboard_long a JOIN leaderboard_long b
            USING (judge_id, dimension) WHERE dimension = 'overall' AND a.method = 'A' AND b.method = 'B'
            """
        ).fetchone()
    assert expected is not None
    assert shown is not None
    # The variance of 150 normal values has a relative standard error of sqrt(2 / 149) = 0.12.
    assert expected == pytest.approx(shown, rel=0.36)


def next_of(rows: Rows, folder: Path) -> dict[str, dict[str, Any]]:
    return {row["one_more"]: row for row in read(rows, folder, "next_replicate")}


def test_the_expected_errors_follow_from_the_components(tmp_path: Path) -> None:
    """By the formula of the view's comment, with 6 sessions, 12 points, 36 questions and 2 of each repetition."""
    rows = studies(Model(), 1, seed=23)
    path = make(rows, tmp_path)
    with connect(path) as connection:
        (c,) = connection.sql("FROM variance_components WHERE dimension = 'overall'").to_arrow_table().to_pylist()
        found = connection.sql("FROM next_replicate WHERE dimension = 'overall'").to_arrow_table().to_pylist()
    shared = max(0, c["raw_compaction_shared"])

    def difference(g: float = 6, q: float = 36, p: float = 12, k: float = 2, a: float = 2, j: float = 2) -> float:
        rest = c["var_compaction"] - shared
        return sqrt(
            2 * (
                c["var_method_session"] / g + c["var_method_question"] / q + shared / (p * k) + rest / (q * k)
                + c["var_answer"] / (q * k * a) + c["var_judge"] / (q * k * a * j)
            )
        )  # fmt: skip

    then = {
        "session": difference(g=7, q=42, p=14), "compaction": difference(k=3), "answer": difference(a=3),
        "judge": difference(j=3),
    }  # fmt: skip
    assert [row["one_more"] for row in found] == list(then)
    for row in found:
        assert row["std_error_difference_now"] == pytest.approx(difference())
        assert row["std_error_difference_then"] == pytest.approx(then[row["one_more"]])
        assert row["gain"] == row["gain_at_most"] == pytest.approx(difference() - then[row["one_more"]])


def test_what_it_takes_is_counted(tmp_path: Path) -> None:
    """By hand: 3 methods × 12 points × 2 compactions, × 3 questions × 2 answers × 2 verdicts."""
    found = next_of(studies(Model(), 1, seed=23), tmp_path)
    taken = {more: (row["n_compactions"], row["n_answers"], row["n_verdicts"]) for more, row in found.items()}
    assert taken == {
        "session": (12, 72, 144), "compaction": (36, 216, 432), "answer": (0, 216, 432), "judge": (0, 0, 432),
    }  # fmt: skip


def priced(cost: float | None) -> Rows:
    """A study whose verdicts were two model calls each on average, answers cost 0.01, compactions 0.5 US dollars."""
    rows = studies(Model(), 1, seed=23)
    for table, usd in (("compactions", 0.5), ("answers", 0.01)):
        rows[table] = [{**row, "cost_usd": usd} for row in rows[table]]
    rows["judges"] = [{**row, "judge": "openai:grader (here)", "model": "grader"} for row in rows["judges"]]
    verdicts = {(row["answer_id"], row["judge_replicate"]) for row in rows["scores"]}
    rows["calls"] = [
        *(call(f"c{i}", "score", "openai:grader", 10, cost) for i in range(2 * len(verdicts))),
        call("other", "score", "openai:grad", 10, 9.0),
        call("hit", "score", "openai:grader", 10, 9.0, cached=True),
        call("fault", "score", "openai:grader", 10, 9.0, status="failed"),
    ]
    return rows


def test_the_best_is_what_brings_most_for_a_dollar(tmp_path: Path) -> None:
    found = next_of(priced(0.002), tmp_path)
    cost = {more: row["cost_usd"] for more, row in found.items()}
    verdict = 2 * 0.002
    assert cost == pytest.approx({
        "session": 12 * 0.5 + 72 * 0.01 + 144 * verdict, "compaction": 36 * 0.5 + 216 * 0.01 + 432 * verdict,
        "answer": 216 * 0.01 + 432 * verdict, "judge": 432 * verdict,
    })  # fmt: skip
    assert {row["ranked_by"] for row in found.values()} == {"dollars"}
    rate = {more: row["gain"] / row["cost_usd"] for more, row in found.items()}
    assert {more: row["gain_per_usd"] for more, row in found.items()} == pytest.approx(rate)
    assert [more for more, row in found.items() if row["is_best"]] == [max(rate, key=lambda more: rate[more])]


def test_without_a_price_calls_decide(tmp_path: Path) -> None:
    found = next_of(priced(None), tmp_path)
    assert {row["ranked_by"] for row in found.values()} == {"model calls"}
    assert {row["cost_usd"] for row in found.values()} == {None}
    assert {more: row["n_calls"] for more, row in found.items()} == {
        "session": 288, "compaction": 864, "answer": 864, "judge": 864,
    }  # fmt: skip
    assert sum(row["is_best"] for row in found.values()) == 1


def test_what_was_never_repeated_has_no_expectation_but_a_bound(tmp_path: Path) -> None:
    """One verdict each: a second halves at most all that differs between questions, method by method."""
    found = next_of(studies(Model(compactions=1, answers=1, verdicts=1), 1, seed=4), tmp_path)
    row = found["judge"]
    assert (row["gain"], row["std_error_difference_then"], row["is_best"]) == (None, None, False)
    assert 0 < row["gain_at_most"] <= (1 - sqrt(0.5)) * row["std_error_difference_now"] + 1e-12
    assert found["session"]["is_best"]
