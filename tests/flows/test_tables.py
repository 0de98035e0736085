"""What of a store the database shows: what is comparable, of a session as it is now, each unit once."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compaction import parse_method
from flows import schemas as stored
from flows import tables
from flows.database import MATERIALIZED, MEMORY_VARIABLE, connect, schemas, sql_text
from flows.intake import TABLES as INTAKE
from flows.labels import Labelled, add_labels
from flows.makers import LOADED, Makers
from flows.problems import StoreProblem, UsageProblem
from flows.results import open_results
from flows.selection import methods_in, with_methods_of
from flows.study import Study
from flows.tables import _latest_code, is_loaded, rebuild
from flows.timing import StageTime

from .small_store import JUDGE, SHA, SmallStore


@pytest.fixture
def small(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path).fill()


def test_every_query_of_the_load_is_run_and_every_table_filled() -> None:
    folder = Path(tables.__file__).parents[1] / "sql" / "load"
    assert sorted(tables.LOADED) == sorted(path.stem for path in folder.glob("*.sql"))
    by_python = {
        "methods", "judges", "criteria", "quarantine", "runs", "run_stages", "night_figures", "night_sums",
        "store_info", "published_leaderboard", *INTAKE,
    }  # fmt: skip
    assert set(schemas()) == by_python | (set(tables.LOADED) & set(schemas()))


def query(small: SmallStore, sql: str) -> list[tuple[Any, ...]]:
    with connect(small.store.database) as connection:
        return connection.execute(sql).fetchall()


def counts(small: SmallStore) -> dict[str, int]:
    names = ("sessions", "points", "compactions", "probes", "probes_not_asked", "answers", "scores", "needs",
             "measures", "fact_checks", "calls")  # fmt: skip
    with connect(small.store.database) as connection:
        return {name: len(connection.table(name)) for name in names}


ALL = {"sessions": 1, "points": 2, "compactions": 4, "probes": 2, "probes_not_asked": 0, "answers": 4, "scores": 4,
       "needs": 2, "measures": 4, "fact_checks": 6, "calls": 9}  # fmt: skip


def test_what_belongs_together_is_loaded(small: SmallStore) -> None:
    rebuild(small.store, small.study)
    assert counts(small) == ALL
    assert query(small, "SELECT number, value FROM needs ORDER BY 1") == [(1, "/a.py"), (2, "/b.py")]
    assert query(small, "SELECT started_at::VARCHAR FROM calls WHERE run_id IS NULL AND started_at IS NOT NULL") == [
        ("2026-01-01 00:00:00",)
    ]
    assert query(small, "SELECT study_key, tokenizer, store_format > 0 FROM store_info") == [
        (small.study.study_key, "o200k_base", True)
    ]


def test_nothing_but_tables_and_views_is_in_the_file_and_nothing_lies_beside_it(small: SmallStore) -> None:
    rebuild(small.store, small.study)
    found = {name for (name,) in query(small, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'store'")}
    assert not found & {"measured_points", "wanted_measures", "session_ids", "shard_scores"}
    assert [path.name for path in small.store.root.glob(".*")] == [".lock"]


def test_a_run_that_was_killed_tells_of_its_stages_and_one_of_an_earlier_version_of_none(small: SmallStore) -> None:
    done = StageTime("answer", "2026-01-01T00:00:00+00:00", "answers", seconds=2.0, busy_seconds=3.0, done=7, tasks=1)
    small.run("killed", "2026-01-01T00:00:00+00:00", status="killed", stages=[done.as_dict()])
    small.run("older", "2025-01-01T00:00:00+00:00")
    rebuild(small.store, small.study)
    found = query(small, "SELECT run_id, stage, items, items_per_second, tasks_side_by_side FROM throughput")
    assert found == [("killed", "answer", 7, 3.5, 1.5)]


def test_a_unit_that_failed_and_was_done_later_is_shown_once_as_done(small: SmallStore) -> None:
    failed = {"status": "failed", "error": "no"}
    small.write("compactions", small.compaction("none", "p1", **failed, tokens_after=None))
    small.write("probes", small.probe("p1", status="failed", reason="failed: no"))
    small.write("answers", small.answer("none", "p1", **failed, text=None))
    small.write("scores", small.score("none", "p1", status="failed", score=None, unscored_reason="the judge failed: x"))
    small.write("measures", small.measure("none", "p1", **failed, facts=None))
    rebuild(small.store, small.study)
    assert counts(small) == ALL
    assert query(small, "SELECT count(*) FROM compactions WHERE status = 'failed'") == [(0,)]
    assert query(small, "SELECT count(*) FROM scores WHERE score IS NULL") == [(0,)]


def test_what_a_killed_run_left_twice_is_shown_once(small: SmallStore) -> None:
    for name in tables.SHARDS:
        if name != "scores":  # these are cleared up at the end of the stage that writes them, and checked
            for path in getattr(small.store, name).files():
                path.with_name("again-" + path.name).write_bytes(path.read_bytes())
    rebuild(small.store, small.study)
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
    rebuild(small.store, small.study)
    assert counts(small) == ALL


def test_labels_samples_anchors_and_verdicts_of_answers_that_are_shown_are_shown(small: SmallStore) -> None:
    for answer in ("a-none-p1", "of another study"):
        sample = {"sample_id": "sample", "answer_id": answer, "judge_id": JUDGE, "probability": 0.5, "seed": "1",
                  "probe_type": "recall", "score_band": "low", "drawn_at": datetime(2026, 1, 1)}  # fmt: skip
        small.write("label_samples", sample)
        small.write("anchor_scores", small.score("none", "p1", answer_id=answer, taken_on=date(2026, 1, 1)))
    stated = {"stated_overall": 4.0, "stated_dimensions": "{}", "asked_again": False}
    for criterion in ("more", "still more"):
        small.write("scores", small.score("none", "p1", criterion=criterion, **stated))
    said = [Labelled(answer, "ada", {"facts": 3.0}) for answer in ("a-none-p1", "of another study")]
    add_labels(small.store, said, datetime(2026, 1, 2))
    rebuild(small.store, small.study)
    for table in ("human_scores", "label_samples", "anchor_scores", "verdicts"):
        assert query(small, f"SELECT answer_id FROM {table}") == [("a-none-p1",)], table


def test_a_session_that_changed_shows_nothing_of_what_it_was(small: SmallStore) -> None:
    small.part("part-1.parquet", "6" * 64)
    rebuild(small.store, small.study)
    assert {name: n for name, n in counts(small).items() if n} == {"sessions": 1, "calls": 1}


def test_a_load_that_fails_leaves_the_old_database_and_nothing_else(small: SmallStore) -> None:
    rebuild(small.store, small.study)
    small.write("scores", small.score("none", "p1", criterion="more", score=7.0))
    with pytest.raises(StoreProblem, match="table scores refuses a row: CHECK constraint"):
        rebuild(small.store, small.study)
    assert counts(small) == ALL
    assert [path.name for path in small.store.root.glob(".*")] == [".lock"]


def test_memory_can_be_limited_and_a_wrong_limit_is_named(small: SmallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, "200MB")
    seen: list[Any] = []
    rebuild(small.store, small.study, lambda new: seen.append(_settings(new.connection)))
    [(limit, spill)] = seen
    assert limit == "190.7 MiB"
    assert Path(spill).parent == small.store.root
    monkeypatch.setenv(MEMORY_VARIABLE, "plenty")
    with pytest.raises(UsageProblem, match="COMPACTION_EVAL_MEMORY=plenty: expected a size such as 2GB"):
        rebuild(small.store, small.study)


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
    rebuild(small.store, small.study)
    assert is_loaded(small.store, small.study)
    monkeypatch.setattr(tables, "sql_sha256", lambda: "of yesterday")
    assert not is_loaded(small.store, small.study)


@pytest.fixture
def newer_code(small: SmallStore, monkeypatch: pytest.MonkeyPatch) -> SmallStore:
    """The code that makes and measures has changed since the store was filled."""
    later = Makers(*(f"{name}0" for name in vars(small.makers).values() if name is not None))
    monkeypatch.setattr(Makers, "now", classmethod(lambda cls, study: later))
    return small


def test_makers_are_those_noted_then_those_of_the_latest_run_then_those_that_rows_name(
    newer_code: SmallStore,
) -> None:
    store, study, made = newer_code.store, newer_code.study, newer_code.makers
    assert Makers.of_results(store, study).responder == made.responder
    assert Makers.of_results(store, study).prober == made.prober
    newer_code.run("r1", "2026-01-01", makers={**vars(made), "prober": "older"})
    newer_code.run("r2", "2026-01-02", makers=vars(made))
    newer_code.run("r3", "2026-01-03", makers={**vars(made), "prober": "cut short"}, status="killed")
    assert Makers.of_results(store, study) == made
    rebuild(store, study, makers=Makers(made.summarizer, made.prober, "noted", made.measuring))
    assert Makers.of_results(store, study).responder == "noted"


def method(method_id: str, last_run_at: str, **changes: Any) -> dict[str, Any]:
    base = {"strategy": "head_tail", "params": {"head": 2}, "history": "prefix", "summarizer": None}
    return {"method_id": method_id, "last_run_at": last_run_at, **base, **changes}


def test_of_two_versions_of_a_strategys_code_the_one_that_was_run_last_is_shown() -> None:
    rows = [method("old", "2026-01-02"), method("new", "2026-01-03"), method("older", "2026-01-01")]
    assert [row["method_id"] for row in _latest_code(rows)] == ["new"]


def test_methods_that_differ_in_anything_else_are_all_shown() -> None:
    rows = [
        method("a", "2026-01-01"),
        method("b", "2026-01-01", params={"head": 3}),
        method("c", "2026-01-01", strategy="none"),
    ]
    assert [row["method_id"] for row in _latest_code(rows)] == ["a", "b", "c"]


def test_the_methods_of_the_newest_run_are_current_and_others_keep_their_figures_without_a_rank(
    small: SmallStore,
) -> None:
    one = replace(small.study, strategies=("none",))
    assert query_after(small, one, "SELECT method, is_current FROM methods ORDER BY 1") == [
        ("empty", False), ("none", True),
    ]  # fmt: skip
    assert query(small, "SELECT method, overall, rank, tie_group FROM leaderboard ORDER BY 1") == [
        ("empty", 4.0, None, None), ("none", 4.0, 1, 1),
    ]  # fmt: skip
    assert query(small, "SELECT DISTINCT method FROM coverage WHERE method_id IS NOT NULL") == [("none",)]
    assert query(small, "SELECT DISTINCT is_current FROM paired_differences") == [(False,)]
    assert not is_loaded(small.store, small.study)
    assert query_after(small, small.study, "SELECT count(*) FROM methods WHERE is_current") == [(2,)]


def test_what_is_about_the_whole_store_leaves_the_current_methods_as_they_are(small: SmallStore) -> None:
    one = replace(small.study, strategies=("none",))
    rebuild(small.store, one)
    rebuild(small.store, small.study, is_whole_store=True)
    assert query(small, "SELECT method FROM methods WHERE is_current") == [("none",)]
    assert is_loaded(small.store, small.study, is_whole_store=True)
    (small.store.root / LOADED).unlink()
    small.run("run", "2026-01-01", study=replace(small.study, strategies=("empty",)).as_dict())
    small.run("backfill", "2026-01-02", is_whole_store=True)
    rebuild(small.store, small.study, is_whole_store=True)
    assert query(small, "SELECT method FROM methods WHERE is_current") == [("empty",)]


def test_an_earlier_version_gives_its_name_to_the_current_one(small: SmallStore) -> None:
    """A method of one's own that goes on under its name with another parameter."""
    for tail in (5, 9):
        row = {"method_id": f"tail-{tail}-id", "method": "ours", "strategy": "head_tail", "mode": "valid",
               "params": {**parse_method("head_tail").params, "tail": tail}, "peer": "own", "peer_version": None,
               "needs_model": False, "history": "prefix", "summarizer": None, "code": "c0de",
               "last_run_at": f"2026-01-0{tail}"}  # fmt: skip
        small.store.record("methods", str(row["method_id"]), row)
    study = replace(small.study, strategies=("ours",), named_methods=("ours = head_tail(tail=9)",))
    found = query_after(small, study, "SELECT method, is_current FROM stg_methods WHERE strategy = 'head_tail'")
    assert sorted(found) == [("ours", True), ("ours-tail-5-i", False)]
    assert [method.name for method in methods_in(small.store, "current")] == ["ours"]
    assert {"ours", "ours-tail-5-i"} < {method.name for method in with_methods_of(study, small.store).methods()}


