"""The reliability of an order of methods, recomputed from the scores."""

from __future__ import annotations

import random
from hashlib import md5
from pathlib import Path
from statistics import correlation, fmean

import pytest

from flows.database.scores_db import connect
from tests.sql.tiny import CRITERIA, answer, compaction, judge, make, method, point, probe, scores, session

METHODS = [f"m{n}" for n in range(7)]
SESSIONS = [f"s{n}" for n in range(9)]
TYPES = ["recall", "artifact", "decision"]


def given(seed: int) -> dict[tuple[str, str, str], float]:
    """(method, session, probe type) → score of the answer; methods differ, and the more so in one type."""
    rng = random.Random(seed)
    return {
        (m, s, t): round(min(5.0, max(0.0, 0.5 * i + (0.3 * i if t == "recall" else 0) + rng.gauss(1, 0.8))), 2)
        for i, m in enumerate(METHODS)
        for s in SESSIONS
        for t in TYPES
    }


def filled(folder: Path, values: dict[tuple[str, str, str], float]) -> Path:
    """A store in which one judge has given these scores, and as many to a control."""
    methods = [*METHODS, "none"]
    whole = {**values, **{("none", s, t): 5.0 for s in SESSIONS for t in TYPES}}
    return make(
        {
            "sessions": [session(s) for s in SESSIONS],
            "points": [point(f"p-{s}", s, 1000) for s in SESSIONS],
            "methods": [method(m, m) for m in methods],
            "compactions": [compaction(m, f"p-{s}", 1000, 100) for m in methods for s in SESSIONS],
            "probes": [probe(f"{s}-{t}", f"p-{s}", t) for s in SESSIONS for t in TYPES],
            "answers": [answer(m, f"p-{s}", f"{s}-{t}") for m, s, t in whole],
            "judges": [judge("j", "embedded")],
            "criteria": CRITERIA,
            "scores": [row for (m, s, t), value in whole.items() for row in scores(f"{m}/{s}-{t}", "j", facts=value)],
        },
        folder,
    )


def split_half(values: dict[tuple[str, str, str], float], methods: list[str]) -> float:
    found = []
    for division in range(8):
        is_odd = {s: ord(md5(f"{s}{division}".encode(), usedforsecurity=False).hexdigest()[0]) % 2 for s in SESSIONS}
        halves = [
            [fmean(v for (m, s, _), v in values.items() if m == one and is_odd[s] == half) for one in methods]
            for half in (0, 1)
        ]
        r = correlation(*halves)
        found.append(2 * r / (1 + r))
    return fmean(found)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_coefficient_is_that_of_the_books(tmp_path: Path, seed: int) -> None:
    values = given(seed)
    with connect(filled(tmp_path, values)) as connection:
        rows = connection.execute(
            "SELECT methods, n_methods, n_sessions, split_half FROM reliability "
            "WHERE dimension = 'overall' ORDER BY methods"
        ).fetchall()
    best = sorted(METHODS, key=lambda one: -fmean(v for (m, _, _), v in values.items() if m == one))[:4]
    for row, name, methods in zip(rows, ("all", "upper half"), (METHODS, best), strict=True):
        assert row[:3] == (name, len(methods), len(SESSIONS))
        assert row[3] == pytest.approx(split_half(values, methods))


def test_where_nothing_varies_there_is_no_coefficient(tmp_path: Path) -> None:
    same = dict.fromkeys(given(1), 3.0)
    with connect(filled(tmp_path, same)) as connection:
        rows = connection.execute("SELECT split_half FROM reliability").fetchall()
    assert set(rows) == {(None,)}
