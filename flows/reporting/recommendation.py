"""Recommends a method: the result of ``sql/queries/recommend``, in three or four sentences and up to five rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from flows.database.query_variables import with_variables
from flows.database.scores_db import connect
from flows.database.sql_model import sql_text
from flows.reporting.leaderboard_rows import MARGIN
from flows.reporting.method_names import find_methods
from flows.reporting.sizes import describe_sizes, sizes_of
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
from flows.support.choices import PRICE_LIST
from flows.support.errors import UsageError
from flows.support.plurals import quantity

Row = dict[str, Any]

LEFT_OUT = {
    "fetches for questions": "with fetches that an agent may not think of (view recovery)",
    "loses constraints": "loses constraints that the baseline keeps (--allow-lost-constraints)",
    "keeps too little": "keeps less than asked for",
    "too many tokens": "reads more tokens than allowed",
    "costs too much": "costs more than allowed, or nobody knows what",
    "not applicable everywhere": "not applicable at every point, so asked other questions",
}
"""Why a method is not recommended, and how it is said."""

MOST_NAMED = 4
"""Names of methods in a sentence."""


@dataclass(frozen=True)
class Wanted:
    """The requirements on a recommended method."""

    baseline: str | None = None
    """The method in use; None: that of most sessions."""
    least_retention: float | None = None
    """Share (0 to 1) of the history's worth that it has to keep."""
    most_tokens: int | None = None
    """Mean tokens that a question may be answered from."""
    most_usd: float | None = None
    """US dollars that a session may cost on average."""
    price_list: str = PRICE_LIST
    """The model at whose prices."""
    allows_lost_constraints: bool = False
    """Whether it may lose constraints that the baseline keeps."""


@dataclass(frozen=True)
class Recommendation:
    """What is recommended by the scores of one judge, in words and in a table."""

    judge: str
    judge_id: str
    candidates: list[Row]
    head: str
    """Whose scores they are, and the baseline."""
    sentences: list[str]
    notes: list[str]
    """What to know of the table."""
    names: list[str]
    """Columns of the table."""
    cells: list[list[str]]
    """Its rows; none where nothing is recommended."""

    @property
    def is_numeric(self) -> list[bool]:
        """For each column whether it has numbers."""
        return [name not in ("", "method", "against base", "says") for name in self.names]


def recommend(path: Path, wanted: Wanted, judge: str | None = None, layout: Layout = FOR_READING) -> str:
    """The recommendation of each judge, one after the other; ``json`` and ``csv`` are every candidate with its figures.

    Raises:
        StoreError: there is no database yet.
        UsageError: the store has no such judge or method, the baseline has no score of it, or a retention or a cost is
            asked for that is not known.
    """
    with connect(path) as connection:
        rows = find_candidates(connection, wanted, judge)
        found = recommendations(connection, rows, wanted)
    if not found:
        raise UsageError("nothing to compare: no two methods have a score for the same question")
    candidates = rows.dicts()
    if wanted.least_retention is not None and all(row["retention"] is None for row in candidates):
        raise UsageError("--min-retention: how much is kept is not known without the controls: run none and empty, too")
    if wanted.most_usd is not None and all(row["usd"] is None for row in candidates):
        raise UsageError(
            f"--max-cost: what a session costs at the prices of {wanted.price_list} is not known: replay sessions with "
            "run --replay 1, and name a model of the table price_lists"
        )
    if layout.is_data:
        if layout.format == "csv":
            return render_rows(rows, "csv")
        names = ["judge_id", "judge", "sentences", "candidates"]
        return render_rows(Rows(names, [tuple(getattr(one, name) for name in names) for one in found]), "json")
    return "\n".join(_section(one, layout) for one in found)


