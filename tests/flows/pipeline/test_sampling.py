"""Draws have known chances, are spread over methods, kinds of question, scores and sessions, and can be repeated."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.pipeline.sampling import Candidate, draw_candidates

TYPES = ("recall", "artifact", "continuation", "decision")


def candidates(methods: int = 6, sessions: int = 5, a_session: int = 8) -> list[Candidate]:
    """Mostly middling scores; one answer in 16 is low, one high."""
    scores = {0: 0.5, 1: 4.5}
    return [
        Candidate(f"a{m}-{s}-{n}", f"m{m}", TYPES[n % 4], scores.get((m + s * a_session + n) % 16, 3.0), f"s{s}")
        for m in range(methods)
        for s in range(sessions)
        for n in range(a_session)
    ]


def test_a_draw_is_of_the_size_that_was_asked_for_and_can_be_repeated() -> None:
    some = candidates()
    first = draw_candidates(some, 37, "seed")
    assert len(first) == 37
    assert draw_candidates(list(reversed(some)), 37, "seed") == first
    assert set(draw_candidates(some, 37, "other")) != set(first)


def test_every_method_gets_its_share_to_within_one() -> None:
    some = candidates() + [Candidate(f"b0-{n}", "partial", "recall", 3.0, "s0") for n in range(12)]
    for seed in map(str, range(20)):
        counts = Counter(answer_id[:2] for answer_id in draw_candidates(some, 35, seed))
        assert set(counts) == {"a0", "a1", "a2", "a3", "a4", "a5", "b0"}
        assert set(counts.values()) <= {4, 5, 6}


def test_rare_scores_have_a_better_chance_than_common_ones_and_no_answer_has_none() -> None:
    some = {one.answer_id: one for one in candidates()}
    chances: dict[str, float] = {}
    for seed in map(str, range(60)):
        chances |= draw_candidates(list(some.values()), 60, seed)
    assert len(chances) > 0.95 * len(some)
    mean = {
        band: math.fsum(c for id, c in chances.items() if some[id].band == band)
        / sum(some[id].band == band for id in chances)
        for band in ("low", "middle", "high")
    }
    assert mean["low"] > 1.5 * mean["middle"]
    assert mean["high"] > 1.5 * mean["middle"]


def test_the_noted_chance_is_how_often_an_answer_is_drawn() -> None:
    some, draws = candidates(3, 3, 8), 3000
    times: Counter[str] = Counter()
    chances: dict[str, float] = {}
    for seed in range(draws):
        found = draw_candidates(some, 20, str(seed))
        times.update(found.keys())
        chances |= found
    assert math.fsum(chances.values()) == pytest.approx(20)
    for answer_id, chance in chances.items():
        assert times[answer_id] / draws == pytest.approx(chance, abs=4.5 * math.sqrt(chance * (1 - chance) / draws))


def test_sums_weighted_by_the_inverse_chance_are_right_on_average() -> None:
    some = candidates()
    truth = math.fsum(one.score for one in some) / len(some)
    scores = {one.answer_id: one.score for one in some}
    means = []
    for seed in range(300):
        found = draw_candidates(some, 40, str(seed))
        weights = {answer_id: 1 / chance for answer_id, chance in found.items()}
        means.append(math.fsum(scores[i] * w for i, w in weights.items()) / math.fsum(weights.values()))
    assert math.fsum(means) / len(means) == pytest.approx(truth, abs=0.03)
    plain = [scores[i] for seed in range(50) for i in draw_candidates(some, 40, str(seed))]
    assert len({score for score in plain if score != 3.0}) == 2


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(TYPES), st.floats(0, 5), st.integers(0, 3)), max_size=60),
    st.integers(1, 70),
    st.text(max_size=5),
)
def test_a_draw_never_has_more_than_there_are_and_chances_lie_within_0_and_1(
    rows: list[tuple[int, str, float, int]], number: int, seed: str
) -> None:
    some = [Candidate(f"a{i}", f"m{m}", kind, score, f"s{s}") for i, (m, kind, score, s) in enumerate(rows)]
    found = draw_candidates(some, number, seed)
    assert len(found) == min(number, len(some))
    assert all(0 < chance <= 1 for chance in found.values())
