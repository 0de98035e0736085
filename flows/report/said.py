"""The sentences at the top of the page: what a visitor should know after a minute."""

from __future__ import annotations

from collections import Counter

from flows.comparison import LEVEL
from flows.report.figures import Figures, Row
from flows.report.formats import score, share
from flows.report.visible import visible
from flows.report.words import Words

NAMED = 4
"""Methods that are named where more are meant."""


def summary(figures: Figures, words: Words) -> list[str]:
    """What the figures say, in sentences."""
    contenders = figures.contenders
    if not contenders:
        return []
    best, *others = contenders
    values = {"method": visible(best["method"]), "overall": score(best["overall"]),
              "removed": share(best["tokens_removed"])}  # fmt: skip
    if best["ci_low"] is None:
        found = [words("said.best_plain", **values)]
    else:
        found = [words("said.best", **values, low=score(best["ci_low"]), high=score(best["ci_high"]))]
    if best["ci_low"] is not None:
        tied = _not_told_apart(figures, best, others)
        found.append(_ties([visible(row["method"]) for row in tied], words))
        known = [row for row in [best, *tied] if row["tokens_removed"] is not None]
        if tied and known:
            least = max(known, key=lambda row: row["tokens_removed"])
            found.append(
                words(
                    "said.cheapest", method=visible(least["method"]), removed=share(least["tokens_removed"]),
                    overall=score(least["overall"]),
                )
            )  # fmt: skip
    controls = {row["strategy"]: row for row in figures.of("methods") if row["is_control"]}
    if {"none", "empty"} <= controls.keys():
        found.append(
            words("said.controls", none=score(controls["none"]["overall"]), empty=score(controls["empty"]["overall"]))
        )
    names = {row["method"] for row in contenders}
    weakest = Counter(row["weakest"] for row in figures.of("weakest_dimension") if row["method"] in names)
    if weakest:
        [(dimension, n)] = weakest.most_common(1)
        shown = words.of("dimension").get(dimension, dimension)
        found.append(words("said.weakest", dimension=shown, n=n, all=weakest.total()))
    return found


def _not_told_apart(figures: Figures, best: Row, others: list[Row]) -> list[Row]:
    """Methods whose paired difference to the best is within noise; a tie group says so only of its first method."""
    apart = {
        name
        for row in figures.of("pairs")
        if row["dimension"] == "overall" and _is_below(row["p_adjusted_in_dimension"])
        for one, name in ((row["method_a"], row["method_b"]), (row["method_b"], row["method_a"]))
        if one == best["method"]
    }
    return [row for row in others if row["method"] not in apart]


def _is_below(p: float | None) -> bool:
    return p is not None and p < LEVEL


def _ties(names: list[str], words: Words) -> str:
    if not names:
        return words("said.no_ties")
    if len(names) <= NAMED:
        return words("said.tie", names=", ".join(names))
    return words("said.ties", n=len(names), names=", ".join(names[:NAMED]))
