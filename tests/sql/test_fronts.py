"""The order of the leaderboard: the front of what methods keep and cost, worked out anew by every pair."""

from __future__ import annotations

import random
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from flows.cli.recommend import recommend
from flows.database.sql_model import sql_text
from flows.reporting.leaderboard import render
from flows.reporting.leaderboard_rows import FRONT
from flows.reporting.text_tables import Layout
from tests.sql.figures import rows
from tests.sql.test_matched_budget import store
from tests.sql.tiny import Rows, compaction, make

CONTROLS = {"none": {"s1": (1000, 5.0), "s2": (1000, 5.0)}, "empty": {"s1": (0, 1.0), "s2": (0, 0.0)}}
FIGURES: dict[str, dict[str, tuple[float, float]]] = {
    **CONTROLS,
    "good": {"s1": (300, 4.5), "s2": (300, 4.0)},
    "waste": {"s1": (600, 4.0), "s2": (800, 4.0)},
    "bare": {"s1": (10, 2.0), "s2": (10, 1.0)},
}
PRICE_LIST = "anthropic:claude-sonnet-5-5"


def replayed(written: dict[str, int]) -> Rows:
    """Method → tokens that its only call writes, at a dollar each, in both sessions."""
    price = dict.fromkeys(("input", "cached_input", "cache_write", "output"), 1e6)
    return {
        "replay_calls": [
            {
                "session_id": s,
                "method_id": name,
                "seq": 1,
                "input_tokens": tokens,
                "cached_tokens": 0,
                "output_tokens": 0,
            }
            for name, tokens in written.items()
            for s in ("s1", "s2")
        ],
        "price_lists": [
            {"price_list": PRICE_LIST, "source": "by hand", "above": None, **price}
            | {f"{name}_long": value for name, value in price.items()}
        ],
    }


def order(given: Rows, folder: Path, columns: str) -> list[tuple[Any, ...]]:
    return rows(make(given, folder), f"SELECT {columns} FROM fronts ORDER BY line")


def test_without_replays_the_front_is_over_tokens_and_comes_first(tmp_path: Path) -> None:
    """Waste keeps more than bare, and is beaten by good at both."""
    found = order(store(FIGURES), tmp_path, "method, on_front, cost, cost_in")
    assert found == [
        ("good", True, 300, "tokens"),
        ("bare", True, 10, "tokens"),
        ("waste", False, 700, "tokens"),
        ("none", False, 1000, "tokens"),
        ("empty", False, 0, "tokens"),
    ]


def test_where_all_are_replayed_cost_is_dollars(tmp_path: Path) -> None:
    """In dollars waste is cheaper than good, so both are on the front, and bare, the dearest, is not."""
    written = {"none": 9, "empty": 1, "good": 5, "waste": 4, "bare": 6}
    found = order({**store(FIGURES), **replayed(written)}, tmp_path, "method, on_front, cost, cost_in")
    assert found[:3] == [
        ("good", True, 5, PRICE_LIST),
        ("waste", True, 4, PRICE_LIST),
        ("bare", False, 6, PRICE_LIST),
    ]


def test_what_costs_more_dollars_than_no_compaction_is_not_on_the_front(tmp_path: Path) -> None:
    written = {"none": 4, "empty": 1, "good": 5, "waste": 3, "bare": 2}
    found = order({**store(FIGURES), **replayed(written)}, tmp_path, "method, on_front")
    assert found[:3] == [("waste", True), ("bare", True), ("good", False)]


def test_dollars_within_one_percent_are_as_much(tmp_path: Path) -> None:
    written = {"none": 999, "empty": 1, "good": 505, "waste": 500, "bare": 400}
    found = order({**store(FIGURES), **replayed(written)}, tmp_path, "method, on_front")
    assert found[:3] == [("good", True), ("bare", True), ("waste", False)]


def test_the_prices_are_those_that_recommend_takes() -> None:
    assert signature(recommend).parameters["price_list"].default == PRICE_LIST
    assert f"'{PRICE_LIST}'" in sql_text("boards", "fronts")


def test_where_one_method_is_not_replayed_cost_is_tokens(tmp_path: Path) -> None:
    written = {"none": 9, "empty": 1, "good": 5, "waste": 4}
    found = order({**store(FIGURES), **replayed(written)}, tmp_path, "DISTINCT cost_in, true AS line")
    assert found == [("tokens", True)]


@pytest.mark.parametrize("seed", range(6))
def test_the_front_is_what_a_comparison_of_every_pair_leaves(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    names = [f"m{n}" for n in range(9)]
    figures = CONTROLS | {name: {s: (100, float(rng.randint(1, 4))) for s in ("s1", "s2")} for name in names}
    written = {name: rng.randint(1, 5) for name in figures}
    found = order({**store(figures), **replayed(written)}, tmp_path, "method, on_front")
    kept = {name: sum(x for _, x in of_name.values()) for name, of_name in figures.items()}  # two questions each

    def is_beaten(one: str) -> bool:
        return any(
            (kept[o] >= kept[one] and written[o] <= written[one]) and (kept[o] > kept[one] or written[o] < written[one])
            for o in figures
        )

    front = sorted((name for name in names if not is_beaten(name)), key=lambda name: (-kept[name], name))
    rest = sorted((name for name in names if is_beaten(name)), key=lambda name: (-kept[name], name))
    assert found == [*((name, True) for name in front), *((name, False) for name in rest), *(
        (name, False) for name in ("none", "empty")
    )]  # fmt: skip


def partly(path: Path) -> Path:
    """A store in which ``part`` was asked the easier question alone: 4 where good has 4.5."""
    given = store({**FIGURES, "part": {"s1": (50, 4.0)}})
    given["compactions"] = [
        *given["compactions"],
        compaction("part", "p-s2", 1000, None, status="not_applicable"),
    ]
    return make(given, path)


def test_a_method_that_is_asked_other_questions_is_placed_by_what_its_differences_come_to(tmp_path: Path) -> None:
    """Its own retention would be 3 / 4; to the others (4.25, 4, 1.5, 5 and 0.5) it is -0.5, 0, +2, -1, +3 on s1."""
    path = partly(tmp_path)
    as_if = ((4.25 - 0.5) + (4 + 0) + (1.5 + 2) + (5 - 1) + (0.5 + 3)) / 5
    [(own, kept)] = rows(
        path, "SELECT retention.retention, kept FROM fronts JOIN retention USING (judge_id, method) "
        "WHERE method = 'part' AND dimension = 'overall'"
    )  # fmt: skip
    assert own == pytest.approx(3 / 4)
    assert kept == pytest.approx((as_if - 0.5) / 4.5)


def test_the_command_has_the_order_of_the_view_and_marks_the_front(tmp_path: Path) -> None:
    path = make(store(FIGURES), tmp_path)
    lines = render(path, layout=Layout("table", width=200)).splitlines()
    heads = [line.split()[:2] for line in lines[2:5]]
    assert heads == [["good", FRONT], ["bare", FRONT], ["waste", "4.00"]]
    assert any(line.startswith(f"{FRONT}, and first") and "tokens read" in line for line in lines)
