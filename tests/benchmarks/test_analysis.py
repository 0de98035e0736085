"""Leaderboards and paired differences over millions of scores, against the bare roll-up of the same rows."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import psutil
import pytest

from flows.database.database_draft import MATERIALIZED, DatabaseDraft, build_database

METHODS = 15
DIMENSIONS = {
    "accuracy": "accuracy",
    "completeness": "completeness",
    "context": "context_awareness",
    "instruction": "instruction_following",
    "artifact": "artifact_trail",
    "continuity": "continuity",
}
CRITERIA = {
    "recall": (
        "accuracy_factual",
        "accuracy_technical",
        "completeness_coverage",
        "completeness_depth",
        "context_conversation_state",
        "instruction_format",
        "instruction_constraints",
    ),
    "artifact": (
        "accuracy_factual",
        "accuracy_technical",
        "artifact_files_created",
        "artifact_files_modified",
        "artifact_key_details",
        "completeness_coverage",
        "context_artifact_state",
    ),
    "continuation": (
        "accuracy_factual",
        "completeness_coverage",
        "completeness_depth",
        "context_artifact_state",
        "continuity_work_state",
        "continuity_todo_state",
        "instruction_format",
    ),
    "decision": (
        "accuracy_factual",
        "accuracy_technical",
        "completeness_coverage",
        "context_conversation_state",
        "continuity_reasoning",
        "instruction_format",
        "instruction_constraints",
    ),
}
"""Probe type → criteria that are asked, seven each."""

BARE = """
WITH per_dimension AS (
    SELECT judge_id, answer_id, scores.dimension, sum(score * weight) / sum(weight) AS score
    FROM scores
    JOIN judges USING (judge_id)
    JOIN criteria ON criteria.rubric = judges.rubric AND criteria.criterion = scores.criterion
    WHERE score IS NOT NULL
    GROUP BY ALL
), per_answer AS (
    SELECT judge_id, answer_id, avg(score) AS score FROM per_dimension GROUP BY ALL
)
SELECT judge_id, method_id, avg(score) AS overall
FROM per_answer JOIN answers USING (answer_id) JOIN compactions USING (compaction_id)
WHERE answers.status = 'done'
GROUP BY ALL
"""
"""The roll-up criterion → dimension → overall per method, without intervals."""

VIEWS = ("leaderboard", "paired_differences", "leaderboard_long")

LIMIT = "1GB"
"""Of DuckDB's own memory: every query has to get through with it, on disk for the rest."""


def generate(path: Path, n_scores: int, n_methods: int = METHODS) -> int:
    """Make a store with about so many scores; returns how many.

    Three sessions share nine points as 1, 3 and 5, four probes a point, ids as long as real ones. One compaction of a
    hundred failed. What is unscored is so for all methods (one criterion of fourteen has no truth, as in real stores),
    and one score of five hundred is lost by chance.
    """
    build_database({}, path)
    n_points = n_scores // (7 * 4 * n_methods) * 100 // 99
    with duckdb.connect(path) as connection:
        for statement in _statements(n_points, n_methods):
            connection.execute(statement)
        connection.execute("CHECKPOINT")
        [(found,)] = connection.execute("SELECT count(*) FROM scores").fetchall()
    return int(found)


def _id(kind: str, number: str) -> str:
    return f"md5('{kind}' || ({number}))[:24]"


