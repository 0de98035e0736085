"""What others do to a store, and to the machine that it is on: said by name, healed, or without consequence.

With the embedded engine. What ends a run in the middle is in test_faults.py; readers are in test_readers.py.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.store.shards import MANY_SMALL, file_bits
from flows.store.store import Store
from tests.flows.conftest import Command, write_session
from tests.flows.disturb import Forker, Rows, leftovers, lost_rows, query, tables

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OPTIONS = ("--points", "messages:20", "--strategies", "none,empty,head_tail")


@dataclass
class Undisturbed:
    """A run that nobody disturbed."""

    forker: Forker
    logs: Path
    store: Path
    reference: dict[str, Rows]

    def copy(self, folder: Path) -> Path:
        """Its store, for a test of its own."""
        return Path(shutil.copytree(self.store, folder / "store", copy_function=shutil.copy2))

    def arguments(self, store: Path) -> tuple[object, ...]:
        """The run's."""
        return ("run", self.logs, "--store", store, *OPTIONS)


@pytest.fixture(scope="module")
def undisturbed(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    folder = tmp_path_factory.mktemp("undisturbed")
    for number, (word, turns) in enumerate({"orchard": 30, "harbour": 25, "lantern": 20}.items()):
        write_session(folder / "logs" / f"{word}.jsonl", f"session-{number}", turns, word)
    made = Undisturbed(forker, folder / "logs", folder / "store", {})
    first = forker.run(*made.arguments(made.store))
    assert first.code == 0, first.err
    made.reference = tables(made.store)
    yield made
    forker.end_all()


@pytest.fixture
def store(undisturbed: Undisturbed, tmp_path: Path) -> Path:
    """A copy of the undisturbed store."""
    return undisturbed.copy(tmp_path)


def first(folder: Path) -> Path:
    return sorted(folder.iterdir())[0]


def content(store: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in store.rglob("*") if path.is_file() and path.name != ".lock"}


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def rot(path: Path) -> None:
    """Damage the middle and leave both ends."""
    content = bytearray(path.read_bytes())
    third = len(content) // 3
    content[8:third] = bytes(255 for _ in range(third - 8))
    path.write_bytes(content)


# Files that were damaged


def test_each_damaged_file_is_named_with_what_to_do_and_nothing_else_is_lost(
    undisturbed: Undisturbed, store: Path, working_command: Command
) -> None:
    damage: list[tuple[Path, Callable[[Path], object], str]] = [
        (first(store / "transcripts"), cut, "is not a whole Parquet file"),
        (first(store / "answers"), lambda path: path.write_bytes(b""), "is not a whole Parquet file"),
        (first(store / "compactions"), lambda path: path.write_text("hello\n" * 100), "is not a whole Parquet file"),
        (first(store / "scores"), rot, "is damaged"),
        (first(store / "runs"), cut, "is damaged"),
        (first(store / "methods"), cut, "is damaged"),
        (first(store / "judges"), lambda path: path.write_text("[]"), "is damaged"),
        (store / "transcripts" / "alien.parquet", _alien, "is not a part of this store"),
    ]
    for path, harm, words in damage:
        harm(path)
        before = content(store)
        said = working_command(*undisturbed.arguments(store))
        assert said.exit_code == 1, said.output
        line = said.stderr.splitlines()[-1]
        assert line.startswith(f"error: {path} {words}"), line
        assert "move it away" in line
        if harm is rot:  # met by the stage that reads it, after others have added to the store
            kept = {name: held for name, held in before.items() if name.endswith(".parquet")}
            assert kept.items() <= content(store).items()
        else:
            assert said.stderr.splitlines() == [line]
            assert content(store) == before
        assert working_command("leaderboard", "--store", store).exit_code == 0
        path.rename(store.parent / f"damaged-{path.name}")
    healed = undisturbed.forker.run(*undisturbed.arguments(store))
    assert healed.code == 0, healed.err
    assert lost_rows(store, undisturbed.reference) == {}


def _alien(path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2]}), path)


