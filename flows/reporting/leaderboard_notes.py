"""Notes below a leaderboard: the judge, the data behind the figures, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from compaction.strategies.recovery import RECOVER
from flows.reporting.clusters import describe_clusters
from flows.reporting.leaderboard_rows import DIMENSIONS, FRONT, MARGIN, scored_dimensions
from flows.reporting.text_tables import MISSING, fetch_rows, two_decimals
from flows.support.plurals import quantity
from judge import CONSTRAINTS


def _explain_baseline(rows: list[dict[str, Any]]) -> list[str]:
    if "baseline" not in rows[0]:
        return []
    compared = [row for row in rows if row["baseline_says"] is not None and not row["is_control"]]
    return [
        f"base: {rows[0]['baseline']}. against base: difference on the same questions, ±95% of this line alone; p: of "
        f"no difference, corrected for the {quantity(len(compared), 'method')} compared with it (Holm; controls "
        f"apart). as good: shown to be less than {MARGIN} apart; not worse: shown to be at most {MARGIN} worse; "
        f"a little worse: worse, by less than {MARGIN}; cannot tell: none of these is shown, and it may be better, "
        "worse or as good."
    ]


def _explain_front(rows: list[dict[str, Any]]) -> list[str]:
    """Describe the order of the rows."""
    cost_in = next((row["cost_in"] for row in rows if row["on_front"]), None)
    if cost_in is None:
        return []
    cost = "tokens read" if cost_in == "tokens" else f"US dollars of a replayed session (prices of {cost_in})"
    return [
        f"{FRONT}, and first: no other method keeps as much for less, or more at no higher cost; cost: {cost}. Then "
        "the rest; both by kept. A comparison of figures, not a test."
    ]


def _explain_star(row: dict[str, Any]) -> str:
    where = "It has no rank: no question of it has been scored for a method that applies everywhere"
    if row["overall_for_rank"] is not None:
        where = "overall and kept are what its differences to the others on the same questions come to"
    half = "" if row["ci_high"] is None else f" ±{two_decimals((row['ci_high'] - row['ci_low']) / 2)}"
    return (
        f"* {row['method']} is not applicable at {quantity(row['n_points_not_applicable'], 'point')}. {where}; over "
        f"its own points alone, which compares with no other line, overall is {two_decimals(row['overall'])}{half}."
    )


def facts_of(connection: duckdb.DuckDBPyConnection, judge_id: str) -> dict[str, Any]:
    """Read the facts behind a judge's figures: counts of answers and of failures."""
    [facts] = fetch_rows(connection, _FACTS, judge_id=judge_id).dicts()
    return {**facts, "clustered": describe_clusters(connection)}


RELIABLE = 0.7
"""The least coefficient that is commonly called acceptable (Nunnally 1978)."""


def _reliability(connection: duckdb.DuckDBPyConnection, judge_id: str) -> list[str]:
    """Describe the reliability of the methods' order in words; empty if it is unknown."""
    sql = "FROM reliability WHERE judge_id = $judge_id AND dimension = 'overall' ORDER BY methods"
    said = []
    for row in fetch_rows(connection, sql, judge_id=judge_id).dicts():
        if row["split_half"] is not None:
            methods = "all methods" if row["methods"] == "all" else "the upper half"
            said.append(f"{two_decimals(row['split_half'])} for {methods}")
    if not said:
        return []
    return [f"Would other sessions order them alike? Split-half {', '.join(said)}; 1 is best, {RELIABLE} acceptable."]


