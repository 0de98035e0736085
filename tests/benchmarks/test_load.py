"""The load over millions of scores: memory that does not grow with the sessions, and time beside a bare copy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from flows.config.study import Study
from flows.pipeline.load.provenance import Provenance
from flows.sessions.session_parts import Part, SessionInfo
from flows.store import parquet_schemas
from flows.store.store import Store
from tests.benchmarks.test_analysis import generate

METHODS = 54
"""As many as a real study has: pairs of methods are what takes most."""
SHARDS = 40
"""Files of each table, as a run of this size would leave."""
SHA = "0" * 64


def make_store(root: Path, n_scores: int) -> Study:
    """A store with about so many scores, of which a tenth belongs to another study's responder; the study."""
    study = Study(store=str(root / "store"), strategies=("none",))
    store = Store.create(study.store, study.tokenizer)
    makers = Provenance.now(study)
    made = root / "made.duckdb"
    generate(made, n_scores, METHODS)
    with duckdb.connect(made) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET memory_limit = '4GB'")
        for name in ("prober", "responder", "measuring"):
            connection.execute(f"SET VARIABLE {name} = ?", [getattr(makers, name)])
        connection.execute("SET VARIABLE sha = ?", [SHA])
        _records(store, connection)
        _parts(store, connection)
        for name, sql in _shards().items():
            folder = root / "store" / name
            folder.mkdir()
            connection.execute(
                f"CREATE OR REPLACE TEMP TABLE shard AS SELECT *, hash(session_id) % {SHARDS} AS b FROM ({sql})"
            )
            for number in range(SHARDS):
                rows = f"SELECT * EXCLUDE (b) FROM shard WHERE b = {number}"
                connection.execute(
                    f"COPY ({rows}) TO '{folder}/{number:03d}.parquet' (ROW_GROUP_SIZE 32000, COMPRESSION zstd)"
                )
    made.unlink()
    return study


def _records(store: Store, connection: duckdb.DuckDBPyConnection) -> None:
    for row in connection.sql("FROM methods").to_dicts():
        content = {**row, "params": {"of": row["method"]}, "last_run_at": "2026-01-01"}
        store.record("methods", row["method_id"], content)
    criteria = connection.sql("SELECT * EXCLUDE (rubric) FROM criteria").to_dicts()
    for row in connection.sql("FROM judges").to_dicts():
        content = {**row, "params": {}, "created_at": "2026-01-01T00:00:00", "criteria": criteria}
        store.record("judges", row["judge_id"], content)


def _parts(store: Store, connection: duckdb.DuckDBPyConnection) -> None:
    """Descriptions of parts without messages: the load reads nothing else of them."""
    store.transcripts.mkdir()
    for number in range(SHARDS):
        rows = connection.execute(
            f"SELECT session_id, n_tokens FROM sessions WHERE hash(session_id) % {SHARDS} = {number}"
        ).fetchall()
        infos = tuple(
            SessionInfo(
                session_id=id,
                recorded_id=id,
                content_sha256=SHA,
                input_path="/logs/x",
                ordinal=n,
                part="",
                first_row=0,
                n_messages=100,
                n_tokens=tokens,
                tokenizer="o200k_base",
                source_format="claude_code",
                source_path="x",
                roles={"user": 10, "assistant": 50, "tool": 40},
                n_tool_calls=40,
                digests="0" * 1200,
            )
            for n, (id, tokens) in enumerate(rows)
        )
        name = f"part-{number:03d}.parquet"
        with pq.ParquetWriter(store.transcripts / name, parquet_schemas.MESSAGES) as writer:
            writer.add_key_value_metadata(Part(name, 1, (), infos).metadata())


def _shards() -> dict[str, str]:
    """Folder → its rows, out of the tables that ``generate`` makes."""
    of_point = "JOIN points USING (point_id)"
    needs_id = "left(sha256(json_array('needs', point_id, getvariable('measuring'), getvariable('sha'))::varchar), 24)"
    probes = "(SELECT list(probe_id ORDER BY list_position(['recall', 'artifact', 'continuation', 'decision'], "
    return {
        "points": """SELECT session_id, getvariable('sha') AS content_sha256, points_spec,
            list({point_id: point_id, cycle: cycle, cut_seq: cut_seq::int, tokens_before: tokens_before}
            ORDER BY cycle) AS points FROM points GROUP BY ALL""",
        "compactions": f"""SELECT compactions.* EXCLUDE (tokens_before), session_id, points_spec,
            points.tokens_before, [{{model: 'embedded-x', input_tokens: 9, output_tokens: 9, cost_usd: 0.0,
            seconds: 0.1}}] AS calls, repeat('context ', 200) AS unread FROM compactions {of_point}""",
        "probes": f"SELECT * REPLACE (getvariable('prober') AS prober), 'done' AS status FROM probes {of_point}",
        "answers": """SELECT answers.* REPLACE (if(hash(answer_id) % 10 = 0, 'other', getvariable('responder')) AS
            responder, repeat('It was that. ', 12) AS text), 'embedded-responder' AS model,
            10 AS input_tokens, 10 AS output_tokens FROM answers""",
        "scores": "SELECT * REPLACE (repeat('Because of this. ', 4) AS reasoning), 'done' AS status FROM scores",
        "needs": f"""SELECT {needs_id} AS needs_id, session_id, point_id, 'done' AS status, [{{kind: 'path',
            value: '/src/a.py', observation_seq: 3, observation_tokens: 100::bigint, needed_at: 40, turns_after: 2}}]
            AS needs FROM points""",
        "measures": f"""SELECT left(sha256(json_array('measure', compaction_id, getvariable('measuring'),
            getvariable('sha'), probe_ids)::varchar), 24) AS measure_id, compaction_id, session_id, 'done' AS status,
            1 AS n_needs, 0 AS n_lost, 100::bigint AS refetch_tokens, 1 AS n_any_true,
            [{{probe_id: probe_ids[1], position: 1, since: probe_ids[1], state: 'readable', support: 1.0}}] AS states
            FROM compactions JOIN (SELECT point_id, session_id, flatten(list(ids) OVER (PARTITION BY session_id
            ORDER BY cycle)) AS probe_ids FROM points JOIN (SELECT point_id, {probes[1:].removeprefix("SELECT ")}
            probe_type)) AS ids FROM probes GROUP BY ALL) USING (point_id)) USING (point_id)""",
    }


