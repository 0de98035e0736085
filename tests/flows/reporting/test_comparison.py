"""Two methods against each other, as it is read and as programs take it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from flows.database.database_draft import build_database
from flows.reporting.comparison import compare
from flows.reporting.method_names import find_method
from flows.reporting.query_result import render_query
from flows.reporting.text_tables import Layout
from flows.store.store import Store
from flows.support.errors import StoreError, UsageError
from flows.support.terminal_text import WIDTH
from tests.flows.conftest import Command
from tests.sql.tiny import Rows, answer, compaction, graded, judge, make, method, probe, scores, tiny

SIX = ("s1", "s2", "s3", "s4", "s5", "s6")


def clear() -> Rows:
    """Six sessions with a question each; ``alpha`` is better by 2 and a little, ``beta`` and ``gamma`` are alike."""
    return graded(
        {
            "alpha": {(s, "q"): 4.0 + x for s, x in zip(SIX, (0.1, 0.0, 0.2, 0.1, 0.0, 0.1), strict=True)},
            "beta": {(s, "q"): 2.0 + x for s, x in zip(SIX, (0.0, 0.1, 0.0, 0.2, 0.0, 0.1), strict=True)},
            "gamma": {(s, "q"): 2.0 + x for s, x in zip(SIX, (0.5, -0.5, 0.4, -0.4, 0.7, 0.0), strict=True)},
        }
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(clear(), tmp_path_factory.mktemp("clear"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tiny(), tmp_path_factory.mktemp("tiny"))


def test_a_line_per_dimension_says_who_is_better(store: Path) -> None:
    """Differences 2.1, 1.9, 2.2, 1.9, 2.0, 2.0: mean 12.1 / 6, standard error 0.0477.

    t(5) is 2.5706 at 97.5 % and 0.9195 at 80 %.
    """
    text = compare(store, "alpha", "beta")
    assert text.startswith("A: alpha\nB: beta\n\n")
    assert "no language model gave these scores. Overall: A better." in " ".join(text.split())
    [line] = [line.split() for line in text.splitlines() if line.startswith("overall")]
    assert line == [
        "overall",
        "4.08",
        "2.07",
        "+2.02",
        "+1.89",
        "+2.14",
        "<.001",
        "<.001",
        "0.17",
        "6",
        "6",
        "A",
        "better",
    ]
    assert "Both have a score for the same 6 questions." in text


def test_the_other_way_round_every_sign_is_turned(store: Path) -> None:
    there = json.loads(compare(store, "alpha", "beta", layout=Layout("json")))
    back = json.loads(compare(store, "beta", "alpha", layout=Layout("json")))
    for one, other in zip(there, back, strict=True):
        assert (other["difference"], other["ci_low"], other["ci_high"]) == pytest.approx(
            (-one["difference"], -one["ci_high"], -one["ci_low"])
        )
        assert (other["mean_a"], other["mean_b"]) == pytest.approx((one["mean_b"], one["mean_a"]))
        assert (other["method_a"], other["method_b"]) == ("beta", "alpha")
        assert other["p_value"] == pytest.approx(one["p_value"])
        assert (one["says"], other["says"]) == ("A better", "B better")


def test_the_figures_are_those_of_the_view(store: Path) -> None:
    names = "dimension, difference, std_error, ci_low, ci_high, p_value, p_adjusted, n_pairs, n_sessions, "
    names += "detectable_difference, df, p_adjusted_of_pair"
    view = json.loads(
        render_query(
            store,
            f"SELECT {names} FROM paired_differences WHERE method_a = 'alpha' AND method_b = 'beta' ORDER BY dimension",
            Layout("json"),
        )
    )
    found = sorted(json.loads(compare(store, "alpha", "beta", layout=Layout("json"))), key=lambda row: row["dimension"])
    assert len(found) == 2
    for row, expected in zip(found, view, strict=True):
        assert row["dimension"] == expected.pop("dimension")
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-9)


def test_where_no_difference_is_shown_it_says_how_large_one_would_have_been_seen(store: Path) -> None:
    """Differences -0.5, 0.6, -0.4, 0.6, -0.7, 0.1: standard error 0.2320, (2.5706 + 0.9195) · 0.2320 = 0.81."""
    text = " ".join(compare(store, "beta", "gamma").split())
    assert "no difference shown; one of 0.81 or more would have been seen in 80 % of such data." in text
    assert "not shown" in text


def test_methods_that_are_shown_to_be_near_each_other_are_as_good(tmp_path: Path) -> None:
    """Differences of 0.05, half of them either way: error 0.0224, so (0.2 - 0) / 0.0224 = 8.9; 0.5 shows nothing."""
    for apart, says in ((0.05, "as good: shown to be less than 0.2 apart"), (0.5, "no difference shown; one of ")):
        base = {(s, "q"): 2.0 + i / 5 for i, s in enumerate(SIX)}
        other = {key: score + apart * (-1) ** i for i, (key, score) in enumerate(base.items())}
        path = make(graded({"a": base, "b": other}), tmp_path / str(apart))
        assert json.loads(compare(path, "a", "b", layout=Layout("json")))[0]["says"].startswith(says)
        assert ("two one-sided tests" in " ".join(compare(path, "a", "b").split())) == (apart < 0.2)


def test_a_difference_that_is_shown_only_for_a_pair_chosen_beforehand_says_so(tmp_path: Path) -> None:
    """P is 0.013 alone and 0.027 over the two dimensions; over the 12 rows of four methods it is 0.16 and not shown."""
    sizes = (1.0, 0.2, 1.4, 0.4, 1.5, 0.9)
    rows = graded(
        {
            "a": {(s, "q"): 2.0 + x for s, x in zip(SIX, sizes, strict=True)},
            "b": {(s, "q"): 2.0 for s in SIX},
            "c": {(s, "q"): 2.0 + x for s, x in zip(SIX, (0.5, 0.9, 1.1, 0.3, 0.2, 1.3), strict=True)},
            "d": {(s, "q"): 2.0 + x for s, x in zip(SIX, (0.2, 1.2, 0.4, 1.6, 0.1, 0.9), strict=True)},
        }
    )
    path = make(rows, tmp_path)
    [row, _] = json.loads(compare(path, "a", "b", layout=Layout("json")))
    assert row["p_adjusted_of_pair"] < 0.05 <= row["p_adjusted"]
    assert row["says"] == "A better, if the pair was chosen beforehand"
    text = compare(path, "a", "b")
    assert "A better ¹" in text
    assert "¹ If this pair was chosen before its figures were seen." in text


def test_one_session_has_no_interval_and_says_so(tmp_path: Path) -> None:
    text = compare(make(graded({"a": {("s1", "q"): 5.0}, "b": {("s1", "q"): 3.0}}), tmp_path), "a", "b")
    assert "One session: no interval and no p-value, because it cannot say how sessions differ." in " ".join(
        text.split()
    )
    [line] = [line.split() for line in text.splitlines() if line.startswith("overall")]
    assert line == ["overall", "5.00", "3.00", "+2.00", *["–"] * 4, "1", "1", "–"]


def test_the_questions_on_which_they_differ_most_come_first_with_their_ids(tmp_path: Path) -> None:
    rows = graded(
        {
            "a": {("s1", "x"): 5.0, ("s1", "y"): 3.0, ("s2", "z"): 2.0},
            "b": {("s1", "x"): 4.5, ("s1", "y"): 3.0, ("s2", "z"): 5.0},
        }
    )
    rows["probes"][2]["question"] = "What\nhappened to \x1b[2J | the screen? " + "And then? " * 20
    path = make(rows, tmp_path)
    text = compare(path, "a", "b")
    lines = text[text.index("Questions on which") :].splitlines()
    assert [line.split()[:3] for line in lines if re.match(r" *\d\.\d\d", line)] == [
        ["2.00", "5.00", "recall"],
        ["5.00", "4.50", "recall"],
    ]
    assert "s1-y" not in text, "no difference on it"
    assert "\x1b" not in text
    assert "WHERE stg_answers.probe_id = 's2-z'\"" in " ".join(text.split())
    assert "Questions on which" not in compare(path, "a", "b", questions=0)
    assert (
        len([line for line in compare(path, "a", "b", questions=1).splitlines() if re.match(r" *\d\.\d\d", line)]) == 1
    )


def test_the_query_that_reads_a_question_runs(tmp_path: Path) -> None:
    path = make(graded({"a": {("s1", "x"): 5.0}, "b": {("s1", "x"): 4.5}}), tmp_path)
    text = " ".join(compare(path, "a", "b").split())
    found = re.search(r'compaction-eval sql "([^"]+)"', text)
    assert found is not None
    assert "It was 401." in render_query(path, found[1])


def test_what_is_not_comparable_is_counted(small: Path) -> None:
    """The third question of cut is unscored, so keep's score for it stands alone."""
    text = " ".join(compare(small, "keep", "cut", "embedded").split())
    assert "Compared on 2 questions; left out are 1 that only A has a score for and 0 that only B has." in text
    assert "B: 1 answer unscored." in text