def explain_table(connection: duckdb.DuckDBPyConnection, judge_id: str, rows: list[dict[str, Any]]) -> str:
    """Describe the judge, the data behind the figures, and the gaps."""
    facts = facts_of(connection, judge_id)
    counts = [
        f"{quantity(sum(row['n_answers'] for row in rows), 'answer')} in {quantity(facts['n_sessions'], 'session')}",
        f"{sum(row['n_unscored'] for row in rows):,} unscored",
        f"{facts['n_missing']:,} not judged yet",
        f"{quantity(facts['n_failed_compactions'], 'compaction')}, {quantity(facts['n_failed_probes'], 'probe')} and "
        f"{quantity(facts['n_failed_answers'], 'answer')} failed",
        f"{quantity(facts['n_not_asked'], 'probe')} not asked (probes_not_asked says why), "
        f"{facts['n_probes_missing']:,} missing",
    ]
    judged = _judge_line(connection, judge_id, rows, facts["responders"] or []) + format_validity(facts)
    lines = [judged, "; ".join(counts) + "."]
    if facts["n_sessions"] == 1:
        lines.append("One session: no interval, no groups and no ranks, because it cannot say how sessions differ.")
    else:
        lines.append(
            f"±95%: half the interval of overall, {facts['clustered']}. group: methods with a letter in common (b-e: "
            "b, c, d, e) are not told apart (paired on the question, corrected for all pairs of methods, 5 %). Of two "
            "without one, and of intervals that overlap: compaction-eval compare A B."
        )
        if any(row["std_error"] == 0 for row in rows):
            lines.append(f"{MISSING}: no session differs from another; how far others would cannot be told.")
        if any(row["rank_low"] is not None for row in rows):
            lines.append("ranks: between which a method lies in 95 % of 1,000 draws of the sessions.")
        lines += _reliability(connection, judge_id)
        lines += _explain_baseline(rows)
    lines += _explain_front(rows)
    lines += _explain_methods(facts, rows)
    if facts["responders"] and len(facts["responders"]) > 1:
        lines.append(f"Answers of several responders are averaged: {', '.join(facts['responders'])}.")
    made = [("answers", facts["responders"]), ("summaries", facts["summarizers"]), ("probes", facts["probers"])]
    lines.append(
        "; ".join(f"{what} by {', '.join(names)}" for what, names in made if names).capitalize()
        + ". Methods none (nothing removed) and empty (everything) are controls: no methods to choose, without a rank."
    )
    scored = ", ".join(f"{DIMENSIONS[name]} {name.replace('_', ' ')}" for name in scored_dimensions(rows))
    lines.append(
        f"overall: mean over answers; kept: of what the whole history is worth above nothing; {scored}"
        + (" (no part of overall)" if scored.endswith(CONSTRAINTS) else "")
        + "; cut: share of tokens removed"
        + (", what is fetched for a question not counted (see the view pareto)" if facts["has_fetched"] else "")
        + "; n: answers."
    )
    return "\n".join(lines)


