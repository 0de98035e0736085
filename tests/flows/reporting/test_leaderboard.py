"""The leaderboard as it is read: in a terminal, in Markdown, and by programs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from flows.database.database_draft import build_database
from flows.database.scores_db import connect
from flows.reporting.html.figures import load_figures
from flows.reporting.leaderboard import render, render_by
from flows.reporting.leaderboard_rows import Selection
from flows.reporting.query_result import render_query
from flows.reporting.scorecard import render_scorecards, scorecards
from flows.reporting.text_tables import FOR_READING, Layout
from flows.support.errors import StoreError, UsageError
from flows.support.terminal_text import WIDTH
from tests.sql.loaded import make_loaded
from tests.sql.test_ranks import partial
from tests.sql.tiny import graded, judge, tiny

TERMINAL = """\
method overall ±95% group ranks kept   cut  acc  art  cmp n
───────────────────────────────────────────────────────────
keep ◆   3.42 ±5.24 a     1-2      – 70.0% 3.50 1.00 4.00 3
cut ◆    3.25     – a     –        –  0.0% 3.50 2.00 3.50 2
Embedded judge j1, rubric tiny@1: no language model gave these scores, and they are not to be
compared with scores that a model or a person gave.
5 answers in 2 sessions; 1 unscored; 0 not judged yet; 1 compaction, 0 probes and 1 answer failed; 7
probes not asked (probes_not_asked says why), 0 missing.
±95%: half the interval of overall, clustered by session. group: methods with a letter in common
(b-e: b, c, d, e) are not told apart (paired on the question, corrected for all pairs of methods, 5
%). Of two without one, and of intervals that overlap: compaction-eval compare A B.
ranks: between which a method lies in 95 % of 1,000 draws of the sessions.
◆, and first: no other method keeps as much for less, or more at no higher cost; cost: tokens read.
Then the rest; both by kept. A comparison of figures, not a test.
The methods do not rest on the same questions (1 time a method lacks one that another has): see
overall_on_shared_probes and the views coverage and checks.
Answers by embedded; probes by embedded. Methods none (nothing removed) and empty (everything) are
controls: no methods to choose, without a rank.
overall: mean over answers; kept: of what the whole history is worth above nothing; acc accuracy,
art artifact trail, cmp completeness; cut: share of tokens removed; n: answers.
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_loaded(tiny(), tmp_path_factory.mktemp("tiny"))


def test_the_table_of_a_judge_says_what_judged_and_what_is_missing(store: Path) -> None:
    """The interval of keep: residuals ∓7/12 of sessions with 2/3 and 1/3 of the answers, so 12.706 · 0.4125."""
    assert render(store, "embedded") == TERMINAL


def test_a_judge_is_found_by_its_name_or_the_beginning_of_its_id(store: Path) -> None:
    assert render(store, "j1") == render(store, "embedded")
    assert "Judge openai:grader, id j2, rubric tiny@1, protocol " in render(store, "openai:grader")


def test_methods_have_letters_and_controls_stand_apart(tmp_path: Path) -> None:
    """In every session near is better by 2, and far and the control none are alike; 2.571 · 0.374 / √6 is 0.39."""
    figures = {(f"s{i}", "q"): 1.0 + i / 5 for i in range(6)}
    path = make_loaded(
        graded({"near": {k: x + 2 for k, x in figures.items()}, "far": figures, "none": figures}), tmp_path
    )
    lines = render(path).splitlines()
    assert [line.split()[:4] for line in lines[2:6]] == [
        ["near", "◆", "3.50", "±0.39"],
        ["far", "1.50", "±0.39", "b"],
        [],
        ["none", "1.50", "±0.39", "–"],
    ]
    assert "||" not in render(path, layout=Layout("markdown")).replace(" ", "")


def test_a_baseline_has_every_other_method_compared_with_it(tmp_path: Path) -> None:
    """Up is better by 0.5 and near worse by 0.1, 0.01 more or less; the control empty is a family by itself."""
    figures = {(f"s{i}", "q"): 2.0 + i / 5 for i in range(6)}
    shifts = {"now": 0.0, "up": 0.5, "near": -0.1, "empty": -1.0}
    scored = {
        name: {key: x + shift + (0.01 if shift else 0) * (-1) ** at for at, (key, x) in enumerate(figures.items())}
        for name, shift in shifts.items()
    }
    path = make_loaded(graded(scored), tmp_path)
    text = render(path, baseline="NOW", layout=Layout(width=120))
    lines = {line.split()[0]: line for line in text.splitlines()[2:12] if line}
    assert "+0.50 ±0.01 better         <.001" in lines["up"]
    assert "-0.10 ±0.01 a little worse <.001" in lines["near"]
    assert "-1.00 ±0.01 worse          <.001" in lines["empty"]
    assert "baseline" in lines["now"]
    assert "base: now. against base: difference on the same questions" in text
    assert "corrected for the 2 methods compared with it" in " ".join(text.split())
    [row] = [row for row in json.loads(render(path, layout=Layout("json"), baseline="now")) if row["method"] == "up"]
    assert (row["baseline"], row["baseline_difference"], row["baseline_says"]) == ("now", pytest.approx(0.5), "better")
    assert "baseline" not in json.loads(render(path, layout=Layout("json")))[0]
    with pytest.raises(UsageError, match="no method 'who'"):
        render(path, baseline="who")


