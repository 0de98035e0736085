"""The sentences at the top of the page, which sum up the results."""

from __future__ import annotations

from collections import Counter

from flows.reporting.html.figures import Figures, Row
from flows.reporting.html.formats import format_share
from flows.reporting.html.visible import show_invisible
from flows.reporting.html.words import TextCatalogue
from flows.reporting.paired_differences import LEVEL
from flows.reporting.text_tables import two_decimals

NAMED = 4
"""Methods that are named where more are meant."""


def summary_sentences(figures: Figures, words: TextCatalogue) -> list[str]:
    """The sentences that sum up the figures."""
    contenders = figures.contenders
    if not contenders:
        return []
    best, *others = contenders
    values = {
        "method": show_invisible(best["method"]),
        "overall": two_decimals(best["overall"]),
        "removed": format_share(best["tokens_removed"]),
    }
    highest = max(contenders, key=lambda row: round(row["overall"] or 0, 9))
    is_highest = round(highest["overall"] or 0, 9) <= round(best["overall"] or 0, 9)
    values["place"] = words("said.keeps_most" if is_highest else "said.stands_first")
    if best["ci_low"] is None:
        found = [words("said.best_plain", **values)]
    else:
        found = [words("said.best", **values, low=two_decimals(best["ci_low"]), high=two_decimals(best["ci_high"]))]
        tied = _tied_with_best(figures, best, others)
        found.append(_ties([show_invisible(row["method"]) for row in tied], words))
    if not is_highest:
        name, overall = show_invisible(highest["method"]), two_decimals(highest["overall"])
        found.append(words("said.higher", method=name, overall=overall))
    controls = {row["strategy"]: row for row in figures.of("methods") if row["is_control"]}
    if {"none", "empty"} <= controls.keys():
        found.append(
            words(
                "said.controls",
                none=two_decimals(controls["none"]["overall"]),
                empty=two_decimals(controls["empty"]["overall"]),
            )
        )
    names = {row["method"] for row in contenders}
    weakest = Counter(row["weakest"] for row in figures.of("weakest_dimension") if row["method"] in names)
    if weakest:
        [(dimension, n)] = weakest.most_common(1)
        shown = words.of("dimension").get(dimension, dimension)
        found.append(words("said.weakest", dimension=shown, n=n, all=weakest.total()))
    for name in ("own_summaries", "left_out"):
        if number := figures.judge[f"n_{name}"]:
            found.append(words(f"said.{name}", n=number))
    if best["ci_low"] is not None:
        n_projects = figures.about["n_projects"]
        found.append(words("said.by_project", n=n_projects) if n_projects else words("said.by_session"))
    return found


def _tied_with_best(figures: Figures, best: Row, others: list[Row]) -> list[Row]:
    """Methods whose paired difference to the best is within noise; tie groups compare only with their first method."""
    apart = {
        name
        for row in figures.of("pairs")
        if row["dimension"] == "overall" and (p := row["p_adjusted_in_dimension"]) is not None and p < LEVEL
        for one, name in ((row["method_a"], row["method_b"]), (row["method_b"], row["method_a"]))
        if one == best["method"]
    }
    return [row for row in others if row["method"] not in apart]


def _ties(names: list[str], words: TextCatalogue) -> str:
    if not names:
        return words("said.no_ties")
    if len(names) <= NAMED:
        return words("said.tie", names=", ".join(names))
    return words("said.ties", n=len(names), names=", ".join(names[:NAMED]))