def query_after(small: SmallStore, study: Study, sql: str) -> list[tuple[Any, ...]]:
    rebuild(small.store, study)
    return query(small, sql)


def test_an_answer_that_was_paid_once_costs_once_in_every_plain_sum(small: SmallStore) -> None:
    """Two answers of one request: the first was paid, the second came from the cache; both shards have the price."""
    for path in small.store.answers.files():
        path.unlink()
    small.write("answers", *(small.answer(method, "p1", cost_usd=0.5) for method in ("none", "empty")))
    for number, (method, cached) in enumerate((("none", False), ("empty", True))):
        row = {"call_id": f"paid-{number}", "stage": "answer", "item_id": f"a-{method}-p1", "model": "m", "key": "k",
               "cost_usd": 0.5, "cached": cached, "status": "done"}  # fmt: skip
        small.write("calls", row)
        small.write("calls", row)  # a kill while the journal was moved
    rebuild(small.store, small.study)
    expected = [(0.5, 0.5)]
    assert query(small, "SELECT sum(cost_usd), sum(saved_usd) FROM calls WHERE model = 'm'") == expected
    assert query(small, "SELECT sum(cost_usd), sum(saved_usd) FROM answers") == expected
    assert query(small, "SELECT sum(cost_usd), sum(saved_usd) FROM costs WHERE model = 'm'") == expected
    assert query(small, "SELECT cost_usd, saved_usd FROM answers WHERE answer_id = 'a-empty-p1'") == [(0.0, 0.5)]


