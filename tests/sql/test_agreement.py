"""Agreement of judges and people: recomputed by the libraries that others use; by hand where it is undefined."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from flows.database.scores_db import connect
from tests.sql.tiny import (
    CRITERIA,
    DIMENSION,
    Rows,
    answer,
    compaction,
    judge,
    make,
    method,
    point,
    probe,
    scores,
    session,
)

WEIGHT = {row["criterion"]: row["weight"] for row in CRITERIA}
ANSWERS_A_SESSION = 8

Given = Mapping[int, Mapping[str, float | None]]
"""Number of the answer → criterion → score; None is unscored."""

Figures = dict[tuple[str, str, str, str], dict[str, Any]]
"""Kind, raters and item → columns of the view."""


def name(number: int) -> str:
    return f"keep/q{number}"


def store(judges: Mapping[str, Iterable[Given]], people: Mapping[str, Given] | None = None, n: int = 0) -> Rows:
    """A store in which judges (one mapping a replicate) and people have scored answers, eight a session."""
    given = [*(one for replicates in judges.values() for one in replicates), *(people or {}).values()]
    n = n or 1 + max(number for one in given for number in one)
    sessions = range(math.ceil(n / ANSWERS_A_SESSION))
    return {
        "sessions": [session(f"s{s}") for s in sessions],
        "points": [point(f"p{s}", f"s{s}", 1000) for s in sessions],
        "methods": [method("keep", "keep")],
        "compactions": [compaction("keep", f"p{s}", 1000, 100) for s in sessions],
        "probes": [probe(f"q{i}", f"p{i // ANSWERS_A_SESSION}") for i in range(n)],
        "answers": [answer("keep", f"p{i // ANSWERS_A_SESSION}", f"q{i}") for i in range(n)],
        "judges": [
            judge(id, f"judge {id}", created_at=f"2026-01-{day:02d}T00:00:00Z")
            for day, id in enumerate(judges, start=1)
        ],
        "criteria": CRITERIA,
        "scores": [
            row
            for id, replicates in judges.items()
            for replicate, one in enumerate(replicates)
            for number, by_criterion in one.items()
            for row in scores(name(number), id, replicate, **by_criterion)
        ],
        "human_scores": [
            {"answer_id": name(number), "rater": rater, "criterion": criterion, "score": score}
            for rater, one in (people or {}).items()
            for number, by_criterion in one.items()
            for criterion, score in by_criterion.items()
        ],
    }


def agreement(rows: Rows, folder: Path) -> Figures:
    with connect(make(rows, folder)) as connection:
        found = connection.sql("FROM judge_agreement").to_arrow_table().to_pylist()
    return {(row["kind"], row["rater_a"], row["rater_b"], row["item"]): row for row in found}


def noisy(rng: random.Random, n: int, step: float, skew: float, missing: float) -> tuple[Given, Given, Given]:
    """Three raters' scores of the same answers: two judges and a person, with ties, a skew towards 5, and holes."""

    def score(true: float, noise: float) -> float:
        value = min(5.0, max(0.0, true + rng.gauss(0, noise)))
        return round(round(value / step) * step, 6)

    raters: list[dict[int, dict[str, float | None]]] = [{}, {}, {}]
    for number in range(n):
        true = {criterion: 5 * rng.random() ** skew for criterion in DIMENSION}
        for rater, noise in zip(raters, (0.4, 0.9, 0.6), strict=True):
            kept = {c: score(t, noise) for c, t in true.items() if rng.random() >= missing}
            if kept:
                rater[number] = dict(kept)
    return raters[0], raters[1], raters[2]