def test_columns_order_and_number_of_rows_can_be_chosen(tmp_path: Path) -> None:
    """Names of the table and of the view do; the controls stay last, and the notes speak of all methods."""
    figures = {(f"s{i}", "q"): 1.0 + i / 5 for i in range(6)}
    path = make_loaded(graded({"b": {k: x + 2 for k, x in figures.items()}, "a": figures, "none": figures}), tmp_path)

    def lines(layout: Layout = FOR_READING, **chosen: Any) -> list[str]:
        return render(path, layout=layout, selection=Selection(**chosen)).splitlines()

    assert [line.split() for line in lines(columns=("n",))[:6]] == [
        ["method", "n"],
        ["─" * len("method n")],
        ["b", "◆", "6"],
        ["a", "6"],
        [],
        ["none", "6"],
    ]
    by_name = lines(sort="method", top=1, columns=("n_answers",))
    assert by_name[2].split() == ["a", "6"]
    assert by_name[3].startswith("Embedded judge")
    assert any(line.startswith("18 answers") for line in by_name)
    assert [line.split()[0] for line in lines(sort="overall")[2:4]] == ["b", "a"]
    assert lines(Layout("csv"), sort="method", columns=("group", "overall"), top=2) == [
        "judge_id,method,tie_group,overall",
        "j1,a,b,1.5",
        "j1,b,a,3.5",
    ]
    with pytest.raises(UsageError, match="--sort: no column 'price'; there are overall, acc"):
        lines(sort="price")


def test_one_session_says_nothing_against_a_baseline(tmp_path: Path) -> None:
    path = make_loaded(graded({"a": {("s1", "q"): 5.0}, "b": {("s1", "q"): 4.0}}), tmp_path)
    assert render(path, baseline="a").splitlines()[3].split()[2:6] == ["–", "-1.00", "–", "–"]


def test_a_figure_that_is_the_same_in_all_sessions_has_no_interval_and_says_so(tmp_path: Path) -> None:
    scored = {("s1", "q"): 4.0, ("s2", "q"): 3.0}
    path = make_loaded(graded({"base": scored, "level": dict.fromkeys(scored, 5.0), "same": scored}), tmp_path)
    table = render(path, baseline="base", layout=Layout(width=120))
    assert re.search(r"^level (◆ )? *5\.00 +– ", table, re.MULTILINE)
    assert re.search(r"^same .*0\.00 – +cannot tell", table, re.MULTILINE)
    assert "–: no session differs from another; how far others would cannot be told." in " ".join(table.split())


def test_what_retrieval_fetches_is_said_not_to_be_in_removed(tmp_path: Path) -> None:
    rows = graded({"a": {("s1", "q"): 5.0}})
    assert "what is fetched" not in render(make_loaded(rows, tmp_path / "without"))
    rows["answers"][0]["fetched_tokens"] = 7
    assert "what is fetched for a question not counted (see the view pareto)" in " ".join(
        render(make_loaded(rows, tmp_path / "with")).split()
    )


def test_several_judges_have_a_table_each(store: Path) -> None:
    assert render(store) == render(store, "j1") + "\n" + render(store, "j2")


def test_an_unknown_judge_is_answered_with_those_that_there_are(store: Path) -> None:
    with pytest.raises(UsageError, match=r"'who'.*; judges with scores: embedded \(j1\), openai:grader \(j2\)"):
        render(store, "who")


def test_one_session_has_no_interval_and_says_so(tmp_path: Path) -> None:
    text = render(make_loaded(graded({"a": {("s1", "q"): 5.0}}), tmp_path))
    assert "One session: no interval, no groups and no ranks" in text
    assert text.splitlines()[2].split() == ["a", "◆", "5.00", "–", "–", "–", "90.0%", "5.00", "1"]


