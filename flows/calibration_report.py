"""What labels say of a judge, as text: agreement, bias, and the corrected leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from rich.text import Text

from flows.database import connect
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
    printed,
    written,
)

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


def report(path: Path, judge: str | None = None, format: Format = "table") -> str:
    """Agreement of people with each judge and with each other, and the leaderboard that their labels correct.

    Args:
        path: The ``scores.duckdb`` to read.
        judge: One judge only, by name or the beginning of its id.
        format: ``json`` is one document of all three parts with every column, ``csv`` the view
            ``leaderboard_corrected``; ``table`` and ``markdown`` are for reading.

    Raises:
        StoreProblem: there is no database yet.
        UsageProblem: no such judge.
    """
    with connect(path) as connection:
        labels = fetched(connection, _LABELS).dicts()[0]
        agreement = of_judge(fetched(connection, _AGREEMENT), judge if labels["n_labels"] else None)
        people = fetched(connection, _PEOPLE)
        corrected = of_judge(fetched(connection, _CORRECTED), judge)
    if format == "csv":
        return written(corrected, "csv")
    if format == "json":
        parts = {"labels": labels, "agreement": agreement.dicts(), "people": people.dicts(),
                 "leaderboard": corrected.dicts()}  # fmt: skip
        return orjson.dumps(parts, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    if not labels["n_labels"]:
        return (
            "No labels yet: draw a sheet with `compaction-eval calibrate --sample 100 --output labels.csv`, "
            "have it filled in, and give it to `compaction-eval calibrate labels.csv`.\n"
        )
    sections = [_printed(_said(labels), format)]
    for judge_id, name in dict.fromkeys((row["judge_id"], row["judge"]) for row in agreement.dicts()):
        sections.append(_agreement([row for row in agreement.dicts() if row["judge_id"] == judge_id], name, format))
        sections.append(_board([row for row in corrected.dicts() if row["judge_id"] == judge_id], name, format))
    if people.values:
        sections.append(_among_people(people, format))
    return "\n".join(sections)


def _said(labels: Mapping[str, Any]) -> str:
    where = f"{counted(labels['n_sessions'], 'session')} and {counted(labels['n_methods'], 'method')}"
    return (
        f"{counted(labels['n_labels'], 'label')} of {counted(labels['n_answers'], 'answer')} in {where}, "
        f"by {', '.join(labels['raters'])}."
    )


_FIGURES = ("kappa", "alpha_ordinal", "icc", "exact", "within_one")
_HEADS = ("κ", "α", "ICC", "exact", "≤1")


def _figures(row: Mapping[str, Any]) -> list[str]:
    half = None if row["ci_high"] is None else (row["ci_high"] - row["ci_low"]) / 2
    return [
        str(row["n_answers"]), *(_figure(row[name]) for name in _FIGURES), _signed(row["mean_difference"]), fixed(half)
    ]  # fmt: skip


def _figure(value: float | None) -> str:
    return MISSING if value is None else f"{round(value, 2) + 0.0:.2f}"  # no -0.00


def _signed(value: float | None) -> str:
    return MISSING if value is None else f"{round(value, 2) + 0.0:+.2f}"


def _sorted(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (_ORDER.index(row["level"]), row["item"]))


def _agreement(rows: Sequence[dict[str, Any]], judge: str, format: Format) -> str:
    names = ["item", "answers", *_HEADS, "bias", "±95%"]
    cells = [[("  " if row["level"] == "criterion" else "") + row["item"], *_figures(row)] for row in _sorted(rows)]
    reasons: dict[str, list[str]] = {}
    for row in _sorted(rows):
        if row["undefined_because"]:
            why = row["undefined_because"].replace("rater a", "people").replace("rater b", "the judge")
            reasons.setdefault(why, []).append(row["item"])
    note = (
        f"People against judge {judge} {rows[0]['judge_id']}, on the labelled answers as they are. κ: "
        "quadratic-weighted kappa; α: ordinal alpha; ICC: absolute agreement, single rating; exact, ≤1: share of "
        "answers with the same whole point, with at most one between. Bias: judge less people; ±95%: half its "
        "interval, clustered by session."
    )
    said = [f"{', '.join(items)}: {reason}." for reason, items in reasons.items()]
    return _table(names, cells, format) + _printed("\n".join([note, *said]), format)


def _among_people(people: Rows, format: Format) -> str:
    names = ["item", "rater a", "rater b", "answers", *_HEADS, "b − a", "±95%"]
    cells = [
        [row["item"], row["rater_a"], row["rater_b"], *_figures(row)]
        for row in _sorted(people.dicts()) if row["level"] != "criterion"
    ]  # fmt: skip
    note = "People with each other: no judge can be expected to agree with people better than they do."
    return _table(names, cells, format, 3) + _printed(note, format)


def _board(rows: Sequence[dict[str, Any]], judge: str, format: Format) -> str:
    overall = [row for row in rows if row["dimension"] == "overall"]
    names = ["method", "raw", "±95%", "corrected", "±95%", "pooled", "±95%", "labels", "by"]
    cells = [
        [
            row["method"],
            fixed(row["raw_mean"]), _half(row, "raw_ci_low", "raw_ci_high"),
            fixed(row["corrected"]), _half(row, "ci_low", "ci_high"),
            fixed(row["pooled"]), _half(row, "pooled_ci_low", "pooled_ci_high"),
            str(row["n_labelled"]),
            {"method": "own", "all methods": "all"}.get(row["rectifier_of"], MISSING),
        ]
        for row in overall
    ]  # fmt: skip
    note = [
        f"Overall by judge {judge}, raw and corrected by people's labels (prediction-powered inference, clustered by "
        "session). by own: the method's own labels; by all: it has fewer than 10 labelled answers or only one labelled "
        "session, so the labels of all methods stand in, assuming that the judge is equally wrong about every method. "
        "pooled makes that assumption for every method: where it is far from corrected, it does not hold."
    ]
    reasons = {row["undefined_because"] for row in overall if row["undefined_because"]}
    note += [f"No corrected figure: {reason}." for reason in sorted(reasons)]
    if overall and overall[0]["weights"] == "all alike":
        note.append("No label is of a sample of this store, so all count alike, as if picked by lot.")
    note.append("All dimensions: --format csv, or the view leaderboard_corrected.")
    return _table(names, cells, format) + _printed("\n".join(note), format)


def _half(row: Mapping[str, Any], low: str, high: str) -> str:
    return MISSING if row[high] is None else fixed((row[high] - row[low]) / 2)


def _table(names: Sequence[str], cells: Sequence[Sequence[str]], format: Format, n_texts: int = 1) -> str:
    numeric = [False] * n_texts + [True] * (len(names) - n_texts)
    if format == "markdown":
        return markdown(names, [[cell.strip() for cell in row] for row in cells], numeric) + "\n"
    return drawn(names, cells, numeric, width=WIDTH)


def _printed(text: str, format: Format) -> str:
    return f"{text}\n" if format == "markdown" else printed(Text(text), WIDTH)
