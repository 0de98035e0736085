"""Cliffs: the compaction at which a method falls most, recomputed from the scores."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import pytest
from scipy import stats

from flows.reporting.leaderboard import render_by
from tests.sql.figures import close, rows
from tests.sql.tiny import CRITERIA, answer, compaction, judge, make, method, point, probe, scores, session

Given = Mapping[tuple[str, int], list[float | None]]
"""Session and cycle → the score of each question."""


def filled(folder: Path, given: Given) -> Path:
    """A store with one method, ``m``."""
    sessions = sorted({s for s, _ in given})
    points = {(s, cycle): f"{s}-{cycle}" for s, cycle in given}
    probes = [(key, i, value) for key, values in given.items() for i, value in enumerate(values)]
    return make(
        {
            "sessions": [session(s) for s in sessions],
            "points": [point(points[key], key[0], 1000, cycle=key[1]) for key in given],
            "methods": [method("m", "m")],
            "compactions": [compaction("m", points[key], 1000, 100) for key in given],
            "probes": [probe(f"{points[key]}-{i}", points[key]) for key, i, _ in probes],
            "answers": [answer("m", points[key], f"{points[key]}-{i}") for key, i, _ in probes],
            "judges": [judge("j", "embedded")],
            "criteria": CRITERIA,
            "scores": [row for key, i, value in probes for row in scores(f"m/{points[key]}-{i}", "j", facts=value)],
        },
        folder,
    )


def drawn(seed: int) -> Given:
    """Sessions of one to five cycles, some without a cycle in between, some questions unscored."""
    rng = random.Random(seed)
    return {
        (f"s{n}", cycle): [
            None if rng.random() < 0.2 else round(rng.uniform(0, 5), 2) for _ in range(rng.randint(1, 4))
        ]
        for n in range(9)
        for cycle in range(1, rng.randint(1, 5) + 1)
        if rng.random() > 0.1
    }


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_fall_is_paired_within_the_sessions_that_have_both_cycles(tmp_path: Path, seed: int) -> None:
    given = drawn(seed)
    scored = {key: [value for value in values if value is not None] for key, values in given.items()}
    means = {key: fmean(values) for key, values in scored.items() if values}
    expected = []
    for cycle in range(2, 6):
        both = [(means[s, cycle - 1], means[s, at]) for s, at in means if at == cycle and (s, cycle - 1) in means]
        if both:
            falls = [before - after for before, after in both]
            ends = (None, None)
            if len(falls) > 1:
                ends = tuple(stats.ttest_1samp(falls, 0).confidence_interval(0.95))
            expected.append(
                (cycle, fmean(b for b, _ in both), fmean(a for _, a in both), fmean(falls), *ends, len(both))
            )
    found = rows(
        filled(tmp_path, given),
        "SELECT cycle, before, after, fall, ci_low, ci_high, n_sessions, is_cliff FROM cliffs ORDER BY cycle",
    )
    assert len(expected) > 2
    assert close([row[:3] for row in found], [row[:3] for row in expected])
    assert [row[3:] for row in found] == [
        (*(end if end is None else pytest.approx(end, rel=1e-5) for end in row[3:6]), row[6], is_cliff)
        for row, is_cliff in zip(expected, largest([(row[3], row[6]) for row in expected]), strict=True)
    ]


def largest(falls: list[tuple[float, int]]) -> list[bool]:
    """Which (fall, sessions) is the largest of those with two or more sessions and above 0."""
    counted = [fall for fall, n in falls if n > 1 and fall > 0]
    return [n > 1 and fall > 0 and fall == max(counted) for fall, n in falls]


def test_a_cliff_takes_two_sessions_and_an_interval_takes_sessions_that_differ(tmp_path: Path) -> None:
    """Both sessions fall by 1 to cycle 2 and by 2 and 1 to cycle 3; one falls by 3 to cycle 4."""
    given: Given = {("a", n): [score] for n, score in enumerate([5.0, 4.0, 2.0], 1)}
    given = {**given, **{("b", n): [score] for n, score in enumerate([5.0, 4.0, 3.0, 0.0], 1)}}
    path = filled(tmp_path, given)
    found = rows(path, "SELECT cycle, fall, ci_high IS NULL, n_sessions, is_cliff FROM cliffs ORDER BY cycle")
    assert found == [(2, 1.0, True, 2, False), (3, 1.5, False, 2, True), (4, 3.0, True, 1, False)]
    header, _, _, line, *_ = render_by(path, "cycle").splitlines()
    assert header.startswith("method     falls most")
    assert line.split()[:4] == ["m", "3:", "-1.50", "±6.35"]  # 12.706 · 0.707 / √2


def test_nothing_is_a_cliff_where_nothing_falls(tmp_path: Path) -> None:
    given = {(s, cycle): [score] for s in "ab" for cycle, score in [(1, 2.0), (2, 2.0), (3, 4.0)]}
    path = filled(tmp_path, given)
    assert rows(path, "SELECT DISTINCT is_cliff FROM cliffs") == [(False,)]
    assert render_by(path, "cycle").splitlines()[3].split() == ["m", "–", "2.00", "2.00", "4.00"]
