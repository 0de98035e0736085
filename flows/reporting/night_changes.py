"""The view ``moved`` as text, and which methods got worse than a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from flows.database.scores_db import connect
from flows.pipeline.load.nights import ReportedNights, reported_nights
from flows.reporting.clusters import describe_clusters
from flows.reporting.text_tables import (
    FOR_READING,
    MISSING,
    Layout,
    Rows,
    fetch_rows,
    format_p,
    format_signed,
    render_rows,
    rows_of_judge,
    two_decimals,
)
from flows.store.store import Store
from flows.support.clock import utc_time
from flows.support.errors import UsageError
from flows.support.plurals import quantity

LEAST_SHOWN = 0.005
"""Differences below it are counted, not listed, unless they are beyond noise."""

Row = dict[str, Any]


@dataclass(frozen=True)
class NightChanges:
    """The changes between two nights, by judge and method; without rows if there are no two nights to compare."""

    rows: tuple[Row, ...]
    """Of the view ``moved``, dimension overall."""
    night_then: int | None
    night_now: int | None
    now: tuple[tuple[str, str, bool], ...] = ()
    """Judge version, method, and whether it is open (``night_figures.is_open``), of the last night."""
    clustered: str = "clustered by session"
    """As ``describe_clusters`` says it."""
    is_told: bool = False
    """Whether nothing has changed since the outcome was told last."""

    def worse(self, threshold: float) -> list[Row]:
        """The methods whose overall fell by more than the threshold, beyond noise, by one version of a judge.

        On all sessions, or on those whose text is the same: a method that got worse on them can hide behind new
        sessions that are easy.
        """
        return [
            row
            for row in self.rows
            if row["is_same_judge"] and (_is_worse(row, threshold) or _is_worse_on_same(row, threshold))
        ]

    def told(self, threshold: float | None) -> ReportedNights:
        """Judge → method → night: what counts as reported after this report.

        A method that is open stays as it was told before, unless it is said to be worse now: what it lacks is compared
        when it is there.
        """
        worse = set() if threshold is None else {(row["judge_id"], row["method"]) for row in self.worse(threshold)}
        found: dict[str, dict[str, int]] = {}
        for judge_id, method, is_open in self.now:
            if self.night_now is not None and (not is_open or (judge_id, method) in worse):
                found.setdefault(judge_id, {})[method] = self.night_now
        return found


def _is_worse(row: Row, threshold: float) -> bool:
    return bool(row["is_beyond_noise"]) and row["difference"] < -threshold


def _is_worse_on_same(row: Row, threshold: float) -> bool:
    return bool(row["is_same_beyond_noise"]) and row["difference_same"] < -threshold


def changes_since_report(store: Store, study_key: str) -> NightChanges:
    """The changes since the last report, by judge and method; without a report, since the night before."""
    told = reported_nights(store, study_key)
    with connect(store.database) as connection:
        rows = moved_rows(connection, None, told)
        found = _overall_changes(rows, connection)
    if found.now and all(told.get(judge_id, {}).get(method) == found.night_now for judge_id, method, _ in found.now):
        return replace(found, rows=(), night_then=found.night_now, is_told=True)
    left = tuple(row for row in found.rows if told.get(row["judge_id"], {}).get(row["method"]) != found.night_now)
    return replace(found, rows=left)


def _overall_changes(rows: Rows, connection: duckdb.DuckDBPyConnection) -> NightChanges:
    overall = tuple(row for row in rows.dicts() if row["dimension"] == "overall")
    now = connection.execute(
        "SELECT night, judge_id, method, coalesce(is_open, false) FROM night_figures "
        "WHERE dimension = 'overall' AND night = (SELECT max(night) FROM night_figures) ORDER BY ALL"
    ).fetchall()
    last = now[0][0] if now else None
    then = max((row["night_then"] for row in overall), default=None)
    open_now = tuple((judge_id, method, is_open) for _, judge_id, method, is_open in now)
    return NightChanges(overall, then, last, open_now, describe_clusters(connection))


def moved_rows(connection: duckdb.DuckDBPyConnection, since: int | None, told: ReportedNights | None = None) -> Rows:
    """The rows of the view ``moved``: against a night, the nights reported last, or the nights before the last."""
    nights = [
        {"judge_id": judge_id, "method": method, "night": night}
        for judge_id, methods in (told or {}).items()
        for method, night in methods.items()
    ]
    connection.execute("SET VARIABLE moved_since = $since", {"since": since})
    connection.execute("SET VARIABLE moved_told = $told", {"told": nights or None})
    return fetch_rows(connection, "FROM moved")


def find_night(connection: duckdb.DuckDBPyConnection, since: str) -> int:
    """The night that ``--since`` means: a number, or the last night taken before a date or time (UTC).

    Raises:
        UsageError: it is neither, or there is no night before it.
    """
    found = fetch_rows(connection, "SELECT DISTINCT night, taken_at FROM night_figures").values
    taken: dict[int, datetime] = dict(found)
    if since.isdigit():
        if int(since) not in taken:
            raise UsageError(f"--since: no night {since} in this store; {_format_nights(taken)}")
        return int(since)
    moment = utc_time(since)
    if moment is None:
        raise UsageError(f"--since: expected the number of a night, or a date such as 2026-11-01, found {since!r}")
    earlier = [night for night, at in taken.items() if at < moment]
    if not earlier:
        raise UsageError(f"--since: no night was taken before {since}; {_format_nights(taken)}")
    return int(max(earlier))


def _format_nights(taken: dict[int, datetime]) -> str:
    if not taken:
        return "it has no night yet: `compaction-eval run` takes one"
    first, last = min(taken), max(taken)
    return f"it has the nights {first} ({taken[first]:%Y-%m-%d %H:%M}) to {last} ({taken[last]:%Y-%m-%d %H:%M})"


def render(path: Path, since: str | None, judge: str | None, layout: Layout) -> tuple[str, NightChanges]:
    """Render the changes since a night as text, and return them as data too.

    Args:
        path: The ``scores.duckdb`` to read.
        since: Number of a night, or a date or time; the night before the last without it.
        judge: One judge only, by name or the beginning of its id.
        layout: ``csv`` and ``json`` are the view ``moved`` with every dimension and column.

    Raises:
        StoreError: there is no database yet.
        UsageError: no such night, or no such judge.
    """
    with connect(path) as connection:
        rows = moved_rows(connection, None if since is None else find_night(connection, since))
        rows = rows_of_judge(rows, judge) if rows.values else rows
        moved = _overall_changes(rows, connection)
    if layout.is_data:
        return render_rows(rows, layout.format), moved
    return render_changes(moved, layout), moved


def render_changes(moved: NightChanges, layout: Layout = FOR_READING) -> str:
    """The changes as text, one judge after the other."""
    if moved.is_told:
        return f"Nothing has moved since night {moved.night_now}.\n"
    if moved.night_now is None:
        return "No night has been taken yet: `compaction-eval run` takes one whenever the leaderboard changed.\n"
    if not moved.rows:
        return f"Night {moved.night_now} is the first one of these judges: there is nothing to compare it with yet.\n"
    by_judge: dict[str, list[Row]] = {}
    for row in moved.rows:
        by_judge.setdefault(row["judge_id"], []).append(row)
    return "\n".join(_section(rows, moved.clustered, layout) for rows in by_judge.values())


def _section(rows: Sequence[Row], clustered: str, layout: Layout) -> str:
    first = max(rows, key=lambda row: row["night_then"])
    shown = [row for row in rows if abs(row["difference"]) >= LEAST_SHOWN or row["is_beyond_noise"]]
    names = ["method", "then", "now", "differs", "±95%", "p adj.", "same sess.", "other", "sessions", "says"]
    cells = [
        [
            row["method"],
            two_decimals(row["mean_then"]),
            two_decimals(row["mean"]),
            format_signed(row["difference"]),
            MISSING if row["ci_high"] is None else two_decimals((row["ci_high"] - row["ci_low"]) / 2),
            format_p(row["p_adjusted"]),
            format_signed(row["difference_same"]),
            format_signed(row["difference_other"]),
            _format_sessions(row),
            label_difference(row),
        ]
        for row in shown
    ]
    numeric = [False] + [True] * 7 + [False, False]
    head = (
        f"Judge {first['judge']} {first['judge_id']}: night {first['night_then']} "
        f"({first['taken_then']:%Y-%m-%d %H:%M} UTC) against night {first['night_now']} "
        f"({first['taken_now']:%Y-%m-%d %H:%M}), overall."
    )
    notes = [head]
    if not first["is_same_judge"]:
        notes.append(
            f"The judge itself is another version than then ({first['judge_id_then']}), so nothing here is said of "
            "methods; the view judge_bridge sets the two against each other."
        )
    elif not first["is_same_engine"]:
        notes.append("What asks or answers is of another version than then, which moves all methods.")
    earlier: dict[int, list[str]] = {}
    for row in rows:
        if row["night_then"] != first["night_then"]:
            earlier.setdefault(row["night_then"], []).append(row["method"])
    notes += [
        f"{', '.join(names)}: against night {night}, the last before with all their scores."
        for night, names in sorted(earlier.items())
    ]
    still = len(rows) - len(shown)
    if still:
        notes.append(f"{quantity(still, 'method')} moved by less than {LEAST_SHOWN}.")
    table = ""
    if shown:
        notes.append(
            "same sess.: on the sessions whose text is the same, so from another version of the method or the engine; "
            "other: the rest, from new, changed and gone sessions; the two add up. sessions: same, changed, new, gone. "
            f"p adj.: Holm's correction over the judge's methods, {clustered}."
        )
        table = layout.table(names, cells, numeric)
    if layout.format == "markdown":
        return "\n".join([table, *(f"{note}\n" for note in notes)])
    return table + layout.note(" ".join(notes))


def _format_sessions(row: Row) -> str:
    parts = [
        ("=", row["n_sessions_same"]),
        ("~", row["n_sessions_changed"]),
        ("+", row["n_sessions_new"]),
        ("-", row["n_sessions_gone"]),
    ]
    return " ".join(f"{sign}{number:,}" for sign, number in parts if number)


def label_difference(row: Row) -> str:
    """The label of a difference: better, worse, noise, or why it cannot be told."""
    if not row["is_same_judge"]:
        return "judge changed"
    if row["std_error"] is None:
        return "one session"
    better = "better" if row["difference"] > 0 else "worse"
    if row["is_beyond_noise"]:
        return better
    if row["is_same_beyond_noise"]:
        return f"{'better' if row['difference_same'] > 0 else 'worse'} on the same"
    return "noise"


def format_worse(row: Row, threshold: float) -> str:
    """A method that got worse, as a part of a sentence."""
    reasons = [] if row["is_same_code"] else ["its version or parameters changed"]
    reasons += [] if row["is_same_engine"] else ["the engine changed"]
    why = f"; {', '.join(reasons)}" if reasons else ""
    if _is_worse(row, threshold):
        means = f"{two_decimals(row['mean_then'])} → {two_decimals(row['mean'])}"
        return f"{row['method']} {format_signed(row['difference'])} ({means}{why})"
    return f"{row['method']} {format_signed(row['difference_same'])} on the same sessions{why and ' (' + why[2:] + ')'}"
