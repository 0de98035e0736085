"""What comparisons in pairs came to: shares of wins, strengths, and how far the position decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from flows.database.query_variables import with_variables
from flows.database.sql_model import sql_text
from flows.reporting.clusters import describe_clusters
from flows.reporting.text_tables import MISSING, Layout, fetch_rows, two_decimals
from flows.support.plurals import quantity
from judge.preferences import Comparison, NotFiniteError, fit_strengths

Row = dict[str, Any]

_PAIRS = (
    "SELECT * FROM pair_results WHERE judge_id = $judge_id "
    "AND list_contains($methods, method_a) AND list_contains($methods, method_b)"
)
_COMPARED = """
SELECT method_a, method_b, first, outcome, cluster FROM int_comparisons
WHERE judge_id = $judge_id AND list_contains($methods, method_a) AND list_contains($methods, method_b)
ORDER BY comparison_id
"""


def pair_figures(connection: duckdb.DuckDBPyConnection, judge_id: str, methods: Sequence[str]) -> dict[str, Any]:
    """The results of these methods by one judge, as plain data: pairs, position, strengths or why there are none."""
    given = {"judge_id": judge_id, "methods": list(methods)}
    pairs = fetch_rows(connection, _PAIRS, **given).dicts()
    position = fetch_rows(connection, "FROM pair_position WHERE judge_id = $judge_id", judge_id=judge_id).dicts()
    strengths, reason = _strengths(connection, fetch_rows(connection, _COMPARED, **given).values)
    return {
        "judge_id": judge_id,
        "pairs": pairs,
        "position": position[0] if position else None,
        "strengths": strengths,
        "no_strengths_because": reason,
    }


def _strengths(connection: duckdb.DuckDBPyConnection, rows: Sequence[tuple[str, ...]]) -> tuple[list[Row], str | None]:
    """Method → strength with its interval, the strongest first; or the reason why there is none."""
    if not rows:
        return [], "nothing has been compared"
    comparisons = []
    for method_a, method_b, first, outcome, cluster in rows:
        order = (method_a, method_b) if first == "a" else (method_b, method_a)
        won = "tie" if outcome == "tie" else ("first" if outcome == first else "second")
        comparisons.append(Comparison(*order, won, cluster))  # type: ignore[arg-type]
    try:
        fit = fit_strengths(comparisons)
    except NotFiniteError as error:
        return [], str(error)
    t = None
    if fit.n_clusters > 1:
        [(t,)] = connection.execute("SELECT t_quantile(0.975, $df)", {"df": fit.n_clusters - 1}).fetchall()
    found = []
    for name, strength in sorted(zip(fit.names, fit.strengths, strict=True), key=lambda one: -one[1]):
        spread = fit.std_error(name)
        half = None if t is None or spread is None else t * spread
        low, high = (None, None) if half is None else (strength - half, strength + half)
        found.append({"method": name, "strength": strength, "ci_low": low, "ci_high": high})
    return found, None


def format_pairs(connection: duckdb.DuckDBPyConnection, figures: Mapping[str, Any], judge: str, layout: Layout) -> str:
    """The figures as tables and sentences."""
    pairs = figures["pairs"]
    if not pairs:
        return f"Judge {judge}: no question has a verdict on both orders."
    cells = [
        [
            row["method_a"],
            row["method_b"],
            f"{row['n_questions']:,}",
            *(f"{row[name]:,}" for name in ("n_a", "n_ties", "n_b")),
            two_decimals(row["share_a"]),
            _interval(row),
            MISSING if row["p_value"] is None else f"{row['p_value']:.3f}",
        ]
        for row in pairs
    ]
    names = ("A", "B", "questions", "A better", "tie", "B better", "share of A", "95 %", "p")
    lines = [
        f"Judge {judge}, protocol pairwise, id {figures['judge_id']}; a question counts once, with both orders; "
        f"intervals {describe_clusters(connection)}.",
        layout.table(names, cells, [name not in "AB" for name in names]),
    ]
    if figures["no_strengths_because"]:
        lines.append(f"No strengths (Bradley-Terry): {figures['no_strengths_because']}.")
    else:
        strengths = [
            [row["method"], f"{row['strength']:+.2f}", _interval(row, signed=True)] for row in figures["strengths"]
        ]
        lines += ["", layout.table(("method", "strength", "95 %"), strengths, [False, True, True])]
        lines.append("strength: log odds of being preferred (Bradley-Terry with ties and order), with the mean 0.")
    return "\n".join([*lines, _position(figures["position"])])


def _position(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "Position: nobody was asked, as all answers are the same."
    share, low, high = two_decimals(row["share_first"]), row["ci_low"], row["ci_high"]
    said = f"Position: the answer shown first wins {share} of {quantity(row['n_comparisons'], 'comparison')}, ties half"
    if low is None:
        return f"{said}; how sure that is cannot be told, as no session differs from another."
    verdict = "no bias is shown" if low <= 0.5 <= high else "this judge has a position bias, which both orders even out"
    return f"{said} (95 %: {two_decimals(low)} to {two_decimals(high)}): {verdict}."


def _interval(row: Mapping[str, Any], *, signed: bool = False) -> str:
    if row["ci_low"] is None:
        return MISSING
    low, high = (f"{row[name]:{'+' if signed else ''}.2f}" for name in ("ci_low", "ci_high"))
    return f"{low} to {high}"


def decisive_numbers(connection: duckdb.DuckDBPyConnection, methods: Sequence[str]) -> list[Row]:
    """How many questions decide between each two methods (``sql/queries/pairs/decides.sql``)."""
    with with_variables(connection, {"methods": list(methods)}):
        return fetch_rows(connection, sql_text("queries/pairs", "decides")).dicts()


def format_decisive(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each pair."""
    found = []
    for row in rows:
        pair = f"{row['method_a']} and {row['method_b']}"
        least = f"a share of 0.60 takes about {row['questions_for_60']:,} questions, 0.55 {row['questions_for_55']:,}"
        if row["questions_for_it"] is None:
            found.append(f"{pair}: by the scores of {row['judge']} neither is better more often; {least}")
            continue
        enough = "enough" if row["n_questions"] >= row["questions_for_it"] else "too few"
        found.append(
            f"{pair}: by the scores of {row['judge']} the first has the better answer in a share of "
            f"{two_decimals(row['share_a'])}; about {row['questions_for_it']:,} questions of such sessions, "
            f"two comparisons each, tell that from one half (95 %, in 80 % of cases), and there are "
            f"{row['n_questions']:,}, {enough}; {least}"
        )
    return found
