"""The view ``replay_cost`` on a session whose calls are priced by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.database.scores_db import connect, violations
from tests.sql.test_measures import measured, rows
from tests.sql.tiny import Rows, compaction, make, method, point, session

PRICES = {"input": 2, "cached_input": 0.2, "cache_write": 2.5, "output": 10}
LONG = {f"{name}_long": 2 * price for name, price in PRICES.items()}


def call(method_id: str, seq: int, sent: int, cached: int, answered: int, session_id: str = "s1") -> dict[str, Any]:
    return {
        "session_id": session_id,
        "method_id": method_id,
        "seq": seq,
        "input_tokens": sent,
        "cached_tokens": cached,
        "output_tokens": answered,
    }


def store() -> Rows:
    """Three calls of a session, as it was (``none``) and with a summary before the second (``sum``)."""
    return {
        "sessions": [session("s1"), session("s2")],
        "points": [point("p1", "s1", 610, cut_seq=3)],
        "methods": [method("none", "none"), method("sum", "sum")],
        "compactions": [
            compaction("none", "p1", 610, 610, replicate=0),
            compaction("sum", "p1", 610, 140, replicate=0),
        ],
        "measures": [
            measured("none/p1", "", [], {}),
            measured("sum/p1", "p", [1], {2: 50}, summary_calls=1, summary_input_tokens=400, summary_output_tokens=40),
        ],
        "replay_calls": [
            call("none", 1, 100, 0, 10),
            call("none", 3, 610, 100, 25),
            call("none", 6, 935, 610, 30),
            call("sum", 1, 100, 0, 10),
            call("sum", 3, 140, 100, 25),
            call("sum", 6, 465, 140, 30),
        ],
        "price_lists": [{"price_list": "openai:m", "source": "by hand", "above": 900, **PRICES, **LONG}],
    }


NONE_USD = (
    (100 * 2.5 + 10 * 10)
    + (100 * 0.2 + 510 * 2.5 + 25 * 10)
    + 2 * (610 * 0.2 + 325 * 2.5 + 30 * 10)  # longer than 900 tokens
) / 1e6
SUM_USD = (
    (100 * 2.5 + 10 * 10) + (100 * 0.2 + 40 * 2.5 + 25 * 10) + (140 * 0.2 + 325 * 2.5 + 30 * 10) + (400 * 2 + 40 * 10)
) / 1e6
FETCH_USD = (50 * 2.5 + (100 + 140 + 465) / 3 * 0.2) / 1e6


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(store(), tmp_path_factory.mktemp("replay"))


def test_a_session_costs_what_its_calls_and_its_summaries_cost(path: Path) -> None:
    found = rows(path, "SELECT method, usd_per_session, usd_per_task, share_of_none FROM replay_cost ORDER BY method")
    assert found == [
        ("none", pytest.approx(NONE_USD), pytest.approx(NONE_USD), 1),
        ("sum", pytest.approx(SUM_USD), pytest.approx(SUM_USD + FETCH_USD), pytest.approx(SUM_USD / NONE_USD)),
    ]


def test_tokens_are_read_written_or_neither(path: Path) -> None:
    found = rows(
        path,
        "SELECT read_tokens, written_tokens, uncached_tokens, output_tokens, summary_output_tokens, refetch_tokens, "
        "n_calls, n_sessions, session_ci_low FROM replay_cost WHERE method = 'sum'",
    )
    assert found == [(240, 465, 400, 65, 40, 50, 3, 1, None)]


def test_without_a_providers_cache_every_token_costs_the_price_of_input(path: Path) -> None:
    plain = (100 * 2 + 10 * 10 + 610 * 2 + 25 * 10 + 2 * (935 * 2 + 30 * 10)) / 1e6
    assert rows(path, "SELECT usd_without_cache FROM replay_cost WHERE method = 'none'") == [(pytest.approx(plain),)]


def test_a_summary_of_unknown_tokens_has_no_cost(tmp_path: Path) -> None:
    changed = store()
    changed["measures"][1]["summary_input_tokens"] = None
    found = rows(make(changed, tmp_path), "SELECT usd_per_session, usd_per_task FROM replay_cost WHERE method = 'sum'")
    assert found == [(None, None)]


def test_two_sessions_have_an_interval(tmp_path: Path) -> None:
    changed = store()
    changed["replay_calls"] += [call("none", 1, 200, 0, 10, "s2"), call("sum", 1, 200, 0, 10, "s2")]
    found = rows(
        make(changed, tmp_path),
        "SELECT usd_per_session, session_ci_low < usd_per_session, session_ci_high > usd_per_session, n_sessions "
        "FROM replay_cost WHERE method = 'none'",
    )
    second = (200 * 2.5 + 10 * 10) / 1e6
    assert found == [(pytest.approx((NONE_USD + second) / 2), True, True, 2)]


def break_even(path: Path) -> list[tuple[Any, ...]]:
    return rows(path, "SELECT method, break_even_calls FROM replay_cost WHERE method <> 'none' ORDER BY method")


def test_a_compaction_has_paid_for_itself_after_the_calls_that_make_up_for_its_summary(path: Path) -> None:
    """In prices of 1e-6 dollars, the first call with the summary is sent 140 tokens in place of 610.

    Without it 100 are read and 510 written: 1295. With it 100 are read and 40 written, and the summary costs 1200:
    1320. Each further call reads 470 fewer: 94. So after the first call 25 are open.
    """
    assert break_even(path) == [("sum", pytest.approx(1 + (1320 - 1295) / 94))]


def test_a_second_compaction_is_held_against_what_the_first_left(tmp_path: Path) -> None:
    """The third call is sent 165 tokens, 80 of them as before; 140 were sent before it, and 325 were said since.

    So 300 are removed. Without it 140 are read and 325 written, 840.5; with it 80 are read and 85 written, 228.5.
    """
    changed = store()
    changed["points"].append(point("p2", "s1", 465, cut_seq=5, cycle=2))
    changed["compactions"] += [
        compaction("none", "p2", 465, 465, replicate=0),
        compaction("sum", "p2", 465, 165, replicate=0),
    ]
    changed["measures"] += [
        measured("none/p2", "", [], {}),
        measured("sum/p2", "p", [1], {2: 50}, summary_calls=1, summary_input_tokens=300, summary_output_tokens=30),
    ]
    changed["replay_calls"][-1] = call("sum", 6, 165, 80, 30)
    open_after_firsts = (1320 - 1295) + (228.5 + 300 * 2 + 30 * 10 - 840.5)
    saved_a_call = (470 + 300) * 0.2
    [(_, calls)] = break_even(make(changed, tmp_path))
    assert calls == pytest.approx(1 + open_after_firsts / saved_a_call)


def test_what_costs_nothing_has_paid_for_itself_at_once_and_what_works_at_every_call_has_no_such_number(
    tmp_path: Path,
) -> None:
    changed = store()
    changed["measures"][1] |= {"summary_input_tokens": 0, "summary_output_tokens": 0}
    changed["methods"].append(method("mask", "mask"))
    changed["replay_calls"] += [
        call("mask", 1, 100, 0, 10),
        call("mask", 3, 300, 100, 25),
        call("mask", 6, 400, 90, 30),
    ]
    assert break_even(make(changed, tmp_path)) == [("mask", None), ("sum", 1)]


def test_the_checks_hold(path: Path) -> None:
    with connect(path) as connection:
        assert {"unique_replay_calls", "unique_price_lists", "orphan_rows"}.isdisjoint(dict(violations(connection)))
