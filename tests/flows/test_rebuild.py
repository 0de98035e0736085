"""Upgrades: results made anew by one command, databases of other versions named, stores brought to a newer format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows import migrations
from flows import store as stores
from flows.database import SCHEMA_VERSION, build, connect, store_info
from flows.makers import LOADED, Makers
from flows.migrations import Step, way
from flows.problems import StoreProblem
from flows.store import STORE_FORMAT, Store
from flows.tables import rebuild

from .conftest import Command
from .small_store import SmallStore
from .test_run import rows


@pytest.fixture
def small(tmp_path: Path) -> SmallStore:
    found = SmallStore(tmp_path).fill()
    found.run("r1", "2026-01-01", makers=vars(found.makers))
    return found


def test_the_results_come_back_from_the_parquet_files_alone(small: SmallStore, command: Command) -> None:
    rebuild(small.store, small.study)
    before = rows(small.store.database)
    small.store.database.unlink()
    (small.store.root / LOADED).unlink()
    result = command("rebuild", "--store", small.store.root)
    assert result.exit_code == 0, result.output
    assert "rebuild: done, 22 steps" in result.stderr
    assert "1 sessions, 2 points, 2 methods, 4 compactions, 2 probes, 4 answers, 4 scores" in result.stderr
    assert rows(small.store.database) == before


def test_results_of_older_code_are_shown_as_they_are(
    small: SmallStore, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild(small.store, small.study)
    before = rows(small.store.database)
    later = Makers(*(f"{name}0" for name in vars(small.makers).values() if name is not None))
    monkeypatch.setattr(Makers, "now", classmethod(lambda cls, study: later))
    for gone in ([], [small.store.database], [small.store.database, small.store.root / LOADED]):
        for path in gone:
            path.unlink()
        assert command("rebuild", "--store", small.store.root, "--quiet").exit_code == 0
        assert rows(small.store.database) == before


def test_a_study_that_is_given_is_shown(small: SmallStore, command: Command, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('points = "messages:9"\n')
    result = command("rebuild", "--store", small.store.root, "--study", tmp_path / "other.toml", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["counts"] == {
        "sessions": 1, "points": 0, "methods": 2, "compactions": 0, "probes": 0, "answers": 0, "scores": 0,
    }  # fmt: skip
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
        (["DROP TABLE store_info"], r"was made by an earlier version of compaction-eval; make it anew with: "
         r"compaction-eval rebuild --store /"),
        (["UPDATE store_info SET made_by = '0.0.1'", "DROP VIEW pareto"],
         r"was made by compaction-eval 0\.0\.1 and lacks the table or view pareto, and this is .*; make it anew with"),
        (["UPDATE store_info SET made_by = '99.0', schema_version = schema_version + 1"],
         r"was made by compaction-eval 99\.0, which is newer than this one \(.*\); update it, or make it anew with"),
        (["DELETE FROM store_info"], r"was made by compaction-eval of another version, and this is .*; make it anew"),
    ],
    ids=["without a version", "without a view", "newer", "not said"],
)  # fmt: skip
def test_a_database_of_another_version_is_named_with_what_to_do(
    tmp_path: Path, statements: list[str], said: str
) -> None:
    build({}, tmp_path / "scores.duckdb")
    changed(tmp_path / "scores.duckdb", *statements)
    with pytest.raises(StoreProblem, match=said):
        connect(tmp_path / "scores.duckdb")


def test_a_database_of_an_older_schema_is_made_anew(small: SmallStore, command: Command) -> None:
    rebuild(small.store, small.study)
    changed(small.store.database, "DROP TABLE store_info")
    assert "made by an earlier version" in command("leaderboard", "--store", small.store.root).stderr
    assert command("rebuild", "--store", small.store.root).exit_code == 0
    assert command("leaderboard", "--store", small.store.root).exit_code == 0


def test_a_database_says_what_made_it(tmp_path: Path) -> None:
    build({"store_info": store_info(store_format=3, study_key="k")}, tmp_path / "db")
    with connect(tmp_path / "db") as connection:
        [row] = connection.sql("SELECT schema_version, store_format, study_key FROM store_info").fetchall()
    assert row == (SCHEMA_VERSION, 3, "k")


def nothing(root: Path) -> None:
    """A step's work."""


