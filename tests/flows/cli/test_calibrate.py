"""A sheet that is blind, labels that are taken up whole or not at all, and what they say of the judge."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from flows.database.scores_db import connect
from flows.store.store import Store
from judge import load_rubric
from tests.flows.conftest import Command, Kept, write_session

pytestmark = pytest.mark.slow

METHODS = ("none", "empty", "freeform_summary", "head_tail")

Filled = Callable[[list[dict[str, str]]], None]


@pytest.fixture(scope="module")
def finished(prefect_server: str, kept_worker: Kept, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with results of four methods over three sessions."""
    from flows.cli.app import app

    folder = tmp_path_factory.mktemp("calibrate")
    for number, (word, turns) in enumerate({"orchard": 40, "harbour": 32, "lantern": 32}.items()):
        write_session(folder / "logs" / f"{word}.jsonl", f"session-{number}", turns, word)
    arguments = ["run", str(folder / "logs"), "--store", str(folder / "store"), "--points", "messages:15", "--quiet"]
    with kept_worker.at_work():
        done = CliRunner().invoke(app, [*arguments, "--strategies", ",".join(METHODS)])
    assert done.exit_code == 0, done.output
    return folder / "store"


@pytest.fixture(scope="module")
def drawn(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sheet that was drawn, beside its store."""
    from flows.cli.app import app

    folder = tmp_path_factory.mktemp("drawn")
    store = str(shutil.copytree(finished, folder / "store"))
    sheet = str(folder / "labels.csv")
    done = CliRunner().invoke(app, ["calibrate", "--sample", "48", "--output", sheet, "--store", store])
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def store(request: pytest.FixtureRequest, finished: Path, tmp_path: Path) -> Path:
    """A copy for each test; where it has a sheet, of the store that the sheet was drawn from."""
    made = request.getfixturevalue("drawn") / "store" if "sheet" in request.fixturenames else finished
    return Path(shutil.copytree(made, tmp_path / "store"))


def query(store: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(store / "scores.duckdb") as connection:
        return connection.execute(sql).fetchall()


def rows_of(sheet: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(sheet.read_text(encoding="utf-8-sig"), newline="")))


def fill(sheet: Path, filled: Path, score: Callable[[dict[str, str], str], object]) -> Path:
    """A sheet with a score wherever one is asked for; ``score`` may give a blank."""
    rows = rows_of(sheet)
    for row in rows:
        for name in load_rubric().criteria:
            if row.get(name) == "":
                row[name] = str(score(row, name))
    with filled.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return filled


@pytest.fixture
def sheet(drawn: Path, store: Path, tmp_path: Path) -> Path:
    for file in drawn.glob("labels.*"):
        shutil.copy2(file, tmp_path)
    return tmp_path / "labels.csv"


def test_a_sheet_is_blind_and_asks_what_the_rubric_asks(sheet: Path, store: Path) -> None:
    rows, rubric = rows_of(sheet), load_rubric()
    assert len(rows) == 48 == len({row["answer_id"] for row in rows})
    text = sheet.read_text(encoding="utf-8-sig")
    hidden = [value for row in query(store, "SELECT method, method_id, strategy FROM methods") for value in row]
    hidden += [id for (id,) in query(store, "SELECT DISTINCT compaction_id FROM answers")]
    assert [value for value in hidden if value not in ("none", "empty") and value in text] == []
    assert not {"method", "score", "score_band", "judge"} & set(rows[0])
    criteria = [name for name in rows[0] if name in rubric.criteria]
    types = [probe_type for (probe_type,) in query(store, "SELECT DISTINCT probe_type FROM probes")]
    asked = {name for probe_type in types for name in rubric.asked[probe_type]}
    assert criteria == [name for name in rubric.criteria if name in asked]  # in the rubric's order
    for row in rows:
        blank = {name for name in criteria if row[name] == ""}
        assert blank == set(rubric.asked[row["probe_type"]])
        assert {row[name] for name in set(criteria) - blank} <= {"n/a"}
    method = dict(query(store, "SELECT answer_id, method FROM stg_answers JOIN methods USING (method_id)"))
    order = [method[row["answer_id"]] for row in rows]
    assert Counter(order) == dict.fromkeys(METHODS, 12)
    assert sum(a == b for a, b in pairwise(order)) < 30  # sorted by method it would be 44
    guide = sheet.with_suffix(".rubric.md").read_text()
    assert all(rubric.criteria[name].anchors[3] in guide for name in criteria)


def test_a_draw_can_be_repeated_notes_its_chances_and_overwrites_no_sheet(
    sheet: Path, store: Path, tmp_path: Path, command: Command
) -> None:
    refused = command("calibrate", "--sample", 48, "--output", sheet, "--store", store)
    assert refused.exit_code == 2
    assert "may hold labels" in refused.stderr
    again = tmp_path / "again.csv"
    assert command("calibrate", "--sample", 48, "--output", again, "--store", store).exit_code == 0
    assert again.read_bytes() == sheet.read_bytes()
    other = tmp_path / "other.csv"
    assert command("calibrate", "--sample", 48, "--seed", "2", "--output", other, "--store", store).exit_code == 0
    assert {row["answer_id"] for row in rows_of(other)} != {row["answer_id"] for row in rows_of(sheet)}
    found = query(
        store,
        "SELECT sample_id, count(*), count(DISTINCT score_band) > 1, min(probability) > 0, max(probability) <= 1 "
        "FROM label_samples GROUP BY sample_id ORDER BY 1",
    )
    assert [row[1:] for row in found] == [(48, True, True, True)] * 2
    assert {row["sample"] for row in rows_of(sheet)} < {row[0] for row in found}


def test_contexts_are_written_beside_the_sheet_as_a_judge_sees_them(
    store: Path, tmp_path: Path, command: Command
) -> None:
    path = tmp_path / "labels.csv"
    done = command("calibrate", "--sample", 8, "--with-context", "--output", path, "--store", store)
    assert done.exit_code == 0, done.output
    for row in rows_of(path):
        assert row["context_file"] == f"labels.contexts/{row['answer_id']}.txt"
        assert "freeform_summary" not in (tmp_path / row["context_file"]).read_text()
    assert len(list((tmp_path / "labels.contexts").iterdir())) == 8


def test_labels_are_taken_up_reported_and_taken_back_by_a_later_import(
    sheet: Path, store: Path, tmp_path: Path, command: Command
) -> None:
    generous = fill(sheet, tmp_path / "ada.csv", lambda row, name: 4)
    first = command("calibrate", generous, "--rater", "ada", "--store", store, "--json")
    assert first.exit_code == 0, first.output
    assert "48 answers newly labelled, 0 replaced, 0 known" in first.stderr
    found = json.loads(first.stdout)
    assert found["labels"]["n_answers"] == 48
    overall = [row for row in found["leaderboard"] if row["dimension"] == "overall"]
    assert {row["method"] for row in overall} == set(METHODS)
    for row in overall:  # one score for everything: the judge's scores say nothing of people's, and the labels count
        assert row["corrected"] == pytest.approx(4)
        assert (row["rectifier_of"], row["n_labelled"]) == ("method", 12)
        assert row["weights"] == "inverse chance of being drawn"
    kinds = {(row["level"], row["item"]): row for row in found["agreement"]}
    assert kinds["overall", "overall"]["n_answers"] == 48

    files = sorted((store / "labels").iterdir())
    again = command("calibrate", generous, "--rater", "ada", "--store", store)
    assert "0 answers newly labelled, 0 replaced, 48 known" in again.stderr
    assert sorted((store / "labels").iterdir()) == files
    assert "pooled" in again.stdout

    half = fill(sheet, tmp_path / "half.csv", lambda row, name: 1 if row["probe_type"] == "artifact" else "")
    n_artifact = sum(row["probe_type"] == "artifact" for row in rows_of(sheet))
    corrected = command("calibrate", half, "--rater", "ada", "--store", store)
    assert f"0 answers newly labelled, {n_artifact} replaced, 0 known" in corrected.stderr
    assert query(
        store,
        "SELECT DISTINCT probe_type = 'artifact', score FROM human_scores "
        "JOIN stg_answers USING (answer_id) ORDER BY ALL",
    ) == [(False, 4.0), (True, 1.0)]
    assert command("calibrate", half, "--rater", "bo", "--store", store).exit_code == 0
    assert query(store, "SELECT rater, count(DISTINCT answer_id) FROM human_scores GROUP BY 1 ORDER BY 1") == [
        ("ada", 48),
        ("bo", n_artifact),
    ]
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
    shown = command("calibrate", "--store", store, "--format", "markdown")
    assert "| ada" in shown.stdout.replace("| overall | ada", "| ada")
    table = list(csv.DictReader(io.StringIO(command("calibrate", "--store", store, "--format", "csv").stdout)))
    assert {row["dimension"] for row in table} >= {"overall", "accuracy"}


def test_while_a_row_is_wrong_nothing_is_stored(sheet: Path, store: Path, tmp_path: Path, command: Command) -> None:
    wrong = fill(sheet, tmp_path / "wrong.csv", lambda row, name: 7 if name == "instruction_format" else 3)
    refused = command("calibrate", wrong, "--rater", "ada", "--store", store)
    assert refused.exit_code == 2
    assert "line 2, column instruction_format: expected a number from 0 to 5, found '7'" in refused.stderr
    assert not (store / "labels").exists()
    empty = command("calibrate", sheet, "--store", store)
    assert (empty.exit_code, "no row has a score" in empty.stderr) == (2, True)
    both = command("calibrate", sheet, "--sample", 3, "--store", store)
    assert (both.exit_code, "not both" in both.stderr) == (2, True)


def test_without_labels_it_says_how_to_have_some(store: Path, command: Command) -> None:
    shown = command("calibrate", "--store", store)
    assert (shown.exit_code, "calibrate --sample 100" in shown.stdout) == (0, True)


def made_by_older_code(store: Store) -> None:
    """Have the store's answers be those of a responder whose code has changed since, and its sources be gone."""
    for file in store.answers.files():
        table = pq.read_table(file)
        older = pa.array(["embedded-responder@older"] * len(table))
        pq.write_table(table.set_column(table.column_names.index("responder"), "responder", older), file)
    noted = json.loads((store.root / "loaded.json").read_text())
    noted["makers"]["responder"] = "embedded-responder@older"
    noted["study"]["sources"] = [str(store.root / "gone.jsonl")]
    (store.root / "loaded.json").write_text(json.dumps(noted))


def test_results_of_older_code_stay_when_labels_or_another_judge_are_added(
    store: Path, tmp_path: Path, command: Command
) -> None:
    counted = "SELECT count(*), count(DISTINCT judge_id) FROM scores JOIN answers USING (answer_id)"
    [(before, _)] = query(store, counted)
    made_by_older_code(Store.open(str(store)))
    assert command("calibrate", "--sample", 8, "--output", tmp_path / "x.csv", "--store", store).exit_code == 0
    assert query(store, counted) == [(before, 1)]
    rubric = tmp_path / "other.toml"
    text = (files("judge") / "rubrics" / "software_engineering.toml").read_text()
    rubric.write_text(text.replace('version = "', 'version = "b', 1))
    done = command("backfill", "--judge", "embedded", "--rubric", rubric, "--store", store, "--quiet")
    assert done.exit_code == 0, done.output
    assert query(store, counted) == [(2 * before, 2)]
    assert query(store, "SELECT DISTINCT responder FROM answers") == [("embedded-responder@older",)]
