"""The ready queries: they run as they stand, say what they give, and find what is known of small stores."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.database.database_draft import build_database
from flows.database.ready_queries import ready_queries
from flows.results import Results, open_results
from tests.sql.loaded import make_loaded
from tests.sql.test_ranks import partial
from tests.sql.tiny import (
    CRITERIA,
    Rows,
    answer,
    compaction,
    graded,
    judge,
    make,
    method,
    point,
    probe,
    scores,
    session,
    tiny,
)

QUERIES = list(ready_queries())
Found = list[dict[str, Any]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return open_results(make_loaded(tiny(), tmp_path_factory.mktemp("tiny"), is_checked=True).parent)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "scores.duckdb"
    build_database({}, path)
    return path


MACROS = {"judge": "judge_is_wanted(", "versions": "version_is_wanted("}
"""Parameters that a macro asks for."""


def asked(rows: Rows, folder: Path, name: str, **parameters: Any) -> Found:
    with open_results(make(rows, folder).parent) as results:
        return results.query(name, **parameters).to_dicts()


def test_there_are_eleven_and_they_are_numbered() -> None:
    assert [query.number for query in ready_queries().values()] == list(range(1, 12))


@pytest.mark.parametrize("name", QUERIES)
def test_the_head_of_a_query_says_what_it_answers_and_how_to_read_it(name: str) -> None:
    query = ready_queries()[name]
    assert query.title
    assert query.question.endswith("?")
    assert query.reading.startswith("One row per")
    used = set(re.findall(r"getvariable\(.(\w+).\)", query.sql))
    by_macro = {name for name, macro in MACROS.items() if macro in query.sql}
    assert used | by_macro | {"judge"} == set(query.parameters)
    assert all("default" in text for text in query.parameters.values())


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_runs_over_an_empty_store_in_plain_duckdb_and_gives_the_columns_of_its_head(
    empty: Path, name: str
) -> None:
    with duckdb.connect(empty, read_only=True) as connection:
        found = connection.sql(ready_queries()[name].sql)
        assert found.fetchall() == []
        assert found.columns == list(ready_queries()[name].columns)


@pytest.mark.parametrize("name", QUERIES)
def test_rows_of_a_judge_are_the_same_with_and_without_the_others(results: Results, name: str) -> None:
    both = results.query(name).to_dicts()
    one = results.query(name, judge="embedded").to_dicts()
    if name == "another_judge":
        assert one == both != []
        return
    if name == "sweep":  # the tiny store has none
        assert one == both == []
        return
    assert settled(one) == settled([row for row in both if row["judge"] in ("embedded", None)]) != []


def settled(rows: Found) -> Found:
    return [{key: round(x, 9) if isinstance(x, float) else x for key, x in row.items()} for row in rows]


def picked(rows: Found, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(round(row[n], 6) if isinstance(row[n], float) else row[n] for n in names) for row in rows]


def test_gaps_are_between_best_and_worst_and_stand_beside_the_published_ones(results: Results) -> None:
    found = results.query("gaps", judge="j1").to_dicts()
    assert picked(found, "dimension", "gap", "best", "worst", "n_methods", "published_gap") == [
        ("artifact_trail", 1.0, "cut", "keep", 2, 0.26),
        ("completeness", 0.5, "keep", "cut", 2, 0.07),
        ("overall", 0.166667, "keep", "cut", 2, 0.35),
        ("accuracy", 0.0, None, None, 2, 0.61),
    ]


def test_gaps_leave_the_controls_out(tmp_path: Path) -> None:
    rows = graded(
        {m: {("s1", "q"): x, ("s2", "q"): x} for m, x in (("none", 5.0), ("a", 3.0), ("b", 2.0), ("empty", 0.0))}
    )
    assert picked(asked(rows, tmp_path, "gaps"), "dimension", "gap", "best") == [
        ("accuracy", 1.0, "a"),
        ("overall", 1.0, "a"),
    ]


def test_a_sweep_is_the_methods_that_differ_in_one_parameter_in_the_order_of_its_values(tmp_path: Path) -> None:
    """Of four methods of a strategy three differ in ``tail`` alone; 5 comes before 10 though "5" does not."""
    params = {"a": (2, 10), "b": (2, 5), "c": (2, 20), "d": (1, 5)}
    means = {"a": 3.0, "b": 1.0, "c": 3.5, "d": 2.0}
    rows = graded({m: {("s1", "q"): x, ("s2", "q"): x} for m, x in means.items()})
    for row in rows["methods"]:
        head, tail = params[row["method_id"]]
        row |= {"strategy": "head_tail", "params": json.dumps({"head": head, "tail": tail, "mode": "valid"})}
    found = picked(asked(rows, tmp_path, "sweep"), "strategy", "parameter", "value", "method", "overall", "gain")
    assert found == [
        ("head_tail", "tail", "5", "b", 1.0, None),
        ("head_tail", "tail", "10", "a", 3.0, 2.0),
        ("head_tail", "tail", "20", "c", 3.5, 0.5),
    ]
    assert asked(rows, tmp_path / "again", "sweep", strategy="recency") == []


def test_the_sweeps_of_two_summarizers_do_not_mix(tmp_path: Path) -> None:
    """One gains 1 at each value, the other 0.5; a sweep of two values with a third summarizer is none."""
    means = {"x": {"1": 1.0, "2": 2.0, "3": 3.0}, "y": {"1": 3.0, "2": 3.5, "3": 4.0}, "z": {"1": 1.0, "2": 2.0}}
    rows = graded({f"{of}{n}": {("s1", "q"): x, ("s2", "q"): x} for of, by in means.items() for n, x in by.items()})
    for row in rows["methods"]:
        of, n = row["method_id"]
        row |= {"strategy": "summary", "params": json.dumps({"keep": int(n), "head": 2}), "summarizer": of}
    found = asked(rows, tmp_path, "sweep")
    assert picked(found, "summarizer", "rest", "value", "gain") == [
        (of, '{"head":2}', n, gain if n != "1" else None)
        for of, gain in (("x", 1.0), ("y", 0.5))
        for n in ("1", "2", "3")
    ]


def test_every_method_has_one_weakest_dimension(results: Results) -> None:
    found = results.query("weakest_dimension", judge="j1").to_dicts()
    assert picked(found, "method", "weakest", "mean", "next_weakest", "next_mean", "as_the_study") == [
        ("keep", "artifact_trail", 1.0, "accuracy", 3.5, True),
        ("cut", "artifact_trail", 2.0, "accuracy", 3.5, True),
    ]


def test_an_order_that_turns_round_beyond_noise_in_a_part_is_named(tmp_path: Path) -> None:
    """In 20 sessions a is better by 4, in the 3 of another kind worse by 2: for sure both over all and there."""
    a = {(f"d{i:02}", "q"): 4.5 + i % 3 / 10 for i in range(20)} | {(f"r{i}", "q"): 0.9 + i / 10 for i in range(3)}
    b = {(f"d{i:02}", "q"): 0.5 + i % 2 / 10 for i in range(20)} | {(f"r{i}", "q"): 2.9 + i / 10 for i in range(3)}
    rows = graded({"a": a, "b": b})
    for row in rows["sessions"]:
        row["task_type"] = "debugging" if row["session_id"].startswith("d") else "review"
    found = asked(rows, tmp_path, "order_holds", split="task_type")
    names = (
        "part",
        "n_sessions",
        "rank_correlation",
        "n_pairs",
        "n_flips",
        "n_flips_beyond_noise",
        "flips_beyond_noise",
    )
    assert picked(found, *names) == [
        ("debugging", 20, 1.0, 1, 0, 0, None),
        ("review", 3, -1.0, 1, 1, 1, "b over a"),
    ]


def test_a_flip_in_a_single_session_is_noise(tmp_path: Path) -> None:
    a = {(f"s{i}", "q"): 4.0 + i / 10 for i in range(5)} | {("odd", "q"): 1.0}
    rows = graded({"a": a, "b": dict.fromkeys(a, 2.0)})
    rows["sessions"] = [
        {**row, "task_type": "review" if row["session_id"] == "odd" else "test"} for row in rows["sessions"]
    ]
    (review, _) = asked(rows, tmp_path, "order_holds", split="task_type")
    assert picked([review], "part", "n_flips", "n_flips_beyond_noise") == [("review", 1, 0)]


def with_a_partial_method() -> Rows:
    """``some`` is asked in the five hard sessions of ten alone, where it is as good as the others plus a half."""
    keys = [(f"s{i}", "q") for i in range(10)]
    high = {key: 4.5 - 3 * (i >= 5) + i / 50 for i, key in enumerate(keys)}
    low = {key: score - 1 for key, score in high.items()}
    rows = partial({"high": high, "low": low, "some": {key: high[key] + 0.3 for key in keys[5:]}}, "some")
    for row in rows["sessions"]:
        row["task_type"] = "debugging" if int(row["session_id"][1:]) >= 5 else "review"
    return rows


def test_a_method_that_is_not_applicable_everywhere_stands_where_its_differences_place_it(tmp_path: Path) -> None:
    """By its own mean of 1.9 it would be last over all, though it is the best wherever it was asked."""
    found = asked(with_a_partial_method(), tmp_path, "order_holds", split="task_type")
    assert picked(found, "part", "n_methods", "rank_correlation", "n_flips") == [
        ("debugging", 3, 1.0, 0),
        ("review", 2, 1.0, 0),
    ]
    cycles = asked(with_a_partial_method(), tmp_path / "again", "forgetting", method="some")
    assert picked(cycles, "cycle", "mean", "change", "n_compared") == [(1, 3.39, None, 0)]


def test_a_difference_is_shown_from_the_better_method(tmp_path: Path) -> None:
    rows = graded(
        {
            "a": {(f"s{i}", "q"): 1.0 + i / 10 for i in range(4)},
            "b": {(f"s{i}", "q"): 4.0 for i in range(4)},
            "c": {(f"s{i}", "q"): float(i % 2) for i in range(4)},
        }
    )
    found = asked(rows, tmp_path, "sure_differences", method="a")
    assert picked(found, "better", "worse", "difference", "verdict") == [
        ("b", "a", 2.85, "differ"),
        ("a", "c", 0.65, "not shown"),
    ]
    first = found[0]
    assert first["ci_low"] < 2.85 < first["ci_high"]
    assert round(first["ci_low"] + first["ci_high"], 6) == 5.7


def test_one_session_shows_no_difference_either_way(results: Results) -> None:
    assert {row["verdict"] for row in results.query("sure_differences").to_dicts()} == {"one session"}


def cycles() -> Rows:
    """Two sessions with two cycles: 4 then 3, 5 then 2; and one with a single, bad one."""
    found = {("s1", 1): 4.0, ("s1", 2): 3.0, ("s2", 1): 5.0, ("s2", 2): 2.0, ("s3", 1): 1.0}
    points = {key: f"{key[0]}-{key[1]}" for key in found}
    return {
        "sessions": [session(name) for name in ("s1", "s2", "s3")],
        "points": [point(id, s, 1000, cycle=c, cut_seq=10 * c) for (s, c), id in points.items()],
        "methods": [method("A", "keep")],
        "compactions": [compaction("A", id, 1000, 100) for id in points.values()],
        "probes": [probe(f"q-{id}", id) for id in points.values()],
        "answers": [answer("A", id, f"q-{id}") for id in points.values()],
        "judges": [judge("j1", "embedded")],
        "criteria": CRITERIA,
        "scores": [row for key, id in points.items() for row in scores(f"A/q-{id}", "j1", facts=found[key])],
    }


def test_forgetting_compares_a_session_with_itself(tmp_path: Path) -> None:
    """The mean falls by 5/6 only, because a bad session has no second cycle; each session fell by 1 and by 3.

    The interval of two values 1 and 3: mean 2, error 1, one degree of freedom, t = 12.7062.
    """
    found = asked(cycles(), tmp_path, "forgetting")
    assert picked(found, "cycle", "mean", "change", "n_compared", "n_sessions") == [
        (1, 3.333333, None, 0, 3),
        (2, 2.5, -2.0, 2, 2),
    ]
    assert found[1]["ci_low"] == pytest.approx(-14.7062, abs=1e-3)
    assert found[1]["ci_high"] == pytest.approx(10.7062, abs=1e-3)


def test_another_judge_shifts_a_mean(results: Results) -> None:
    """Of A/q1: j1 accuracy 2.5, completeness 4, so 3.25; j2 accuracy 3, completeness 5, so 4."""
    found = results.query("another_judge").to_dicts()
    assert picked(found, "dimension", "shift", "most_shifted", "n_methods", "n_flips") == [
        ("overall", 0.75, "keep", 1, 0),
        ("accuracy", 0.5, "keep", 1, 0),
        ("completeness", 1.0, "keep", 1, 0),
    ]


def test_what_is_missing_says_what_failed_and_why_and_what_is_known_of_the_judge(results: Results) -> None:
    found = picked(results.query("what_is_missing", judge="j1").to_dicts(), "kind", "method", "item", "n", "out_of")
    assert ("check", None, "same_questions_scored", 1, None) in found
    assert ("coverage", "broken", "compaction failed", 1, 2) in found
    assert ("coverage", "broken", "answer failed", 1, 1) in found
    assert ("coverage", "cut", "score unscored", 1, 3) in found
    assert ("reason", None, "probe not_asked", 7, None) in found
    assert ("judge", None, "no language model", None, 5) in found  # of the six it was given one is unscored


def test_an_answer_that_is_the_truth_word_by_word_and_not_scored_as_right_is_told(tmp_path: Path) -> None:
    rows = tiny()
    for name in ("criteria", "scores"):
        rows[name] = [{**row, "criterion": row["criterion"].replace("facts", "accuracy_factual")} for row in rows[name]]
    rows["answers"][0]["text"] = "401 on /login "
    rows["human_scores"] = []
    found = asked(rows, tmp_path, "what_is_missing", judge="j1")
    assert ("right answers scored below 5", 1) in picked(found, "item", "n")


def test_worst_answers_are_of_the_best_method_or_of_the_one_that_is_named(results: Results) -> None:
    best = results.query("worst_answers", judge="j1", rows=2).to_dicts()
    assert picked(best, "method", "answer_id", "score") == [("keep", "A/q2", 3.0), ("keep", "A/q1", 3.25)]
    assert best[0]["reasons"] == "files 1.0: so; parts 3.0: so; facts 5.0: so; terms unscored: so"
    named = results.query("worst_answers", judge="j1", method="cut").to_dicts()
    assert picked(named, "method", "answer_id") == [("cut", "B/q2"), ("cut", "B/q1")]
