"""People grade how far contexts tell single statements: blind, into a file that calibrate holds against the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.store.store import Store
from tests.flows.conftest import Command
from tests.flows.reporting.html.report_browser import Browser
from tests.flows.viewing.conftest import visited
from tests.flows.viewing.live_view import ask, grade, lines_of, needs_browser, rows, viewed

pytestmark = pytest.mark.slow

STATES = """
SELECT concat_ws(':', compaction_id, probe_id, position) AS id, method, state, support, is_control
FROM statement_states JOIN compactions USING (compaction_id) JOIN stg_methods USING (method_id)
"""


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("labels") / "ada.csv"


@pytest.fixture(scope="module")
def address_of_statements(store: Store, labels: Path) -> Iterator[str]:
    with viewed(store, "--statements", str(labels)) as found:
        yield found


def graded_as_the_engine(address: str, number: int, states: dict[str, dict[str, Any]]) -> list[str]:
    ids = []
    for _ in range(number):
        item = ask(address, "grade")
        support = round(4 * (states[item["id"]]["support"] or 0)) / 4
        assert grade(address, {"id": item["id"], "scores": {"support": support}})[0] == 200
        ids.append(item["id"])
    return ids


def test_statements_are_graded_blind_and_calibrate_holds_them_against_the_engine(
    address_of_statements: str, labels: Path, store: Store, command: Command, tmp_path: Path
) -> None:
    states = {row["id"]: row for row in rows(store, STATES)}
    asked = {row["method"] for row in states.values() if row["state"] != "unknown" and not row["is_control"]}
    item = ask(address_of_statements, "grade")
    assert item["kind"] == "statement"
    assert item["scale"] == [0, 0.25, 0.5, 0.75, 1]
    assert item["text"]
    assert item["truth"]
    named = [method for method in asked if "_" in method]
    assert [method for method in named if method in item["text"] + item["question"]] == []
    ids = graded_as_the_engine(address_of_statements, 2 * len(asked), states)
    assert len(set(ids)) == len(ids)
    assert {states[id]["method"] for id in ids[: len(asked)]} == asked, "a round has one of each method"
    assert {row["statement_id"] for row in lines_of(labels)} == set(ids)
    done = command("calibrate", "--statements", labels, "--store", store.root, "--format", "csv")
    assert done.exit_code == 0, done.output
    [header, total, *_] = done.stdout.splitlines()
    found = dict(zip(header.split(","), total.split(","), strict=True))
    assert int(found["n"]) == len(ids)
    assert abs(float(found["difference"])) <= 0.125, "graded as the engine says, to the nearest quarter"


def test_wrong_grades_of_statements_are_a_sentence(address_of_statements: str, labels: Path) -> None:
    id, before = ask(address_of_statements, "grade")["id"], labels.read_bytes()
    for given, said in (
        ({"id": id, "scores": {"support": 2}}, "expected grades from 0 to 1"),
        ({"id": id, "scores": {"accuracy": 1}}, "expected grades of some of: support"),
        ({"id": "a:b:1", "scores": {"support": 1}}, "id of one statement"),
        ({"id": "a:b", "scores": {"support": 1}}, "id of one statement"),
        ({"id": id.rsplit(":", 1)[0] + ":99", "scores": {"support": 1}}, "id of one statement"),
    ):
        status, text = grade(address_of_statements, given)
        assert (status, said in text) == (400, True), (given, text)
    assert labels.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("kind,id,support\n", "line 1: expected the columns kind, statement_id, support"),
        ("kind,statement_id,support\nerror,a:b:1\n", "line 2: expected a kind, an id and a grade"),
        ("kind,statement_id,support\nerror,a:b:1,5\n", "line 2: expected a grade from 0 to 1, found 5"),
        ("kind,statement_id,support\nerror,a:b:1,nan\n", "line 2: expected a grade from 0 to 1, found nan"),
        ("kind,statement_id,support\nerror,a:b:1,1\n", "line 2: this store has no such statement"),
        ("kind,statement_id,support\n", "no row of a true statement"),
    ],
)
def test_a_wrong_file_of_statements_is_a_sentence(
    content: str, said: str, store: Store, tmp_path: Path, command: Command
) -> None:
    path = tmp_path / "own.csv"
    path.write_text(content)
    done = command("calibrate", "--statements", path, "--store", store.root)
    assert done.exit_code == 2
    assert said in done.stderr


def test_answers_and_statements_are_not_asked_at_once(store: Store, tmp_path: Path, command: Command) -> None:
    done = command("view", store.root, "--labels", tmp_path / "a.csv", "--statements", tmp_path / "b.csv")
    assert done.exit_code == 2
    assert "either --labels or --statements" in done.stderr


@needs_browser[0]
@needs_browser[1]
def test_a_person_grades_statements_with_the_keyboard(
    chromium: Browser, address_of_statements: str, labels: Path
) -> None:
    with visited(chromium, address_of_statements, "#grade", "document.querySelector('fieldset.grade')") as page:
        first = page.run("return decodeURIComponent(location.hash.split('/')[1])")
        for key in ("7", "3", "n"):
            page.run("dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0], bubbles: true }))", key)
        page.until(f"location.hash.startsWith('#grade/') && !decodeURIComponent(location.hash).endsWith('{first}')")
        assert lines_of(labels)[-1] | {"kind": ""} == {"kind": "", "statement_id": first, "support": "0.75"}
        assert page.logged() == []
