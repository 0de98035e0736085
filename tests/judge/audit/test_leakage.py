"""The leakage meter finds what gives a method away, and nothing where nothing does."""

from __future__ import annotations

from array import array
from random import Random

import pytest

from judge.audit.leakage import FEATURES, NaiveBayes, Sample, features_of, form_of, measure_leakage

WORDS = [first + second for first in "bcdfghklmnpr" for second in ("ara", "ero", "ili", "oso", "uma")]
METHODS = ("a", "b", "c", "d")


def samples(mark: str = "", sessions: int = 12, seed: int = 0, methods: tuple[str, ...] = METHODS) -> list[Sample]:
    """What methods keep of sessions, drawn alike; ``mark`` is written by method ``a`` alone."""
    random = Random(seed)
    found = []
    for session in range(sessions):
        for method in methods:
            kept = [random.choice(WORDS) * (session + 2) for _ in range(20)] + random.sample(WORDS, 20)
            found.append((method, " ".join(kept) + (mark if method == "a" else ""), f"session {session}"))
    return found


def test_methods_that_cannot_be_told_apart_are_guessed_at_chance() -> None:
    found = [measure_leakage(samples(seed=seed, sessions=6), permutations=99) for seed in range(60)]
    p_values = [figures.p_value for figures in found]
    assert sum(p <= 0.01 for p in p_values) <= 4
    assert 0.4 < sum(p_values) / len(p_values) < 0.7
    assert abs(sum(figures.accuracy - figures.chance for figures in found)) / len(found) < 0.03


def test_a_text_that_one_method_alone_writes_is_found_and_named() -> None:
    found = measure_leakage(samples(mark=" [cleared]"))
    assert found.recall["a"] == 1.0
    assert found.p_value < 0.01
    assert found.accuracy > found.chance + 0.1
    assert ("a", "cleared") in found.telling[:5]
    assert {pair.methods for pair in found.pairs if pair.accuracy > 0.9} == {("a", "b"), ("a", "c"), ("a", "d")}


def test_how_often_a_word_stands_gives_a_method_away_too() -> None:
    assert measure_leakage(samples(mark=" bara" * 9)).recall["a"] > 0.9


def test_what_is_known_of_a_session_does_not_help_on_another() -> None:
    told = [(method, f"only {session}{method}", session) for session in "stuvwxyz" for method in METHODS]
    found = measure_leakage(told)
    assert found.accuracy == found.chance == 0.25
    assert found.p_value == 1.0


def test_methods_that_leave_the_same_text_set_the_ceiling() -> None:
    told = [(method, "same" if method in "ab" else method, str(session)) for session in range(4) for method in METHODS]
    found = measure_leakage(told)
    assert found.ceiling == found.accuracy == 0.75
    assert {pair.methods: pair.accuracy for pair in found.pairs}["a", "b"] == 0.5


def test_every_method_counts_the_same_however_many_samples_it_has() -> None:
    told = [("a", "x", f"{n}") for n in range(9) for _ in range(9)] + [("b", "y", f"{n}") for n in range(9)]
    assert measure_leakage(told).balanced_accuracy == 1.0
    mixed = [("a", "x", f"{n}") for n in range(9) for _ in range(9)] + [("b", "x", f"{n}") for n in range(9)]
    found = measure_leakage(mixed)
    assert found.accuracy == pytest.approx(found.chance) == pytest.approx(0.9)
    assert found.balanced_accuracy == 0.5


def test_the_same_samples_and_seed_give_the_same_figures() -> None:
    assert measure_leakage(samples(mark=" [x]"), seed=3) == measure_leakage(samples(mark=" [x]"), seed=3)


@pytest.mark.parametrize("told", [[], samples(sessions=1), samples(methods=("a",))])
def test_fewer_than_two_methods_or_sessions_are_refused(told: list[Sample]) -> None:
    with pytest.raises(ValueError, match="at least two of each"):
        measure_leakage(told)


def test_the_form_is_what_does_not_stand_in_the_session() -> None:
    session = "user: fix src/a.py\nresult: run: 3 passed"
    seen = "<summary> [Old output: (3 lines omitted)]\nfix src/a.py, then run\n<summary> more"
    assert form_of(seen, session) == "< summary > [ old output\n(\nlines omitted )]\n, then\n< summary > more"
    assert form_of(session, session) == ""


def test_digits_are_no_features_of_their_own() -> None:
    assert set(features_of("(12 lines)")) == set(features_of("(97 lines)"))


def test_the_classifier_is_scikit_learns_bernoulli_naive_bayes() -> None:
    sklearn = pytest.importorskip("sklearn.naive_bayes")
    random = Random(1)
    rows = [[random.random() < 0.2 + 0.1 * (row % 3) * (column % 2) for column in range(40)] for row in range(60)]
    labels = [row % 3 for row in range(60)]
    documents = [array("L", [column for column, there in enumerate(row) if there]) for row in rows]
    ours = NaiveBayes.trained(documents, labels, 3)
    assert len(ours.weights) == 40 < FEATURES
    theirs = sklearn.BernoulliNB(alpha=1.0, fit_prior=True).fit(rows, labels)
    for document, row in zip(documents, rows, strict=True):
        scores = ours.scores(document)
        expected = theirs.predict_joint_log_proba([row])[0]
        assert scores == pytest.approx(list(expected), abs=1e-9)
