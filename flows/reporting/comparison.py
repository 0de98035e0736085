"""Two methods against each other: differences on the same questions, and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb

from flows.database.scores_db import connect
from flows.reporting.clusters import describe_clusters
from flows.reporting.leaderboard import MOST_PARTS
from flows.reporting.leaderboard_rows import MARGIN
from flows.reporting.method_names import find_methods
from flows.reporting.paired_differences import COLUMNS, LEVEL, Row, paired_differences
from flows.reporting.text_tables import (
    FOR_READING,
    MISSING,
    Layout,
    Rows,
    fetch_rows,
    format_p,
    format_signed,
    plain_cell,
    render_rows,
    rows_of_judge,
    two_decimals,
)
from flows.support.choices import QUESTIONS, Split
from flows.support.errors import UsageError
from flows.support.plurals import quantity

QUESTION_CHARS = 110
"""Characters of a question that are shown."""

_QUESTIONS = """
WITH probe_means AS (
    SELECT
        probe_id, any_value(session_id) AS session_id,
        avg(score) FILTER (WHERE method_id = $a) AS score_a, avg(score) FILTER (WHERE method_id = $b) AS score_b
    FROM int_answer_scores
    WHERE judge_id = $judge_id AND dimension = 'overall' AND method_id IN ($a, $b)
    GROUP BY probe_id
)
SELECT score_a, score_b, score_a - score_b AS difference, probe_type, question, probe_id, session_id
FROM probe_means JOIN probes USING (probe_id)
WHERE round(abs(score_a - score_b), 9) > 0
ORDER BY round(abs(score_a - score_b), 9) DESC, probe_id
LIMIT $n
"""

_READ = (
    'Read one: compaction-eval sql "SELECT method, text FROM stg_methods JOIN stg_answers USING (method_id) '
    "JOIN answers USING (answer_id) WHERE stg_answers.probe_id = '{probe_id}'\""
)

_ALONE = """
WITH scored AS (
    SELECT probe_id, bool_or(method_id = $a) AS has_a, bool_or(method_id = $b) AS has_b
    FROM int_answer_scores
    WHERE judge_id = $judge_id AND dimension = 'overall' AND method_id IN ($a, $b)
    GROUP BY probe_id
)
SELECT
    count(*) FILTER (WHERE has_a AND has_b) AS both,
    count(*) FILTER (WHERE NOT has_b) AS only_a,
    count(*) FILTER (WHERE NOT has_a) AS only_b
FROM scored
"""

_LOST = """
SELECT
    (SELECT count(*) FROM compactions WHERE method_id = $method_id AND status = 'failed') AS failed_compactions,
    (SELECT count(DISTINCT point_id) FROM compactions WHERE method_id = $method_id AND status = 'not_applicable')
        AS points_not_applicable,
    (SELECT count(*) FROM stg_answers WHERE method_id = $method_id AND status = 'failed') AS failed_answers,
    (SELECT count(*) FROM int_judged_answers
        WHERE method_id = $method_id AND judge_id = $judge_id AND NOT is_scored) AS unscored_answers