def test_methods_without_a_question_in_common_cannot_be_compared(small: Path) -> None:
    assert compare(small, "keep", "broken") == (
        "No question has a score for both keep and broken: there is nothing to compare.\n"
    )


def test_points_at_which_a_method_is_not_applicable_are_told(tmp_path: Path) -> None:
    rows = graded({"a": {(s, "q"): 4.0 for s in SIX}, "b": {(s, "q"): 3.0 for s in SIX[:4]}})
    rows["compactions"] = [row for row in rows["compactions"] if row["compaction_id"] not in ("b/p-s5", "b/p-s6")]
    rows["compactions"] += [
        compaction("b", "p-s5", 1000, None, status="not_applicable", error="nothing recorded"),
        compaction("b", "p-s6", 1000, None),
    ]
    text = " ".join(compare(make(rows, tmp_path), "a", "b").split())
    assert "B: 1 compaction failed, not applicable at 1 point." in text


def test_judges_come_one_after_the_other_and_one_can_be_picked(tmp_path: Path) -> None:
    rows = clear()
    rows["judges"].append(judge("j2", "openai:grader"))
    rows["scores"] += [row for m in ("alpha", "beta") for s in SIX for row in scores(f"{m}/{s}-q", "j2", facts=3.0)]
    path = make(rows, tmp_path)
    text = compare(path, "alpha", "beta")
    assert text.index("Judge embedded j1") < text.index("Judge openai:grader j2")
    assert "Overall: no difference in any session." in " ".join(text.split())
    only = compare(path, "alpha", "beta", "openai:grader")
    assert "embedded j1" not in only
    assert {row["judge_id"] for row in json.loads(compare(path, "alpha", "beta", "j2", layout=Layout("json")))} == {
        "j2"
    }
    with pytest.raises(UsageError, match=r"'who'.*; judges with scores: embedded \(j1\), openai:grader \(j2\)"):
        compare(path, "alpha", "beta", "who")


