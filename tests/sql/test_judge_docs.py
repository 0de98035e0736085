"""docs/judge-versions.md: its queries run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flows.database.scores_db import connect
from tests.sql.tiny import make, tiny

PAGE = (Path(__file__).parents[2] / "docs" / "judge-versions.md").read_text("utf-8")
QUERIES = re.findall(r"^```sql\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tiny(), tmp_path_factory.mktemp("tiny"))


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.split("FROM ")[1].split()[0])
def test_a_documented_query_finds_rows(store: Path, query: str) -> None:
    with connect(store) as connection:
        assert connection.execute(query).fetchall()