def context(text: str) -> list[dict[str, Any]]:
    return [{"seq": 0}, {"seq": None, "role": "user", "text": text, "tokens": 3}]


def test_repetitions_with_an_equal_context_are_known_and_their_answers_count_once(small: SmallStore) -> None:
    for name in ("compactions", "answers", "scores"):
        for path in getattr(small.store, name).files():
            path.unlink()
    texts = {"none": "same same", "empty": "one two"}
    for method, both in texts.items():
        for replicate, text in enumerate(both.split()):
            id = f"{method}-p1-{replicate}"
            row = small.compaction(method, "p1", compaction_id=id, replicate=replicate, context=context(text))
            small.write("compactions", row)
            small.write("answers", small.answer(method, "p1", answer_id=id, compaction_id=id))
            small.write("scores", small.score(method, "p1", answer_id=id))
    rebuild(small.store, small.study)
    assert query(small, "SELECT compaction_id, same_context_as FROM compactions WHERE same_context_as IS NOT NULL") == [
        ("none-p1-1", "none-p1-0")
    ]
    for view in ("leaderboard", "variance_components_by_method WHERE dimension = 'overall'"):
        assert sorted(query(small, f"SELECT method, n_answers, n_independent_answers FROM {view}")) == [
            ("empty", 2, 2), ("none", 2, 1),
        ]  # fmt: skip


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
    rebuild(small.store, small.study)
    asked = {
        "SELECT seq, text FROM messages ORDER BY seq": [(0, "text 0"), (1, "text 1")],
        "SELECT position, seq, role, text, is_as_it_was FROM contexts ORDER BY 1": [
            (0, 0, "user", "text 0", True), (1, None, "user", "made", False),
        ],
    }  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(small.store.database, read_only=True) as connection:
        assert {sql: connection.execute(sql).fetchall() for sql in asked} == asked
    moved = small.store.root.rename(tmp_path / "elsewhere")
    with open_results(moved) as results:
        assert {sql: results.sql(sql).rows() for sql in asked} == asked
        assert results.frame("messages").height == 2
        with pytest.raises(UsageProblem, match="disabled"):
            results.sql("COPY (SELECT 1) TO 'written.csv'")
    with duckdb.connect(moved / "scores.duckdb", read_only=True) as connection, pytest.raises(duckdb.IOException):
        connection.execute("FROM messages")


@pytest.mark.parametrize("is_filled", [True, False])
def test_a_mart_of_many_rows_is_a_table_with_the_rows_of_its_definition(tmp_path: Path, is_filled: bool) -> None:
    small = SmallStore(tmp_path)
    if is_filled:
        small.fill()
    rebuild(small.store, small.study)
    for name in MATERIALIZED:
        definition, _, comments = sql_text("marts", name).partition(";")
        with connect(small.store.database) as connection:
            connection.execute(definition.replace(f"create view {name}", "create temp view defined", 1))
            [(comment,)] = connection.execute(
                "SELECT comment FROM duckdb_tables() WHERE database_name = 'store' AND table_name = ?", [name]
            ).fetchall()
            [(said,)] = connection.execute(
                "SELECT count(comment) FROM duckdb_columns() WHERE database_name = 'store' AND table_name = ?", [name]
            ).fetchall()
            rows = connection.execute(f"FROM {name}").fetchall()
            assert rows == connection.execute("FROM defined").fetchall()
        assert comment.startswith("One row per")
        assert said == comments.count("comment on column")
        assert bool(rows) == is_filled
