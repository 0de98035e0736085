"""Ranks and groups of the leaderboard, worked out by hand on small stores."""

from __future__ import annotations

from pathlib import Path

from flows.database.scores_db import connect, violations
from tests.sql.figures import close, rows
from tests.sql.tiny import Rows, compaction, graded, make, method, point, session, tiny


def test_methods_share_a_letter_where_they_are_not_told_apart(tmp_path: Path) -> None:
    """Of the four, a and b differ by noise around 0; c is a point below; d is below c by noise only."""
    noise = [0.1, -0.1, 0.05, -0.05, 0.02, -0.01]
    keys = [(f"s{i}", "q") for i in range(6)]
    base = [3.0, 4.0, 3.5, 2.5, 4.5, 3.2]
    overall = {
        "a": dict(zip(keys, base, strict=True)),
        "b": {k: x - n - 0.01 for k, x, n in zip(keys, base, noise, strict=True)},
        "c": {k: x - 1 + n for k, x, n in zip(keys, base, noise, strict=True)},
        "d": {k: x - 1.02 - n for k, x, n in zip(keys, base, noise, strict=True)},
    }
    found = rows(make(graded(overall), tmp_path), "SELECT method, rank, tie_group FROM leaderboard")
    assert found == [("a", 1, "a"), ("b", 2, "a"), ("c", 3, "b"), ("d", 4, "b")]


def test_methods_with_the_same_scores_share_rank_and_group(tmp_path: Path) -> None:
    same = {(f"s{i}", f"q{j}"): (i * 7 + j * 3) % 11 / 3 for i in range(5) for j in range(4)}
    lower = {key: value / 2 for key, value in same.items()}
    found = rows(
        make(graded({"z": same, "y": same, "x": lower}), tmp_path), "SELECT method, rank, tie_group FROM leaderboard"
    )
    assert found == [("y", 1, "a"), ("z", 1, "a"), ("x", 3, "b")]


def test_a_difference_that_is_the_same_in_every_session_tells_methods_apart(tmp_path: Path) -> None:
    overall = {"a": {("s1", "q"): 4.0, ("s2", "q"): 3.0}, "b": {("s1", "q"): 3.5, ("s2", "q"): 2.5}}
    assert rows(make(graded(overall), tmp_path), "SELECT tie_group FROM leaderboard") == [("a",), ("b",)]


def test_one_session_has_no_groups_and_no_ranks(tmp_path: Path) -> None:
    overall = {"a": {("s1", "q"): 0.0}, "b": {("s1", "q"): 5.0}}
    found = rows(make(graded(overall), tmp_path), "SELECT method, rank, tie_group, place FROM leaderboard")
    assert found == [("b", None, None, 1), ("a", None, None, 2)]


def test_controls_have_no_rank_and_no_group_and_stand_last(tmp_path: Path) -> None:
    keys = [("s1", "q"), ("s2", "q")]
    scores = {"empty": 0.0, "none": 5.0, "best": 4.0, "next": 3.0}
    path = make(graded({name: dict.fromkeys(keys, x) for name, x in scores.items()}), tmp_path)
    found = rows(path, "SELECT method, rank, tie_group, place FROM leaderboard")
    assert found == [("best", 1, "a", 1), ("next", 2, "b", 2), ("none", None, None, 3), ("empty", None, None, 4)]


def test_a_method_that_cannot_be_told_from_its_neighbours_has_the_letters_of_both(tmp_path: Path) -> None:
    """The middle one varies between sessions, so that it is told from neither; high and low are told apart."""
    keys = [(f"s{i}", "q") for i in range(8)]
    high = {key: 4.0 + i / 50 for i, key in enumerate(keys)}
    middle = {key: score - 0.3 + 0.4 * (-1) ** i for i, (key, score) in enumerate(high.items())}
    low = {key: score - 0.6 for key, score in high.items()}
    path = make(graded({"high": high, "middle": middle, "low": low}), tmp_path)
    assert rows(path, "SELECT method, tie_group FROM leaderboard") == [("high", "a"), ("middle", "ab"), ("low", "b")]


NOT_APPLICABLE = {
    "status": "not_applicable",
    "tokens_after": None,
    "n_kept": None,
    "n_edited": None,
    "n_covered": None,
    "n_dropped": None,
    "grew": None,
    "invalid_context": None,
    "error": "nothing recorded",
}


def partial(overall: dict[str, dict[tuple[str, str], float]], method_id: str) -> Rows:
    """A store as ``graded`` makes it; the method is not applicable in the sessions that it has no score of."""
    store = graded(overall)
    for row in store["compactions"]:
        if row["method_id"] == method_id and not any(f"p-{s}" == row["point_id"] for s, _ in overall[method_id]):
            row.update(NOT_APPLICABLE)
    return store