"""


def compare(
    path: Path,
    a: str,
    b: str,
    judge: str | None = None,
    by: Split | None = None,
    layout: Layout = FOR_READING,
    questions: int = QUESTIONS,
) -> str:
    """The paired difference of two methods per dimension, one judge after the other.

    Args:
        path: The ``scores.duckdb`` to read.
        a: A method's name as on the leaderboard, in any case, or a beginning that only one method has.
        b: The other method.
        judge: A judge id or the beginning of one, or a judge's name such as ``embedded``; all judges without it.
        by: The same within each part of a split.
        layout: Tables for reading are followed by the questions on which the methods differ most and what cannot be
            compared; ``csv`` and ``json`` are the rows with full precision and what they say in words.
        questions: Questions to show.

    Raises:
        StoreError: there is no database yet.
        UsageError: the store has no such method or judge, or both methods are the same.
    """
    with connect(path) as connection:
        (name_a, id_a), (name_b, id_b) = find_methods(connection, a, b)
        if name_a == name_b:
            raise UsageError(f"{a!r} and {b!r} are the same method, {name_a}; name two")
        ids = {"a": id_a, "b": id_b}
        rows = paired_differences(connection, name_a, name_b, by)
        if judge is not None:
            scored = fetch_rows(connection, "SELECT DISTINCT judge_id, judge FROM leaderboard ORDER BY ALL")
            wanted = {judge_id for judge_id, _ in rows_of_judge(scored, judge).values}
            rows = [row for row in rows if row["judge_id"] in wanted]
        if layout.is_data:
            values = [tuple(row[name] for name in COLUMNS) for row in rows]
            return render_rows(Rows(list(COLUMNS), values), layout.format)
        if not rows:
            return f"No question has a score for both {name_a} and {name_b}: there is nothing to compare.\n"
        by_judge: dict[str, list[Row]] = {}
        for row in rows:
            by_judge.setdefault(row["judge_id"], []).append(row)
        sections = [_section(connection, found, ids, by, layout, questions) for found in by_judge.values()]
    return f"A: {name_a}\nB: {name_b}\n\n" + "\n".join(sections)


def _section(
    connection: duckdb.DuckDBPyConnection,
    rows: list[Row],
    ids: Mapping[str, str],
    by: Split | None,
    layout: Layout,
    questions: int,
) -> str:
    judge_id, judge = rows[0]["judge_id"], rows[0]["judge"]
    title = f"Judge {judge} {judge_id}"
    title += ": no language model gave these scores." if judge == "embedded" else "."
    parts = list(dict.fromkeys(row["value"] for row in rows))
    shown = [row for row in rows if row["value"] in parts[:MOST_PARTS]]
    blocks = [title if by else f"{title} {_headline(rows)}", _table(shown, by, layout)]
    notes = _notes(rows, by, describe_clusters(connection))
    if len(parts) > MOST_PARTS:
        notes.append(f"{len(parts) - MOST_PARTS} more parts with --format csv.")
    asked = fetch_rows(connection, _QUESTIONS, judge_id=judge_id, n=questions, **ids).dicts()
    alone = fetch_rows(connection, _ALONE, judge_id=judge_id, **ids).dicts()[0]
    lost = [
        (which, fetch_rows(connection, _LOST, judge_id=judge_id, method_id=method_id).dicts()[0])
        for which, method_id in zip("AB", (ids["a"], ids["b"]), strict=True)
    ]
    blocks.append(("\n\n" if layout.format == "markdown" else "\n").join(notes))
    if asked:
        blocks += ["Questions on which they differ most, by overall:", _render_questions(asked, layout)]
        blocks.append(_READ.format(probe_id=asked[0]["probe_id"]))
    blocks.append(_format_left_out(alone, lost))
    if layout.format == "markdown":
        return "\n\n".join(block.rstrip("\n") for block in blocks if block) + "\n"
    return "".join(block if block.endswith("\n") else layout.note(block) for block in blocks if block)


def _headline(rows: list[Row]) -> str:
    overall = next((row for row in rows if row["dimension"] == "overall"), None)
    if overall is None:
        return ""
    if overall["std_error"] is None:
        return "One session: no interval and no p-value, because it cannot say how sessions differ."
    return f"Overall: {overall['says']}."


def _table(rows: list[Row], by: Split | None, layout: Layout) -> str:
    heads: dict[str, Callable[[Row], str]] = {
        "dimension": lambda row: row["dimension"],
        "A": lambda row: two_decimals(row["mean_a"]),
        "B": lambda row: two_decimals(row["mean_b"]),
        "A-B": lambda row: format_signed(row["difference"]),
        "95% interval": _interval,
        "p": lambda row: format_p(row["p_value"]),
        "p adj.": lambda row: format_p(row["p_adjusted_of_pair"]),
        "detectable": lambda row: two_decimals(row["detectable_difference"]),
        "pairs": lambda row: str(row["n_pairs"]),
        "sess.": lambda row: str(row["n_sessions"]),
        "says": _format_brief,
    }
    texts = {"dimension", "says"}
    if by:
        heads = {by: lambda row: plain_cell(row["value"]), **heads}
        texts.add(by)
        for wide in ("A", "B", "p"):
            del heads[wide]
    cells = [[cell(row) for cell in heads.values()] for row in rows]
    numeric = [name not in texts for name in heads]
    names = list(heads)
    return layout.table(names, cells, numeric)


def _interval(row: Row) -> str:
    return MISSING if row["ci_low"] is None else f"{format_signed(row['ci_low'])} {format_signed(row['ci_high'])}"


def _format_brief(row: Row) -> str:
    says = str(row["says"])
    if row["std_error"] is None:
        return MISSING
    if says.startswith("no difference"):
        return "not shown"
    if says.startswith("as good"):
        return "as good"
    return f"{says.partition(',')[0]} ¹" if "," in says else says


def _notes(rows: list[Row], by: Split | None, clustered: str) -> list[str]:
    notes = []
    if any(row["std_error"] is not None for row in rows):
        family = f"parts of {by} and dimensions" if by else "dimensions"
        note = (
            f"A-B: mean of the differences on the questions that both have a score for, {clustered}. p adj.: "
            f"Holm's correction over the {family} of this table; detectable: true difference that is shown in 80 % of "
            "such data (before correction)."
        )
        note += f" Not shown: p adj. is {LEVEL} or more."
        if any(row["says"].startswith("as good") for row in rows):
            note += (
                f" As good: shown to be less than {MARGIN} apart (two one-sided tests, corrected as p adj. is); that "
                "no difference is shown would not be enough."
            )
        notes.append(note)
    if any("beforehand" in row["says"] for row in rows):
        notes.append(
            "¹ If this pair was chosen before its figures were seen. Picked off the leaderboard it is one of many, and "
            "after Holm's correction over all pairs and dimensions the difference is not shown (column p_adjusted of "
            "paired_differences)."
        )
    if by:
        overall = [row for row in rows if row["dimension"] == "overall"]
        ways = [sum(sign * row["difference"] > 1e-9 for row in overall) for sign in (1, -1)]
        notes.append(
            f"Overall is higher for A in {ways[0]} and for B in {ways[1]} of {quantity(len(overall), 'part')}."
        )
    if any(row["std_error"] is None for row in rows) and any(row["std_error"] is not None for row in rows):
        notes.append(f"{MISSING}: one session, which cannot say how sessions differ.")
    if any(row["std_error"] == 0 for row in rows):
        notes.append(f"{MISSING} as interval: no session differs from another; how far others would cannot be told.")
    return notes


def _render_questions(rows: list[Row], layout: Layout) -> str:
    names = ["A", "B", "type", "question", "probe_id"]
    cells = [
        [
            two_decimals(row["score_a"]),
            two_decimals(row["score_b"]),
            row["probe_type"],
            _shorten(row["question"]),
            row["probe_id"],
        ]
        for row in rows
    ]
    numeric = [True, True, False, False, False]
    return layout.table(names, cells, numeric)


def _shorten(question: str) -> str:
    text = plain_cell(" ".join(question.split()))
    return text if len(text) <= QUESTION_CHARS else f"{text[: QUESTION_CHARS - 1]}…"


def _format_left_out(alone: Row, lost: Sequence[tuple[str, Row]]) -> str:
    """Format the counts that the comparison leaves out because one of the two methods lacks them."""
    reasons = []
    for which, row in lost:
        found = [
            text
            for number, text in (
                (row["failed_compactions"], f"{quantity(row['failed_compactions'], 'compaction')} failed"),
                (row["points_not_applicable"], f"not applicable at {quantity(row['points_not_applicable'], 'point')}"),
                (row["failed_answers"], f"{quantity(row['failed_answers'], 'answer')} failed"),
                (row["unscored_answers"], f"{quantity(row['unscored_answers'], 'answer')} unscored"),
            )
            if number
        ]
        if found:
            reasons.append(f"{which}: {', '.join(found)}.")
    if not (alone["only_a"] or alone["only_b"] or reasons):
        return f"Both have a score for the same {quantity(alone['both'], 'question')}."
    left_out = f"Compared on {quantity(alone['both'], 'question')}; left out are {alone['only_a']:,} that only A has a "
    return " ".join([f"{left_out}score for and {alone['only_b']:,} that only B has.", *reasons])
