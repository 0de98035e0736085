"""How often intervals hold the truth, and what is found, on scores of real sessions.

Studies are drawn from a store: whole sessions with replacement, so that scores keep their shape, that they pile up at
the ceiling above all. The truth of a study is what the views say of the whole store. The drawn scores are loaded as a
load does it, and read through the same views.

``COMPACTION_EVAL_BENCH_SCORES`` names the ``scores.duckdb`` of a store; without it the sample sessions are run.
``COMPACTION_EVAL_BENCH_STUDIES`` sets the studies of each size (400 by default, some ten minutes for 42 sessions).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from flows.database.database_draft import new_database, store_info
from flows.database.scores_db import connect
from tests.sql import tiny

STUDIES = int(os.environ.get("COMPACTION_EVAL_BENCH_STUDIES", "400"))
AT_ONCE = 50
"""Studies in one database."""
SIZES = (5, 10, 20, 40)
RUBRIC = "drawn@1"

SCORES = """
SELECT
    answer_scores.session_id, answer_scores.probe_id, points.point_id, points.cycle, points.cut_seq,
    answer_scores.probe_type, answer_scores.method, dimension, avg(score) AS score
FROM int_answer_scores AS answer_scores
JOIN stg_methods USING (method_id) JOIN probes USING (probe_id) JOIN points ON probes.point_id = points.point_id
WHERE is_current AND dimension <> 'overall' AND judge_id = (
    SELECT judge_id FROM int_answer_scores GROUP BY judge_id ORDER BY count(*) DESC, judge_id LIMIT 1
)
GROUP BY ALL
ORDER BY ALL
"""
"""One row per question × method × dimension, of the judge with the most scores."""

DRAWN = """
SELECT
    concat_ws('/', given.method, probe_id, copy) AS answer_id, printf('%06d', study) AS judge_id,
    1::INTEGER AS judge_replicate, dimension, dimension AS criterion, score, NULL::VARCHAR AS unscored_reason,
    'so' AS reasoning
FROM given JOIN scores ON given.session_id = scores.session_id AND given.source = scores.method
"""


class Real(NamedTuple):
    """The scores that studies are drawn from, and what the views say of all of them."""

    scores: pa.Table
    truth: dict[tuple[str, ...], float]
    """Mean by (method, dimension), difference by (method, baseline, dimension)."""
    complete: list[str]
    """Methods with scores for all questions but the controls; best first."""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Real:
    given = os.environ.get("COMPACTION_EVAL_BENCH_SCORES")
    folder = tmp_path_factory.mktemp("real")
    if not given:
        command = [sys.executable, "-m", "flows", "run", "--store", str(folder / "store")]
        subprocess.run(command, check=True, capture_output=True)
    with connect(Path(given) if given else folder / "store" / "scores.duckdb") as connection:
        scores = connection.sql(SCORES).to_arrow_table()
    sessions = pc.unique(scores["session_id"]).to_pylist()
    path = write(scores, [sessions], folder / "whole.duckdb")
    with connect(path) as connection:
        truth = [
            *connection.execute("SELECT method, dimension, mean FROM leaderboard_long").fetchall(),
            *connection.execute("SELECT method, baseline, dimension, difference FROM against_baseline").fetchall(),
        ]
        complete = connection.execute(COMPLETE).fetchall()
    return Real(scores, {tuple(names): value for *names, value in truth}, [method for (method,) in complete])


COMPLETE = """
SELECT method
FROM leaderboard_long
WHERE dimension = 'overall' AND method NOT IN ('none', 'empty')
    AND n_answers = (SELECT max(n_answers) FROM leaderboard_long WHERE dimension = 'overall')