def find_candidates(connection: duckdb.DuckDBPyConnection, wanted: Wanted, judge: str | None = None) -> Rows:
    """Every candidate of each judge, or of one, with its figures.

    Raises:
        UsageError: the store has no such judge or method.
    """
    baseline_id = None
    if wanted.baseline is not None:
        [(_, baseline_id)] = find_methods(connection, wanted.baseline)
    variables = {
        "baseline_id": baseline_id,
        "least_retention": wanted.least_retention,
        "most_tokens": wanted.most_tokens,
        "most_usd": wanted.most_usd,
        "price_list": wanted.price_list,
        "allow_lost_constraints": wanted.allows_lost_constraints,
    }
    with with_variables(connection, variables):
        return rows_of_judge(fetch_rows(connection, sql_text("queries/recommend", "recommendations")), judge)


def recommendations(connection: duckdb.DuckDBPyConnection, rows: Rows, wanted: Wanted) -> list[Recommendation]:
    """What is recommended among the candidates of each judge."""
    by_judge: dict[str, list[Row]] = {}
    for row in rows.dicts():
        by_judge.setdefault(row["judge_id"], []).append(row)
    found = []
    for judge_id, of in by_judge.items():
        said = sentences(of)
        notes = _notes(of)
        if any(row["usd"] is not None for row in of):
            notes.append(
                f"$: of a session on average, replayed at the prices of {wanted.price_list}. of none: as a share of "
                "the same sessions without compaction."
            )
        names, cells = _table(of) if len(said) > 1 else ([], [])
        said += _of_sizes(connection, of)
        found.append(Recommendation(of[0]["judge"], judge_id, of, _head(of, wanted), said, notes, names, cells))
    return found


def sentences(rows: Sequence[Row]) -> list[str]:
    """Say the best method for quality, that for fewer tokens, and the doubts, for the candidates of one judge."""
    name = rows[0]["baseline"]
    if max(row["n_sessions"] for row in rows) < 2:
        return ["One session cannot say how sessions differ, so nothing is recommended: take ten or more."]
    best = next((row for row in rows if row["is_best"]), None)
    if best is None:
        return ["No method does what is asked for."]
    base = next((row for row in rows if row["is_baseline"]), None)
    return [
        _of_quality(best, base, name, is_first=best is rows[0]),
        _of_tokens(rows, base, name),
        _of_doubt(rows, best, name),
    ]


