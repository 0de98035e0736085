"""The leaderboard as text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb

from flows.database.scores_db import connect
from flows.reporting.method_names import find_methods
from flows.reporting.text_tables import (
    FOR_READING,
    MISSING,
    Layout,
    Rows,
    fetch_rows,
    format_p,
    format_signed,
    render_rows,
    rounded,
    rows_of_judge,
    two_decimals,
)
from flows.support.choices import Split, Versions
from flows.support.errors import UsageError
from flows.support.plurals import quantity
from judge import CONSTRAINTS

MOST_PARTS = 8
"""Parts of a split that Markdown has beside each other."""

DIMENSIONS = {
    "accuracy": "acc",
    "context_awareness": "ctx",
    "artifact_trail": "art",
    "completeness": "cmp",
    "continuity": "cnt",
    "instruction_following": "ins",
    CONSTRAINTS: "con",
}
"""The six dimensions of the study's rubric and constraints, which stand beside them, with the heads that fit."""

AGAINST_BASELINE = {
    "baseline_difference": "difference",
    "baseline_ci_low": "ci_low",
    "baseline_ci_high": "ci_high",
    "baseline_p_adjusted": "p_adjusted",
    "baseline_p_fdr": "p_fdr",
    "baseline_p_equivalent": "p_equivalent_adjusted",
    "baseline_p_not_worse": "p_not_worse_adjusted",
    "baseline_says": "says",
}
"""Columns of the leaderboard against a baseline, and of ``against_baseline`` which each of them is."""

_JOINED = """
LEFT JOIN against_baseline AS against
    ON against.judge_id = leaderboard.judge_id AND against.method_id = leaderboard.method_id
    AND against.baseline_id = $baseline_id AND against.dimension = 'overall'
"""

HEADS = {
    **{head: name for name, head in DIMENSIONS.items()},
    "kept": "retention",
    "cut": "tokens_removed",
    "n": "n_answers",
    "group": "tie_group",
    "ranks": "rank_low",
    "against base": "baseline_difference",
    "says": "baseline_says",
    "p": "baseline_p_adjusted",
}
"""Heads of the table, and the column of ``ranked_rows`` that each shows."""

_LEAST_FIRST = ("place", "rank_low", "rank_high", "baseline_p_adjusted")
"""Numbers that are sorted from the least on."""

MARGIN = 0.2
"""Methods that are shown to be less than this apart are as good as each other: the macro ``margin``."""