def test_a_method_that_is_not_applicable_everywhere_is_ranked_by_differences_on_shared_questions(
    tmp_path: Path,
) -> None:
    """In the hard sessions 4 and 5, the only ones of ``some``, it is 0.5 above low: 2.4 as if it were asked all.

    Its own mean, 1.5, would put it below low (1.9). Over high and low: ((2.9 - 0.5) + (1.9 + 0.5)) / 2.
    """
    keys = [(f"s{i}", "q") for i in range(6)]
    high = dict(zip(keys, [3.6, 3.4, 3.5, 2.9, 2.1, 1.9], strict=True))
    low = {key: score - 1 for key, score in high.items()}
    some = {key: low[key] + 0.5 for key in keys[4:]}
    path = make(partial({"high": high, "low": low, "some": some}, "some"), tmp_path)
    found = rows(
        path,
        "SELECT method, overall, overall_for_rank, rank, tie_group, is_partial, n_points_not_applicable, n_answers, "
        "overall_on_shared_probes, n_shared_probes FROM leaderboard",
    )
    assert close(
        found,
        [
            ("high", 2.9, 2.9, 1, "a", False, 0, 6, 2.0, 2),
            ("some", 1.5, 2.4, 2, "b", True, 4, 2, 1.5, 2),
            ("low", 1.9, 1.9, 3, "c", False, 0, 6, 1.0, 2),
        ],
    ), found
    assert rows(path, "FROM check_same_questions_scored") == []
    with connect(path) as connection:
        assert violations(connection) == []
    assert rows(
        path,
        "SELECT expected, done, failed, unscored, missing, not_applicable FROM coverage "
        "WHERE method = 'some' AND stage IN ('compaction', 'answer') ORDER BY stage",
    ) == [(2, 2, 0, 0, 0, 0), (2, 2, 0, 0, 0, 4)]


def test_controls_do_not_pull_a_partial_method_to_its_own_mean(tmp_path: Path) -> None:
    """Hard sessions cost every method 2 points, and ``some`` is asked in those alone: 1.0, which is 2.0 over all.

    The controls know no hard session. With them it would be ((2.0 + 2.0) + (1.0 + 1.0)) / 4.
    """
    keys = [(f"s{i}", "q") for i in range(6)]
    high = {key: 4.0 - 2.0 * (i >= 3) for i, key in enumerate(keys)}
    overall = {
        "high": high,
        "low": {key: score - 0.5 for key, score in high.items()},
        "some": {key: high[key] - 1.0 for key in keys[3:]},
        "none": dict.fromkeys(keys, 5.0),
        "empty": dict.fromkeys(keys, 0.0),
    }
    query = "SELECT overall, overall_for_rank FROM leaderboard WHERE method = 'some'"
    assert rows(make(partial(overall, "some"), tmp_path), query) == [(1.0, 2.0)]
    (tmp_path / "controls").mkdir()
    alone = {name: overall[name] for name in ("some", "none", "empty")}
    assert rows(make(partial(alone, "some"), tmp_path / "controls"), query) == [(1.0, 1.0)]


def test_a_partial_method_that_is_told_from_none_makes_no_group_of_all(tmp_path: Path) -> None:
    """From one session nothing can be told of it; that must not make one group of all others."""
    keys = [(f"s{i}", "q") for i in range(6)]
    high = {key: 3.0 + i / 10 for i, key in enumerate(keys)}
    low = {key: score - 1 for key, score in high.items()}
    found = rows(
        make(partial({"high": high, "low": low, "some": {keys[0]: 5.0}}, "some"), tmp_path),
        "SELECT method, rank, tie_group FROM leaderboard",
    )
    assert found == [("some", 1, "a"), ("high", 2, "a"), ("low", 3, "b")]


def test_a_partial_method_without_a_question_in_common_has_no_rank_and_alone_it_has_one(tmp_path: Path) -> None:
    overall = {"all": {("s1", "q"): 3.0, ("s2", "q"): 4.0}, "some": {("s3", "q"): 5.0}}
    store = partial(overall, "some")
    for row in store["compactions"]:
        if row["method_id"] == "all" and row["point_id"] == "p-s3":
            row.update(NOT_APPLICABLE, status="failed")
    found = rows(make(store, tmp_path), "SELECT method, rank, tie_group, overall_for_rank FROM leaderboard")
    assert found == [("all", 1, "a", 3.5), ("some", None, None, None)]
    del overall["all"]
    alone = partial(overall, "some")
    alone["sessions"].append(session("s4"))
    alone["points"].append(point("p-s4", "s4", 10))
    alone["compactions"].append(compaction("some", "p-s4", 10, 5, **NOT_APPLICABLE))
    (tmp_path / "alone").mkdir()
    found = rows(make(alone, tmp_path / "alone"), "SELECT method, rank, tie_group, is_partial FROM leaderboard")
    assert found == [("some", None, None, False)]


def test_methods_of_one_name_are_told_apart_by_history_and_summariser(tmp_path: Path) -> None:
    store = tiny()
    store["methods"] += [
        method("D", "keep", history="chain"),
        method("E", "cut", summarizer="x"),
        method("F", "cut", summarizer="x"),
    ]
    found = rows(make(store, tmp_path), "SELECT method_id, method FROM stg_methods ORDER BY method_id")
    assert found == [
        ("A", "keep [prefix]"),
        ("B", "cut [prefix]"),
        ("C", "broken"),
        ("D", "keep [chain]"),
        ("E", "cut [prefix, x, E]"),
        ("F", "cut [prefix, x, F]"),
    ]
