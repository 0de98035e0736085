"""The leaderboard as text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb

from flows.database.scores_db import connect
from flows.reporting.leaderboard_notes import explain_table
from flows.reporting.leaderboard_rows import (
    DIMENSIONS,
    EVERYTHING,
    FRONT,
    HEADS,
    Selection,
    comparable,
    ranked_rows,
    scored_dimensions,
)
from flows.reporting.text_tables import (
    FOR_READING,
    MISSING,
    Layout,
    fetch_rows,
    format_p,
    format_signed,
    render_rows,
    rounded,
    rows_of_judge,
    two_decimals,
)
from flows.support.choices import Split, Versions
from judge import CONSTRAINTS

_BOARD = """
SELECT leaderboard.judge_id, leaderboard.method_id, fronts.line, leaderboard.is_partial
FROM leaderboard
LEFT JOIN fronts ON fronts.judge_id = leaderboard.judge_id AND fronts.method_id = leaderboard.method_id
"""

_CLIFFS = "SELECT judge_id, method_id, cycle, fall, ci_low, ci_high FROM cliffs WHERE is_cliff"

MOST_PARTS = 8
"""Parts of a split that Markdown has beside each other."""


def render(
    path: Path,
    judge: str | None = None,
    layout: Layout = FOR_READING,
    versions: Versions = "current",
    baseline: str | None = None,
    selection: Selection = EVERYTHING,
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
        board = fetch_rows(connection, _BOARD).values
        cliffs = fetch_rows(connection, _CLIFFS).dicts() if by == "cycle" else []
    if layout.is_data:
        return render_rows(rows, layout.format)
    places = {(judge_id, method_id): line for judge_id, method_id, line, _ in board}
    partial = {(judge_id, method_id) for judge_id, method_id, _, is_partial in board if is_partial}
    own = {"constraint": CONSTRAINTS}  # which dimension stands for a part, where it is not overall
    overall = [row for row in rows.dicts() if row["dimension"] == own.get(row[by], "overall")]
    cliff_of = {(row["judge_id"], row["method_id"]): _cliff(row) for row in cliffs}
    for row in overall:
        row["cliff"] = cliff_of.get((row["judge_id"], row["method_id"]), MISSING)
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
    falls = ["falls most"] if by == "cycle" else []
    names = ["method", *falls, *map(str, shown)]
    cells = [
        [
            method,
            *(next(iter(found.values()))["cliff"] for _ in falls),
            *(_split_mean(found.get(part)) for part in shown),
        ]
        for method, found in table.items()
    ]
    most = {part: max(found[part]["n_sessions"] for found in table.values() if part in found) for part in shown}
    cells.insert(0, ["(sessions)", *("" for _ in falls), *(str(most[part]) for part in shown)])
    judge = rows[0]["judge"]
    note = f"Mean of overall by {by}; judge {judge} {rows[0]['judge_id']}."
    if judge == "embedded":
        note += " No language model gave these scores."
    if len(parts) > len(shown):
        note += f" {len(parts) - len(shown)} more in the view leaderboard_by_{by}."
    if any(row["dimension"] == CONSTRAINTS for row in rows):
        note += " constraint: mean of constraints, no part of overall."
    if any(row["is_partial"] for row in rows):
        note += (
            " * Not applicable at some points: what its differences to the others on the same questions come to; "
            f"{MISSING} where these are of fewer than five sessions."
        )
    if falls:
        note += (
            " falls most: the cycle with the largest fall from the one before, ±95% over the sessions that have both; "
            "a picked maximum, so less over other sessions (all steps: the view cliffs)."
        )
    note += " Intervals: --format csv."
    return layout.section(names, cells, [False] * (1 + len(falls)) + [True] * len(shown), note)


def _split_mean(row: dict[str, Any] | None) -> str:
    """The mean in a part that may stand below those of other methods."""
    return MISSING if row is None or row["mean_for_rank"] is None else two_decimals(row["mean_for_rank"])


def _cliff(row: dict[str, Any]) -> str:
    """The cycle and the fall to it, with half its interval."""
    half = "" if row["ci_high"] is None else f" ±{two_decimals((row['ci_high'] - row['ci_low']) / 2)}"
    return f"{row['cycle']}: {format_signed(-row['fall'])}{half}"


def _section(
    connection: duckdb.DuckDBPyConnection,
    rows: list[dict[str, Any]],
    layout: Layout,
    selection: Selection,
    shown: Collection[str],
) -> str:
    """Render the table of one judge with its notes; ``shown``: columns of ``ranked_rows``."""
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
    note = explain_table(connection, rows[0]["judge_id"], rows)
    cells: list[list[str]] = []
    groups: list[str] = []
    for before, row in pairwise([rows[0], *rows[: selection.top]]):
        if row["is_control"] > before["is_control"]:
            cells.append([""] * len(names))  # a line of air before the controls
            groups.append("")
        groups.append((row["tie_group"] or "")[:1])
        cells.append(_line(comparable(row), dimensions, has_ranks=bool(ranks)))
    kept = [n for n, name in enumerate(names) if n == 0 or _shows(name) in shown]
    picked = [[line[n] for n in kept] for line in cells]
    return layout.section([names[n] for n in kept], picked, [numeric[n] for n in kept], note, groups)


def _shows(head: str) -> str:
    """The column of ``ranked_rows`` under a head."""
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
    low, high = row["baseline_ci_low"], row["baseline_ci_high"]
    half = MISSING if high is None else f"±{two_decimals((high - low) / 2)}"
    difference = f"{format_signed(row['baseline_difference'])} {half}"
    return [difference, row["baseline_says"], format_p(row["baseline_p_adjusted"])]


def _percent(share: float | None, digits: int) -> str:
    return MISSING if share is None else f"{rounded(100 * share):.{digits}f}%"


def _starred_name(row: dict[str, Any]) -> str:
    """The method's name, with a star where its figures are over fewer points than the rest, and the front's mark."""
    name = str(row["method"]) if row["is_current"] else f"{row['method']} (earlier)"
    marks = ["*"] * row["is_partial"] + [FRONT] * row.get("on_front", False)
    return " ".join([name, *marks])
