"""What of a store the database shows: what is comparable, of a session as it is now, each unit once."""

from __future__ import annotations

import shutil
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sql
from flows.database.database_draft import MATERIALIZED
from flows.database.scores_db import MEMORY_VARIABLE, connect
from flows.database.sql_model import schemas, sql_text
from flows.pipeline.load import tables
from flows.pipeline.load.intake_tables import TABLES as INTAKE
from flows.pipeline.load.tables import is_loaded, rebuild_database
from flows.results import open_results
from flows.store import parquet_schemas as stored
from flows.store.human_labels import AnswerLabels, add_labels
from flows.support.errors import StoreError, UsageError
from flows.support.resource_use import StageTime
from tests.flows.pipeline.load.rows import context, query
from tests.flows.small_store import JUDGE, SHA, SmallStore


def test_every_query_of_the_load_is_run_and_every_table_filled() -> None:
    folder = Path(sql.__file__).parent / "load"
    assert sorted(tables.LOADED) == sorted(path.stem for path in folder.glob("*.sql"))
    by_python = {
        "methods",
        "judges",
        "judge_validity",
        "criteria",
        "quarantine",
        "runs",
        "run_stages",
        "night_figures",
        "night_sums",
        "checks",
        "store_info",
        "published_leaderboard",
        "price_lists",
        *INTAKE,
    }
    assert set(schemas()) == by_python | (set(tables.LOADED) & set(schemas()))


def counts(small: SmallStore) -> dict[str, int]:
    names = (
        "sessions",
        "points",
        "compactions",
        "probes",
        "probes_not_asked",
        "answers",
        "scores",
        "needs",
        "measures",
        "statement_states",
        "calls",
    )
    with connect(small.store.database) as connection:
        return {name: len(connection.table(name)) for name in names}


ALL = {
    "sessions": 1,
    "points": 2,
    "compactions": 4,
    "probes": 2,
    "probes_not_asked": 0,
    "answers": 4,
    "scores": 4,
    "needs": 2,
    "measures": 4,
    "statement_states": 6,
    "calls": 9,
}


def test_what_belongs_together_is_loaded(small: SmallStore) -> None:
    rebuild_database(small.store, small.study)
    assert counts(small) == ALL
    assert query(small, "SELECT number, value FROM needs ORDER BY 1") == [(1, "/a.py"), (2, "/b.py")]
    assert query(small, "SELECT started_at::VARCHAR FROM calls WHERE run_id IS NULL AND started_at IS NOT NULL") == [
        ("2026-01-01 00:00:00",)
    ]
    assert query(small, "SELECT study_key, tokenizer, store_format > 0 FROM store_info") == [
        (small.study.study_key, "o200k_base", True)
    ]


