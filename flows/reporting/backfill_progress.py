"""The progress of a judge, by day and method."""

from __future__ import annotations

import json

from flows.database.scores_db import connect
from flows.pipeline.backfill.selection import Selection, methods_in, time_of
from flows.reporting.text_tables import Layout
from flows.store.store import Store


def progress_of(store: Store, judge_id: str, selection: Selection, layout: Layout) -> str:
    """Render the progress of a judge on the selected answers, by day and method, from the database."""
    methods = selection.methods or [method.name for method in methods_in(store, selection.versions)]
    known = "SELECT day, method, n_answers, n_judged, n_failed, n_left FROM backfill_progress WHERE judge_id = $judge"
    # A judge that has judged nothing yet has no rows there: any other's have the same answers.
    unknown = (
        "SELECT DISTINCT day, method, n_answers, 0, 0, n_answers FROM backfill_progress "
        "WHERE $judge NOT IN (SELECT judge_id FROM judges)"
    )
    with connect(store.database) as connection:
        rows = connection.execute(
            f"SELECT * FROM ({known} UNION ALL {unknown}) "  # noqa: S608 (our own texts)
            "WHERE method IN $methods AND ($since IS NULL OR day >= $since::DATE) "
            "AND ($until IS NULL OR day < $until::DATE) ORDER BY day DESC NULLS LAST, method",
            {
                "judge": judge_id,
                "methods": list(methods),
                "since": time_of("--since", selection.since),
                "until": time_of("--until", selection.until),
            },
        ).fetchall()
    names = ("day", "method", "answers", "judged", "failed", "left")
    if layout.format == "json":
        found = [dict(zip(names, (row[0] and str(row[0]), *row[1:]), strict=True)) for row in rows]
        return json.dumps(found, indent=2, ensure_ascii=False)
    rows.append(("all", "", *(sum(row[i] for row in rows) for i in range(2, 6))))
    cells = [[str(row[0] or "not noted"), row[1], *(f"{n:,}" for n in row[2:])] for row in rows]
    return layout.table(names, cells, [name not in names[:2] for name in names])
