"""Two methods against each other: differences on the same questions, and where they come from."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
from rich.text import Text

from flows.database import connect
from flows.leaderboard import DIMENSIONS, MOST_PARTS, Split
from flows.printing import (
    MISSING,
    WIDTH,
    Format,
    Rows,
    counted,
    drawn,
    fetched,
    fixed,
    markdown,
    of_judge,
    plain,
    printed,
    written,
)
from flows.problems import UsageProblem, closest

QUESTIONS = 6
"""Questions that are shown, where the user does not say how many."""

QUESTION_CHARS = 110
"""Characters of a question that are shown."""

NAMES = 8
"""Names of methods that an unknown one is answered with."""

LEVEL = 0.05
"""A difference is shown when its adjusted p-value is below this."""

Row = dict[str, Any]

_DIFFERENCES = """
SELECT
    part.judge_id, part.judge, part.split, part.value, part.dimension, part.method_a, part.method_b,
    part.mean_a, part.mean_b, part.difference, part.std_error, part.ci_low, part.ci_high, part.p_value,
    part.p_adjusted AS p_adjusted_of_pair, part.n_pairs, part.n_sessions, part.detectable_difference, part.df
FROM paired_differences_by_split AS part
WHERE part.method_id_a = $first AND part.method_id_b = $second AND part.split = $split
"""

_ADJUSTED = """
SELECT judge_id, dimension, p_adjusted
FROM paired_differences
WHERE method_id_a = $first AND method_id_b = $second
"""

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
    format: Format = "table",
    questions: int = QUESTIONS,
) -> str:
    """The paired difference of two methods per dimension, one judge after the other.

    Args:
        path: The ``scores.duckdb`` to read.
        a: A method's name as on the leaderboard, in any case, or a beginning that only one method has.
        b: The other method.
        judge: A judge id or the beginning of one, or a judge's name such as ``embedded``; all judges without it.
        by: The same within each part of a split.
        format: ``table`` and ``markdown`` are for reading, with the questions on which the methods differ most and what
            cannot be compared; ``csv`` and ``json`` are the rows with full precision and what they say in words.
        questions: Questions to show.

    Raises:
        StoreProblem: there is no database yet.
        UsageProblem: the store has no such method or judge, or both methods are the same.
    """
    with connect(path) as connection:
        methods = fetched(connection, "SELECT method, method_id, is_current FROM stg_methods ORDER BY method").values
        known = {method: method_id for method, method_id, _ in methods}
        current = [method for method, _, is_current in methods if is_current]
        name_a, name_b = method_named(a, list(known), current), method_named(b, list(known), current)
        if name_a == name_b:
            raise UsageProblem(f"{a!r} and {b!r} are the same method, {name_a}; name two")
        ids = {"a": known[name_a], "b": known[name_b]}
        rows = _differences(connection, name_a, name_b, ids, by)
        if judge is not None:
            scored = fetched(connection, "SELECT DISTINCT judge_id, judge FROM leaderboard ORDER BY ALL")
            wanted = {judge_id for judge_id, _ in of_judge(scored, judge).values}
            rows = [row for row in rows if row["judge_id"] in wanted]
        if format in ("csv", "json"):
            return written(Rows(list(_COLUMNS), [tuple(row[name] for name in _COLUMNS) for row in rows]), format)
        if not rows:
            return f"No question has a score for both {name_a} and {name_b}: there is nothing to compare.\n"
        by_judge: dict[str, list[Row]] = {}
        for row in rows:
            by_judge.setdefault(row["judge_id"], []).append(row)
        sections = [_section(connection, found, ids, by, format, questions) for found in by_judge.values()]
    return f"A: {name_a}\nB: {name_b}\n\n" + "\n".join(sections)


def method_named(name: str, known: Sequence[str], first: Sequence[str] = ()) -> str:
    """The one method that a name means: itself, in another case, or as the beginning of one.

    Where that means several of ``known``, the one among them that is in ``first``.

    Raises:
        UsageProblem: no method has the name, or several begin with it; says which there are, the closest first.
    """
    if name in known:
        return name
    for is_it in (str.__eq__, str.startswith):
        found = [method for method in known if is_it(method.lower(), name.lower())]
        among_first = [method for method in found if method in first]
        if len(found) == 1 or len(among_first) == 1:
            return (among_first or found)[0]
        if found:
            raise UsageProblem(f"{name!r} is the beginning of several methods: {'; '.join(found)}")
    if not known:
        raise UsageProblem(f"no method {name!r}: the store has no results yet")

    def likeness(method: str) -> tuple[float, str]:
        whole, stem = method.lower(), method.lower().partition("(")[0]
        return -max(difflib.SequenceMatcher(None, name.lower(), text).ratio() for text in (whole, stem)), method

    ordered = sorted(known, key=likeness)
    more = f" and {len(known) - NAMES} more (compaction-eval leaderboard)" if len(known) > NAMES else ""
    raise UsageProblem(
        f"no method {name!r} in this store{closest(name, known)}; there are, closest first: "
        f"{'; '.join(ordered[:NAMES])}{more}"
    )


_COLUMNS = (
    "judge_id", "judge", "split", "value", "dimension", "method_a", "method_b", "mean_a", "mean_b", "difference",
    "std_error", "ci_low", "ci_high", "p_value", "p_adjusted", "p_adjusted_of_pair", "n_pairs", "n_sessions",
    "detectable_difference", "df", "says",
)  # fmt: skip


def _differences(
    connection: duckdb.DuckDBPyConnection, name_a: str, name_b: str, ids: Mapping[str, str], by: Split | None
) -> list[Row]:
    """The rows of the views, as A - B whatever the order of the names."""
    is_turned = name_a > name_b
    first, second = (ids["b"], ids["a"]) if is_turned else (ids["a"], ids["b"])
    rows = fetched(connection, _DIFFERENCES, first=first, second=second, split=by or "all").dicts()
    # The family of all pairs is the leaderboard's; within a part of a split only the pair's own is looked at.
    adjusted = {} if by else {
        (judge_id, dimension): p
        for judge_id, dimension, p in fetched(connection, _ADJUSTED, first=first, second=second).values
    }  # fmt: skip
    found = [_turned(row) if is_turned else row for row in rows]
    for row in found:
        row["p_adjusted"] = adjusted.get((row["judge_id"], row["dimension"]))
        row["says"] = in_words(row)
    order = ["overall", *DIMENSIONS]
    parts = sorted({row["value"] for row in found}, key=_part_order)

    def place(row: Row) -> tuple[Any, ...]:
        dimension = row["dimension"]
        at = order.index(dimension) if dimension in order else len(order)
        return row["judge"] or "", row["judge_id"], parts.index(row["value"]), at, dimension

    return sorted(found, key=place)


def _part_order(value: str) -> tuple[int, int, str]:
    """Cycles by number, lengths by length, all else by name."""
    lengths = ("short", "medium", "long")
    return (0, int(value), "") if value.isdigit() else (1, lengths.index(value) if value in lengths else 0, value)


def _turned(row: Row) -> Row:
    return {
        **row,
        "method_a": row["method_b"], "method_b": row["method_a"], "mean_a": row["mean_b"], "mean_b": row["mean_a"],
        **{to: None if row[of] is None else -row[of] + 0.0
           for to, of in (("difference", "difference"), ("ci_low", "ci_high"), ("ci_high", "ci_low"))},
    }  # fmt: skip


def in_words(row: Mapping[str, Any]) -> str:
    """What a difference says: who is better as far as this data shows, or what it could have shown."""
    if row["std_error"] is None:
        return "one session: no interval, nothing is shown"
    better = "A better" if row["difference"] > 0 else "B better"
    if row["p_adjusted"] is not None and row["p_adjusted"] < LEVEL:
        return better
    if row["p_adjusted_of_pair"] < LEVEL:
        return better if row["split"] != "all" else f"{better}, if the pair was chosen beforehand"
    if row["std_error"] == 0:
        return "no difference in any session"
    could = fixed(row["detectable_difference"])
    return f"no difference shown; one of {could} or more would have been seen in 80 % of such data"


def _section(
    connection: duckdb.DuckDBPyConnection,
    rows: list[Row],
    ids: Mapping[str, str],
    by: Split | None,
    format: Format,
    questions: int,
) -> str:
    judge_id, judge = rows[0]["judge_id"], rows[0]["judge"]
    title = f"Judge {judge} {judge_id}"
    title += ": no language model gave these scores." if judge == "embedded" else "."
    parts = list(dict.fromkeys(row["value"] for row in rows))
    shown = [row for row in rows if row["value"] in parts[:MOST_PARTS]]
    blocks = [title if by else f"{title} {_headline(rows)}", _table(shown, by, format)]
    notes = _notes(rows, by)
    if len(parts) > MOST_PARTS:
        notes.append(f"{len(parts) - MOST_PARTS} more parts with --format csv.")
    asked = fetched(connection, _QUESTIONS, judge_id=judge_id, n=questions, **ids).dicts()
    alone = fetched(connection, _ALONE, judge_id=judge_id, **ids).dicts()[0]
    lost = [
        (which, fetched(connection, _LOST, judge_id=judge_id, method_id=method_id).dicts()[0])
        for which, method_id in zip("AB", (ids["a"], ids["b"]), strict=True)
    ]
    blocks.append(("\n\n" if format == "markdown" else "\n").join(notes))
    if asked:
        blocks += ["Questions on which they differ most, by overall:", _asked(asked, format)]
        blocks.append(_READ.format(probe_id=asked[0]["probe_id"]))
    blocks.append(_not_comparable(alone, lost))
    if format == "markdown":
        return "\n\n".join(block.rstrip("\n") for block in blocks if block) + "\n"
    return "".join(block if block.endswith("\n") else printed(Text(block), WIDTH) for block in blocks if block)


def _headline(rows: list[Row]) -> str:
    overall = next((row for row in rows if row["dimension"] == "overall"), None)
    if overall is None:
        return ""
    if overall["std_error"] is None:
        return "One session: no interval and no p-value, because it cannot say how sessions differ."
    return f"Overall: {overall['says']}."


def _table(rows: list[Row], by: Split | None, format: Format) -> str:
    heads: dict[str, Callable[[Row], str]] = {
        "dimension": lambda row: row["dimension"],
        "A": lambda row: fixed(row["mean_a"]),
        "B": lambda row: fixed(row["mean_b"]),
        "A-B": lambda row: signed(row["difference"]),
        "95% interval": _interval,
        "p": lambda row: chance(row["p_value"]),
        "p adj.": lambda row: chance(row["p_adjusted_of_pair"]),
        "could show": lambda row: fixed(row["detectable_difference"]),
        "pairs": lambda row: str(row["n_pairs"]),
        "sess.": lambda row: str(row["n_sessions"]),
        "says": _brief,
    }
    texts = {"dimension", "says"}
    if by:
        heads = {by: lambda row: plain(row["value"]), **heads}
        texts.add(by)
        for wide in ("A", "B", "p"):
            del heads[wide]
    cells = [[cell(row) for cell in heads.values()] for row in rows]
    numeric = [name not in texts for name in heads]
    names = list(heads)
    return markdown(names, cells, numeric) if format == "markdown" else drawn(names, cells, numeric, width=WIDTH)


def signed(value: float | None) -> str:
    """A difference with its sign, and none for what rounds to 0."""
    if value is None:
        return MISSING
    text = f"{round(value, 9):+.2f}"
    return "0.00" if float(text) == 0 else text


def chance(p: float | None) -> str:
    """A p-value for reading."""
    if p is None:
        return MISSING
    return "<.001" if p < 0.001 else f"{p:.3f}"


def _interval(row: Row) -> str:
    return MISSING if row["ci_low"] is None else f"{signed(row['ci_low'])} {signed(row['ci_high'])}"


def _brief(row: Row) -> str:
    says = str(row["says"])
    if row["std_error"] is None:
        return MISSING
    if says.startswith("no difference"):
        return "not shown"
    return f"{says.partition(',')[0]} ¹" if "," in says else says


def _notes(rows: list[Row], by: Split | None) -> list[str]:
    notes = []
    if any(row["std_error"] is not None for row in rows):
        family = f"parts of {by} and dimensions" if by else "dimensions"
        note = (
            "A-B: mean of the differences on the questions that both have a score for, clustered by session. p adj.: "
            f"Holm's correction over the {family} of this table; could show: true difference that is shown in 80 % of "
            "such data (before correction)."
        )
        notes.append(f"{note} Not shown: p adj. is {LEVEL} or more.")
    if any("beforehand" in row["says"] for row in rows):
        notes.append(
            "¹ If this pair was chosen before its figures were seen. Picked off the leaderboard it is one of many, and "
            "after Holm's correction over all pairs and dimensions the difference is not shown (column p_adjusted of "
            "paired_differences)."
        )
    if by:
        overall = [row for row in rows if row["dimension"] == "overall"]
        ways = [sum(sign * row["difference"] > 1e-9 for row in overall) for sign in (1, -1)]
        notes.append(f"Overall is higher for A in {ways[0]} and for B in {ways[1]} of {counted(len(overall), 'part')}.")
    if any(row["std_error"] is None for row in rows) and any(row["std_error"] is not None for row in rows):
        notes.append(f"{MISSING}: one session, which cannot say how sessions differ.")
    return notes


def _asked(rows: list[Row], format: Format) -> str:
    names = ["A", "B", "type", "question", "probe_id"]
    cells = [
        [fixed(row["score_a"]), fixed(row["score_b"]), row["probe_type"], _cut(row["question"]), row["probe_id"]]
        for row in rows
    ]
    numeric = [True, True, False, False, False]
    return markdown(names, cells, numeric) if format == "markdown" else drawn(names, cells, numeric, width=WIDTH)


def _cut(question: str) -> str:
    text = plain(" ".join(question.split()))
    return text if len(text) <= QUESTION_CHARS else f"{text[: QUESTION_CHARS - 1]}…"


def _not_comparable(alone: Row, lost: Sequence[tuple[str, Row]]) -> str:
    """What each method lacks, and so what the comparison leaves out."""
    reasons = []
    for which, row in lost:
        found = [
            text
            for number, text in (
                (row["failed_compactions"], f"{counted(row['failed_compactions'], 'compaction')} failed"),
                (row["points_not_applicable"], f"not applicable at {counted(row['points_not_applicable'], 'point')}"),
                (row["failed_answers"], f"{counted(row['failed_answers'], 'answer')} failed"),
                (row["unscored_answers"], f"{counted(row['unscored_answers'], 'answer')} unscored"),
            )
            if number
        ]
        if found:
            reasons.append(f"{which}: {', '.join(found)}.")
    if not (alone["only_a"] or alone["only_b"] or reasons):
        return f"Both have a score for the same {counted(alone['both'], 'question')}."
    left_out = f"Compared on {counted(alone['both'], 'question')}; left out are {alone['only_a']:,} that only A has a "
    return " ".join([f"{left_out}score for and {alone['only_b']:,} that only B has.", *reasons])
