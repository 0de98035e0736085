"""The outcome of a night: its state by name, a sentence for notifications, and the pages that Prefect shows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import duckdb

from flows.database.scores_db import connect
from flows.execution.run import Run
from flows.pipeline.run_summary import Summary
from flows.reporting.leaderboard import render
from flows.reporting.night_changes import NightChanges, changes_since_report, format_worse, render_changes
from flows.reporting.text_tables import Layout, markdown
from flows.store.store import DATABASE
from flows.support.errors import DONE, INCOMPLETE, STOPPED, WORSE
from flows.support.plurals import quantity

STATES = {DONE: "Completed", INCOMPLETE: "Incomplete", STOPPED: "StoppedAtBudget", WORSE: "MethodWorse"}
"""Exit code of the same run → name of the night's state; what is broken is ``Failed``."""
MOST_NAMED = 5
"""Methods that are named in a sentence."""


@dataclass(frozen=True)
class Night:
    """A night that has ended."""

    summary: Summary
    moved: NightChanges
    worse: tuple[str, ...]
    """Methods that got worse than the threshold, in words."""
    threshold: float | None
    made: Mapping[str, int]
    """Stage → items that this night did."""
    nothing_new: bool
    store: str
    findings: tuple[str, ...]
    """A new best method, and the money: what ``notice`` says beside the sentence."""

    @property
    def notice(self) -> str:
        """The outcome for a chat, a line each; blank for a night in which nothing was to do."""
        if self.nothing_new and self.state == STATES[DONE]:
            return ""
        return "\n".join(filter(None, (f"{self.store}: {self.state}", self.sentence, *self.findings)))

    @property
    def state(self) -> str:
        """The name of the state; the worst if several fit."""
        return STATES[WORSE if self.worse else self.summary.exit_code]

    @property
    def sentence(self) -> str:
        """The outcome in one line."""
        parts = []
        if self.worse:
            parts.append(f"worse by more than {self.threshold:g}: {_format_names(self.worse)}")
        if self.nothing_new:
            parts.append("nothing new")
        elif self.made:
            parts.append("done: " + ", ".join(f"{stage} {number:,}" for stage, number in self.made.items()))
        beyond = [row for row in self.moved.rows if row["is_beyond_noise"] and row["is_same_judge"]]
        if beyond:
            parts.append(f"{quantity(len(beyond), 'method')} moved beyond noise")
        elif self.moved.rows:
            parts.append("no method moved beyond noise")
        parts += [f"{item.count:,} {item.what}" for item in self.summary.shortfalls]
        parts += [*self.summary.problems, *filter(None, [self.summary.stopped])]
        return "; ".join(parts)


def make_night(run: Run, nothing_new: bool, threshold: float | None) -> Night:
    """The outcome of a run, after its database has been written."""
    moved = changes_since_report(run.store, run.study.study_key)
    worse = () if threshold is None else tuple(format_worse(row, threshold) for row in moved.worse(threshold))
    made = {stage: tally.done for stage, tally in run.log.tallies.items() if tally.done}
    summary = run.summary()
    findings: tuple[str, ...] = ()
    if summary.counts["points"]:
        with connect(run.store.database) as connection:
            findings = describe_findings(connection, run.run_id)
    return Night(summary, moved, worse, threshold, made, nothing_new, run.store.name, findings)


NEW_BEST = """
WITH best AS (
    SELECT night, run_id, judge_id, judge, string_agg(method, ', ' ORDER BY method) AS methods, any_value(mean) AS mean
    FROM night_figures WHERE dimension = 'overall' AND rank = 1 GROUP BY ALL
), compared AS (
    SELECT *, lag(methods) OVER (PARTITION BY judge_id ORDER BY night) AS methods_before FROM best
)
SELECT judge, methods, mean, methods_before FROM compared
WHERE run_id = $run_id AND methods IS DISTINCT FROM methods_before ORDER BY judge
"""
SPENT = """
SELECT count(*), sum(cost_usd), count(*) FILTER (WHERE cost_usd IS NULL), count(*) FILTER (WHERE status <> 'done')
FROM calls WHERE run_id = $run_id AND NOT cached
"""


def describe_findings(connection: duckdb.DuckDBPyConnection, run_id: str) -> tuple[str, ...]:
    """A line for each judge that has another best method than before, and one for the money if any call was made."""
    best = connection.execute(NEW_BEST, {"run_id": run_id}).fetchall()
    [(calls, usd, unpriced, failed)] = connection.execute(SPENT, {"run_id": run_id}).fetchall()
    lines = [
        f"best by {judge}: {methods} ({mean:.2f})" + (f", before {before}" if before else "")
        for judge, methods, mean, before in best
    ]
    if calls:
        known = (
            "an unknown amount" if usd is None else f"${usd:,.2f}{' and what has no known price' if unpriced else ''}"
        )
        lines.append(f"{quantity(calls, 'model call')}, {failed:,} failed: {known} spent")
    return tuple(lines)


def store_slug(full_name: str) -> str:
    """A store's name for Prefect: its folder's name and six hex digits, which differ for folders of one name."""
    name = re.sub(r"[^a-z0-9]+", "-", PurePath(full_name).name.lower()).strip("-") or "store"
    return f"{name}-{hashlib.sha256(full_name.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"


def render_pages(run: Run, night: Night) -> dict[str, str]:
    """Name → Markdown: ``leaderboard``, ``moved``, and ``night`` with counts, what is missing, and where to look."""
    found = {"night": _render_outcome(run, night)}
    if night.summary.counts["points"]:
        found["leaderboard"] = render(run.store.database, None, Layout("markdown"))
        found["moved"] = render_changes(night.moved, Layout("markdown"))
    return found


def _render_outcome(run: Run, night: Night) -> str:
    store = run.store
    made = [[stage, f"{tally.done:,}", f"{tally.failed:,}"] for stage, tally in run.log.tallies.items()]
    counts = [[name, f"{number:,}"] for name, number in night.summary.counts.items()]
    blocks = [
        f"**{night.state}**: {night.sentence or 'done'}",
        markdown(["this night", "done", "failed"], made, [False, True, True]) if made else "",
        markdown(["in all", "number"], counts, [False, True]),
        *night.summary.notes,
        _render_shortfalls(night.summary),
        markdown(
            ["where", ""],
            [
                ["store", f"`{store.full_name}`"],
                ["tables and views", f"`{store.full_name}/{DATABASE}`"],
                ["what could not be read", f"`{store.full_name}/{store.quarantine.name}`"],
                ["run", f"`{run.run_id}`"],
            ],
            [False, False],
        ),
    ]
    return "\n\n".join(block.rstrip("\n") for block in blocks if block) + "\n"


def _render_shortfalls(summary: Summary) -> str:
    rows: list[list[Any]] = [
        [
            f"{item.count:,}",
            item.what,
            "; ".join(f"{number:,} × {why}" for why, number in item.reasons),
            f"`{item.look}`",
        ]
        for item in summary.shortfalls
    ]
    return markdown(["", "what", "why", "see"], rows, [True, False, False, False]) if rows else ""


def _format_names(names: tuple[str, ...]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
