"""The view ``judge_drift`` as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.database.scores_db import connect
from flows.reporting.clusters import describe_clusters
from flows.reporting.text_tables import (
    FOR_READING,
    MISSING,
    Layout,
    fetch_rows,
    render_rows,
    rows_of_judge,
    two_decimals,
)


def report(path: Path, judge: str | None = None, layout: Layout = FOR_READING) -> str:
    """Render the drift of each judge's scores of the anchors, by day and dimension.

    Args:
        path: The ``scores.duckdb`` to read.
        judge: One judge only, by name or the beginning of its id.
        layout: ``csv`` and ``json`` are the view with every column; ``table`` and ``markdown`` are for reading.

    Raises:
        StoreError: there is no database yet.
        UsageError: no anchors were scored by such a judge.
    """
    with connect(path) as connection:
        rows = rows_of_judge(fetch_rows(connection, "FROM judge_drift"), judge)
        clustered = describe_clusters(connection)
    if layout.is_data:
        return render_rows(rows, layout.format)
    if not rows.values:
        return (
            "No anchors have been scored yet: `compaction-eval run --anchors 50` draws them and has every run on a new "
            "day score them anew; `compaction-eval drift --now --anchors 50` does so at once.\n"
        )
    found = rows.dicts()
    by_judge = {row["judge_id"]: row["judge"] for row in found}
    return "\n".join(
        _section([row for row in found if row["judge_id"] == judge_id], name, judge_id, clustered, layout)
        for judge_id, name in by_judge.items()
    )


def _section(rows: list[dict[str, Any]], judge: str, judge_id: str, clustered: str, layout: Layout) -> str:
    names = ["day", "dimension", "first", "mean", "shift", "±95%", "p adj.", "noise", "answers", "drift"]
    cells = [
        [
            str(row["taken_on"]),
            row["dimension"],
            two_decimals(row["mean_first"]),
            two_decimals(row["mean"]),
            f"{round(row['shift'], 2) + 0.0:+.2f}",
            MISSING if row["ci_high"] is None else two_decimals((row["ci_high"] - row["ci_low"]) / 2),
            MISSING if row["p_adjusted"] is None else f"{row['p_adjusted']:.3f}",
            two_decimals(row["noise_sd"]),
            str(row["n_answers"]),
            {True: "yes", False: "no"}.get(row["drift"], MISSING),
        ]
        for row in rows
    ]
    note = (
        f"Judge {judge} {judge_id}, the same version throughout, on the same answers; shift: against its first taking "
        f"of each, criterion by criterion. ±95%: half its interval, {clustered}; p adj.: adjusted over the "
        "day's dimensions (Holm); noise: standard deviation of an answer's shift between the first two takings. "
        "drift: p adj. below 0.01, and more than that noise explains."
    )
    numeric = [False, False] + [True] * (len(names) - 2)
    return layout.section(names, cells, numeric, note)