def _statements(n_points: int, n_methods: int) -> list[str]:
    names = [list(found) for found in CRITERIA.values()]
    dimensions = [[DIMENSIONS[name.split("_")[0]] for name in found] for found in names]
    criteria = sorted({(name, DIMENSIONS[name.split("_")[0]]) for found in names for name in found})
    compaction, asked = f"p.i * {n_methods} + m", f"(p.i * {n_methods} + m) * 4 + k"
    failed = "hash(p.i, m) % 100 = 0"
    every = f"FROM point p, range({n_methods}) AS t(m)"
    session_id = f"'claude_code-' || {_id('s', 's')}"
    score = "round(least(5, 2 + m * 0.01 + s % 7 * 0.2 + hash(p.i, m, k, c) % 1000 / 400), 2)"
    has_score = "hash(p.i, k, c) % 14 <> 0 AND hash(c, k, m, p.i) % 500 <> 0"
    return [
        f"""CREATE TEMP TABLE point AS
            SELECT i, i // 9 * 3 + [0, 1, 1, 1, 2, 2, 2, 2, 2][1 + i % 9] AS s, {_id("p", "i")} AS point_id
            FROM range({n_points}) AS t(i)""",
        f"""INSERT INTO sessions BY NAME
            SELECT DISTINCT {session_id} AS session_id, 'claude_code' AS source_format, 'x' AS source_path,
                'x' AS input_path, 100 AS n_messages, 20000 * (1 + s % 9) AS n_tokens, 1 AS n_system, 9 AS n_user,
                50 AS n_assistant, 40 AS n_tool, 40 AS n_tool_calls, 0 AS n_open_calls, 0 AS n_stray_results,
                0 AS n_given, 0 AS n_inherited, 0 AS n_set_aside, 0 AS n_recorded_compactions,
                'o200k_base' AS tokenizer, '0' AS content_sha256
            FROM point""",
        f"""INSERT INTO points BY NAME
            SELECT point_id, {session_id} AS session_id, row_number() OVER (PARTITION BY s ORDER BY i) AS cycle,
                30 AS cut_seq, 32000 AS tokens_before, 'tokens:32000' AS points_spec FROM point ORDER BY i""",
        f"""INSERT INTO methods BY NAME
            SELECT {_id("m", "m")} AS method_id, 'method_' || m AS method, 'method_' || m AS strategy, '{{}}' AS params,
                'own' AS peer, 'valid' AS mode, false AS needs_model, 'prefix' AS history, '1' AS version,
                true AS is_current
            FROM range({n_methods}) AS t(m)""",
        f"""INSERT INTO compactions BY NAME
            SELECT {_id("c", compaction)} AS compaction_id, point_id, {_id("m", "m")} AS method_id, 0 AS replicate,
                CASE WHEN {failed} THEN 'failed' ELSE 'done' END AS status, 32000 AS tokens_before,
                CASE WHEN NOT {failed} THEN 4000 END AS tokens_after {every} ORDER BY i, m""",
        f"""INSERT INTO probes BY NAME
            SELECT {_id("q", "i * 4 + k")} AS probe_id, point_id, {list(CRITERIA)}[k + 1] AS probe_type,
                'What?' AS question, 'That.' AS ground_truth, '[]' AS evidence, '[]' AS statements, 100 AS max_tokens,
                'embedded' AS prober FROM point, range(4) AS t(k) ORDER BY i, k""",
        f"""INSERT INTO answers BY NAME
            SELECT {_id("a", asked)} AS answer_id, {_id("c", compaction)} AS compaction_id,
                {_id("q", "p.i * 4 + k")} AS probe_id, {session_id} AS session_id, 0 AS replicate,
                'That.' AS text, 'done' AS status, 'embedded' AS responder
                {every}, range(4) AS u(k) WHERE NOT {failed} ORDER BY i, m, k""",
        f"""INSERT INTO judges VALUES
            ({_id("j", "1")}, 'embedded', 'none', 'r@1', '0', 'facts', '{{}}', '2026-01-01')""",
        *(f"INSERT INTO criteria VALUES ('r@1', '{name}', '{dimension}', 1, 'Right?')" for name, dimension in criteria),
        f"""INSERT INTO scores BY NAME
            SELECT {_id("a", asked)} AS answer_id, {_id("j", "1")} AS judge_id, {session_id} AS session_id,
                0 AS judge_replicate,
                {dimensions}[k + 1][c] AS dimension, {names}[k + 1][c] AS criterion,
                CASE WHEN {has_score} THEN {score} END AS score,
                CASE WHEN NOT ({has_score}) THEN 'no truth' END AS unscored_reason
            {every}, range(4) AS u(k), range(1, 8) AS v(c) WHERE NOT {failed} ORDER BY i, m, k, c""",
    ]


def spent(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[float, float]:
    """Seconds of wall time and of this process's CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    connection.execute(sql).fetchall()
    return time.perf_counter() - wall, time.process_time() - cpu


def peak(path: Path, sql: str, limit: str | None) -> tuple[float, float]:
    """Peak of resident memory in MB of a fresh process that runs the query, and what it had before."""
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), sql, limit or ""],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TMPDIR": str(path.parent)},
    )
    before, most = json.loads(child.stdout.splitlines()[-1])
    return most / 2**20, before / 2**20


_CHILD = """
import json, sys, threading, time
import duckdb, psutil
path, sql, limit = sys.argv[1:]
own, seen, over = psutil.Process(), [], False
def watch():
    while not over:
        seen.append(own.memory_info().rss)
        time.sleep(0.01)
connection = duckdb.connect(path, read_only=True)
connection.execute("SET enable_progress_bar = false")
if limit:
    connection.execute(f"SET memory_limit = '{limit}'")
    connection.execute(f"SET temp_directory = '{path}.spill'")
before = own.memory_info().rss
thread = threading.Thread(target=watch)
thread.start()
connection.execute(sql).fetchall()
over = True
thread.join()
print(json.dumps([before, max(seen)]))
"""


@pytest.mark.benchmark
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("millions", [1, 10])
def test_leaderboard_and_pairs_cost_at_most_three_bare_roll_ups(tmp_path: Path, millions: int) -> None:
    """By CPU time, which what else the machine does lengthens least; wall time stands beside it.

    The views that a load makes tables of are tables here too.
    """
    path = tmp_path / "scores.duckdb"
    found = generate(path, millions * 1_000_000)
    with duckdb.connect(path) as connection:
        for view in MATERIALIZED:
            DatabaseDraft(connection).materialize(view)
    queries = {"bare roll-up": BARE, **{view: f"FROM {view}" for view in VIEWS}}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in queries}
    with duckdb.connect(path, read_only=True) as connection:
        connection.execute("SET enable_progress_bar = false")
        for _ in range(7 if millions == 1 else 3):
            for name, sql in queries.items():  # side by side, so that what else the machine does meets all alike
                times[name].append(spent(connection, sql))
    print(f"\n{found:,} scores, {METHODS} methods, {psutil.cpu_count()} CPUs; medians")
    medians = {name: [statistics.median(column) for column in zip(*times[name], strict=True)] for name in queries}
    ratios = {}
    for name, sql in queries.items():
        (wall, cpu), base = medians[name], medians["bare roll-up"]
        ratios[name] = cpu / base[1]
        memory = ", ".join(
            f"{most:,.0f} MB{f' of {limit}' if limit else ''}"
            for limit in (None, LIMIT)
            for most, _ in [peak(path, sql, limit)]
        )
        print(
            f"{name:20} {wall:7.2f} s ({wall / base[0]:.2f} x), CPU {cpu:7.2f} s ({ratios[name]:.2f} x); peak {memory}",
            flush=True,
        )
    assert ratios["leaderboard"] <= 3
    assert ratios["paired_differences"] <= 3
