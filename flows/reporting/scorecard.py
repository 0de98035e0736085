"""A short account of the leaderboard for a pull request: a table, its certainty, gaps and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from compaction.closest import did_you_mean
from flows.database.arrow_batches import query_batches
from flows.database.scores_db import connect
from flows.database.sql_model import sql_text
from flows.reporting.leaderboard_notes import facts_of, format_validity
from flows.reporting.leaderboard_rows import DIMENSIONS, comparable, ranked_rows
from flows.reporting.paired_differences import LEVEL
from flows.reporting.text_tables import MISSING, fetch_rows, format_signed, markdown, rounded, two_decimals
from flows.reporting.thresholds import ThresholdResult, check_thresholds
from flows.support.errors import UsageError
from flows.support.plurals import quantity
from judge import CONSTRAINTS

Row = dict[str, Any]

SAME = 5e-10
"""Differences below it are rounding."""
EMBEDDED = "embedded"
PARTIAL = " \\*"
"""Marks a method that was asked fewer questions than the rest."""


@dataclass(frozen=True)
class Scorecard:
    """The figures of one version of a judge."""

    judge_id: str
    judge: str
    rows: tuple[Row, ...]
    """Of the view ``leaderboard`` with the interval of ``overall``, in its order."""
    facts: Mapping[str, Any]
    """What the figures rest on, and what is missing."""
    base: Mapping[str, Row] | None
    """Method → its difference to the base store on the same questions; None without a base store."""
    verdicts: tuple[ThresholdResult, ...] = ()
    """On the thresholds that were given."""

    @property
    def is_embedded(self) -> bool:
        """Whether no language model judged."""
        return self.judge == EMBEDDED

    def worse(self, threshold: float) -> list[Row]:
        """The methods that fell by more than the threshold against the base store, beyond noise."""
        return [row for row in (self.base or {}).values() if is_sure(row) and row["difference"] < -threshold]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for ``--json``."""
        methods = [{**row, "against_base": (self.base or {}).get(row["method"])} for row in self.rows]
        thresholds = [{**asdict(one), "holds": one.holds} for one in self.verdicts]
        return {
            "judge_id": self.judge_id,
            "judge": self.judge,
            "is_embedded": self.is_embedded,
            "methods": methods,
            "rests_on": dict(self.facts),
            "thresholds": thresholds,
        }


def is_sure(row: Row) -> bool:
    """Whether a difference to the base is beyond noise."""
    return row["p_adjusted"] is not None and row["p_adjusted"] < LEVEL and abs(row["difference"]) > SAME


def scorecards(
    path: Path,
    *,
    base: Path | None = None,
    judge: str | None = None,
    methods: Sequence[str] = (),
    thresholds: Mapping[str, float] | None = None,
) -> list[Scorecard]:
    """The scorecards of a store, one for each version of a judge. Figures of judges are never mixed.

    Args:
        path: The ``scores.duckdb`` to read.
        base: That of the store to compare with, such as one made by the code before a change.
        judge: One judge only, by name or the beginning of its id.
        methods: These only, by name; all without it.
        thresholds: Method → the least ``overall`` that it is to reach.

    Raises:
        StoreError: there is no database yet.
        UsageError: no such judge or method, or thresholds without saying which of several judges.
    """
    with connect(path) as connection:
        rows = ranked_rows(connection, judge).dicts()
        verdicts = check_thresholds(rows, thresholds or {})
        differences = _differences_to_base(connection, base) if base else None
        by_judge: dict[str, list[Row]] = {}
        for row in _pick_methods(rows, methods):
            by_judge.setdefault(row["judge_id"], []).append(row)
        return [
            Scorecard(
                judge_id,
                found[0]["judge"],
                tuple(found),
                facts_of(connection, judge_id),
                None
                if differences is None
                else {row["method"]: row for row in differences if row["judge_id"] == judge_id},
                tuple(verdicts),
            )
            for judge_id, found in by_judge.items()
        ]


def _pick_methods(rows: Sequence[Row], methods: Sequence[str]) -> list[Row]:
    known = {row["method"] for row in rows}
    for name in methods:
        if name not in known:
            raise UsageError(f"no method {name!r} on the leaderboard{did_you_mean(name, known)}; see leaderboard")
    return [row for row in rows if not methods or row["method"] in methods]


def _differences_to_base(connection: duckdb.DuckDBPyConnection, base: Path) -> list[Row]:
    means = sql_text("queries/scorecard", "probe_means")
    with connect(base) as other:
        connection.register("base_means", query_batches(other, means).table())
    connection.register("head_means", query_batches(connection, means).table())
    return fetch_rows(connection, sql_text("queries/scorecard", "against_base")).dicts()


def render_scorecards(cards: Sequence[Scorecard], top: int, *, has_base: bool) -> str:
    """The scorecards as Markdown that GitHub shows: at most ``top`` methods each before the fold."""
    if not cards:
        return 'No answer has been scored yet; `compaction-eval sql "FROM coverage"` says how far the run got.\n'
    return "\n".join(_section(card, top, has_base=has_base) for card in cards)