@pytest.mark.parametrize("harm", [cut, rot, lambda path: os.truncate(path, 0)])
def test_a_damaged_database_is_made_anew(
    harm: Callable[[Path], object], undisturbed: Undisturbed, store: Path, working_command: Command
) -> None:
    harm(store / "scores.duckdb")
    said = working_command("leaderboard", "--store", store)
    if said.exit_code:
        assert ("makes it anew" in said.stderr) or ("it is made anew" in said.stderr)
    again = working_command(*undisturbed.arguments(store))
    assert again.exit_code == 0, again.output
    assert lost_rows(store, undisturbed.reference) == {}


def test_what_does_not_matter_is_passed_over_and_what_cannot_be_guessed_is_said(
    undisturbed: Undisturbed, store: Path, working_command: Command
) -> None:
    for name in ("loaded.json", ".lock", "scores.duckdb.wal", "answers/notes.txt", "compactions/x.parquet.bak"):
        (store / name).write_bytes(b"\xff{junk")
    _alien(store / "answers" / "alien.parquet")
    spilled = store / ".scores.duckdb.0123.tmp.tmp"
    spilled.mkdir()
    (spilled / "block").touch()
    (store / ".scores.duckdb.0123.tmp.wal").touch()
    again = working_command(*undisturbed.arguments(store))
    assert again.exit_code == 0, again.output
    assert lost_rows(store, undisturbed.reference) == {}
    assert leftovers(store) == []
    (store / "store.json").write_text("{")
    for command in (undisturbed.arguments(store), ("leaderboard", "--store", store)):
        refused = working_command(*command)
        assert refused.exit_code == 1
        assert 'put it back, in this version {"format"' in refused.stderr


# Merging small shards