def test_answers_of_several_responders_are_named(tmp_path: Path) -> None:
    rows = tiny()
    rows["answers"][0]["responder"] = "openai:other"
    assert "Answers of several responders are averaged: embedded, openai:other." in render(
        make_loaded(rows, tmp_path), "j1"
    )


@pytest.mark.parametrize("length", [10, 60])
def test_no_line_is_wider_than_a_terminal(tmp_path: Path, length: int) -> None:
    rows = tiny()
    rows["methods"][0]["method"] = "m(" + "x" * length + "[red])"
    rows["judges"][0] = judge("j1", "openai:" + "y" * length)
    lines = render(make_loaded(rows, tmp_path)).splitlines()
    assert max(map(len, lines)) <= WIDTH
    column = lines[0].index("overall")
    assert "x" * length + "[red])" in "".join(line[:column].strip() for line in lines)


def test_markdown_is_a_table_with_the_same_cells(store: Path) -> None:
    lines = render(store, "j1", Layout("markdown")).splitlines()
    assert lines[0].split("|")[1:6] == [" method ", " overall ±95% ", " group ", " ranks ", " kept "]
    assert lines[1].startswith("| --- | ---: |")
    assert lines[2].replace("|", " ").split() == TERMINAL.splitlines()[2].split()
    assert lines[3].startswith("| cut ◆ | 3.25 – | a | – | – |")
    assert any("no language model gave these scores" in line for line in lines[4:])


def test_csv_and_json_have_the_view_with_full_precision(store: Path) -> None:
    from_json = json.loads(render(store, None, Layout("json")))
    assert [(row["judge_id"], row["method"], row["tie_group"]) for row in from_json] == [
        ("j1", "keep", "a"),
        ("j1", "cut", "a"),
        ("j2", "keep", None),
    ]
    assert from_json[0]["overall"] == pytest.approx(10.25 / 3, abs=1e-12)
    assert from_json[1]["ci_low"] is None
    from_csv = list(csv.DictReader(io.StringIO(render(store, None, Layout("csv")))))
    assert [float(row["overall"]) for row in from_csv] == [row["overall"] for row in from_json]


def test_a_store_without_scores_says_so(tmp_path: Path) -> None:
    build_database({}, tmp_path / "scores.duckdb")
    assert render(tmp_path / "scores.duckdb") == "No answer has been scored yet; `coverage` says how far the run got.\n"
    assert json.loads(render(tmp_path / "scores.duckdb", None, Layout("json"))) == []


def test_a_query_is_shown_in_every_format(store: Path) -> None:
    sql = "SELECT method, tokens_removed, n_grew > 0 AS grew, NULL AS nothing FROM compression ORDER BY method LIMIT 2"
    assert render_query(store, sql) == (
        "method   tokens_removed   grew    nothing\n"
        "─────────────────────────────────────────\n"
        "broken              0.9   False\n"
        "cut                   0   True\n"
        "2 rows\n"
    )
    assert render_query(store, sql, Layout("markdown")).splitlines()[2] == "| broken | 0.9 | False |  |"
    assert (
        render_query(store, sql, Layout("csv"))
        == "method,tokens_removed,grew,nothing\nbroken,0.9,False,\ncut,0.0,True,\n"
    )
    assert json.loads(render_query(store, sql, Layout("json")))[1] == {
        "method": "cut",
        "tokens_removed": 0.0,
        "grew": True,
        "nothing": None,
    }


