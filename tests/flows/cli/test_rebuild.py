"""Upgrades: results made anew by one command, databases of other versions named."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from flows.database.database_draft import build_database, store_info
from flows.database.scores_db import SCHEMA_VERSION, connect
from flows.pipeline.load.provenance import NOTE_FILE, Provenance
from flows.pipeline.load.tables import rebuild_database
from flows.store.store import Store
from flows.support.errors import StoreError
from tests.flows.conftest import Command
from tests.flows.small_store import SmallStore
from tests.flows.test_run import rows


@pytest.fixture
def small(tmp_path: Path) -> SmallStore:
    found = SmallStore(tmp_path).fill()
    found.run("r1", "2026-01-01", makers=vars(found.makers))
    return found


def test_the_results_come_back_from_the_parquet_files_alone(small: SmallStore, command: Command) -> None:
    rebuild_database(small.store, small.study)
    before = rows(small.store.database)
    small.store.database.unlink()
    (small.store.root / NOTE_FILE).unlink()
    result = command("rebuild", "--store", small.store.root)
    assert result.exit_code == 3, result.output  # the rows of the small store are made, and do not add up
    assert "8 violations of 3 checks" in result.stderr
    assert "4 × refetched_tokens_add_up" in result.stderr
    assert "load: done, 47 steps" in result.stderr
    assert "1 session, 2 points, 2 methods, 4 compactions, 2 probes, 4 answers, 4 scores" in result.stderr
    assert rows(small.store.database) == before


def test_results_of_older_code_are_shown_as_they_are(
    small: SmallStore, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild_database(small.store, small.study)
    before = rows(small.store.database)
    later = Provenance(*(f"{name}0" for name in vars(small.makers).values() if name is not None))
    monkeypatch.setattr(Provenance, "now", classmethod(lambda cls, study: later))
    for gone in ([], [small.store.database], [small.store.database, small.store.root / NOTE_FILE]):
        for path in gone:
            path.unlink()
        assert command("rebuild", "--store", small.store.root, "--quiet").exit_code == 3
        assert rows(small.store.database) == before


def test_a_study_that_is_given_is_shown(small: SmallStore, command: Command, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('points = "messages:9"\n')
    result = command("rebuild", "--store", small.store.root, "--study", tmp_path / "other.toml", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["counts"] == {
        "sessions": 1,
        "points": 0,
        "methods": 2,
        "compactions": 0,
        "probes": 0,
        "answers": 0,
        "scores": 0,
    }
    (tmp_path / "other.toml").write_text('tokenizer = "cl100k_base"\n')
    result = command("rebuild", "--store", small.store.root, "--study", tmp_path / "other.toml")
    assert result.exit_code == 2
    assert "counts tokens with o200k_base, the study with cl100k_base" in result.stderr


def test_with_nothing_to_show_it_says_so(command: Command, tmp_path: Path) -> None:
    result = command("rebuild", "--store", tmp_path / "none")
    assert (result.exit_code, result.stderr[:18]) == (1, "error: no store at")
    store = Store.create(str(tmp_path / "store"), "o200k_base")
    result = command("rebuild", "--store", store.root)
    assert result.exit_code == 1
    assert "has nothing to make results of: no run is recorded; start one first" in result.stderr
    assert not store.database.exists()


def changed(path: Path, *statements: str) -> None:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (
            ["DROP TABLE store_info"],
            r"was made by an earlier version of compaction-eval; make it anew with: "
            r"compaction-eval rebuild --store /",
        ),
        (
            ["UPDATE store_info SET made_by = '0.0.1'", "DROP VIEW pareto"],
            r"was made by compaction-eval 0\.0\.1 and lacks the table or view pareto, and this is .*; "
            r"make it anew with",
        ),
        (
            ["UPDATE store_info SET made_by = '99.0', schema_version = schema_version + 1"],
            r"was made by compaction-eval 99\.0, which is newer than this one \(.*\); update it, or make it anew with",
        ),
        (["DELETE FROM store_info"], r"was made by compaction-eval of another version, and this is .*; make it anew"),
    ],
    ids=["without a version", "without a view", "newer", "not said"],
)
def test_a_database_of_another_version_is_named_with_what_to_do(
    tmp_path: Path, statements: list[str], said: str
) -> None:
    build_database({}, tmp_path / "scores.duckdb")
    changed(tmp_path / "scores.duckdb", *statements)
    with pytest.raises(StoreError, match=said):
        connect(tmp_path / "scores.duckdb")


def test_a_database_of_an_older_schema_is_made_anew(small: SmallStore, command: Command) -> None:
    rebuild_database(small.store, small.study)
    changed(small.store.database, "DROP TABLE store_info")
    assert "made by an earlier version" in command("leaderboard", "--store", small.store.root).stderr
    assert command("rebuild", "--store", small.store.root).exit_code == 3
    assert command("leaderboard", "--store", small.store.root).exit_code == 0


def test_a_database_says_what_made_it(tmp_path: Path) -> None:
    build_database({"store_info": store_info(store_format=3, study_key="k")}, tmp_path / "db")
    with connect(tmp_path / "db") as connection:
        [row] = connection.sql("SELECT schema_version, store_format, study_key FROM store_info").fetchall()
    assert row == (SCHEMA_VERSION, 3, "k")