def test_the_way_to_a_format_goes_step_by_step() -> None:
    steps = [Step(2, 3, "a", nothing), Step(3, 5, "b", nothing)]
    assert [step.does for step in way(2, 5, steps) or ()] == ["a", "b"]
    assert way(5, 5, steps) == []
    assert way(1, 5, steps) is way(2, 4, steps) is None


class Renaming:
    """A step that names a file otherwise; at first it is killed when half of that is done."""

    def __init__(self, killed: int) -> None:
        self.killed = killed
        self.held: list[bool] = []

    def __call__(self, root: Path) -> None:
        self.held.append(Store(root).is_locked())
        if (root / "old").exists():
            (root / "new").write_bytes((root / "old").read_bytes())
        if self.killed:
            self.killed -= 1
            raise KeyboardInterrupt
        (root / "old").unlink(missing_ok=True)


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Store, Renaming]:
    """A store of the format before, and the step from there; the format now is one above today's."""
    store = Store.create(str(tmp_path / "store"), "o200k_base")
    (store.root / "old").write_text("content")
    step = Renaming(killed=1)
    monkeypatch.setattr(migrations, "STEPS", (Step(STORE_FORMAT, STORE_FORMAT + 1, "renames old to new", step),))
    monkeypatch.setattr(stores, "STORE_FORMAT", STORE_FORMAT + 1)
    return store, step


def test_a_store_of_an_older_format_is_brought_up_once_and_under_the_lock(
    older: tuple[Store, Renaming], capsys: pytest.CaptureFixture[str]
) -> None:
    store, step = older
    with pytest.raises(KeyboardInterrupt):
        Store.create(str(store.root), "o200k_base")
    assert Store(store.root).settings["format"] == STORE_FORMAT
    again = Store.create(str(store.root), "o200k_base")
    assert again.settings == {"format": STORE_FORMAT + 1, "tokenizer": "o200k_base"}
    assert sorted(path.name for path in store.root.iterdir()) == [".lock", "new", "store.json"]
    assert f"from format {STORE_FORMAT} to {STORE_FORMAT + 1}: renames old to new" in capsys.readouterr().err
    Store.brought_up(str(store.root))
    assert step.held == [True, True]


def test_who_only_reads_an_older_store_is_told_how_to_bring_it_up(
    older: tuple[Store, Renaming], command: Command
) -> None:
    store, step = older
    result = command("leaderboard", "--store", store.root)
    assert result.exit_code == 1
    assert f"has format {STORE_FORMAT}, made by an earlier version" in result.stderr
    assert f"bring it to format {STORE_FORMAT + 1} with: compaction-eval rebuild --store {store.root}" in result.stderr
    assert step.held == []


def test_an_older_store_that_is_in_use_is_left_alone(older: tuple[Store, Renaming]) -> None:
    store, step = older
    with store.locked("run"), pytest.raises(StoreProblem, match="is in use by `compaction-eval run`"):
        Store.create(str(store.root), "o200k_base")
    assert step.held == []


def test_rebuild_brings_a_store_up_and_then_makes_its_results(
    small: SmallStore, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    monkeypatch.setattr(migrations, "STEPS", (Step(STORE_FORMAT, STORE_FORMAT + 1, "nothing", done.append),))
    monkeypatch.setattr(stores, "STORE_FORMAT", STORE_FORMAT + 1)
    assert command("rebuild", "--store", small.store.root).exit_code == 0
    assert done == [small.store.root]
    with connect(small.store.database) as connection:
        assert connection.execute("SELECT store_format FROM store_info").fetchall() == [(STORE_FORMAT + 1,)]
