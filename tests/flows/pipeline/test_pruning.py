"""``store prune``: the trend begins later, and nothing else is other than before."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from flows.pipeline.load.nights import note_reported
from flows.pipeline.pruning import Keep, find_prunable, prune_nights
from flows.store import parquet_schemas
from flows.store.shards import Shards
from flows.store.store import Store
from flows.support.errors import UsageError
from tests.flows.conftest import Command, write_session
from tests.flows.disturb import query, tables

TODAY = datetime(2026, 11, 28, 2)
OPTIONS = ("--points", "messages:20", "--strategies", "none,empty", "--quiet")


def rows_of(night: int, method: str, sums: dict[str, float], *, is_open: bool = False) -> list[dict[str, object]]:
    """A night of one method, with the sums of the sessions that changed in it."""
    head = {"study_key": "s", "night": night, "judge_id": "j", "method": method, "dimension": "overall"}
    head |= {"taken_at": TODAY - timedelta(days=10 * (9 - night)), "run_id": f"r{night}", "engine": "e"}
    figure = head | {"judge": "embedded", "method_id": method, "mean": 3.0, "n_answers": 1, "n_sessions": 1}
    changed = [head | {"session_id": name, "score_sum": value, "n_answers": 1} for name, value in sums.items()]
    return [figure | {"is_open": is_open}, *changed]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Nine nights of a method, and two of one that is gone since."""
    found = Store.create(str(tmp_path / "store"), "o200k_base")
    for night in range(1, 10):
        rows = rows_of(night, "ours", {"a": float(night)} | ({"b": 1.0} if night == 2 else {}))
        rows += rows_of(night, "gone", {"a": float(night)}) if night in (1, 2) else []
        found.nights.write(pa.Table.from_pylist(rows, schema=parquet_schemas.NIGHTS))
    return found


def state(store: Store, night: int) -> dict[tuple[str, str], float]:
    """The sums that hold in a night."""
    rows = sorted(store.nights.read().to_pylist(), key=lambda row: row["night"])
    sums = [row for row in rows if row["session_id"] and row["night"] <= night]
    return {(row["method"], row["session_id"]): row["score_sum"] for row in sums}


def figures(store: Store, method: str = "ours") -> list[int]:
    rows = store.nights.read().to_pylist()
    return sorted(row["night"] for row in rows if row["session_id"] is None and row["method"] == method)


@pytest.mark.parametrize("text", ["", "30", "0-nights", "-3-days", "30-weeks", "1.5-days", "²-days", "99999999-nights"])
def test_what_cannot_be_kept_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="expected 30-nights or 90-days"):
        Keep.parse(text)


@pytest.mark.parametrize(("keep", "first"), [("3-nights", 7), ("1-nights", 8), ("1000000-days", 1), ("9-nights", 1)])
def test_so_many_nights_stay_and_the_sums_of_each_are_as_they_were(store: Store, keep: str, first: int) -> None:
    before = {night: state(store, night) for night in range(first, 10)}
    found = find_prunable(store, Keep.parse(keep))
    assert len(figures(store)) == 9
    done = prune_nights(store, Keep.parse(keep))
    assert (done.nights, done.rows, done.nights_left) == (found.nights, found.rows, found.nights_left)
    assert figures(store) == list(range(first, 10))
    assert {night: state(store, night) for night in range(first, 10)} == before
    assert figures(store, "gone") == ([1, 2] if first == 1 else [2])
    assert find_prunable(store, Keep.parse(keep)).rows == 0


def test_the_night_that_was_told_and_the_last_whole_one_stay(store: Store) -> None:
    note_reported(store, "s", {"j": {"ours": 5}})
    prune_nights(store, Keep.parse("2-nights"))
    assert figures(store) == [5, 6, 7, 8, 9]
    note_reported(store, "s", {"j": {"ours": 9}})
    for night in (7, 8):
        rows = pa.Table.from_pylist(rows_of(night, "ours", {}, is_open=True), schema=parquet_schemas.NIGHTS)
        store.nights.write(rows)
    prune_nights(store, Keep.parse("1-nights"))
    assert figures(store) == [6, 7, 8, 9]


def test_a_prune_that_was_killed_leaves_a_whole_store_and_the_next_one_finishes_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state(store, 9)
    write, written = Shards._write_to, []

    def killed(self: Shards, path: Path, table: pa.Table) -> None:
        if len(written) == 1:
            raise KeyboardInterrupt
        written.append(path)
        write(self, path, table)

    with monkeypatch.context() as patch:
        patch.setattr(Shards, "_write_to", killed)
        with pytest.raises(KeyboardInterrupt):
            prune_nights(store, Keep.parse("2-nights"))
    assert len(written) == 1
    assert state(store, 9) == before
    prune_nights(store, Keep.parse("2-nights"))
    assert figures(store) == [8, 9]
    assert state(store, 9) == before


@pytest.mark.slow
def test_the_command_says_it_does_it_and_changes_no_figure(
    logs: Path, tmp_path: Path, working_command: Command
) -> None:
    at = ("--store", tmp_path / "store")
    for turns in (12, 20, 28, 36):
        write_session(logs / "grows.jsonl", "session-9", turns, "lantern")
        done = working_command("run", logs, *at, *OPTIONS)
        assert done.exit_code == 0, done.output
    keep = ("store", "prune", "--keep", "2-nights", *at)
    n_nights = len(query(tmp_path / "store", "SELECT DISTINCT night FROM nights"))
    assert n_nights > 2
    of_time = ("runs", "run_stages", "night_figures", "night_sums", "nights", "store_info")
    before, moved = tables(tmp_path / "store", without=of_time), working_command("moved", *at, "--json").stdout

    said = working_command(*keep)
    assert (said.exit_code, "nothing was changed: add --yes" in said.stdout) == (0, True), said.output
    assert working_command(*keep, "--yes", "--dry-run").exit_code == 2
    with Store.open(str(tmp_path / "store")).locked("run"):
        refused = working_command(*keep, "--yes")
    assert (refused.exit_code, "is in use by `compaction-eval run`" in refused.stderr) == (1, True)
    done = working_command(*keep, "--yes", "--json")
    assert json.loads(done.stdout)["nights"] == n_nights - 2
    assert json.loads(done.stdout)["bytes"] > 0

    assert len(query(tmp_path / "store", "SELECT DISTINCT night FROM nights")) == 2
    assert tables(tmp_path / "store", without=of_time) == before
    assert working_command("moved", *at, "--json").stdout == moved
    assert query(tmp_path / "store", "SELECT * FROM checks WHERE violations > 0") == []
    again = working_command("run", logs, *at, *OPTIONS)
    assert again.exit_code == 0, again.output
    assert len(query(tmp_path / "store", "SELECT DISTINCT night FROM nights")) == 2
