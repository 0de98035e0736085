"""The views to read row by row: what contexts lost, and answers side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.database.scores_db import connect
from flows.database.sql_model import sql_text
from tests.sql.test_measures import measured, need, state
from tests.sql.tiny import Rows, compaction, graded, make, method, point, probe, session


def statement(kind: str, text: str, *evidence: int, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "text": text, "evidence": list(evidence), "exact": [], "needed_at": None, **more}


def lossy() -> Rows:
    """One session with points before messages 30 and 60, at which cut loses; what is needed is said in three ways."""
    first = [
        statement("error", "KeyError: rate", 3, 7, exact=["KeyError: rate"]),
        statement("file_modified", "src/a.py", 5),
        statement("value", "port 8080", 9, needed_at=40),
        statement("constraint", "No new dependencies", 0),
    ]
    return {
        "sessions": [session("s")],
        "points": [point("p1", "s", 1000, cut_seq=30), point("p2", "s", 2000, cycle=2, cut_seq=60)],
        "methods": [method("C", "cut"), method("K", "keep")],
        "compactions": [compaction(m, p, 1000, 100) for m in "CK" for p in ("p1", "p2")],
        "probes": [probe("q", "p1", statements=json.dumps(first))],
        "needs": [
            need("p1", 1, "identifier", 3, 9) | {"value": "KeyError"},
            need("p1", 2, "path", 5, 9) | {"value": "src/a.py"},
            need("p1", 3, "quote", 5, 9) | {"value": "src/a.py"},
        ],
        "measures": [measured(f"{m}/{p}", "ipq", [], {}) for m in "CK" for p in ("p1", "p2")],
        "statement_states": [
            state("C/p1", "q", 1, "lost"),
            state("C/p1", "q", 2, "stale"),
            state("C/p1", "q", 3, "contradicted"),
            state("C/p1", "q", 4, "lost"),
            state("C/p2", "q", 3, "lost"),
            state("C/p2", "q", 4, "partly"),
            state("K/p1", "q", 1, "readable"),
            {**state("K/p1", "q", 2, "unknown"), "support": None},
        ],
    }


def rows(path: Path, sql: str, *first: str) -> list[tuple[Any, ...]]:
    with connect(path) as connection:
        for statement in first:
            connection.execute(statement)
        return connection.execute(sql).fetchall()


def test_what_is_lost_says_where_it_stood_and_what_needed_it_later(tmp_path: Path) -> None:
    """A name in exact words (31), a file by its path (32), and what the statement says itself (40).

    At the second point message 40 is no later one.
    """
    path = make(lossy(), tmp_path)
    assert rows(
        path, "SELECT cycle, method, kind, text, state, stated_at, needed_at, probe_type FROM lost_statements"
    ) == [
        (1, "cut", "error", "KeyError: rate", "lost", 7, 31, "recall"),
        (1, "cut", "file_modified", "src/a.py", "stale", 5, 32, "recall"),
        (1, "cut", "value", "port 8080", "contradicted", 9, 40, "recall"),
        (1, "cut", "constraint", "No new dependencies", "lost", 0, None, "recall"),
        (2, "cut", "value", "port 8080", "lost", 9, None, "recall"),
    ]


@pytest.mark.parametrize(("n_messages", "is_checked"), [(90, True), (30, False)])
def test_the_page_is_told_the_same_and_what_was_looked_for(tmp_path: Path, n_messages: int, is_checked: bool) -> None:
    """A constraint without exact words cannot be looked for, and nothing in a session that ends at the point."""
    found = lossy()
    found["sessions"][0]["n_messages"] = n_messages
    query = sql_text("queries/report", "detail_statements")
    told = rows(make(found, tmp_path), query, "SET VARIABLE points = ['p1']")
    assert [row[2:] for row in told] == [
        ("KeyError: rate", 7, 31, is_checked),
        ("src/a.py", 5, 32, is_checked),
        ("port 8080", 9, 40, is_checked),
        ("No new dependencies", 0, None, False),
    ]


@pytest.fixture
def graded_store(tmp_path: Path) -> Path:
    """Method a has the most answers; b and none have another score; a question of b's has no answer of the others."""
    found = graded(
        {
            "a": {("s1", "x"): 4, ("s2", "y"): 3},
            "b": {("s1", "x"): 1, ("s2", "y"): 5},
            "c": {("s2", "y"): 2},
            "none": {("s1", "x"): 5},
        }
    )
    again = next(row for row in found["answers"] if row["answer_id"] == "b/s1-x")
    found["answers"].append({**again, "answer_id": "again", "replicate": 2, "text": "Later."})
    found["answers"].append({**again, "answer_id": "none/s2-y", "compaction_id": "none/p-s2", "probe_id": "s2-y"})
    found["answers"][-1] |= {"status": "failed", "text": None, "error": "refused"}
    return make(found, tmp_path)


SIDES = (
    "SELECT probe_id, answer, score, baseline, baseline_answer, baseline_score, difference FROM answers_side_by_side"
)


def test_answers_stand_beside_those_of_the_baseline(graded_store: Path) -> None:
    """The baseline is the one with the most answers, and of two with as many the first by name."""
    said = "It was 401."
    assert rows(graded_store, f"{SIDES} WHERE method = 'b'") == [
        ("s1-x", said, 1, "a", said, 4, -3),
        ("s2-y", said, 5, "a", said, 3, 2),
    ]
    assert rows(graded_store, f"{SIDES} WHERE method = 'none'") == [
        ("s1-x", said, 5, "a", said, 4, 1),
        ("s2-y", None, None, "a", said, 3, None),
    ]
    assert [row[2:4] for row in rows(graded_store, f"{SIDES} WHERE method = 'a'")] == [(4, "a"), (3, "a")]


def test_another_baseline_can_be_named(graded_store: Path) -> None:
    """Where it gave no answer, there is nothing beside."""
    found = rows(graded_store, f"{SIDES} WHERE method = 'b'", "SET VARIABLE baseline = 'c'")
    assert [row[3:] for row in found] == [(None, None, None, None), ("c", "It was 401.", 2, 3)]


def test_an_answer_to_a_constraints_question_has_its_score_of_constraints(tmp_path: Path) -> None:
    found = graded({"a": {("s", "x"): 4}})
    found["probes"] = [{**row, "probe_type": "constraint"} for row in found["probes"]]
    found["scores"] = [{**row, "dimension": "constraints"} for row in found["scores"]]
    path = make(found, tmp_path)
    assert rows(path, "SELECT score FROM answers_side_by_side") == [(4,)]