ORDER BY mean DESC, method
"""


def write(
    scores: pa.Table,
    studies: Sequence[Sequence[str]],
    path: Path,
    alike: Sequence[str] = (),
    rng: np.random.Generator | None = None,
) -> Path:
    """A database with these studies, each the sessions that were drawn: a judge a study.

    A session that is drawn again is another one with the same scores. The methods of ``alike`` change their labels at
    random in each session, and are then truly the same; others are left as they are, or out where some are alike.
    """
    methods = list(alike) or sorted(set(scores["method"].to_pylist()))
    drawn: list[tuple[int, str, int]] = []
    for study, sessions in enumerate(studies):
        times: Counter[str] = Counter()
        for session in sessions:
            drawn.append((study, session, times[session]))
            times[session] += 1
    labels = np.array([rng.permutation(len(methods)) if alike and rng else np.arange(len(methods)) for _ in drawn])
    of_row = np.repeat(np.arange(len(drawn)), len(methods))
    given = pa.table(
        {
            "study": np.array([study for study, _, _ in drawn])[of_row],
            "session_id": pa.array([session for _, session, _ in drawn]).take(pa.array(of_row)),
            "copy": np.array([copy for _, _, copy in drawn])[of_row],
            "method": pa.array(methods).take(pa.array(np.tile(np.arange(len(methods)), len(drawn)))),
            "source": pa.array(methods).take(pa.array(labels.ravel())),
        }
    )
    copies = 1 + max(copy for _, _, copy in drawn)
    with duckdb.connect() as memory:
        memory.register("scores", scores)
        memory.register("given", given)
        rows = memory.sql(DRAWN).to_arrow_table()
    shared = _shared_rows(scores, methods, copies)
    shared["judges"] = [tiny.judge(f"{at:06}", "drawn", rubric=RUBRIC) for at in range(len(studies))]
    with new_database(path) as draft:
        for name, table in {"store_info": store_info(), **tiny.arrow(shared), "scores": rows}.items():
            draft.insert(name, table)
        for view in ("int_answer_scores", "agg_method_pairs"):
            draft.materialize(view)
    return path


def _shared_rows(scores: pa.Table, methods: Sequence[str], copies: int) -> dict[str, list[dict[str, Any]]]:
    """What all studies of a database have in common: as many copies of each session, with its questions."""
    columns = ("session_id", "point_id", "cycle", "cut_seq", "probe_id", "probe_type")
    probes = scores.select(columns).group_by(columns).aggregate([]).to_pylist()
    dimensions = pc.unique(scores["dimension"]).to_pylist()
    found: dict[str, list[dict[str, Any]]] = {
        "methods": [tiny.method(name, name) for name in methods],
        "criteria": [
            {"rubric": RUBRIC, "criterion": name, "dimension": name, "weight": 1.0, "question": "Right?"}
            for name in dimensions
        ],
        **{table: [] for table in ("sessions", "points", "compactions", "probes", "answers")},
    }
    for copy in range(copies):
        ids = [{key: f"{row[key]}/{copy}" for key in ("session_id", "point_id", "probe_id")} for row in probes]
        found["sessions"] += [tiny.session(session) for session in dict.fromkeys(one["session_id"] for one in ids)]
        points = {one["point_id"]: (one, row) for one, row in zip(ids, probes, strict=True)}
        for point, (one, row) in points.items():
            place = {key: row[key] for key in ("cycle", "cut_seq")}
            found["points"].append(tiny.point(point, one["session_id"], 1000, **place))
            found["compactions"] += [tiny.compaction(method, point, 1000, 100) for method in methods]
        for one, row in zip(ids, probes, strict=True):
            found["probes"].append(tiny.probe(one["probe_id"], one["point_id"], row["probe_type"]))
            found["answers"] += [tiny.answer(method, one["point_id"], one["probe_id"]) for method in methods]
    return found


def databases(
    real: Real, n_sessions: int, folder: Path, alike: Sequence[str] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The studies with so many sessions, some in each database."""
    rng = np.random.default_rng(1000 * n_sessions + len(alike))
    sessions = pc.unique(real.scores["session_id"]).to_pylist()
    for start in range(0, STUDIES, AT_ONCE):
        drawn = [rng.choice(sessions, n_sessions).tolist() for _ in range(min(AT_ONCE, STUDIES - start))]
        with connect(write(real.scores, drawn, folder / "scores.duckdb", alike, rng)) as connection:
            yield connection


INTERVALS = {
    "mean": """
        SELECT method, dimension, ci_low, ci_high FROM leaderboard_long
        WHERE n_sessions > 1 AND method NOT IN ('none', 'empty')
    """,
    "difference": """
        SELECT method, baseline, dimension, ci_low, ci_high FROM against_baseline
        WHERE n_sessions > 1 AND NOT is_control AND baseline NOT IN ('none', 'empty') AND method < baseline
    """,
}
GROUPS = {"overall": "overall", "constraints": "constraints"}
"""Dimension → the group that it is shown in; the others are shown together."""


class Coverage(NamedTuple):
    """Of one group of figures; a figure is a method's or a pair's in one dimension."""

    holds: float
    """Share of the intervals that hold the truth."""
    lowest: float
    """The same share of the figure for which it is lowest, of those told in 30 studies or more."""
    below: float
    """Share of the figures for which it is below 90 %."""
    untold: float
    """Share of rows without an interval."""

    def __str__(self) -> str:
        return " | ".join(f"{100 * value:.1f}" for value in self)