def test_killed_while_shards_are_merged_and_doubles_go_nothing_is_lost(undisturbed: Undisturbed, store: Path) -> None:
    """Each answer's scores stand in many shards, so that all but one of them are in the way, then few remain."""
    shards = Store.open(str(store)).scores
    whole = shards.read()
    units = sorted(set(whole["answer_id"].to_pylist()))
    rows = {unit: whole.filter(pa.array([id == unit for id in whole["answer_id"].to_pylist()])) for unit in units}
    for path in shards.files():
        path.unlink()
    for some in islice(combinations(units, 2), 5 * MANY_SMALL):
        shards.write(pa.concat_tables([rows[unit] for unit in some]))
    for unit in units:
        shards.write(rows[unit])

    def unsorted() -> int:
        return sum(not file_bits(path.name) for path in shards.files())

    n_files = unsorted()
    assert n_files >= 5 * MANY_SMALL
    for left in (n_files - 3, n_files // 2, 5):
        run = undisturbed.forker.start(*undisturbed.arguments(store))
        run.until(lambda left=left: unsorted() <= left or list(store.glob(".scores.duckdb.*")), "the merging")
        run.kill()
    last = undisturbed.forker.run(*undisturbed.arguments(store))
    assert last.code == 0, last.err
    assert lost_rows(store, undisturbed.reference) == {}
    assert sorted(map(repr, shards.read().to_pylist())) == sorted(map(repr, whole.to_pylist()))
    assert leftovers(store) == []


def test_a_unit_that_a_killed_run_left_in_two_files_reaches_the_database_once(
    undisturbed: Undisturbed, store: Path, working_command: Command
) -> None:
    """Judged again after a failure, and killed before the failed row went: nothing is left to do, but to load."""
    shards = Store.open(str(store)).scores
    unit = shards.read()["answer_id"][0].as_py()
    rows = [row for row in shards.read().to_pylist() if row["answer_id"] == unit]
    failed = [{**row, "status": "failed", "score": None, "unscored_reason": "the judge was away"} for row in rows]
    shards.write(pa.Table.from_pylist(failed, schema=shards.schema))
    again = working_command(*undisturbed.arguments(store))
    assert again.exit_code == 0, again.output
    assert lost_rows(store, undisturbed.reference) == {}


# Others at the same store


def test_while_one_run_works_others_say_so_and_end_and_readers_read(
    undisturbed: Undisturbed, store: Path, working_command: Command
) -> None:
    for path in (store / "scores").iterdir():
        path.unlink()
    run = undisturbed.forker.start(*undisturbed.arguments(store))
    run.says("score: ")
    run.signal(signal.SIGSTOP)
    for command in (undisturbed.arguments(store), ("ingest", undisturbed.logs, "--store", store)):
        second = working_command(*command)
        assert second.exit_code == 1
        assert f"is in use by `compaction-eval run` (process {run.pid}); wait until it has ended" in second.stderr
    for command in (("leaderboard",), ("sql", "SELECT count(*) FROM scores"), ("compare", "none", "empty"), ("query",)):
        assert working_command(*command, "--store", store).exit_code == 0
    run.signal(signal.SIGCONT)
    assert run.wait() == 0, run.err
    assert lost_rows(store, undisturbed.reference) == {}


def test_of_two_runs_started_at_the_same_time_on_a_new_store_one_makes_everything(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    store = tmp_path / "new"
    both = [undisturbed.forker.start(*undisturbed.arguments(store)) for _ in range(2)]
    both.append(undisturbed.forker.start("ingest", undisturbed.logs, "--store", store))
    codes = [one.wait() for one in both]
    refused = [one.err for one, code in zip(both, codes, strict=True) if code]
    assert sorted(codes) == [0, 1, 1]
    assert all("is in use by" in err for err in refused), refused
    if codes[2] == 0:  # the ingestion was first
        assert undisturbed.forker.run(*undisturbed.arguments(store)).code == 0
    assert lost_rows(store, undisturbed.reference) == {}


def test_a_store_that_can_only_be_read_is_read_and_a_run_says_so(undisturbed: Undisturbed, store: Path) -> None:
    forker = undisturbed.forker
    if not forker.has_mounts:
        pytest.skip("nothing can be mounted here")
    forker.do("mount", "--bind", store, store)
    forker.do("mount", "-o", "remount,ro,bind", store)
    for writing in (undisturbed.arguments(store), ("ingest", undisturbed.logs, "--store", store)):
        refused = forker.run(*writing)
        assert (refused.code, refused.err) == (1, f"error: store {store}: cannot be written: Read-only file system\n")
    for reading in (
        ("leaderboard",),
        ("sql", "SELECT count(*) FROM scores"),
        ("query", "weakest_dimension"),
        ("compare", "none", "empty"),
        ("plan", undisturbed.logs, *OPTIONS),
    ):
        done = forker.run(*reading, "--store", store)
        assert done.code == 0, (reading, done.err)
    forker.do("umount", store)


# Clocks


def test_files_from_the_future_and_runs_out_of_order_change_nothing(undisturbed: Undisturbed, store: Path) -> None:
    """A clock that was a year ahead left its times in files and records; now it is right again."""
    ahead = 1_000_000_000 * (4_000_000_000 + 1)
    for path in store.rglob("*"):
        if path.is_file():
            os.utime(path, ns=(ahead, ahead))
    for kind, field in (("methods", "last_run_at"), ("runs", "started_at"), ("judges", "created_at")):
        for path in (store / kind).iterdir():
            row = json.loads(path.read_text())
            path.write_text(json.dumps({**row, field: "2096-01-01T00:00:00.000+00:00"}))
    method = first(store / "methods")
    old = {**json.loads(method.read_text()), "method_id": "of-older-code", "code": "older"}
    (store / "methods" / "of-older-code.json").write_text(json.dumps(old))
    for path in (*(store / "measures").iterdir(), *(store / "scores").iterdir()):
        path.unlink()
    again = undisturbed.forker.run(*undisturbed.arguments(store))
    assert again.code == 0, again.err
    assert lost_rows(store, undisturbed.reference, without=("runs", "run_stages", "methods")) == {}
    assert query(store, "SELECT count(*) FROM methods WHERE method_id = 'of-older-code'") == [(0,)]
    for path in undisturbed.logs.iterdir():
        os.utime(path, ns=(ahead, ahead))
    assert undisturbed.forker.run(*undisturbed.arguments(store)).code == 0
    assert lost_rows(store, undisturbed.reference, without=("runs", "run_stages", "methods")) == {}