def test_a_split_has_the_same_within_each_part(tmp_path: Path) -> None:
    """In recall a is better by 2 in each session, in artifact b is by 1; the parts come in the order of their names."""
    rows = graded(
        {
            "a": {**{(s, "q"): 4.0 for s in SIX}, **{(s, "r"): 2.0 for s in SIX}},
            "b": {**{(s, "q"): 2.0 for s in SIX}, **{(s, "r"): 3.0 for s in SIX}},
        }
    )
    for row in rows["probes"]:
        row["probe_type"] = "artifact" if row["probe_id"].endswith("-r") else "recall"
    path = make(rows, tmp_path)
    found = json.loads(compare(path, "a", "b", by="probe_type", layout=Layout("json")))
    assert [(row["value"], row["dimension"], row["difference"], row["says"]) for row in found] == [
        ("artifact", "overall", -1.0, "B better"),
        ("artifact", "accuracy", -1.0, "B better"),
        ("recall", "overall", 2.0, "A better"),
        ("recall", "accuracy", 2.0, "A better"),
    ]
    text = compare(path, "a", "b", by="probe_type")
    assert "Overall is higher for A in 1 and for B in 1 of 2 parts." in text
    assert re.search(r"^artifact +overall +-1\.00", text, re.MULTILINE)


def test_cycles_come_by_number_and_only_so_many_parts_are_printed(tmp_path: Path) -> None:
    rows = graded({"a": {(s, "q"): 4.0 for s in SIX}, "b": {(s, "q"): 2.0 for s in SIX}})
    for number in range(2, 12):
        point_id = f"p{number}"
        rows["points"].append({**rows["points"][0], "point_id": point_id, "cycle": number, "cut_seq": 30 + number})
        rows["probes"].append(probe(f"q{number}", point_id))
        for name, score in (("a", 4.0), ("b", 2.0)):
            rows["compactions"].append(compaction(name, point_id, 1000, 100))
            rows["answers"].append(answer(name, point_id, f"q{number}"))
            rows["scores"] += scores(f"{name}/q{number}", "j1", facts=score)
    path = make(rows, tmp_path)
    found = [row["value"] for row in json.loads(compare(path, "a", "b", by="cycle", layout=Layout("json")))]
    assert found == [str(number) for number in range(1, 12) for _ in range(2)]
    text = compare(path, "a", "b", by="cycle")
    assert "3 more parts with --format csv." in " ".join(text.split())
    assert re.search(r"^8 +overall", text, re.MULTILINE)
    assert not re.search(r"^9 +overall", text, re.MULTILINE)


