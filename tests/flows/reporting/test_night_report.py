"""What a night tells a chat beside its sentence."""

from __future__ import annotations

import duckdb
import pytest

from flows.reporting.night_report import describe_findings

BEST = {"r1": ("ours", 4.0), "r2": ("ours", 4.2), "r3": ("theirs", 4.5)}
CALLS = [("r1", 0.25, "done"), ("r1", 0.5, "done"), ("r2", 1.0, "done"), ("r2", None, "timeout"), ("r3", None, "done")]


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    """Three nights with the calls of their runs."""
    found = duckdb.connect()
    found.execute(
        "CREATE TABLE night_figures (night integer, run_id varchar, judge_id varchar, judge varchar, method varchar, "
        "dimension varchar, mean double, rank bigint)"
    )
    found.execute("CREATE TABLE calls (run_id varchar, cost_usd double, status varchar, cached boolean)")
    for night, (run_id, (method, mean)) in enumerate(BEST.items(), start=1):
        rows = [(method, "overall", mean, 1), ("other", "overall", 1.0, 2), (method, "accuracy", mean, None)]
        for row in rows:
            found.execute("INSERT INTO night_figures VALUES (?, ?, 'j', 'gpt', ?, ?, ?, ?)", [night, run_id, *row])
    for call in CALLS:
        found.execute("INSERT INTO calls VALUES (?, ?, ?, false)", [*call])
    found.execute("INSERT INTO calls VALUES ('r1', 9.0, 'done', true)")
    return found


@pytest.mark.parametrize(
    ("run_id", "lines"),
    [
        ("r1", ("best by gpt: ours (4.00)", "2 model calls, 0 failed: $0.75 spent")),
        ("r2", ("2 model calls, 1 failed: $1.00 and what has no known price spent",)),
        ("r3", ("best by gpt: theirs (4.50), before ours", "1 model call, 0 failed: an unknown amount spent")),
        ("idle", ()),
    ],
)
def test_a_new_best_and_the_money_are_told(
    connection: duckdb.DuckDBPyConnection, run_id: str, lines: tuple[str, ...]
) -> None:
    assert describe_findings(connection, run_id) == lines
