"""People grade answers in the live view: blind, in the order of a lot, into a file that calibrate takes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.store.store import Store
from judge.blinding import blind_text
from tests.flows.conftest import Command
from tests.flows.reporting.html.report_store import HOSTILE
from tests.flows.viewing.live_view import SCORED, ask, grade, lines_of, rows, viewed

pytestmark = pytest.mark.slow


def scores_of(item: dict[str, Any], score: Any) -> dict[str, Any]:
    return {criterion: score for criterion, _, _ in item["criteria"]}


@pytest.fixture
def fresh(store: Store, tmp_path: Path) -> Iterator[str]:
    """The address of a view for which nobody has graded anything yet."""
    with viewed(store, "--labels", str(tmp_path / "fresh.csv")) as found:
        yield found


def test_every_round_has_one_answer_of_each_method_shown_as_to_a_judge(
    fresh: str, store: Store, tmp_path: Path
) -> None:
    known = {row["answer_id"]: row for row in rows(store, SCORED)}
    methods = {row["method"] for row in known.values()}
    seen = []
    for _ in range(2 * len(methods)):
        item = ask(fresh, "grade")
        assert item.keys() == {
            "file", "n_graded", "kind", "id", "is_graded", "type", "question", "truth", "text", "criteria", "scale"
        }  # fmt: skip
        row = known[item["id"]]
        assert item["text"].replace("\r\n", "\n") == blind_text(row["text"]) or row["session_id"] == HOSTILE
        assert all(anchors for _, _, anchors in item["criteria"])
        assert grade(fresh, {"id": item["id"], "scores": scores_of(item, 3)})[0] == 200
        seen.append(row["method"])
    assert {*seen[: len(methods)]} == {*seen[len(methods) :]} == methods
    assert len(lines_of(tmp_path / "fresh.csv")) == len(seen)


def test_another_seed_is_another_order(graded: str, store: Store, tmp_path: Path) -> None:
    def first(address: str) -> list[str]:
        found = [ask(address, "grade")["id"]]
        while len(found) < 8:
            found.append(ask(address, "grade", after=found[-1])["id"])
        return found

    assert first(graded) == first(graded)
    with viewed(store, "--labels", str(tmp_path / "c.csv"), "--seed", "7") as other:
        assert first(other) != first(graded)


def test_grades_are_there_after_a_new_start_and_calibrate_takes_them(
    store: Store, tmp_path: Path, command: Command
) -> None:
    labels = tmp_path / "own.csv"
    copy = Path(shutil.copytree(store.root, tmp_path / "copy"))
    drawn = command("calibrate", "--sample", "6", "--output", tmp_path / "sheet.csv", "--store", copy)
    assert drawn.exit_code == 0, drawn.output
    stamp = (copy / "scores.duckdb").stat()
    for n in (1, 11):
        with viewed(Store.open(str(copy)), "--labels", str(labels)) as address:
            for _ in range(n):
                item = ask(address, "grade")
                sent = grade(address, {"id": item["id"], "scores": scores_of(item, 4)})
                assert sent[0] == 200, sent
            assert ask(address, "grade", id=item["id"])["is_graded"]
    found = lines_of(labels)
    assert len({row["answer_id"] for row in found}) == 12
    assert [bool(row["sample"]) for row in found] == [True] * 6 + [False] * 6, "the sample comes first"
    assert (copy / "scores.duckdb").stat().st_mtime_ns == stamp.st_mtime_ns
    done = command("calibrate", labels, "--rater", "ada", "--store", copy)
    assert done.exit_code == 0, done.output
    assert "12 answers newly labelled" in done.stderr
    assert "12 answers in 2 sessions" in " ".join(done.stdout.split())


def test_wrong_grades_are_a_sentence_and_nothing_is_written(graded: str, labels: Path) -> None:
    item, before = ask(graded, "grade"), labels.read_bytes()
    right = {"id": item["id"], "scores": scores_of(item, 3)}
    wrong: list[tuple[dict[str, Any], str]] = [
        *[({"scores": scores}, "expected grades of some of") for scores in ({}, {"no such": 3}, [3], None)],
        *[({"scores": scores_of(item, score)}, "from 0 to 5") for score in (6, -1, True, "5", None)],
        *[({"id": id}, "id of one answer") for id in ("no such", "", ["x"], None)],
    ]
    for change, said in wrong:
        status, text = grade(graded, {**right, **change})
        assert (status, said in text) == (400, True), (change, text)
    for content in (b"", b"{", b"[" * 5000, b"null", b"NaN", b"\xff"):
        assert grade(graded, content)[0] == 400
    assert labels.read_bytes() == before


def test_other_pages_and_forms_cannot_grade(graded: str, labels: Path) -> None:
    item, before = ask(graded, "grade"), labels.read_bytes()
    whole = {"id": item["id"], "scores": scores_of(item, 3)}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Content-Type": "text/plain"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
    ):
        assert grade(graded, whole, **headers)[0] in (403, 415, 421)
    assert grade(graded[:-1], whole)[0] == 404
    assert labels.read_bytes() == before


def test_without_a_file_there_is_no_grading(address: str) -> None:
    assert ask(address, "grade") == {}
    assert grade(address, {"id": "x", "scores": {}}) == (
        405,
        "grades are taken only by: compaction-eval view --labels FILE, or --statements FILE",
    )