def test_a_query_with_times_and_lists_is_valid_json(store: Path) -> None:
    [row] = json.loads(
        render_query(store, "SELECT TIMESTAMP '2026-01-01' AS t, [1, 2] AS l, 1.5::DECIMAL AS d", Layout("json"))
    )
    assert row == {"t": "2026-01-01T00:00:00", "l": [1, 2], "d": "1.500"}


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nope FROM sessions", r'the query cannot be run: Referenced column "nope" not found'),
        ("SELEC 1", r'the query cannot be run: syntax error at or near "SELEC"'),
        ("DELETE FROM sessions", r"the query cannot be run: Cannot execute statement of type .DELETE. .* read-only"),
    ],
)
def test_a_query_that_cannot_be_run_is_one_clear_sentence(store: Path, sql: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        render_query(store, sql)
    assert "\n" not in str(raised.value)


def test_a_query_without_a_store_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no results at"):
        render_query(tmp_path / "scores.duckdb", "SELECT 1")


def test_a_method_that_is_not_applicable_everywhere_has_a_line_that_compares_with_the_others(tmp_path: Path) -> None:
    """Of its two sessions ``some`` has a mean of 1.5; as if asked all it has 2.4 (``tests.sql.test_ranks``)."""
    keys = [(f"s{i}", "q") for i in range(6)]
    high = dict(zip(keys, [3.6, 3.4, 3.5, 2.9, 2.1, 1.9], strict=True))
    low = {key: score - 1 for key, score in high.items()}
    path = make_loaded(
        partial({"high": high, "low": low, "some": {key: low[key] + 0.5 for key in keys[4:]}}, "some"), tmp_path
    )
    board = render(path, selection=Selection(sort="overall"))
    assert [line.split()[0] for line in board.splitlines()[2:5]] == ["high", "some", "low"]
    head, line = board.splitlines()[0].split(), board.splitlines()[3].replace("some *", "some").split()
    assert dict(zip([name for name in head if name != "±95%"], [*line[:2], *line[3:]], strict=True)) == {
        "method": "some", "overall": "2.40", "group": "b", "ranks": "–", "kept": "–", "cut": "–", "acc": "–", "n": "2"
    }  # fmt: skip
    assert "over its own points alone, which compares with no other line, overall is 1.50 ±" in " ".join(board.split())
    assert "| some \\* | 2.40 | b | – | – | 2 |" in render_scorecards(scorecards(path), 9, has_base=False)
    with connect(path) as connection:
        [row] = [row for row in load_figures(connection).of("methods") if row["method"] == "some"]
    assert (row["overall"], row["retention"], row["ci_low"], row["accuracy"], row["tokens_removed"]) == (
        2.4,
        *[None] * 4,
    )


def test_a_split_shows_the_mean_of_overall_in_each_part(tmp_path: Path) -> None:
    graded_store = make_loaded(graded({"a": {("s1", "q"): 5.0, ("s2", "q"): 3.0}, "b": {("s1", "q"): 1.0}}), tmp_path)
    lines = render_by(graded_store, "source").splitlines()
    assert lines[0].split()[0] == "method"
    assert [line.split()[:2] for line in lines[2:5]] == [["(sessions)", "2"], ["a", "4.00"], ["b", "1.00"]]
    assert "No language model gave these scores." in lines[5]


def test_a_part_of_a_split_shows_what_compares_with_the_others_or_nothing(tmp_path: Path) -> None:
    """``some`` is 0.5 above low in five of the eight long sessions, the hard ones, and in one of the two short ones.

    Over high and low of all long sessions, 3.1 and 2.1: ((3.1 - 0.5) + (2.1 + 0.5)) / 2; its own mean is 2.0.
    """
    means = [4.0, 4.2, 4.1, 2.5, 2.5, 2.5, 2.5, 2.5, 3.0, 3.4]
    keys = [(f"s{i}", "q") for i in range(10)]
    high = dict(zip(keys, means, strict=True))
    low = {key: score - 1 for key, score in high.items()}
    store = partial({"high": high, "low": low, "some": {key: low[key] + 0.5 for key in keys[3:9]}}, "some")
    for row in store["sessions"]:
        row["n_tokens"] = 1_000 if row["session_id"] in ("s8", "s9") else 500_000
    path = make_loaded(store, tmp_path, is_checked=True)
    text = render_by(path, "length")
    shown = {line.split()[0]: line.replace(" *", "").split()[1:] for line in text.splitlines()[2:6]}
    assert shown == {
        "(sessions)": ["8", "2"],
        "high": ["3.10", "3.20"],
        "some": ["2.60", "–"],
        "low": ["2.10", "2.20"],
    }
    assert "– where these are of fewer than five sessions" in " ".join(text.split())
    with connect(path) as connection:
        found = load_figures(connection)
    parts = {row["part"]: row for row in found.of("splits") if row["method"] == "some" and row["split"] == "length"}
    assert {part: (round(row["mean"], 6), row["ci_low"]) for part, row in parts.items()} == {"long": (2.6, None)}
    on_heat = [row for row in found.of("dimensions") if row["method"] == "some"]
    [on_board] = [row for row in found.of("methods") if row["method"] == "some"]
    assert [(row["dimension"], row["mean"], row["ci_low"]) for row in on_heat] == [
        ("overall", on_board["overall"], None)
    ]


def test_a_split_as_csv_is_its_view(store: Path) -> None:
    header, *rows = render_by(store, "probe_type", "j1", Layout("csv")).splitlines()
    assert header.startswith("judge_id,judge,method,probe_type,dimension,mean,std_error,ci_low,ci_high")
    same = render_query(store, "SELECT * FROM leaderboard_by_probe_type WHERE judge_id = 'j1'", Layout("csv"))
    assert rows == same.splitlines()[1:]