def _of_sizes(connection: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> list[str]:
    """Say at what size to compact with the best method, where the study's points are by sizes."""
    best = next((row for row in rows if row["is_best"]), None)
    return describe_sizes(sizes_of(connection, best["judge_id"], best["method_id"])) if best else []


def _of_quality(best: Row, base: Row | None, name: str, *, is_first: bool) -> str:
    of = "" if is_first else " of the methods that may be recommended"
    highest = f"scores highest{of} ({two_decimals(best['overall'])} of 5{_describe_retention(best)})"
    if best["is_baseline"]:
        return f"{name}, the baseline,{_above_none(best)} {highest}."
    said = f"{best['method']}{_above_none(best)} {highest}"
    if best["says"] is None:
        return f"{said}; it has too little in common with {name} to be compared with it."
    difference = format_signed(best["difference"])
    if best["ci_low"] is not None:
        difference += f", 95 % {format_signed(best['ci_low'])} to {format_signed(best['ci_high'])}"
    price = f"reading {_times(best['token_share'])} tokens" if best["token_share"] is not None else "at unknown tokens"
    price += _against_usd(best, base)
    p = f"p {format_p(best['p_adjusted'])}, corrected for {quantity(best['n_compared'], 'comparison')}"
    if best["says"] in ("better", "worse", "a little worse"):
        return f"{said} and is {best['says']} than {name} ({difference}; {p}), {price}."
    return f"{said}, but after correction it is not shown to be better than {name} ({difference}; {p}), {price}."


def _of_tokens(rows: Sequence[Row], base: Row | None, name: str) -> str:
    cheapest = next((row for row in rows if row["is_cheapest"]), None)
    if cheapest is None:
        return f"No method that reads fewer tokens is shown to be as good as {name}."
    shown = f"at most {MARGIN} worse than"
    if cheapest["says"] == "better":
        shown = "better than"
    p = f"p {format_p(cheapest['p_not_worse_adjusted'])}, corrected"
    return (
        f"{cheapest['method']}{_above_none(cheapest)} is shown to be {shown} {name} "
        f"({format_signed(cheapest['difference'])}; {p}) and reads "
        f"{_times(cheapest['token_share'])} tokens{_against_usd(cheapest, base)}"
        f"{_describe_retention(cheapest, ', keeping')}."
    )


def _of_doubt(rows: Sequence[Row], best: Row, name: str) -> str:
    unknown = [row for row in rows if row["says"] in ("cannot tell", None) and not row["is_baseline"]]
    if not unknown:
        return f"Every other method is shown to be better than {name}, worse, or not worse."
    n = max(row["n_sessions_compared"] or 0 for row in unknown)
    others = sum(not row["is_baseline"] for row in rows)
    said = f"{quantity(len(unknown), 'method')} of {others} may be better, worse or as good as {name}: "
    said += f"{quantity(n, 'session')} cannot tell"
    about = next((row for row in [best, *unknown] if row in unknown and row["left_out_because"] is None), None)
    more = about and _more_sessions(about)
    if about is None or not more:
        return f"{said}."
    about_it = f"{about['method']}{_above_none(about)}"
    return f"{said}, and to show a difference of {MARGIN} of {about_it} it takes about {more:,} more like these."


def _more_sessions(row: Row) -> int | None:
    """The number of lacking sessions, to one digit; None if none is lacking or the number is unknown."""
    if row["sessions_needed"] is None or row["sessions_needed"] <= row["n_sessions_compared"]:
        return None
    more = int(row["sessions_needed"] - row["n_sessions_compared"])
    digits = 10 ** (len(str(more)) - 1)
    return more if more < 10 else -(-more // digits) * digits


def _describe_retention(row: Row, before: str = ",") -> str:
    """The retention in words, behind a comma; nothing where it is not known."""
    if row["retention"] is None:
        return ""
    return f"{before} {rounded(100 * row['retention']):.0f} % of the history's worth{' kept' if before == ',' else ''}"


def _above_none(row: Row) -> str:
    """What a session costs, in words, where that is more than without compaction; nothing where it is not."""
    if not row["costs_more_than_none"]:
        return ""
    return f" ({rounded(100 * row['share_of_none']):,.0f} % of what no compaction costs)"


def _against_usd(row: Row, base: Row | None) -> str:
    """What a session costs beside what it costs with the baseline; nothing unless both replayed as many sessions."""
    if base is None or row["usd"] is None or base["usd"] is None or row["n_replayed"] != base["n_replayed"]:
        return ""
    return f" at {_usd(row['usd'])} a session against {_usd(base['usd'])}"


def _usd(value: float) -> str:
    """US dollars to the cent; less than a cent with two digits."""
    return f"${value:.2g}" if 0 < value < 0.01 else f"${two_decimals(value)}"


def _share_of_none(row: Row) -> str:
    return MISSING if row["share_of_none"] is None else f"{rounded(100 * row['share_of_none']):,.0f}%"


def _times(share: float | None) -> str:
    """The tokens of a method as a share of the baseline's."""
    if share is None:
        return "an unknown number of"
    if share >= 2:
        return f"{share:.1f} times its"
    return f"{rounded(100 * share):.0f} % of its"


def _head(rows: Sequence[Row], wanted: Wanted) -> str:
    judge, judge_id = rows[0]["judge"], rows[0]["judge_id"]
    head = f"Judge {judge} {judge_id}."
    if judge == "embedded":
        head = (
            f"Embedded judge {judge_id}: retention of literal facts. No language model gave these scores, and with one "
            "the order can be another."
        )
    base = next((row for row in rows if row["is_baseline"]), None)
    which = f"Baseline: {rows[0]['baseline']}{_above_none(base) if base else ''}"
    if wanted.baseline is None:
        which += (
            ", the first by name of the methods in most sessions, since none was named: name the one in use with "
            "--baseline"
        )
    return f"{head} {which}."


def _section(found: Recommendation, layout: Layout) -> str:
    blocks = [layout.note(found.head), *map(layout.note, found.sentences)]
    if found.cells:
        blocks.append(layout.table(found.names, found.cells, found.is_numeric))
    blocks += map(layout.note, found.notes)
    return ("\n" if layout.format == "markdown" else "").join(blocks)


def _table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The picked methods: names of columns, and rows."""
    picked = [
        ("baseline", next((row for row in rows if row["is_baseline"]), None)),
        ("best quality", next((row for row in rows if row["is_best"]), None)),
        ("best value", next((row for row in rows if row["is_best_value"]), None)),
        ("cheapest as good", next((row for row in rows if row["is_cheapest"]), None)),
    ]
    shown = [row["method"] for _, row in picked if row is not None]
    unknown = (row for row in rows if row["says"] == "cannot tell" and row["left_out_because"] is None)
    picked.append(("cannot tell", next((row for row in unknown if row["method"] not in shown), None)))
    is_priced = any(row["usd"] is not None for row in rows)
    names = [
        "",
        "method",
        "against base",
        "says",
        "kept",
        "tokens",
        *(["$", "of none"] if is_priced else []),
        "overall",
        "more sessions",
    ]
    cells = [
        [
            what,
            row["method"],
            _difference(row),
            row["says"] or "",
            MISSING if row["retention"] is None else f"{rounded(100 * row['retention']):.0f}%",
            MISSING if row["tokens"] is None else f"{row['tokens']:,.0f}",
            *([MISSING if row["usd"] is None else two_decimals(row["usd"]), _share_of_none(row)] if is_priced else []),
            two_decimals(row["overall"]),
            f"{_more_sessions(row):,}" if row["says"] == "cannot tell" and _more_sessions(row) else "",
        ]
        for what, row in picked
        if row is not None
    ]
    return names, cells


def _difference(row: Row) -> str:
    if row["difference"] is None or row["ci_high"] is None:
        return ""
    return f"{format_signed(row['difference'])} ±{two_decimals((row['ci_high'] - row['ci_low']) / 2)}"


def _first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _notes(rows: Sequence[Row]) -> list[str]:
    """Say which methods were left out and why, the facts on constraints, and how to read the table."""
    notes = []
    for reason, words in LEFT_OUT.items():
        names = [row["method"] for row in rows if row["left_out_because"] == reason and not row["is_baseline"]]
        if names:
            notes.append(f"Not recommended, {words}: {_first_names(names)}.")
    dear = [row for row in rows if row["costs_more_than_none"] and row["left_out_because"] is None]
    if dear:
        names = [f"{row['method']} ({_share_of_none(row)})" for row in dear]
        notes.append(
            "Cost more than no compaction, which keeps everything, and recommended only where nothing else is: "
            f"{_first_names(names)}."
        )
    notes += [
        f"{row['method']}: overall, kept and tokens are over the points at which it applies; what stands against it is "
        "over the questions that both were asked."
        for row in rows
        if row["is_baseline"] and row["left_out_because"] == "not applicable everywhere"
    ]
    asked = max((row["n_constraints"] or 0 for row in rows), default=0)
    notes.append(
        f"Constraints were asked about in {quantity(asked, 'question')}: a method that is not seen to lose one is not "
        "shown to keep them."
        if asked
        else "No constraint was asked about, so it is not known which method loses them."
    )
    notes.append(
        "tokens: mean of what a question was answered from. best value: most kept above its share of what no "
        f"compaction costs (dollars, else tokens). as good: shown to be at most {MARGIN} worse than the baseline. more "
        f"sessions: to show a difference of {MARGIN} in 80 % of studies. All figures: --json."
    )
    return notes
