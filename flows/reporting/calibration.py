"""Labels' verdict on a judge, as text: agreement, bias, and the corrected leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from flows.database.scores_db import connect
from flows.reporting.clusters import describe_clusters
from flows.reporting.text_tables import (
    FOR_READING,
    MISSING,
    Layout,
    Rows,
    fetch_rows,
    render_rows,
    rows_of_judge,
    two_decimals,
)
from flows.support.plurals import quantity

_LABELS = """
SELECT count(*) AS n_labels, count(DISTINCT answer_id) AS n_answers, count(DISTINCT rater) AS n_raters,
    list_sort(list(DISTINCT rater)) AS raters, count(DISTINCT session_id) AS n_sessions,
    count(DISTINCT method_id) AS n_methods
FROM human_scores JOIN stg_answers USING (answer_id)
"""
_AGREEMENT = """
SELECT rater_b AS judge_id, judge_b AS judge, * EXCLUDE (rater_b, judge_b) FROM judge_agreement
WHERE kind = 'judge and people' AND rater_a = 'people'
"""
_PEOPLE = "FROM judge_agreement WHERE kind = 'people'"
_CORRECTED = "FROM leaderboard_corrected"
_ORDER = ("overall", "dimension", "criterion")


def report(path: Path, judge: str | None = None, layout: Layout = FOR_READING) -> str:
    """Agreement of people with each judge and with each other, and the leaderboard corrected by their labels.

    Args:
        path: The ``scores.duckdb`` to read.
        judge: One judge only, by name or the beginning of its id.
        layout: ``json`` is one document of all three parts with every column, ``csv`` the view
            ``leaderboard_corrected``; ``table`` and ``markdown`` are for reading.

    Raises:
        StoreError: there is no database yet.
        UsageError: no such judge.
    """
    with connect(path) as connection:
        labels = fetch_rows(connection, _LABELS).dicts()[0]
        agreement = rows_of_judge(fetch_rows(connection, _AGREEMENT), judge if labels["n_labels"] else None)
        people = fetch_rows(connection, _PEOPLE)
        clustered = describe_clusters(connection)
        corrected = rows_of_judge(fetch_rows(connection, _CORRECTED), judge)
    if layout.format == "csv":
        return render_rows(corrected, "csv")
    if layout.format == "json":
        parts = {
            "labels": labels,
            "agreement": agreement.dicts(),
            "people": people.dicts(),
            "leaderboard": corrected.dicts(),
        }
        return orjson.dumps(parts, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    if not labels["n_labels"]:
        return (
            "No labels yet: draw a sheet with `compaction-eval calibrate --sample 100 --output labels.csv`, "
            "have it filled in, and give it to `compaction-eval calibrate labels.csv`.\n"
        )
    sections = [layout.note(_format_labels(labels))]
    for judge_id, name in dict.fromkeys((row["judge_id"], row["judge"]) for row in agreement.dicts()):
        sections.append(
            _render_agreement(
                [row for row in agreement.dicts() if row["judge_id"] == judge_id], name, clustered, layout
            )
        )
        sections.append(
            _render_corrected(
                [row for row in corrected.dicts() if row["judge_id"] == judge_id], name, clustered, layout
            )
        )
    if people.values:
        sections.append(_render_people(people, layout))
    return "\n".join(sections)


def _format_labels(labels: Mapping[str, Any]) -> str:
    where = f"{quantity(labels['n_sessions'], 'session')} and {quantity(labels['n_methods'], 'method')}"
    return (
        f"{quantity(labels['n_labels'], 'label')} of {quantity(labels['n_answers'], 'answer')} in {where}, "
        f"by {', '.join(labels['raters'])}."
    )


_FIGURES = ("kappa", "alpha_ordinal", "icc", "exact", "within_one")
_HEADS = ("κ", "α", "ICC", "exact", "≤1")


def _format_figures(row: Mapping[str, Any]) -> list[str]:
    half = None if row["ci_high"] is None else (row["ci_high"] - row["ci_low"]) / 2
    return [
        str(row["n_answers"]),
        *(_format_figure(row[name]) for name in _FIGURES),
        _format_signed(row["mean_difference"]),
        two_decimals(half),
    ]


def _format_figure(value: float | None) -> str:
    return MISSING if value is None else f"{round(value, 2) + 0.0:.2f}"  # no -0.00


def _format_signed(value: float | None) -> str:
    return MISSING if value is None else f"{round(value, 2) + 0.0:+.2f}"


def _sorted(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (_ORDER.index(row["level"]), row["item"]))


def _render_agreement(rows: Sequence[dict[str, Any]], judge: str, clustered: str, layout: Layout) -> str:
    names = ["item", "answers", *_HEADS, "bias", "±95%"]
    cells = [
        [("  " if row["level"] == "criterion" else "") + row["item"], *_format_figures(row)] for row in _sorted(rows)
    ]
    reasons: dict[str, list[str]] = {}
    for row in _sorted(rows):
        if row["undefined_because"]:
            why = row["undefined_because"].replace("rater a", "people").replace("rater b", "the judge")
            reasons.setdefault(why, []).append(row["item"])
    note = (
        f"People against judge {judge} {rows[0]['judge_id']}, on the labelled answers as they are. κ: "
        "quadratic-weighted kappa; α: ordinal alpha; ICC: absolute agreement, single rating; exact, ≤1: share of "
        "answers with the same whole point, with at most one between. Bias: judge less people; ±95%: half its "
        f"interval, {clustered}."
    )
    said = [f"{', '.join(items)}: {reason}." for reason, items in reasons.items()]
    return _render(names, cells, "\n".join([note, *said]), layout)


def _render_people(people: Rows, layout: Layout) -> str:
    names = ["item", "rater a", "rater b", "answers", *_HEADS, "b − a", "±95%"]
    cells = [
        [row["item"], row["rater_a"], row["rater_b"], *_format_figures(row)]
        for row in _sorted(people.dicts())
        if row["level"] != "criterion"
    ]
    note = "People with each other: no judge can be expected to agree with people better than they do."
    return _render(names, cells, note, layout, 3)


def _render_corrected(rows: Sequence[dict[str, Any]], judge: str, clustered: str, layout: Layout) -> str:
    overall = [row for row in rows if row["dimension"] == "overall"]
    names = ["method", "raw", "±95%", "corrected", "±95%", "pooled", "±95%", "labels", "by"]
    cells = [
        [
            row["method"],
            two_decimals(row["raw_mean"]),
            _format_half_width(row, "raw_ci_low", "raw_ci_high"),
            two_decimals(row["corrected"]),
            _format_half_width(row, "ci_low", "ci_high"),
            two_decimals(row["pooled"]),
            _format_half_width(row, "pooled_ci_low", "pooled_ci_high"),
            str(row["n_labelled"]),
            {"method": "own", "all methods": "all"}.get(row["rectifier_of"], MISSING),
        ]
        for row in overall
    ]
    note = [
        f"Overall by judge {judge}, raw and corrected by people's labels (prediction-powered inference, {clustered})"
        ". by own: the method's own labels; by all: it has fewer than 10 labelled answers or only one labelled "
        "session, so the labels of all methods stand in, assuming that the judge is equally wrong about every method. "
        "pooled makes that assumption for every method: where it is far from corrected, it does not hold."
    ]
    reasons = {row["undefined_because"] for row in overall if row["undefined_because"]}
    note += [f"No corrected figure: {reason}." for reason in sorted(reasons)]
    if overall and overall[0]["weights"] == "all alike":
        note.append("No label is of a sample of this store, so all count alike, as if picked by lot.")
    note.append("All dimensions: --format csv, or the view leaderboard_corrected.")
    return _render(names, cells, "\n".join(note), layout)


def _format_half_width(row: Mapping[str, Any], low: str, high: str) -> str:
    return MISSING if row[high] is None else two_decimals((row[high] - row[low]) / 2)


def _render(names: Sequence[str], cells: Sequence[Sequence[str]], note: str, layout: Layout, n_texts: int = 1) -> str:
    return layout.section(names, cells, [False] * n_texts + [True] * (len(names) - n_texts), note)
