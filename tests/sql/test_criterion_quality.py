"""Whether a criterion tells methods apart: by hand, by the textbook analysis of variance, and on chance alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from flows.database.scores_db import connect
from tests.sql.tiny import Rows, answer, compaction, judge, make, method, point, probe, scores, session

Table = npt.NDArray[np.float64]
"""Session × question × method → score; not a number where there is none."""


def asked(tables: dict[str, Table], criterion: str = "facts", other: Table | None = None) -> Rows:
    """A store with a judge for each table, all on the same answers; other: what each gave them for parts."""
    shape = next(iter(tables.values())).shape
    names = [f"m{m:02d}" for m in range(shape[2])]
    cells = [(s, q, m) for s in range(shape[0]) for q in range(shape[1]) for m in range(shape[2])]
    return {
        "sessions": [session(f"s{s}") for s in range(shape[0])],
        "points": [point(f"p{s}", f"s{s}", 1000) for s in range(shape[0])],
        "methods": [method(name, name) for name in names],
        "compactions": [compaction(name, f"p{s}", 1000, 100) for name in names for s in range(shape[0])],
        "probes": [probe(f"s{s}q{q}", f"p{s}") for s in range(shape[0]) for q in range(shape[1])],
        "answers": [answer(names[m], f"p{s}", f"s{s}q{q}") for s, q, m in cells],
        "judges": [judge(name, name) for name in tables],
        "scores": [
            row
            for name, table in tables.items()
            for s, q, m in cells
            if not np.isnan(table[s, q, m])
            for row in scores(
                f"{names[m]}/s{s}q{q}",
                name,
                **{criterion: float(table[s, q, m])},
                **({} if other is None else {"parts": float(other[s, q, m])}),
            )
        ],
    }


def quality(rows: Rows, folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    with connect(make(rows, folder)) as connection:
        found = connection.sql("FROM criterion_quality").to_arrow_table().to_pylist()
    return {(row["judge_id"], row["criterion"]): row for row in found}


def clipped(table: Table) -> Table:
    return np.clip(table, 0, 5)


def test_figures_of_complete_data_are_those_of_the_analysis_of_variance(tmp_path: Path) -> None:
    """Sessions × methods as randomised blocks (Fisher): F of methods over the interaction, with scipy's tail."""
    rng = np.random.default_rng(1)
    sessions, questions, methods = 6, 5, 4
    table = clipped(
        2.5
        + 0.12 * np.arange(methods)
        + rng.normal(0, 0.3, (sessions, 1, 1))
        + rng.normal(0, 0.2, (sessions, 1, methods))
        + rng.normal(0, 0.4, (sessions, questions, 1))
        + rng.normal(0, 0.4, (sessions, questions, methods))
    )
    found = quality(asked({"j1": table}), tmp_path)["j1", "facts"]
    cell = table.mean(axis=1)
    interaction = cell - cell.mean(axis=1, keepdims=True) - cell.mean(axis=0) + cell.mean()
    df, df_rest = methods - 1, (methods - 1) * (sessions - 1)
    ms_methods = sessions * ((cell.mean(axis=0) - cell.mean()) ** 2).sum() / df
    ms_rest = (interaction**2).sum() / df_rest
    p_value = stats.f.sf(ms_methods / ms_rest, df, df_rest)
    assert 0.001 < p_value < 0.2  # where the verdict is made
    assert stats.norm.sf(found["z_methods"]) == pytest.approx(p_value, rel=0.05)
    off = table - table.mean(axis=2, keepdims=True)
    within = ((off - off.mean(axis=(0, 1))) ** 2).sum() / (table.size - sessions * questions - methods + 1)
    between = max(0, (ms_methods - ms_rest) / sessions)
    assert found["share_of_methods"] == pytest.approx(between / (between + within))
    means = table.mean(axis=(0, 1))
    assert found["range_of_methods"] == pytest.approx(means.max() - means.min())
    assert (found["best"], found["worst"]) == (f"m{means.argmax():02d}", f"m{means.argmin():02d}")
    assert (found["mean"], found["std_dev"]) == pytest.approx((table.mean(), table.std(ddof=1)))
    assert (found["n_answers"], found["n_sessions"], found["n_methods"]) == (120, 6, 4)


