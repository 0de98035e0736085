"""What the page says of the leaderboard in sentences, and which dimensions it leaves out."""

from __future__ import annotations

from typing import Any

from flows.reporting.html.figures import Figures
from flows.reporting.html.said import summary_sentences
from flows.reporting.html.words import load_catalogue
from flows.reporting.leaderboard_rows import DIMENSIONS
from flows.reporting.text_tables import Rows


def figures(n_projects: int = 0, **methods: dict[str, float]) -> Figures:
    """Methods in the order of the leaderboard, each with these figures; none is told apart from another."""
    bare = dict.fromkeys((*DIMENSIONS, "overall", "ci_low", "ci_high", "tokens_removed"))
    rows: list[dict[str, Any]] = [
        {**bare, "method": name, "strategy": name, "is_control": name == "none", "is_partial": False, **found}
        for name, found in methods.items()
    ]
    boards = {"methods": Rows([*rows[0]], [tuple(row.values()) for row in rows])}
    return Figures(
        {}, [], {"n_projects": n_projects}, {**boards, "pairs": Rows([], []), "weakest_dimension": Rows([], [])}, None
    )


def test_a_first_method_that_another_scores_above_stands_first_and_does_not_keep_most() -> None:
    own = {"overall": 4.0, "ci_low": 3.9, "ci_high": 4.1, "tokens_removed": 0.5}
    dear = {"overall": 4.5, "ci_low": 4.4, "ci_high": 4.6}
    first, tie, higher, unit = summary_sentences(figures(cheap=own, dear=dear), load_catalogue("en"))
    assert first.startswith("cheap stands first: 4.00 of 5 (3.90 to 4.10)")
    assert tie == "dear cannot be told apart from it."
    assert higher.startswith("dear scores higher (4.50), but ")
    assert unit == "Intervals are clustered by session."
    first, _, unit = summary_sentences(figures(12, dear=dear, cheap=own), load_catalogue("en"))
    assert first.startswith("dear keeps most: 4.50 of 5")
    assert unit == "Intervals are clustered by project, 12 of them."


def test_a_dimension_in_which_methods_are_alike_is_named_once_whatever_the_controls_have() -> None:
    one = {"overall": 4.0, "accuracy": 4.0, "continuity": 4.999}
    other = {"overall": 3.0, "accuracy": 3.0, "continuity": 5.0}
    assert figures(a=one, b=other, none={"continuity": 1.0}).alike == {"continuity": "5.00"}
    assert figures(a=one).alike == {}