def items(a: Given, b: Given) -> dict[str, tuple[list[float], list[float], list[int]]]:
    """Item → both raters' scores and the numbers of the answers, on what both have, computed anew."""
    found: dict[str, tuple[list[float], list[float], list[int]]] = {}

    def add(item: str, x: float, y: float, number: int) -> None:
        for values, value in zip(found.setdefault(item, ([], [], [])), (x, y, number), strict=True):
            values.append(value)  # type: ignore[arg-type]

    for number in sorted(set(a) & set(b)):
        both = {c for c in set(a[number]) & set(b[number]) if a[number][c] is not None and b[number][c] is not None}
        for criterion in both:
            add(criterion, a[number][criterion], b[number][criterion], number)  # type: ignore[arg-type]
        dimensions = {}
        for dimension in {DIMENSION[c] for c in both}:
            chosen = [c for c in both if DIMENSION[c] == dimension]
            total = sum(WEIGHT[c] for c in chosen)
            dimensions[dimension] = [sum(WEIGHT[c] * one[number][c] for c in chosen) / total for one in (a, b)]  # type: ignore[operator]
            add(dimension, *dimensions[dimension], number)
        if both:
            add("overall", *(fmean(pair[i] for pair in dimensions.values()) for i in (0, 1)), number)
    return found


