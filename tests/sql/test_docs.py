"""docs/sql.md and docs/schema.md say what is there, and their queries run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flows.cli.pages.schema_page import page, readers
from flows.database.ready_queries import ready_queries
from flows.reporting.leaderboard import render_query
from tests.sql.tiny import make, tiny

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sql.md").read_text("utf-8")
QUERIES = re.findall(r"^```sql\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tiny(), tmp_path_factory.mktemp("tiny"), is_checked=True)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: " ".join(query.split()[:6]))
def test_a_documented_query_finds_rows(store: Path, query: str) -> None:
    assert not render_query(store, query).endswith("\n0 rows\n")


@pytest.mark.parametrize("folder", ["schema", "marts"])
def test_every_table_and_mart_is_in_the_page(folder: str) -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {path.stem for path in (ROOT / "sql" / folder).glob("*.sql")} - named == set()


def test_every_ready_query_is_in_the_page_with_its_question() -> None:
    for query in ready_queries().values():
        link = f"[`{query.name}`](queries.md#{query.name})"
        assert f"| {query.number} | {link} | {query.question} |" in PAGE


def test_the_schema_page_is_made_from_the_comments_as_they_are() -> None:
    shown = (ROOT / "docs" / "schema.md").read_text("utf-8")
    assert page() == shown, "make it again: python -m flows.cli.pages.schema_page docs/schema.md"


def test_the_schema_page_names_what_reads_a_table() -> None:
    found = readers()
    assert "`stg_scores`" in found["scores"]
    assert "the query `worst_answers`" in found["answers"]
    assert found["runs"] == ["`throughput`", "2 checks"]