def scored_dimensions(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The dimensions of which one of the leaderboard's rows has a figure."""
    return [name for name in DIMENSIONS if any(row[name] is not None for row in rows)]


@dataclass(frozen=True)
class Selection:
    """What of the leaderboard is shown, and in which order."""

    columns: tuple[str, ...] = ()
    """Heads of the table or names of ``ranked_rows``; empty: all."""
    sort: str = ""
    """One of these: best, or most, first; empty: by place."""
    top: int | None = None
    """Rows of each judge; None: all."""

    def sorted(self, rows: Rows) -> Rows:
        """The rows in this order, each judge's together and the controls last.

        Raises:
            UsageError: there is no such column.
        """
        if not self.sort:
            return rows
        name = _column(self.sort, rows, "--sort")
        place = {known: n for n, known in enumerate(rows.names)}

        def key(row: Sequence[Any]) -> tuple[Any, ...]:
            value = row[place[name]]
            ordered = value if isinstance(value, str) or name in _LEAST_FIRST or value is None else -value
            of = row[place["judge"]] or "", row[place["judge_id"]], row[place["is_control"]]
            return *of, value is None, ordered

        return Rows(rows.names, sorted(rows.values, key=key))

    def picked(self, rows: Rows) -> Rows:
        """The first rows of each judge, with these columns alone; the judge and the method stand before them.

        Raises:
            UsageError: there is no such column.
        """
        wanted = [_column(one, rows, "--columns") for one in self.columns]
        names = list(dict.fromkeys(("judge_id", "method", *wanted))) if wanted else rows.names
        at = [rows.names.index(name) for name in names]
        of_judge = groupby(rows.values, key=itemgetter(rows.names.index("judge_id")))
        values = chain.from_iterable(islice(values, self.top) for _, values in of_judge)
        return Rows(names, [tuple(row[n] for n in at) for row in values])


def _column(said: str, rows: Rows, option: str) -> str:
    name = HEADS.get(said, said)
    if name in rows.names:
        return name
    heads = [head for head, of in HEADS.items() if of in rows.names]
    raise UsageError(f"{option}: no column {said!r}; there are overall, {', '.join(heads)}, and those of the view")


def render(
    path: Path,
    judge: str | None = None,
    layout: Layout = FOR_READING,
    versions: Versions = "current",
    baseline: str | None = None,
    selection: Selection = Selection(),
) -> str:
    """The leaderboard of one judge, or of every judge one after the other. Figures of several judges are never mixed.

    Args:
        path: The ``scores.duckdb`` to read.
        judge: A judge id or the beginning of one, or a judge's name such as ``embedded``; all judges without it.
        layout: Tables for reading say below what judged and what is missing; ``csv`` and ``json`` are the view
            ``leaderboard`` with full precision, with the ends of the interval of ``overall``.
        versions: ``all`` has methods that the newest run does not ask for, too.
        baseline: A method that all others are compared with, in columns of their own: its name or the beginning of it.
        selection: Which columns, in which order of rows.

    Raises:
        StoreError: there is no database yet.
        UsageError: no judge of that name has scored anything in it, or there is no such method or column.
    """
    with connect(path) as connection:
        found = selection.sorted(ranked_rows(connection, judge, versions, baseline))
        picked = selection.picked(found)
        if layout.is_data:
            return render_rows(picked, layout.format)
        by_judge: dict[str, list[dict[str, Any]]] = {}
        for row in found.dicts():
            by_judge.setdefault(row["judge_id"], []).append(row)
        if not by_judge:
            return "No answer has been scored yet; `coverage` says how far the run got.\n"
        return "\n".join(_section(connection, of, layout, selection, picked.names) for of in by_judge.values())


def ranked_rows(
    connection: duckdb.DuckDBPyConnection,
    judge: str | None = None,
    versions: Versions = "current",
    baseline: str | None = None,
) -> Rows:
    """The rows of the view ``leaderboard`` with the interval of ``overall``, best first; arguments as in ``render``.

    With a baseline they have the columns ``AGAINST_BASELINE`` of the view ``against_baseline``, too.

    Raises:
        UsageError: no judge of that name has scored anything, or there is no such method.
    """
    against, values = "", {}
    if baseline is not None:
        [(method, baseline_id)] = find_methods(connection, baseline)
        against = (
            f", $baseline AS baseline, {', '.join(f'against.{of} AS {name}' for name, of in AGAINST_BASELINE.items())}"
        )
        values = {"baseline": method, "baseline_id": baseline_id}
    rows = fetch_rows(
        connection,
        f"""
        SELECT
            leaderboard.*, long.std_error, long.ci_low, long.ci_high, retention.retention,
            ranks.rank_low, ranks.rank_high, ranks.p_best, ranks.p_best_three, stg_methods.is_control{against}
        FROM leaderboard
        JOIN stg_methods ON stg_methods.method_id = leaderboard.method_id
        LEFT JOIN leaderboard_long AS long
            ON long.judge_id = leaderboard.judge_id AND long.method_id = leaderboard.method_id
            AND long.dimension = 'overall'
        LEFT JOIN rank_intervals AS ranks
            ON ranks.judge_id = leaderboard.judge_id AND ranks.method_id = leaderboard.method_id
        LEFT JOIN retention
            ON retention.judge_id = leaderboard.judge_id AND retention.method = leaderboard.method
            AND retention.dimension = 'overall'
        {_JOINED if against else ""}
        WHERE leaderboard.is_current OR $all
        ORDER BY
            leaderboard.judge, leaderboard.judge_id, NOT leaderboard.is_current, leaderboard.place NULLS LAST,
            leaderboard.method
        """,  # noqa: S608 (names of columns of our own)
        all=versions == "all",
        **values,
    )
    return rows_of_judge(rows, judge)


def render_by(
    path: Path, by: Split, judge: str | None = None, layout: Layout = FOR_READING, versions: Versions = "current"
) -> str:
    """The means of ``overall`` (for constraints their own) in the parts of a split, one judge after the other.

    Args:
        path: The ``scores.duckdb`` to read.
        by: What to split by; the views ``leaderboard_by_…`` have the same figures.
        judge: As in ``render``.
        layout: ``csv`` and ``json`` are the view with all dimensions and intervals; Markdown shows the first
            ``MOST_PARTS`` parts, a table as many as fit.
        versions: As in ``render``.

    Raises:
        StoreError: there is no database yet.
        UsageError: no judge of that name has scored anything in it.
    """
    with connect(path) as connection:
        query = f"SELECT * FROM leaderboard_by_{by} WHERE is_current OR $all"  # noqa: S608 (one of SPLITS)
        rows = rows_of_judge(fetch_rows(connection, query, all=versions == "all"), judge)
        board = fetch_rows(connection, "SELECT judge_id, method_id, place, is_partial FROM leaderboard").values
    if layout.is_data:
        return render_rows(rows, layout.format)
    places = {(judge_id, method_id): line for judge_id, method_id, line, _ in board}
    partial = {(judge_id, method_id) for judge_id, method_id, _, is_partial in board if is_partial}
    own = {"constraint": CONSTRAINTS}  # which dimension stands for a part, where it is not overall
    overall = [row for row in rows.dicts() if row["dimension"] == own.get(row[by], "overall")]
    for row in overall:
        row["is_partial"] = (row["judge_id"], row["method_id"]) in partial
    if not overall:
        return "No answer has been scored yet; `coverage` says how far the run got.\n"
    by_judge: dict[str, list[dict[str, Any]]] = {}

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        line = places[row["judge_id"], row["method_id"]]
        return row["judge"] or "", row["judge_id"], line is None, line or 0

    for row in sorted(overall, key=place):
        by_judge.setdefault(row["judge_id"], []).append(row)
    return "\n".join(_split_section(found, by, layout) for found in by_judge.values())


def _split_section(rows: list[dict[str, Any]], by: Split, layout: Layout) -> str:
    parts = sorted({row[by] for row in rows})
    shown = parts[:MOST_PARTS] if layout.format == "markdown" else parts
    table: dict[str, dict[Any, dict[str, Any]]] = {}
    for row in rows:
        table.setdefault(_starred_name(row), {})[row[by]] = row
    names = ["method", *map(str, shown)]
    cells = [
        [method, *(two_decimals(found[part]["mean"]) if part in found else MISSING for part in shown)]
        for method, found in table.items()
    ]
    most = {part: max(found[part]["n_sessions"] for found in table.values() if part in found) for part in shown}
    cells.insert(0, ["(sessions)", *(str(most[part]) for part in shown)])
    judge = rows[0]["judge"]
    note = f"Mean of overall by {by}; judge {judge} {rows[0]['judge_id']}."
    if judge == "embedded":
        note += " No language model gave these scores."
    if len(parts) > len(shown):
        note += f" {len(parts) - len(shown)} more in the view leaderboard_by_{by}."
    if any(row["dimension"] == CONSTRAINTS for row in rows):
        note += " constraint: mean of constraints, no part of overall."
    if any(row["is_partial"] for row in rows):
        note += " * Over fewer points than the rest, so over other questions."
    note += " Intervals: --format csv."
    return layout.section(names, cells, [False] + [True] * len(shown), note)


def _section(
    connection: duckdb.DuckDBPyConnection,
    rows: list[dict[str, Any]],
    layout: Layout,
    selection: Selection,
    shown: Collection[str],
) -> str:
    """The table of one judge, with what is said of it; ``shown``: columns of ``ranked_rows``."""
    dimensions = scored_dimensions(rows)
    against = ["against base", "says", "p"] if "baseline" in rows[0] else []
    ranks = ["ranks"] if any(row["rank_low"] is not None for row in rows) else []
    names = [
        "method",
        "overall ±95%",
        *against,
        "group",
        *ranks,
        "kept",
        "cut",
        *(DIMENSIONS[name] for name in dimensions),
        "n",
    ]
    numeric = [name not in ("method", "group", "ranks", "says") for name in names]
    note = _note(connection, rows[0]["judge_id"], rows)
    cells: list[list[str]] = []
    for before, row in pairwise([rows[0], *rows[: selection.top]]):
        if row["is_control"] > before["is_control"]:
            cells.append([""] * len(names))  # a line of air before the controls
        cells.append(_line(row, dimensions, has_ranks=bool(ranks)))
    kept = [n for n, name in enumerate(names) if n == 0 or _shows(name) in shown]
    picked = [[line[n] for n in kept] for line in cells]
    return layout.section([names[n] for n in kept], picked, [numeric[n] for n in kept], note)


def _shows(head: str) -> str:
    """The column of ``ranked_rows`` that a head stands for."""
    return HEADS.get(head, head.partition(" ±")[0])


def _line(row: dict[str, Any], dimensions: Sequence[str], *, has_ranks: bool) -> list[str]:
    half = MISSING if row["ci_high"] is None else f"±{two_decimals((row['ci_high'] - row['ci_low']) / 2)}"
    return [
        _starred_name(row),
        f"{two_decimals(row['overall'])} {half:>5}",
        *(_against(row) if "baseline" in row else ()),
        row["tie_group"] or MISSING,
        *([_ranks(row)] if has_ranks else []),
        _percent(row["retention"], 0),
        _percent(row["tokens_removed"], 1),
        *(two_decimals(row[name]) for name in dimensions),
        str(row["n_answers"]),
    ]


def _ranks(row: dict[str, Any]) -> str:
    if row["rank_low"] is None:
        return MISSING
    low, high = row["rank_low"], row["rank_high"]
    return str(low) if low == high else f"{low}-{high}"


def _against(row: dict[str, Any]) -> list[str]:
    """Difference to the baseline with half its interval, what it says, and its p-value."""
    if row["method"] == row["baseline"]:
        return ["baseline", "", ""]
    if row["baseline_difference"] is None:
        return [MISSING] * 3
    if row["baseline_says"] is None:
        return [format_signed(row["baseline_difference"]), MISSING, MISSING]
    half = (row["baseline_ci_high"] - row["baseline_ci_low"]) / 2
    difference = f"{format_signed(row['baseline_difference'])} ±{two_decimals(half)}"
    return [difference, row["baseline_says"], format_p(row["baseline_p_adjusted"])]


def _explain_baseline(rows: list[dict[str, Any]]) -> list[str]:
    if "baseline" not in rows[0]:
        return []
    compared = [row for row in rows if row["baseline_says"] is not None and not row["is_control"]]
    return [
        f"base: {rows[0]['baseline']}. against base: difference on the same questions, ±95% of this line alone; p: of "
        f"no difference, corrected for the {quantity(len(compared), 'method')} compared with it (Holm; controls "
        f"apart). as good: shown to be less than {MARGIN} apart; not worse: shown to be at most {MARGIN} worse; "
        f"a little worse: worse, by less than {MARGIN}; cannot tell: none of these is shown, and it may be better, "
        "worse or as good."
    ]


def _percent(share: float | None, digits: int) -> str:
    return MISSING if share is None else f"{rounded(100 * share):.{digits}f}%"


def _starred_name(row: dict[str, Any]) -> str:
    """The method's name, with a star where its figures are over fewer points than the rest."""
    name = str(row["method"]) if row["is_current"] else f"{row['method']} (earlier)"
    return f"{name} *" if row["is_partial"] else name


def _explain_star(row: dict[str, Any]) -> str:
    where = "so it has no rank: no question of it has been scored for a method that applies everywhere"
    if row["overall_for_rank"] is not None:
        as_if = two_decimals(row["overall_for_rank"])
        where = f"so it is ranked by its differences to them on the same questions: as if overall were {as_if}"
    points = quantity(row["n_points_not_applicable"], "point")
    return (
        f"* {row['method']} is not applicable at {points}: its figures are over fewer questions than the other "
        f"methods', {where}."
    )


def facts_of(connection: duckdb.DuckDBPyConnection, judge_id: str) -> dict[str, Any]:
    """What a judge's figures are based on, and what they lack."""
    return fetch_rows(connection, _FACTS, judge_id=judge_id).dicts()[0]


RELIABLE = 0.7
"""The least coefficient that is commonly called acceptable (Nunnally 1978)."""


def _reliability(connection: duckdb.DuckDBPyConnection, judge_id: str) -> list[str]:
    """How far the order of the methods can be relied on, in words; nothing where it cannot be told."""
    sql = "FROM reliability WHERE judge_id = $judge_id AND dimension = 'overall' ORDER BY methods"
    said = []
    for row in fetch_rows(connection, sql, judge_id=judge_id).dicts():
        if row["split_half"] is not None:
            methods = "all methods" if row["methods"] == "all" else "the upper half"
            said.append(f"{two_decimals(row['split_half'])} for {methods}")
    if not said:
        return []
    return [f"Would other sessions order them alike? Split-half {', '.join(said)}; 1 is best, {RELIABLE} acceptable."]


def _note(connection: duckdb.DuckDBPyConnection, judge_id: str, rows: list[dict[str, Any]]) -> str:
    """What judged, what the figures rest on, and what is not in them."""
    facts = facts_of(connection, judge_id)
    counts = [
        f"{quantity(sum(row['n_answers'] for row in rows), 'answer')} in {quantity(facts['n_sessions'], 'session')}",
        f"{sum(row['n_unscored'] for row in rows):,} unscored",
        f"{facts['n_missing']:,} not judged yet",
        f"{quantity(facts['n_failed_compactions'], 'compaction')}, {quantity(facts['n_failed_probes'], 'probe')} and "
        f"{quantity(facts['n_failed_answers'], 'answer')} failed",
        f"{quantity(facts['n_not_asked'], 'probe')} not asked (probes_not_asked says why), "
        f"{facts['n_probes_missing']:,} missing",
    ]
    judged = _judge_line(connection, judge_id, rows, facts["responders"] or []) + format_validity(facts)
    lines = [judged, "; ".join(counts) + "."]
    if facts["n_sessions"] == 1:
        lines.append("One session: no interval, no groups and no ranks, because it cannot say how sessions differ.")
    else:
        lines.append(
            "±95%: half the interval of overall, clustered by session. group: methods with a letter in common (b-e: "
            "b, c, d, e) are not told apart (paired on the question, corrected for all pairs of methods, 5 %). Of two "
            "without one, and of intervals that overlap: compaction-eval compare A B."
        )
        if any(row["rank_low"] is not None for row in rows):
            lines.append("ranks: between which a method lies in 95 % of 1,000 draws of the sessions.")
        lines += _reliability(connection, judge_id)
        lines += _explain_baseline(rows)
    if facts["n_different_questions"]:
        lines.append(
            "The methods do not rest on the same questions "
            f"({quantity(facts['n_different_questions'], 'time')} a method lacks one that another has): "
            "see overall_on_shared_probes and the views coverage and checks."
        )
    lines += [_explain_star(row) for row in rows if row["is_partial"]]
    if facts["n_earlier"] and all(row["is_current"] for row in rows):
        lines.append(
            f"{quantity(facts['n_earlier'], 'method')} of earlier runs, of another version or dropped from the study, "
            "not shown: --versions all."
        )
    elif facts["n_earlier"]:
        lines.append("(earlier): not asked for by the newest run, so without a place in the groups.")
    if facts["responders"] and len(facts["responders"]) > 1:
        lines.append(f"Answers of several responders are averaged: {', '.join(facts['responders'])}.")
    made = [("answers", facts["responders"]), ("summaries", facts["summarizers"]), ("probes", facts["probers"])]
    lines.append(
        "; ".join(f"{what} by {', '.join(names)}" for what, names in made if names).capitalize()
        + ". Methods none (nothing removed) and empty (everything) are controls: no methods to choose, without a rank."
    )
    scored = ", ".join(f"{DIMENSIONS[name]} {name.replace('_', ' ')}" for name in scored_dimensions(rows))
    lines.append(
        f"overall: mean over answers; kept: of what the whole history is worth above nothing; {scored}"
        + (" (no part of overall)" if scored.endswith(CONSTRAINTS) else "")
        + "; cut: share of tokens removed"
        + (", what is fetched for a question not counted (see the view pareto)" if facts["has_fetched"] else "")
        + "; n: answers."
    )
    return "\n".join(lines)


def _judge_line(
    connection: duckdb.DuckDBPyConnection, judge_id: str, rows: list[dict[str, Any]], responders: list[str]
) -> str:
    """Which judge gave the scores, by which rubric, and whether it judges its own answers."""
    (judge, model, rubric, protocol), *_ = fetch_rows(
        connection, "SELECT judge, model, rubric, protocol FROM judges WHERE judge_id = $judge_id", judge_id=judge_id
    ).values or [(rows[0]["judge"] or "unknown", "unknown", "unknown", "unknown")]
    if judge == "embedded":
        said = (
            f"Embedded judge {judge_id}, rubric {rubric}: no language model gave these scores, and they are "
            "not to be compared with scores that a model or a person gave."
        )
    else:
        named = judge if model in judge else f"{judge} ({model})"
        said = f"Judge {named}, id {judge_id}, rubric {rubric}, protocol {protocol}."
    if any(name.startswith(f"{judge}@") for name in responders):
        said += " It judges its own answers, which models tend to favour."
    return said


def format_validity(facts: Mapping[str, Any]) -> str:
    """How many checks with altered answers a judge passes, as a sentence with a space before it; empty if untried."""
    if not facts["n_validity_checks"]:
        return ""
    return (
        f" This judge passes {facts['n_validity_passed']} of {facts['n_validity_checks']} checks with altered answers "
        "(table judge_validity)."
    )


_FACTS = """
SELECT
    (SELECT count(DISTINCT session_id) FROM agg_session_scores WHERE judge_id = $judge_id) AS n_sessions,
    (SELECT coalesce(sum(missing), 0)::BIGINT FROM coverage_by_judge WHERE judge_id = $judge_id) AS n_missing,
    (SELECT coalesce(sum(failed), 0)::BIGINT FROM coverage WHERE stage = 'compaction') AS n_failed_compactions,
    (SELECT coalesce(sum(failed), 0)::BIGINT FROM coverage WHERE stage = 'answer') AS n_failed_answers,
    (SELECT coalesce(sum(failed), 0)::BIGINT FROM coverage WHERE stage = 'probe') AS n_failed_probes,
    (SELECT coalesce(sum(expected), 0)::BIGINT FROM coverage WHERE stage = 'probe_not_asked') AS n_not_asked,
    (SELECT coalesce(sum(missing), 0)::BIGINT FROM coverage WHERE stage = 'probe') AS n_probes_missing,
    (SELECT count(*) FROM check_same_questions_scored WHERE judge_id = $judge_id) AS n_different_questions,
    (SELECT count(*) FROM leaderboard WHERE judge_id = $judge_id AND NOT is_current) AS n_earlier,
    (SELECT count(passes) FROM judge_validity WHERE judge_id = $judge_id) AS n_validity_checks,
    (SELECT count_if(passes) FROM judge_validity WHERE judge_id = $judge_id) AS n_validity_passed,
    (
        SELECT list_sort(list(DISTINCT stg_answers.responder))
        FROM int_judged_answers JOIN stg_answers USING (answer_id)
        WHERE int_judged_answers.judge_id = $judge_id
    ) AS responders,
    (SELECT list_sort(list(DISTINCT summarizer)) FROM methods WHERE summarizer IS NOT NULL) AS summarizers,
    (SELECT list_sort(list(DISTINCT prober)) FROM probes) AS probers,
    (SELECT coalesce(bool_or(fetched_tokens > 0), false) FROM answers) AS has_fetched
"""
