"""The scorecard for pull requests: what it shows, what it compares with, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.reporting.query_result import render_query
from flows.reporting.text_tables import Layout
from flows.store.store import STORE_FORMAT
from tests.flows.conftest import Command
from tests.sql.loaded import make_loaded
from tests.sql.recomputed import random_store
from tests.sql.tiny import Rows, tiny

SEED = 0
"""Of a random store with six sessions."""


def store_of(rows: Rows, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    found = make_loaded(rows, folder).parent
    (found / "store.json").write_text(json.dumps({"format": STORE_FORMAT, "tokenizer": "o200k_base"}))
    return found


def only(rows: Rows, method_id: str, name: str) -> Rows:
    """The store as it would be with one of its methods alone, under another name."""
    compactions = [row for row in rows["compactions"] if row["method_id"] == method_id]
    ids = {row["compaction_id"] for row in compactions}
    answers = [row for row in rows["answers"] if row["compaction_id"] in ids]
    answer_ids = {row["answer_id"] for row in answers}
    scores = [row for row in rows["scores"] if row["answer_id"] in answer_ids]
    methods = [{**row, "method": name} for row in rows["methods"] if row["method_id"] == method_id]
    return {**rows, "compactions": compactions, "answers": answers, "scores": scores, "methods": methods}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_of(tiny(), tmp_path_factory.mktemp("tiny"))


def card(command: Command, *arguments: object) -> dict[str, Any]:
    result = command("scorecard", "--json", "--judge", "embedded", *arguments)
    assert result.exit_code in (0, 5), result.output
    [found] = json.loads(result.stdout)["scorecards"]
    return found


def test_it_is_short_markdown_with_who_judged_how_sure_and_what_is_missing(command: Command, store: Path) -> None:
    shown = command("scorecard", "--store", store, "--judge", "embedded", "--top", "1").stdout
    first, second = (line for line in shown.splitlines() if line.startswith(("| keep", "| cut")))
    assert first.startswith("| keep | 3.42 ")
    assert shown.index("<details><summary>1 more method</summary>") < shown.index(second)
    assert "no language model judged, answered or asked here" in shown
    assert "**How sure**" in shown
    assert "1 compactions failed" in shown
    assert "**Base**" not in shown


def test_a_model_as_judge_is_not_marked_as_embedded_and_judges_stand_apart(command: Command, store: Path) -> None:
    both = command("scorecard", "--store", store).stdout
    assert both.count("### Context compaction") == 2
    model = command("scorecard", "--store", store, "--judge", "j2").stdout
    assert "no language model judged" not in model
    assert "no language model answered or asked here" in model


def test_the_difference_to_the_base_is_the_paired_one_of_two_methods_in_one_store(
    command: Command, tmp_path: Path
) -> None:
    rows = random_store(SEED)
    whole = store_of(rows, tmp_path / "whole")
    pairs = json.loads(
        render_query(
            whole / "scores.duckdb",
            "FROM paired_differences WHERE dimension = 'overall' AND n_sessions > 2",
            Layout("json"),
        )
    )
    pair = max(pairs, key=lambda row: row["n_sessions"])
    head = store_of(only(rows, pair["method_id_a"], "ours"), tmp_path / "head")
    base = store_of(only(rows, pair["method_id_b"], "ours"), tmp_path / "base")
    result = command("scorecard", "--store", head, "--base", base, "--judge", pair["judge_id"], "--json")
    [found] = json.loads(result.stdout)["scorecards"]
    [method] = found["methods"]
    for name in ("difference", "std_error", "ci_low", "ci_high", "p_value", "n_pairs", "n_sessions"):
        assert method["against_base"][name] == pytest.approx(pair[name], abs=1e-9), name
    assert method["against_base"]["p_adjusted"] == method["against_base"]["p_value"]


def test_a_store_is_the_same_as_itself_and_other_sessions_are_no_base(
    command: Command, store: Path, tmp_path: Path
) -> None:
    itself = command("scorecard", "--store", store, "--base", store, "--judge", "embedded", "--fail-if-worse", "0")
    assert itself.exit_code == 0
    assert itself.stdout.count("| same |") == 2
    other = store_of(only(tiny(), "none at all", "x"), tmp_path / "other")
    shown = command("scorecard", "--store", store, "--base", other, "--judge", "embedded").stdout
    assert "nothing to compare" in shown
    assert "| new |" in shown


def test_it_fails_when_a_method_fell_beyond_noise_and_only_then(command: Command, tmp_path: Path) -> None:
    rows = random_store(SEED)
    judge_id = rows["judges"][0]["judge_id"]
    base = store_of(rows, tmp_path / "base")
    fallen = [{**row, "score": None if row["score"] is None else row["score"] / 4} for row in rows["scores"]]
    head = store_of({**rows, "scores": fallen}, tmp_path / "head")
    worse = command("scorecard", "--store", head, "--base", base, "--judge", judge_id, "--fail-if-worse", "0.5")
    assert worse.exit_code == 5
    assert "against the base" in worse.stderr
    assert "**sure**" in worse.stdout
    better = command("scorecard", "--store", base, "--base", head, "--judge", judge_id, "--fail-if-worse", "0.5")
    assert better.exit_code == 0


@pytest.mark.parametrize("name", ["leaderboard", "scorecard"])
@pytest.mark.parametrize(
    ("given", "exit_code", "said"),
    [
        (["keep=3.41"], 0, ""),
        (["keep=3.42"], 5, "not reached: keep 3.417 < 3.42"),
        (["keep=1", "cut=5"], 5, "not reached: cut "),
        (["kep=1"], 2, "no method 'kep' on the leaderboard (did you mean keep?)"),
        (["keep"], 2, "--fail-below: expected METHOD=X with X from 0 to 5, found 'keep'"),
        (["keep=9"], 2, "expected METHOD=X"),
    ],
)
def test_a_threshold_that_is_not_reached_is_exit_code_5(
    command: Command, store: Path, name: str, given: list[str], exit_code: int, said: str
) -> None:
    flags = [word for text in given for word in ("--fail-below", text)]
    result = command(name, "--store", store, "--judge", "embedded", *flags)
    assert result.exit_code == exit_code, result.output
    assert said in result.stderr


def test_a_threshold_of_several_judges_wants_to_know_which(command: Command, store: Path) -> None:
    result = command("leaderboard", "--store", store, "--fail-below", "keep=1")
    assert result.exit_code == 2
    assert "say by which judge with --judge ID" in result.stderr


def test_the_document_says_what_holds(command: Command, store: Path) -> None:
    found = card(command, "--store", store, "--fail-below", "keep=5", "--method", "keep")
    assert found["is_embedded"] is True
    assert [row["method"] for row in found["methods"]] == ["keep"]
    assert found["thresholds"] == [{"method": "keep", "least": 5.0, "overall": pytest.approx(41 / 12), "holds": False}]
    assert found["rests_on"]["n_failed_compactions"] == 1


def test_worse_than_nothing_is_bad_usage(command: Command, store: Path) -> None:
    assert command("scorecard", "--store", store, "--fail-if-worse", "0.1").exit_code == 2