def _section(card: Scorecard, top: int, *, has_base: bool) -> str:
    facts = card.facts
    head = f"### Context compaction: {quantity(len(card.rows), 'method')}, {quantity(facts['n_sessions'], 'session')}\n"
    parts = [head, _format_judge(card), _table(card, card.rows[:top], has_base=has_base)]
    if rest := card.rows[top:]:
        folded = _table(card, rest, has_base=has_base)
        summary = f"{quantity(len(rest), 'more method')}"
        parts.append(f"<details><summary>{summary}</summary>\n\n{folded}\n</details>\n")
    return "\n".join([*parts, *(f"- {line}" for line in _notes(card, has_base=has_base)), ""])


def _format_judge(card: Scorecard) -> str:
    """The judge, and a note on every step that no language model did."""
    facts = card.facts
    made = {"summarised": facts["summarizers"], "answered": facts["responders"], "asked": facts["probers"]}
    without = [what for what, names in made.items() if any(name.startswith(EMBEDDED) for name in names or ())]
    if card.is_embedded:
        without.insert(0, "judged")
    said = f"Judge: `{card.judge}` ({card.judge_id}).{format_validity(facts)}\n"
    if without:
        words = " or ".join([", ".join(without[:-1]), without[-1]] if without[1:] else without)
        said = (
            f"> **Embedded engine: no language model {words} here.** It tells what can still be read off a context; "
            f"take large gaps as a signal.\n\n{said}"
        )
    return said


def _table(card: Scorecard, rows: Sequence[Row], *, has_base: bool) -> str:
    names = ["method", "overall ±95 %", "group", "weakest dimension", "tokens removed", "answers"]
    names += ["against base ±95 %"] if has_base else []
    cells = [
        [
            f"{row['method']}{' (control)' * (row['is_control'])}{PARTIAL * bool(row['is_partial'])}",
            f"{two_decimals(row['overall'])} {_format_half_width(row)}".strip(),
            row["tie_group"] or MISSING,
            _format_weakest(row),
            MISSING if row["tokens_removed"] is None else f"{rounded(100 * row['tokens_removed']):.1f} %",
            f"{row['n_answers']:,}",
            *([_format_difference((card.base or {}).get(row["method"]))] if has_base else []),
        ]
        for row in map(comparable, rows)
    ]
    return markdown(names, cells, [False, True, True, False, True, True, *([True] if has_base else [])])


def _format_half_width(row: Row) -> str:
    return "" if row["ci_high"] is None else f"±{two_decimals((row['ci_high'] - row['ci_low']) / 2)}"


def _format_weakest(row: Row) -> str:
    scored = {name: row[name] for name in DIMENSIONS if name != CONSTRAINTS and row.get(name) is not None}
    if not scored:
        return MISSING
    name = min(scored, key=lambda name: (rounded(scored[name]), name))
    return f"{name.replace('_', ' ')} {two_decimals(scored[name])}"


def _format_difference(row: Row | None) -> str:
    if row is None:
        return "new"
    if abs(row["difference"]) <= SAME and not row["std_error"]:
        return "same"
    return f"{format_signed(row['difference'])} {_format_half_width(row)}".strip() + (
        " **sure**" if is_sure(row) else ""
    )


def _notes(card: Scorecard, *, has_base: bool) -> list[str]:
    facts = card.facts
    notes = [f"**Threshold** {'holds' if one.holds else '**not reached**'}: {one.words}." for one in card.verdicts]
    if facts["n_sessions"] == 1:
        notes.append("**How sure**: not at all. One session cannot say how sessions differ: no interval, no groups.")
    else:
        notes.append(
            f"**How sure**: ±95 % is half the interval of overall, {facts['clustered']}. Methods of one group are not "
            "told apart from its first, all pairs considered."
        )
    missing = {
        "compactions failed": facts["n_failed_compactions"],
        "probes failed": facts["n_failed_probes"],
        "answers failed": facts["n_failed_answers"],
        "answers not judged yet": facts["n_missing"],
        "answers unscored": sum(row["n_unscored"] for row in card.rows),
        "probes missing": facts["n_probes_missing"],
        "probes not asked (probes_not_asked says why)": facts["n_not_asked"],
    }
    found = ", ".join(f"{number:,} {what}" for what, number in missing.items() if number)
    notes.append(f"**Missing**: {found or 'nothing'}. What is missing counts nowhere, and never as 0.")
    if facts["n_different_questions"]:
        notes.append("The methods do not rest on the same questions: see the view `coverage`.")
    if any(row["is_partial"] for row in card.rows):
        notes.append(
            "\\* Not applicable at some points: overall is what its differences to the others on the same questions "
            "come to."
        )
    if has_base:
        notes.append(_format_base(card))
    return notes


def _format_base(card: Scorecard) -> str:
    base = card.base or {}
    if not base:
        return (
            "**Base**: nothing to compare. The base store has no answers to the same questions by this version of the "
            "judge (other sessions, or another version of the judge or the probes)."
        )
    pairs = max(row["n_pairs"] for row in base.values())
    sure = [row for row in base.values() if is_sure(row)]
    gone = [name for name in sorted(base) if name not in {row["method"] for row in card.rows}]
    said = (
        f"**Base**: paired on up to {quantity(pairs, 'question')} that both stores have; {len(sure)} of "
        f"{quantity(len(base), 'method')} differ beyond noise (**sure**: Holm's p below {LEVEL:g})."
    )
    return said if not gone else f"{said} Not shown: {', '.join(gone)}."