def test_equal_methods_are_rarely_told_apart(tmp_path: Path) -> None:
    """At one-sided 5 %, of 200 judges that score at random at most 20 (less than once in 500 by chance: binomial)."""
    rng = np.random.default_rng(2)
    tables = {
        f"j{i:03d}": clipped(2.5 + rng.normal(0, 0.5, (5, 3, 1)) + rng.normal(0, 0.6, (5, 3, 4))) for i in range(200)
    }
    found = quality(asked(tables), tmp_path).values()
    assert stats.binom.sf(20, 200, 0.05) < 1 / 500
    assert sum(row["z_methods"] > 1.645 for row in found) <= 20
    assert {row["use"] for row in found} <= {"separates nothing", "separates methods"}


def test_what_all_answer_alike_is_at_the_ceiling_or_at_the_floor(tmp_path: Path) -> None:
    """The study's instruction_following: means 4.92 to 4.99, nearly all answers have a 5, and methods differ by 0.07.

    Whether chance explains that difference is beside the point: 0.07 points order nothing.
    """
    rng = np.random.default_rng(3)
    shares = np.array([0.99, 0.95, 0.92])
    study = np.where(rng.random((40, 10, 3)) < shares, 5.0, 4.0)
    found = quality(asked({"study": study, "floor": 5 - study, "all": np.full_like(study, 5)}), tmp_path)
    row = found["study", "facts"]
    assert 4.9 < row["mean"] < 5
    assert row["range_of_methods"] < 0.1
    assert (row["use"], found["floor", "facts"]["use"]) == ("at the ceiling", "at the floor")
    assert row["share_at_ceiling"] == found["floor", "facts"]["share_at_floor"] == np.mean(study == 5)
    flat = found["all", "facts"]
    assert (flat["use"], flat["std_dev"], flat["share_of_methods"], flat["z_methods"]) == ("at the ceiling", 0, None, 0)
    assert (flat["best"], flat["worst"], flat["item_rest_correlation"]) == (None, None, None)


def test_a_criterion_that_one_bad_method_fails_separates_even_at_the_ceiling(tmp_path: Path) -> None:
    table = np.full((5, 4, 12), 5.0)
    table[:, :, 7] = 1
    row = quality(asked({"j1": table}), tmp_path)["j1", "facts"]
    assert (row["use"], row["worst"], row["best"], row["range_of_methods"]) == ("separates methods", "m07", "m11", 4)
    assert row["share_at_ceiling"] > 0.9


def test_few_answers_say_nothing(tmp_path: Path) -> None:
    """28 answers; 60 of one session; 40 of one method."""
    rng = np.random.default_rng(4)
    for shape in ((7, 2, 2), (1, 10, 6), (5, 8, 1)):
        rows = asked({"j1": rng.uniform(0, 5, shape)})
        assert quality(rows, tmp_path / str(shape[2]))["j1", "facts"]["use"] == "too few answers"


def test_the_rest_of_an_answer_is_its_other_criteria(tmp_path: Path) -> None:
    """By hand: with two criteria each is the other's rest, so both have their correlation (scipy)."""
    rng = np.random.default_rng(5)
    facts, parts = rng.uniform(0, 5, (2, 3, 5, 2))
    found = quality(asked({"j1": facts}, other=parts), tmp_path)
    expected = stats.pearsonr(facts.ravel(), parts.ravel()).statistic
    assert found["j1", "facts"]["item_rest_correlation"] == pytest.approx(expected)
    assert found["j1", "parts"]["item_rest_correlation"] == pytest.approx(expected)


def test_unscored_answers_are_counted_and_are_no_zeros(tmp_path: Path) -> None:
    rows = asked({"j1": np.full((2, 2, 2), 4.0)})
    for row in rows["scores"][:3]:
        row |= {"score": None, "unscored_reason": "no truth"}
    found = quality(rows, tmp_path)["j1", "facts"]
    assert (found["n_answers"], found["n_unscored"], found["mean"], found["share_at_floor"]) == (5, 3, 4, 0)


def test_with_holes_a_hard_question_is_not_held_against_who_was_asked_it(tmp_path: Path) -> None:
    """Two methods score alike on every question that both have; one of them alone was asked the hard ones."""
    rng = random.Random(6)
    table = np.full((6, 6, 2), np.nan)
    for s in range(6):
        for q in range(6):
            table[s, q] = rng.uniform(3, 5)
        table[s, 0] = (0, np.nan)
    row = quality(asked({"j1": table}), tmp_path)["j1", "facts"]
    assert row["range_of_methods"] > 0.5
    assert (row["z_methods"], row["use"]) == (0, "separates nothing")