def icc(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> float:
    """ICC(A,1) from the mean squares of answers, raters and rest (McGraw and Wong 1996, table 4)."""
    scores, n = np.stack([x, y], axis=1), len(x)
    rest = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    answers, raters = 2 * scores.mean(axis=1).var(ddof=1), n * scores.mean(axis=0).var(ddof=1)
    error = float((rest**2).sum() / (n - 1))
    return float((answers - error) / (answers + error + 2 / n * (raters - error)))


def test_the_intraclass_correlation_is_that_of_pingouin() -> None:
    pingouin = pytest.importorskip("pingouin", reason='pip install ".[oracles]"')
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(8)
    x = rng.integers(0, 6, 60).astype(float)
    y = np.clip(x + rng.normal(0.4, 1.1, 60).round(), 0, 5)
    table = pd.DataFrame({"answer": [*range(60)] * 2, "rater": ["a"] * 60 + ["b"] * 60, "score": [*x, *y]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pingouin uses what pandas deprecates
        found = pingouin.intraclass_corr(table, "answer", "rater", "score").set_index("Type").loc["ICC(A,1)", "ICC"]
    assert icc(x, y) == pytest.approx(found, abs=1e-9)


def oracle(a: list[float], b: list[float]) -> dict[str, float]:
    """The figures by the libraries that are used for them."""
    x, y = np.round(np.array(a), 9), np.round(np.array(b), 9)
    p, q = (np.floor(one + 0.5).astype(int) for one in (x, y))  # half points go up
    return {
        "exact": float(np.mean(p == q)),
        "within_one": float(np.mean(abs(p - q) <= 1)),
        "kappa": cohen_kappa_score(p, q, labels=range(6), weights="quadratic"),
        "alpha_ordinal": krippendorff.alpha(
            reliability_data=[p, q], level_of_measurement="ordinal", value_domain=range(6)
        ),
        "alpha_interval": krippendorff.alpha(reliability_data=[x, y], level_of_measurement="interval"),
        "icc": icc(x, y),
        "pearson": stats.pearsonr(x, y).statistic,
        "spearman": stats.spearmanr(p, q).statistic,
        "mean_difference": float(np.mean(y - x)),
        "mean_a": float(np.mean(x)),
        "mean_b": float(np.mean(y)),
        "share_a_at_0": float(np.mean(p == 0)),
        "share_b_at_5": float(np.mean(q == 5)),
        "chance_exact": float(sum(np.mean(p == k) * np.mean(q == k) for k in range(6))),
    }


def same(figures: Mapping[str, Any], expected: Mapping[str, float]) -> bool:
    """Whether figures are the expected ones, to eight digits."""
    return all(math.isclose(figures[k], v, rel_tol=1e-8, abs_tol=1e-8) for k, v in expected.items())


DRAWN = {
    "whole points": (1, 40, 1, 1, 0),
    "half points, much at the ceiling, holes": (2, 60, 0.5, 0.3, 0.2),
    "hundredths, every second missing": (3, 25, 0.01, 1, 0.5),
    "nearly all 5": (4, 200, 1, 0.1, 0.1),
    "nearly all 0": (5, 30, 1, 6, 0.3),
}
"""Seed, answers, finest step of the scores, skew, share of criteria that a rater left out."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[Given]], Figures]:
    """Of each set: both judges' and the person's scores; and the agreement of all, on answers of their own."""
    given: dict[str, list[Given]] = {}
    for start, (what, (seed, n, step, skew, missing)) in enumerate(DRAWN.items()):
        raters = noisy(random.Random(seed), n, step, skew, missing)
        given[what] = [{1000 * start + number: scored for number, scored in one.items()} for one in raters]
    rows = store(
        {f"{judge} {what}": [one] for what, raters in given.items() for judge, one in zip("ab", raters, strict=False)},
        {"kim": {number: scored for raters in given.values() for number, scored in raters[2].items()}},
    )
    return given, agreement(rows, tmp_path_factory.mktemp("drawn"))


@pytest.mark.parametrize("what", DRAWN)
def test_every_figure_is_that_of_the_libraries(drawn: tuple[dict[str, list[Given]], Figures], what: str) -> None:
    given, found = drawn
    first, second, person = given[what]
    for kind, rater_a, rater_b, a, b in (
        ("judges", f"a {what}", f"b {what}", first, second),
        ("judge and people", "people", f"a {what}", person, first),
        ("judge and people", "people", f"b {what}", person, second),
    ):
        expected = items(a, b)
        assert {key[3] for key in found if key[:3] == (kind, rater_a, rater_b)} == set(expected)
        for item, (x, y, numbers) in expected.items():
            figures = found[kind, rater_a, rater_b, item]
            assert figures["n_answers"] == figures["n_pairs"] == len(x)
            assert figures["n_sessions"] == len({number // ANSWERS_A_SESSION for number in numbers})
            assert figures["undefined_because"] is None
            assert same(figures, oracle(x, y)), (item, figures, oracle(x, y))


def test_the_bias_has_the_interval_of_the_session_means(tmp_path: Path) -> None:
    """With as many answers in every session the clustered interval is the t interval over session means (scipy)."""
    rng = random.Random(7)
    first, second, _ = noisy(rng, 6 * ANSWERS_A_SESSION, 0.5, 1, 0)
    figures = agreement(store({"j1": [first], "j2": [second]}), tmp_path)["judges", "j1", "j2", "facts"]
    means = [
        fmean(second[i]["facts"] - first[i]["facts"] for i in range(s, s + ANSWERS_A_SESSION))  # type: ignore[operator]
        for s in range(0, 6 * ANSWERS_A_SESSION, ANSWERS_A_SESSION)
    ]
    interval = stats.t.interval(0.95, 5, fmean(means), stats.sem(means))
    assert figures["std_error"] == pytest.approx(stats.sem(means))
    assert (figures["ci_low"], figures["ci_high"]) == pytest.approx(interval, rel=1e-5)


UNDEFINED = ("kappa", "alpha_ordinal", "alpha_interval", "icc", "pearson", "spearman")


UNDEFINED_CASES = {
    "alike": ([5, 5, 5], [5, 5, 5], 1, 1, set(), "neither"),
    "apart": ([5, 5, 5], [4, 4, 4], 0, 1, set(), "neither"),
    "one": ([3], [5], 0, 0, set(), "fewer than 2"),
    "fine": ([4.6, 4.8, 5], [4.7, 5, 4.9], 1, 1, {"alpha_interval", "icc", "pearson"}, "whole points"),
    "flat": ([5, 5, 5, 5], [5, 5, 5, 1], 0.75, 0.75, {*UNDEFINED} - {"pearson", "spearman"}, "rater a"),
    "nearly": ([1, 3, 5], [4.6, 4.8, 5], 1 / 3, 1 / 3, {*UNDEFINED} - {"spearman"}, "rater b"),
}
"""Scores of a and of b; exact, within_one, the figures that are defined, and a word of the reason."""


@pytest.fixture(scope="module")
def undefined(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    """Two judges for each case, on answers of one session."""
    judges = {
        f"{rater} {case}": [{start * ANSWERS_A_SESSION + i: {"facts": score} for i, score in enumerate(scored)}]
        for start, (case, (a, b, *_)) in enumerate(UNDEFINED_CASES.items())
        for rater, scored in (("a", a), ("b", b))
    }
    return agreement(store(judges), tmp_path_factory.mktemp("undefined"))


@pytest.mark.parametrize("case", UNDEFINED_CASES)
def test_a_figure_that_is_undefined_is_null_and_says_why(undefined: Figures, case: str) -> None:
    *_, exact, within_one, defined, because = UNDEFINED_CASES[case]
    for item in ("facts", "accuracy", "overall"):
        figures = undefined["judges", f"a {case}", f"b {case}", item]
        assert {figure for figure in UNDEFINED if figures[figure] is not None} == defined
        assert because in figures["undefined_because"]
        assert (figures["exact"], figures["within_one"]) == pytest.approx((exact, within_one))
        assert figures["std_error"] is None  # a single session


def test_a_judge_that_gives_everything_5_agrees_no_better_than_chance(tmp_path: Path) -> None:
    """Ninety-five answers of a hundred are alike, which is what chance gives with these base rates: kappa is 0."""
    a = {i: {"facts": 5.0} for i in range(100)}
    b = {i: {"facts": 5.0 if i < 95 else 0.0} for i in range(100)}
    figures = agreement(store({"j1": [a], "j2": [b]}), tmp_path)["judges", "j1", "j2", "facts"]
    assert figures["exact"] == figures["chance_exact"] == 0.95
    assert (figures["kappa"], figures["icc"]) == (0, pytest.approx(0, abs=1e-12))
    assert (figures["share_a_at_5"], figures["share_b_at_5"], figures["share_b_at_0"]) == (1, 0.95, 0.05)


def test_what_one_of_the_two_left_out_counts_for_neither(tmp_path: Path) -> None:
    """By hand: j2 has no terms on answer 0, so accuracy there is facts alone, 4 and 2, not (4 + 3 · 0) / 4."""
    first = {0: {"facts": 4.0, "terms": 0.0}, 1: {"facts": 1.0, "terms": 5.0}}
    second = {0: {"facts": 2.0, "terms": None}, 1: {"facts": 3.0, "terms": 3.0}, 2: {"facts": 5.0}}
    found = agreement(store({"j1": [first], "j2": [second]}), tmp_path)
    accuracy = found["judges", "j1", "j2", "accuracy"]
    assert (accuracy["n_answers"], accuracy["mean_a"], accuracy["mean_b"]) == (2, 4.0, 2.5)
    assert found["judges", "j1", "j2", "terms"]["n_answers"] == 1


def test_a_failed_answer_is_in_no_agreement(tmp_path: Path) -> None:
    rows = store({"j1": [{0: {"facts": 1}, 1: {"facts": 2}}], "j2": [{0: {"facts": 1}, 1: {"facts": 2}}]})
    rows["answers"][0] |= {"status": "failed", "error": "refused"}
    assert agreement(rows, tmp_path)["judges", "j1", "j2", "facts"]["n_answers"] == 1


def test_judges_with_different_rubrics_have_each_their_own_weights(tmp_path: Path) -> None:
    """By hand: facts 0, terms 4 are (0 + 3 · 4) / 4 = 3 by the first rubric and (0 + 4) / 2 = 2 by the second."""
    rows = store({"j1": [{0: {"facts": 0, "terms": 4}}], "j2": [{0: {"facts": 0, "terms": 4}}]})
    rows["criteria"] = [*rows["criteria"], *({**row, "rubric": "even@1", "weight": 1.0} for row in CRITERIA)]
    rows["judges"][1] |= {"rubric": "even@1"}
    accuracy = agreement(rows, tmp_path)["judges", "j1", "j2", "accuracy"]
    assert (accuracy["mean_a"], accuracy["mean_b"], accuracy["mean_difference"]) == (3, 2, -1)


def test_a_criterion_that_two_rubrics_file_differently_counts_for_itself_alone(tmp_path: Path) -> None:
    rows = store({"j1": [{0: {"facts": 1, "parts": 2}}], "j2": [{0: {"facts": 1, "parts": 2}}]})
    for row in rows["scores"]:
        if row["judge_id"] == "j2" and row["criterion"] == "facts":
            row["dimension"] = "completeness"
    assert {key[3] for key in agreement(rows, tmp_path)} == {"facts", "parts", "completeness", "overall"}


def test_people_are_compared_with_each_other_and_as_one_rater_with_the_judge(tmp_path: Path) -> None:
    """By hand: people mean (4 + 2) / 2 = 3 on answer 0; on answer 1 only kim has a label."""
    judged = {0: {"facts": 5.0}, 1: {"facts": 1.0}}
    people = {"kim": {0: {"facts": 4.0}, 1: {"facts": 0.0}}, "ann": {0: {"facts": 2.0}}}
    found = agreement(store({"j1": [judged]}, people), tmp_path)
    assert {key[:3] for key in found} == {("people", "ann", "kim"), ("judge and people", "people", "j1")}
    with_judge = found["judge and people", "people", "j1", "facts"]
    assert (with_judge["mean_a"], with_judge["mean_b"], with_judge["mean_difference"]) == (1.5, 3, 1.5)
    assert (with_judge["judge_a"], with_judge["judge_b"]) == (None, "judge j1")
    together = found["people", "ann", "kim", "overall"]
    assert (together["n_answers"], together["mean_a"], together["mean_b"]) == (1, 2, 4)


def test_a_judge_agrees_with_itself_as_far_as_its_repetitions_do(tmp_path: Path) -> None:
    """The first verdict against each later one, pooled; the answers are counted once."""
    rng = random.Random(11)
    replicates = [{i: {"facts": float(rng.randint(0, 5))} for i in range(20)} for _ in range(3)]
    figures = agreement(store({"j1": replicates}), tmp_path)["replicates", "j1", "j1", "facts"]
    a = [replicates[0][i]["facts"] for _ in (1, 2) for i in range(20)]
    b = [replicates[r][i]["facts"] for r in (1, 2) for i in range(20)]
    assert (figures["n_answers"], figures["n_pairs"]) == (20, 40)
    assert same(figures, oracle(a, b))


def test_agreement_is_the_same_whichever_way_round(tmp_path: Path) -> None:
    first, second, _ = noisy(random.Random(13), 30, 0.5, 0.5, 0.2)
    one = agreement(store({"j1": [first], "j2": [second]}, n=30), tmp_path / "one")
    other = agreement(store({"j1": [second], "j2": [first]}, n=30), tmp_path / "other")
    for key, figures in one.items():
        mirrored = other[key]
        assert same(figures, {f: mirrored[f] for f in (*UNDEFINED, "exact", "within_one", "chance_exact")})
        assert figures["mean_difference"] == pytest.approx(-mirrored["mean_difference"], abs=1e-12)


def test_all_pairs_of_judges_are_there_once(tmp_path: Path) -> None:
    given = {0: {"facts": 1.0}, 1: {"facts": 4.0}}
    found = agreement(store({id: [given] for id in ("j3", "j1", "j2")}), tmp_path)
    assert {key[1:3] for key in found} == set(itertools.combinations(("j1", "j2", "j3"), 2))