_LOAD = """
from flows.pipeline.load.provenance import Provenance
from flows.pipeline.load.tables import rebuild_database
rebuild_database(store, study, makers=Provenance.now(study))
"""
_BARE = """
from flows.database.sql_model import schemas
from flows.database.database_draft import new_database
with new_database(store.database) as draft:
    for name in ("compactions", "probes", "answers", "measures", "scores"):
        shards = getattr(store, name)
        columns = ", ".join(column for column in schemas()[name].names)
        draft.connection.register("shards", shards.dataset())
        draft.connection.execute(f"INSERT INTO {name} BY NAME SELECT {columns} FROM shards")
"""
_CHILD = """
import json, resource, sys, threading, time
from flows.database.database_draft import build_database
from flows.database.sql_model import OFFLINE
from flows.store.store import Store
from flows.config.study import Study
from pathlib import Path
folder, code, OFFLINE["threads"] = sys.argv[1], sys.argv[2], int(sys.argv[3])
study = Study(store=folder, strategies=("none",))
store = Store.open(study.store)
build_database({}, Path(folder) / "empty.duckdb")
spilled, is_over = [0], False
def watch():
    while not is_over:
        files = [file for file in Path(folder).glob(".scores.*.spill/*") if file.exists()]
        spilled.append(sum(file.stat().st_blocks * 512 for file in files))
        time.sleep(0.02)
watching = threading.Thread(target=watch)
watching.start()
before, wall, cpu = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter(), time.process_time()
try:
    exec(code)
finally:
    is_over = True
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seconds = [time.perf_counter() - wall, time.process_time() - cpu]
print(json.dumps([*seconds, before // 1024, most // 1024, max(spilled) >> 20]))
"""


def spent(study: Study, code: str, limit: str, threads: int) -> tuple[float, float, int, int, int]:
    """Seconds of wall time and CPU, MB before, at most and on disk, of a fresh process."""
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, study.store, code, str(threads)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COMPACTION_EVAL_MEMORY": limit},
    )
    wall, cpu, before, most, spilled = json.loads(child.stdout.splitlines()[-1])
    return wall, cpu, before, most, spilled


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_ten_times_the_scores_take_ten_times_the_time_and_hardly_more_memory(tmp_path: Path) -> None:
    """By CPU time, which what else the machine does lengthens least; wall time stands beside it."""
    peaks = {}
    for n_scores in (100_000, 1_000_000, 10_000_000):
        study = make_store(tmp_path / str(n_scores), n_scores)
        bare = spent(study, _BARE, "1GB", 2)
        for limit, threads in (("1GB", 2), ("1GB", 16), ("500MB", 2), ("500MB", 16)):
            wall, cpu, before, most, spilled = spent(study, _LOAD, limit, threads)
            peaks[n_scores, limit, threads] = most
            print(
                f"{n_scores:,} scores, {limit}, {threads} threads: {wall:.1f} s, CPU {cpu:.1f} s ("
                f"{cpu / bare[1]:.1f} x a bare insert), peak {most:,} MB ({before:,} before), {spilled:,} MB on disk",
                flush=True,
            )
        with duckdb.connect(Path(study.store) / "scores.duckdb", read_only=True) as connection:
            [(shown, of, measured)] = connection.execute(
                "SELECT (SELECT count(*) FROM scores), (SELECT count(*) FROM compactions), "
                "(SELECT count(*) FROM measures)"
            ).fetchall()
        assert 0.85 < shown / n_scores < 0.95
        assert of == measured
    for limit, threads in (("1GB", 2), ("1GB", 16), ("500MB", 2), ("500MB", 16)):
        assert peaks[10_000_000, limit, threads] < peaks[1_000_000, limit, threads] + 1000
    print(f"{METHODS} methods")