def test_csv_has_the_columns_of_the_view_and_what_they_say(store: Path) -> None:
    found = list(csv.DictReader(io.StringIO(compare(store, "alpha", "beta", layout=Layout("csv")))))
    assert (
        list(found[0])
        == (
            "judge_id judge split value dimension method_a method_b mean_a mean_b difference std_error ci_low ci_high "
            "p_value p_adjusted p_adjusted_of_pair n_pairs n_sessions n_clusters detectable_difference df says "
            "p_equivalent_of_pair"
        ).split()
    )
    assert [row["dimension"] for row in found] == ["overall", "accuracy"]


def test_markdown_is_a_table_with_the_same_cells(store: Path) -> None:
    lines = compare(store, "alpha", "beta", layout=Layout("markdown")).splitlines()
    [line] = [line for line in lines if line.startswith("| overall")]
    assert [cell.strip() for cell in line.strip("|").split("|")][:4] == ["overall", "4.08", "2.07", "+2.02"]


@pytest.mark.parametrize("by", [None, "source", "probe_type"])
def test_no_line_is_wider_than_a_terminal(tmp_path: Path, by: str | None) -> None:
    rows = clear()
    rows["probes"][0]["question"] = "x" * 300
    rows["judges"][0]["judge"] = "openai:" + "y" * 60
    path = make(rows, tmp_path)
    assert max(map(len, compare(path, "alpha", "gamma", by=by).splitlines())) <= WIDTH  # type: ignore[arg-type]


KNOWN = ["none", "head_tail", "head_tail(tail=20)", "codex_local", "Codex_cloud", 'file_index(over="empty")']


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("head_tail", "head_tail"),
        ("HEAD_TAIL", "head_tail"),
        ("head_tail(", "head_tail(tail=20)"),
        ("File", 'file_index(over="empty")'),
        ("codex_c", "Codex_cloud"),
    ],
)
def test_a_method_is_found_in_any_case_and_by_a_unique_beginning(name: str, expected: str) -> None:
    assert find_method(name, KNOWN) == expected


def test_an_ambiguous_beginning_is_answered_with_what_it_may_mean() -> None:
    with pytest.raises(UsageError, match=r"'codex' is the beginning of several methods: codex_local; Codex_cloud"):
        find_method("codex", KNOWN)


def test_an_unknown_method_is_answered_with_those_that_there_are_closest_first() -> None:
    said = r"no method 'haed_tail' in this store \(did you mean head_tail\?\); there are, closest first: head_tail; "
    with pytest.raises(UsageError, match=said):
        find_method("haed_tail", KNOWN)


def test_the_same_method_twice_is_refused(store: Path) -> None:
    with pytest.raises(UsageError, match="'alpha' and 'ALP' are the same method, alpha; name two"):
        compare(store, "alpha", "ALP")


def test_a_name_on_the_leaderboard_means_one_method_also_where_two_histories_were_run(tmp_path: Path) -> None:
    rows = clear()
    rows["methods"][1] = method("beta", "alpha", history="chain")
    path = make(rows, tmp_path)
    [row, _] = json.loads(compare(path, "alpha [prefix]", "alpha [chain]", layout=Layout("json")))
    assert row["difference"] == pytest.approx(12.1 / 6)
    with pytest.raises(UsageError, match=r"several methods: alpha \[chain\]; alpha \[prefix\]"):
        compare(path, "alpha", "gamma")


def test_a_store_without_results_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no results at"):
        compare(tmp_path / "scores.duckdb", "a", "b")
    build_database({}, tmp_path / "scores.duckdb")
    with pytest.raises(UsageError, match="the store has no results yet"):
        compare(tmp_path / "scores.duckdb", "a", "b")


def test_the_command_compares_and_ends_with_2_for_a_method_that_does_not_exist(
    tmp_path: Path, command: Command
) -> None:
    Store.create(str(tmp_path / "store"), "o200k_base")
    make(clear(), tmp_path)
    shown = command("compare", "Alpha", "bet", "--store", tmp_path / "store", "--json")
    assert shown.exit_code == 0, shown.output
    assert [row["says"] for row in json.loads(shown.stdout)] == ["A better", "A better"]
    wrong = command("compare", "alpa", "beta", "--store", tmp_path / "store")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "closest first: alpha; " in wrong.stderr
