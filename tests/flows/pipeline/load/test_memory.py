"""A load of a million scores gets through with half of the memory that it may take by default."""

from __future__ import annotations

import pytest

from flows.config.study import Study
from flows.database import sql_model
from flows.database.scores_db import MEMORY, MEMORY_VARIABLE, connect
from flows.pipeline.load.tables import rebuild_database
from flows.store.store import Store
from flows.support.errors import StoreError
from tests.benchmarks.test_load import make_store

HALF = "500MB"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return make_store(tmp_path_factory.mktemp("million"), 1_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 16])
def test_half_the_memory_is_enough_however_many_threads_there_are(
    made: Study, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB takes memory for each thread, and it has as many as the machine has cores."""
    assert MEMORY == "1GB"
    monkeypatch.setenv(MEMORY_VARIABLE, HALF)
    monkeypatch.setitem(sql_model.OFFLINE, "threads", threads)
    rebuild_database(Store.open(made.store), made)
    with connect(Store.open(made.store).database) as connection:
        assert connection.execute("SELECT count(*) > 850_000 FROM scores").fetchone() == (True,)
        assert connection.execute("SELECT count(*) FROM leaderboard").fetchone() == (54,)
        assert connection.execute("SELECT count(*) FROM checks").fetchone() == (len(sql_model.checks()),)


@pytest.mark.slow
def test_a_load_that_runs_out_of_memory_says_what_to_set(made: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, "40MB")
    with pytest.raises(StoreError, match=r"cannot be made: .* set COMPACTION_EVAL_MEMORY to more"):
        rebuild_database(Store.open(made.store), made)