def _explain_methods(facts: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """Say of which methods the figures do not compare as they stand, and which methods are not shown."""
    lines = []
    if facts["n_different_questions"]:
        lines.append(
            "The methods do not rest on the same questions "
            f"({quantity(facts['n_different_questions'], 'time')} a method lacks one that another has): "
            "see overall_on_shared_probes and the views coverage and checks."
        )
    if any(row["method"].startswith(f"{RECOVER}(") for row in rows):
        lines.append(
            "recover(over=…): dropped messages were fetched for the questions, which an agent may not think of; at how "
            "many tokens: view recovery."
        )
    lines += [_explain_star(row) for row in rows if row["is_partial"]]
    if facts["n_earlier"] and all(row["is_current"] for row in rows):
        lines.append(
            f"{quantity(facts['n_earlier'], 'method')} of earlier runs, of another version or dropped from the study, "
            "not shown: --versions all."
        )
    elif facts["n_earlier"]:
        lines.append("(earlier): not asked for by the newest run, so without a place in the groups.")
    return lines


_OF_SUMMARIES = {
    "judges summaries of its own model": (
        " Its model also wrote the summaries behind {n:,} of the answers, and models tend to favour what they wrote; a "
        "panel of other models (--judges) leaves it out."
    ),
    "leaves members out": (
        " Of {n:,} answers one member is left out, because its model wrote the summary: they have the score of the "
        "others."
    ),
}
"""Remark on a judge → what is said of it."""


def _judge_line(
    connection: duckdb.DuckDBPyConnection, judge_id: str, rows: list[dict[str, Any]], responders: list[str]
) -> str:
    """Name the judge, the rubric, and whether the judge scores what its own model wrote."""
    (judge, model, rubric, protocol), *_ = fetch_rows(
        connection, "SELECT judge, model, rubric, protocol FROM judges WHERE judge_id = $judge_id", judge_id=judge_id
    ).values or [(rows[0]["judge"] or "unknown", "unknown", "unknown", "unknown")]
    if judge == "embedded":
        said = (
            f"Embedded judge {judge_id}, rubric {rubric}: no language model gave these scores, and they are "
            "not to be compared with scores that a model or a person gave."
        )
    else:
        named = judge if model in judge else f"{judge} ({model})"
        said = f"Judge {named}, id {judge_id}, rubric {rubric}, protocol {protocol}."
    if any(name.startswith(f"{judge}@") for name in responders):
        said += " It judges its own answers, which models tend to favour."
    remarks = fetch_rows(connection, "SELECT item, n FROM judge_remarks WHERE judge_id = $judge_id", judge_id=judge_id)
    return said + "".join(_OF_SUMMARIES[item].format(n=n) for item, n in remarks.values if item in _OF_SUMMARIES)


def format_validity(facts: Mapping[str, Any]) -> str:
    """Format how many checks with altered answers a judge passes; empty if untried."""
    if not facts["n_validity_checks"]:
        return ""
    return (
        f" This judge passes {facts['n_validity_passed']} of {facts['n_validity_checks']} checks with altered answers "
        "(table judge_validity)."
    )


_FACTS = """
SELECT
    (SELECT count(DISTINCT session_id) FROM agg_session_scores WHERE judge_id = $judge_id) AS n_sessions,
    (SELECT coalesce(sum(missing), 0)::BIGINT FROM coverage_by_judge WHERE judge_id = $judge_id) AS n_missing,
    (SELECT coalesce(sum(failed), 0)::BIGINT FROM coverage WHERE stage = 'compaction') AS n_failed_compactions,
    (SELECT coalesce(sum(failed), 0)::BIGINT FROM coverage WHERE stage = 'answer') AS n_failed_answers,
    (SELECT coalesce(sum(failed), 0)::BIGINT FROM coverage WHERE stage = 'probe') AS n_failed_probes,
    (SELECT coalesce(sum(expected), 0)::BIGINT FROM coverage WHERE stage = 'probe_not_asked') AS n_not_asked,
    (SELECT coalesce(sum(missing), 0)::BIGINT FROM coverage WHERE stage = 'probe') AS n_probes_missing,
    (SELECT count(*) FROM check_same_questions_scored WHERE judge_id = $judge_id) AS n_different_questions,
    (SELECT count(*) FROM leaderboard WHERE judge_id = $judge_id AND NOT is_current) AS n_earlier,
    (SELECT count(passes) FROM judge_validity WHERE judge_id = $judge_id) AS n_validity_checks,
    (SELECT count_if(passes) FROM judge_validity WHERE judge_id = $judge_id) AS n_validity_passed,
    (
        SELECT list_sort(list(DISTINCT stg_answers.responder))
        FROM int_judged_answers JOIN stg_answers USING (answer_id)
        WHERE int_judged_answers.judge_id = $judge_id
    ) AS responders,
    (SELECT list_sort(list(DISTINCT summarizer)) FROM methods WHERE summarizer IS NOT NULL) AS summarizers,
    (SELECT list_sort(list(DISTINCT prober)) FROM probes) AS probers,
    (SELECT coalesce(bool_or(fetched_tokens > 0), false) FROM answers) AS has_fetched
"""
