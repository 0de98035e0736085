"""The queries of docs/sql.md run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flows.leaderboard import render_query
from tests.sql.tiny import make, tiny

QUERIES = re.findall(
    r"^```sql\n(.*?)^```", (Path(__file__).parents[2] / "docs" / "sql.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tiny(), tmp_path_factory.mktemp("tiny"))


def test_there_are_eleven_queries_and_one_about_columns() -> None:
    assert len(QUERIES) == 12


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: " ".join(query.split()[:6]))
def test_a_documented_query_finds_rows(store: Path, query: str) -> None:
    assert not render_query(store, query).endswith("\n0 rows\n")
