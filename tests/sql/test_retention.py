"""Retention: what share of the history's worth survives a method, recomputed from the scores."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from scipy import stats

from flows.database.scores_db import connect
from tests.sql.tiny import CRITERIA, answer, compaction, judge, make, method, point, probe, scores, session

SESSIONS = [f"s{n}" for n in range(6)]


def filled(folder: Path, given: dict[tuple[str, str], list[float | None]]) -> Path:
    """A store with the scores of each (method, session), a question each."""
    methods = sorted({m for m, _ in given})
    return make(
        {
            "sessions": [session(s) for s in SESSIONS],
            "points": [point(f"p-{s}", s, 1000) for s in SESSIONS],
            "methods": [method(m, m) for m in methods],
            "compactions": [compaction(m, f"p-{s}", 1000, 100) for m in methods for s in SESSIONS],
            "probes": [
                probe(f"{s}-{i}", f"p-{s}") for s in SESSIONS for i in range(max(len(given[m, s]) for m in methods))
            ],
            "answers": [
                answer(m, f"p-{s}", f"{s}-{i}") for (m, s), values in given.items() for i in range(len(values))
            ],
            "judges": [judge("j", "embedded")],
            "criteria": CRITERIA,
            "scores": [
                row
                for (m, s), values in given.items()
                for i, value in enumerate(values)
                for row in scores(f"{m}/{s}-{i}", "j", facts=value)
            ],
        },
        folder,
    )


def drawn(seed: int) -> dict[tuple[str, str], list[float | None]]:
    rng = random.Random(seed)
    found: dict[tuple[str, str], list[float | None]] = {}
    for s in SESSIONS:
        n = rng.randint(2, 5)
        found["none", s] = [round(rng.uniform(3, 5), 2) for _ in range(n)]
        found["empty", s] = [round(rng.uniform(0, 1), 2) for _ in range(n)]
        found["keep", s] = [None if rng.random() < 0.1 else round(rng.uniform(1, 5), 2) for _ in range(n)]
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_retention_is_the_ratio_of_sums_over_shared_questions(tmp_path: Path, seed: int) -> None:
    given = drawn(seed)
    with connect(filled(tmp_path, given)) as connection:
        [row] = connection.execute(
            "SELECT retention, ci_low, ci_high, n_questions, n_sessions FROM retention "
            "WHERE method = 'keep' AND dimension = 'overall'"
        ).fetchall()
    pairs = {
        s: [
            (k - e, n - e)
            for k, n, e in zip(given["keep", s], given["none", s], given["empty", s], strict=True)
            if k is not None
        ]  # type: ignore[operator]
        for s in SESSIONS
    }
    kept = [sum(k for k, _ in pairs[s]) for s in SESSIONS if pairs[s]]
    worth = [sum(w for _, w in pairs[s]) for s in SESSIONS if pairs[s]]
    ratio = sum(kept) / sum(worth)
    share = [w / sum(worth) for w in worth]
    error = math.sqrt(sum((k - ratio * w) ** 2 / (1 - p) for k, w, p in zip(kept, worth, share, strict=True))) / sum(
        worth
    )
    q = [p * p / (1 - p) for p in share]
    df = 1 / (sum(p * p for p in share) + sum(q) ** 2 - sum(x * x for x in q))
    half = stats.t.ppf(0.975, df) * error
    assert row[:3] == pytest.approx((ratio, ratio - half, ratio + half), rel=1e-5)
    assert row[3:] == (sum(map(len, pairs.values())), len(kept))


def test_the_controls_are_the_ends(tmp_path: Path) -> None:
    with connect(filled(tmp_path, drawn(1))) as connection:
        ends = dict(
            connection.execute(
                "SELECT method, retention FROM retention WHERE dimension = 'overall' AND method IN ('none', 'empty')"
            ).fetchall()
        )
    assert ends == pytest.approx({"none": 1.0, "empty": 0.0})


def test_without_a_control_there_is_no_retention(tmp_path: Path) -> None:
    given = {key: values for key, values in drawn(1).items() if key[0] != "empty"}
    with connect(filled(tmp_path, given)) as connection:
        assert connection.execute("FROM retention").fetchall() == []


def test_it_is_another_measure_than_the_mean(tmp_path: Path) -> None:
    """A method that keeps all of what little there was to lose retains all of it."""
    given = {("none", s): [2.0] for s in SESSIONS} | {("empty", s): [1.0] for s in SESSIONS}
    given |= {("keep", s): [2.0] for s in SESSIONS}
    with connect(filled(tmp_path, given)) as connection:
        [(share,)] = connection.execute(
            "SELECT retention FROM retention WHERE method = 'keep' AND dimension = 'overall'"
        ).fetchall()
    assert share == pytest.approx(1.0)
