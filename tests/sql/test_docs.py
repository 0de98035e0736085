"""docs/sql.md and the page of the schema say what is there, and the queries of docs/sql.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flows.cli.pages.schema_page import readers, schema_page
from flows.reporting.query_result import render_query
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


@pytest.mark.parametrize("folder", ["schema", "marts", "boards"])
def test_every_table_and_mart_is_in_the_page(folder: str) -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {path.stem for path in (ROOT / "sql" / folder).glob("*.sql")} - named == set()


def test_the_schema_page_has_every_relation_with_its_columns() -> None:
    page = schema_page()
    for layer in ("schema", "staging", "intermediate", "aggregates", "marts", "boards"):
        for path in (ROOT / "sql" / layer).glob("*.sql"):
            assert re.search(rf"^### `{path.stem}`\n\n.+\. Read by .+\n\n\| column \|", page, re.MULTILINE), path


def test_the_schema_page_names_what_reads_a_table() -> None:
    found = readers()
    assert "`stg_scores`" in found["scores"]
    assert "the query `worst_answers`" in found["answers"]
    assert found["runs"] == ["2 checks"]