def test_nothing_but_tables_and_views_is_in_the_file_and_nothing_lies_beside_it(small: SmallStore) -> None:
    rebuild_database(small.store, small.study)
    found = {name for (name,) in query(small, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'store'")}
    assert not found & {"measured_points", "wanted_measures", "session_ids", "shard_scores"}
    assert [path.name for path in small.store.root.glob(".*")] == [".lock"]


def test_a_run_that_was_killed_tells_of_its_stages_and_one_of_an_earlier_version_of_none(small: SmallStore) -> None:
    done = StageTime("answer", "2026-01-01T00:00:00+00:00", "answers", seconds=2.0, busy_seconds=3.0, done=7, tasks=1)
    small.run("killed", "2026-01-01T00:00:00+00:00", status="killed", stages=[done.as_dict()])
    small.run("older", "2025-01-01T00:00:00+00:00")
    rebuild_database(small.store, small.study)
    found = query(small, "SELECT run_id, stage, done, seconds, busy_seconds FROM run_stages")
    assert found == [("killed", "answer", 7, 2.0, 3.0)]


def test_a_unit_that_failed_and_was_done_later_is_shown_once_as_done(small: SmallStore) -> None:
    failed = {"status": "failed", "error": "no"}
    small.write("compactions", small.compaction("none", "p1", **failed, tokens_after=None))
    small.write("probes", small.probe("p1", status="failed", reason="failed: no"))
    small.write("answers", small.answer("none", "p1", **failed, text=None))
    small.write("scores", small.score("none", "p1", status="failed", score=None, unscored_reason="the judge failed: x"))
    small.write("measures", small.measure("none", "p1", **failed, facts=None))
    rebuild_database(small.store, small.study)
    assert counts(small) == ALL
    assert query(small, "SELECT count(*) FROM compactions WHERE status = 'failed'") == [(0,)]
    assert query(small, "SELECT count(*) FROM scores WHERE score IS NULL") == [(0,)]


def test_what_a_killed_run_left_twice_is_shown_once(small: SmallStore) -> None:
    for name in tables.SHARDS:
        if name != "scores":  # these are cleared up at the end of the stage that writes them, and checked
            for path in getattr(small.store, name).files():
                path.with_name("again-" + path.name).write_bytes(path.read_bytes())
    rebuild_database(small.store, small.study)
    assert counts(small) == ALL


def test_what_is_not_comparable_stays_behind(small: SmallStore) -> None:
    point = {"point_id": "x", "cycle": 1, "cut_seq": 9, "tokens_before": 9}
    small.write("points", {"content_sha256": "6" * 64, "points_spec": "messages:20", "points": [point]})
    small.write("points", {"content_sha256": SHA, "points_spec": "messages:9", "points": [point]})
    small.write("compactions", small.compaction("none", "x"), small.compaction("gone", "p1"))
    small.write("compactions", small.compaction("none", "p1", compaction_id="y", points_spec="messages:9"))
    small.write("probes", small.probe("p1", probe_id="z", prober="another"))
    small.write("answers", small.answer("none", "p1", answer_id="z", responder="another"))
    small.write("scores", small.score("none", "p1", answer_id="z"), small.score("none", "p2", judge_id="gone"))
    small.write("measures", small.measure("none", "p1", measure_id="of the session as it was"))
    rebuild_database(small.store, small.study)
    assert counts(small) == ALL


def test_labels_samples_anchors_and_verdicts_of_answers_that_are_shown_are_shown(small: SmallStore) -> None:
    for answer in ("a-none-p1", "of another study"):
        sample = {
            "sample_id": "sample",
            "answer_id": answer,
            "judge_id": JUDGE,
            "probability": 0.5,
            "seed": "1",
            "probe_type": "recall",
            "score_band": "low",
            "drawn_at": datetime(2026, 1, 1),
        }
        small.write("label_samples", sample)
        small.write("anchor_scores", small.score("none", "p1", answer_id=answer, taken_on=date(2026, 1, 1)))
    stated = {"stated_overall": 4.0, "stated_dimensions": "{}", "asked_again": False}
    for criterion in ("more", "still more"):
        small.write("scores", small.score("none", "p1", criterion=criterion, **stated))
    said = [AnswerLabels(answer, "ada", {"facts": 3.0}) for answer in ("a-none-p1", "of another study")]
    add_labels(small.store, said, datetime(2026, 1, 2))
    rebuild_database(small.store, small.study)
    for table in ("human_scores", "label_samples", "anchor_scores", "verdicts"):
        assert query(small, f"SELECT answer_id FROM {table}") == [("a-none-p1",)], table


def test_a_session_that_changed_shows_nothing_of_what_it_was(small: SmallStore) -> None:
    small.part("part-1.parquet", "6" * 64)
    rebuild_database(small.store, small.study)
    assert {name: n for name, n in counts(small).items() if n} == {"sessions": 1, "calls": 1}


def test_a_load_that_fails_leaves_the_old_database_and_nothing_else(small: SmallStore) -> None:
    rebuild_database(small.store, small.study)
    small.write("scores", small.score("none", "p1", criterion="more", score=7.0))
    with pytest.raises(StoreError, match="table scores refuses a row: CHECK constraint"):
        rebuild_database(small.store, small.study)
    assert counts(small) == ALL
    assert [path.name for path in small.store.root.glob(".*")] == [".lock"]


def test_memory_can_be_limited_and_a_wrong_limit_is_named(small: SmallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, "200MB")
    seen: list[Any] = []
    rebuild_database(small.store, small.study, lambda new: seen.append(_settings(new.connection)))
    [(limit, spill)] = seen
    assert limit == "190.7 MiB"
    assert Path(spill).parent == small.store.root
    monkeypatch.setenv(MEMORY_VARIABLE, "plenty")
    with pytest.raises(UsageError, match="COMPACTION_EVAL_MEMORY=plenty: expected a size such as 2GB"):
        rebuild_database(small.store, small.study)


def _settings(draft: Any) -> Any:
    [found] = draft.execute("SELECT current_setting('memory_limit'), current_setting('temp_directory')").fetchall()
    return found


def test_what_a_killed_load_put_on_disk_goes_with_the_next_run(small: SmallStore) -> None:
    draft = small.store.root / ".scores.duckdb.00ff.tmp"
    spill = draft.with_name(draft.name + ".spill")
    spill.mkdir()
    for path in (draft, draft.with_name(draft.name + ".wal"), spill / "duckdb_temp_storage.tmp", spill / "1.block"):
        path.write_bytes(b"half")
    with small.store.locked("run"):
        assert [path.name for path in small.store.root.glob(".*")] == [".lock"]


def test_a_database_of_other_sql_counts_as_not_loaded(small: SmallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    rebuild_database(small.store, small.study)
    assert is_loaded(small.store, small.study)
    monkeypatch.setattr(tables, "sql_sha256", lambda: "of yesterday")
    assert not is_loaded(small.store, small.study)


def test_texts_are_read_from_the_files_in_duckdb_itself_and_wherever_the_store_is(
    small: SmallStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [part] = small.store.place.paths(small.store.transcripts)
    described = pq.read_metadata(part).metadata
    said = [{"session_id": "s1", "seq": seq, "role": "user", "text": f"text {seq}"} for seq in range(2)]
    gone = {"session_id": "gone", "seq": 0, "role": "user", "text": "of no session that is shown"}
    with pq.ParquetWriter(part, stored.MESSAGES) as writer:
        writer.write_table(pa.Table.from_pylist([*said, gone], stored.MESSAGES))
        writer.add_key_value_metadata({key: value for key, value in described.items() if key != b"ARROW:schema"})
    small.write("compactions", small.compaction("none", "p1", context=context("made")))
    for path in small.store.compactions.files()[:-1]:
        path.unlink()
    [kept] = small.store.compactions.files()
    shutil.copy(kept, kept.with_name(f"{kept.stem}twice.parquet"))  # as a kill between two steps leaves it
    rebuild_database(small.store, small.study)
    asked = {
        "SELECT seq, text FROM messages ORDER BY seq": [(0, "text 0"), (1, "text 1")],
        "SELECT position, seq, role, text, is_as_it_was FROM contexts ORDER BY 1": [
            (0, 0, "user", "text 0", True),
            (1, None, "user", "made", False),
        ],
    }
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(small.store.database, read_only=True) as connection:
        assert {sql: connection.execute(sql).fetchall() for sql in asked} == asked
    moved = small.store.root.rename(tmp_path / "elsewhere")
    with open_results(moved) as results:
        assert {sql: results.sql(sql).rows() for sql in asked} == asked
        assert results.frame("messages").height == 2
        with pytest.raises(UsageError, match="disabled"):
            results.sql("COPY (SELECT 1) TO 'written.csv'")
    with duckdb.connect(moved / "scores.duckdb", read_only=True) as connection, pytest.raises(duckdb.IOException):
        connection.execute("FROM messages")


@pytest.mark.parametrize("is_filled", [True, False])
def test_a_mart_of_many_rows_is_a_table_with_the_rows_of_its_definition(tmp_path: Path, is_filled: bool) -> None:
    small = SmallStore(tmp_path)
    if is_filled:
        small.fill()
    rebuild_database(small.store, small.study)
    for name, folder in MATERIALIZED.items():
        definition = sql_text(folder, name)
        with connect(small.store.database) as connection:
            connection.execute(definition.replace(f"create view {name}", "create temp view defined", 1))
            [(comment,)] = connection.execute(
                "SELECT comment FROM duckdb_tables() WHERE database_name = 'store' AND table_name = ?", [name]
            ).fetchall()
            [(n_bare,)] = connection.execute(
                "SELECT count(*) FROM duckdb_columns() "
                "WHERE database_name = 'store' AND schema_name = 'main' AND table_name = ? AND comment IS NULL",
                [name],
            ).fetchall()
            rows = connection.execute(f"FROM {name}").fetchall()
            assert sorted(rows) == sorted(connection.execute("FROM defined").fetchall())
        assert comment.startswith("One row per")
        assert n_bare == 0
        if name == "int_answer_scores":  # the others compare methods that the small store does not have
            assert bool(rows) == is_filled