def coverage(held: dict[tuple[str, ...], Counter[bool | None]]) -> Coverage:
    """Of a group, given how often each figure's interval held the truth, did not, and was not there (None)."""
    told = {figure: (found[True], found[True] + found[False]) for figure, found in held.items()}
    rows = sum(map(Counter.total, held.values()))
    shares = [true / number for true, number in told.values() if number >= 30]
    return Coverage(
        sum(true for true, _ in told.values()) / sum(number for _, number in told.values()),
        min(shares),
        sum(share < 0.9 for share in shares) / len(shares),
        sum(found[None] for found in held.values()) / rows,
    )


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_coverage_on_real_scores(real: Real, tmp_path: Path) -> None:
    print(f"\nOf {STUDIES:,} studies a size: % of intervals that hold the truth, the lowest figure, figures below 90 %")
    print("and rows without an interval because no session differs from another")
    head = "holds | lowest | below 90 | not told"
    print(f"| sessions | figure | mean: {head} | difference: {head} |\n| ---: | --- |{' ---: |' * 8}")
    for n_sessions in SIZES:
        held: dict[tuple[str, str], dict[tuple[str, ...], Counter[bool | None]]] = {}
        for connection in databases(real, n_sessions, tmp_path):
            for kind, sql in INTERVALS.items():
                for *figure, low, high in connection.execute(sql).fetchall():
                    truth = real.truth[tuple(figure)]
                    group = held.setdefault((GROUPS.get(figure[-1], "dimensions"), kind), {})
                    holds = None if low is None else low - 1e-9 <= truth <= high + 1e-9
                    group.setdefault(tuple(figure), Counter())[holds] += 1
        for group in dict.fromkeys(group for group, _ in held):
            found = [coverage(held[group, kind]) for kind in INTERVALS]
            print(f"| {n_sessions} | {group} | {' | '.join(map(str, found))} |", flush=True)
        every = coverage({(*group, *figure): n for group, part in held.items() for figure, n in part.items()})
        if n_sessions >= 10:
            assert every.holds > 0.90
            assert every.untold <= 0.10


FALSE = """
SELECT
    judge_id,
    avg((p_value < 0.05)::INT) AS of_pairs,
    (SELECT min(p_adjusted) FROM against_baseline AS b WHERE b.judge_id = p.judge_id AND b.dimension = 'overall'
        AND b.baseline = 'BASELINE') < 0.05 AS against_baseline,
    min(p_adjusted_in_dimension) < 0.05 AS all_pairs
FROM paired_differences AS p
WHERE dimension = 'overall'
GROUP BY judge_id
"""


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_false_positives_on_real_scores(real: Real, tmp_path: Path) -> None:
    """Methods are made the same by exchanging their labels at random within a session: no score is changed by it."""
    print(f"\nMethods made the same, overall: % of {STUDIES:,} studies a row (of pairs: of all pairs) with p < 0.05")
    print("| methods | sessions | of pairs | against a baseline | all pairs |\n| --- | ---: | ---: | ---: | ---: |")
    for name, alike in {"all": real.complete, "the best three": real.complete[:3]}.items():
        for n_sessions in SIZES:
            rows = [
                row[1:]
                for connection in databases(real, n_sessions, tmp_path, alike)
                for row in connection.execute(FALSE.replace("BASELINE", alike[0])).fetchall()
            ]
            found = np.array(rows, dtype=float).mean(axis=0)
            print(f"| {name} | {n_sessions} | {' | '.join(f'{100 * one:.1f}' for one in found)} |", flush=True)
            assert found.max() < 0.07 + 3 * 0.22 / STUDIES**0.5


DIFFERENCES = {"0.2": (0.15, 0.25), "0.5": (0.4, 0.6), "1.0": (0.8, 1.2)}
FOUND = """
SELECT
    a.method, a.baseline, a.dimension,
    avg((a.p_adjusted < 0.05)::INT), avg((a.p_fdr < 0.05)::INT), avg((p.p_adjusted_in_dimension < 0.05)::INT)
FROM against_baseline AS a
JOIN paired_differences AS p
    ON p.judge_id = a.judge_id AND p.dimension = a.dimension
    AND p.method_a = least(a.method, a.baseline) AND p.method_b = greatest(a.method, a.baseline)
WHERE a.dimension = 'overall' AND NOT a.is_control AND a.baseline NOT IN ('none', 'empty')
GROUP BY ALL
"""


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_power_on_real_scores(real: Real, tmp_path: Path) -> None:
    """Of the pairs whose true difference of overall is about as large, each method of a pair once the baseline."""
    print(f"\nTrue differences of overall that are found (% of {STUDIES:,} studies a size, mean over pairs)")
    print("| difference | pairs | sessions | against a baseline | false discovery rate | all pairs |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for n_sessions in SIZES:
        found: dict[str, list[tuple[float, ...]]] = {}
        pairs: dict[str, set[frozenset[str]]] = {}
        for connection in databases(real, n_sessions, tmp_path):
            for method, baseline, dimension, *shares in connection.execute(FOUND).fetchall():
                size = abs(real.truth[method, baseline, dimension])
                for name in (name for name, (low, high) in DIFFERENCES.items() if low <= size < high):
                    found.setdefault(name, []).append(tuple(shares))
                    pairs.setdefault(name, set()).add(frozenset((method, baseline)))
        for name, rows in sorted(found.items()):
            power = np.array(rows, dtype=float).mean(axis=0)
            figures = " | ".join(f"{100 * one:.0f}" for one in power)
            print(f"| {name} | {len(pairs[name])} | {n_sessions} | {figures} |", flush=True)
            assert power[0] >= power[2] - 0.02
